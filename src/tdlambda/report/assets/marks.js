// What can be pointed at: marks {x, y, r, box, series, quiet, title, rows: [[name, value]], pick}. The mark nearest to
// the pointer is shown, or the one that the arrow keys have come to: left and right along a series, up and down across.

function interact(fig) {
  const { root, marks } = fig;
  let now = -1;
  const hide = () => {
    now = -1;
    fig.over.replaceChildren();
    root.classList.remove("dim");
    tip.hide();
  };
  const show = (k, speak) => {
    if (k < 0 || k >= marks.length) return hide();
    now = k;
    const mark = marks[k];
    fig.over.replaceChildren(svg("circle", { class: "ring", cx: mark.x, cy: mark.y, r: mark.r || 7 }));
    root.classList.toggle("dim", !mark.quiet);
    for (const group of root.querySelectorAll(".series")) {
      group.classList.toggle("on", group.dataset.series === mark.series);
    }
    tip.show(mark, fig, speak);
  };
  const nearest = (event) => {
    const box = root.getBoundingClientRect(), zoom = box.width / fig.width;
    const x = (event.clientX - box.left) / zoom, y = (event.clientY - box.top) / zoom;
    const within = (b) => b && x >= b[0] && x <= b[0] + b[2] && y >= b[1] && y <= b[1] + b[3];
    let best = -1, least = 40 ** 2;
    marks.forEach((mark, k) => {
      const far = within(mark.box) ? -1 : (mark.x - x) ** 2 + (mark.y - y) ** 2;
      if (far < least) [best, least] = [k, far];
    });
    return best;
  };
  const along = (step) => {
    for (let k = now + step; k >= 0 && k < marks.length; k += step) if (marks[k].series === marks[now].series) return k;
    return now;
  };
  const across = (up) => {
    const mark = marks[now];
    let best = now, least = Infinity;
    marks.forEach((other, k) => {
      const dy = up ? mark.y - other.y : other.y - mark.y, far = dy + 8 * Math.abs(other.x - mark.x);
      if (k !== now && (dy > 0 || (dy === 0 && k > now)) && far < least) [best, least] = [k, far];
    });
    return best;
  };
  const keys = {
    ArrowRight: () => show(now < 0 ? 0 : along(1), true), ArrowLeft: () => show(now < 0 ? 0 : along(-1), true),
    ArrowUp: () => show(now < 0 ? 0 : across(true), true), ArrowDown: () => show(now < 0 ? 0 : across(false), true),
    Enter: () => marks[now]?.pick?.(), Escape: hide,
  };
  root.addEventListener("pointermove", (event) => {
    const k = nearest(event);
    if (k < 0) hide();
    else if (k !== now) show(k);
  });
  root.addEventListener("pointerleave", hide);
  root.addEventListener("blur", hide);
  root.addEventListener("click", (event) => marks[nearest(event)]?.pick?.());
  root.addEventListener("focus", () => { if (root.matches(":focus-visible") && now < 0) show(0, true); });
  root.addEventListener("keydown", (event) => {
    if (!(event.key in keys)) return;
    keys[event.key]();
    event.preventDefault();
  });
  root.current = () => marks[now]?.title;
  root.restore = (title) => show(marks.findIndex((mark) => mark.title === title));
}

const tip = {
  box: document.getElementById("tip"),
  spoken: document.getElementById("spoken"),
  show(mark, fig, speak) {
    const rows = mark.rows.flatMap(([name, value]) => [html("dt", {}, name), html("dd", {}, value)]);
    this.box.replaceChildren(html("strong", {}, mark.title), html("dl", {}, rows));
    this.box.hidden = false;
    this.place = () => this.beside(mark, fig);
    this.place();
    if (speak) this.spoken.textContent = `${mark.title}: ${mark.rows.map((row) => row.join(" ")).join("; ")}`;
  },
  beside(mark, fig) {
    const figure = fig.root.getBoundingClientRect(), zoom = figure.width / fig.width;
    const [x, y] = [figure.left + mark.x * zoom, figure.top + mark.y * zoom];
    const { width, height } = this.box.getBoundingClientRect(), room = document.documentElement.clientWidth;
    this.box.style.left = `${Math.min(Math.max(8, x - width / 2), room - width - 8)}px`;
    this.box.style.top = `${y - height > 22 ? y - height - 14 : y + 16}px`;
  },
  hide() {
    this.box.hidden = true;
    this.place = null;
  },
};
addEventListener("scroll", () => tip.place?.(), { passive: true });
