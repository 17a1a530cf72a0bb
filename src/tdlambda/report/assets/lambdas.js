// Charts of λ: bars by state, a grid, a map, and strips in time; a colour for each λ, from the ground to blue.

function lambdaColour(v) {
  if (v === null) return "none";
  const [a, b] = isDark() ? [[31, 40, 49], [116, 190, 255]] : [[232, 239, 246], [8, 74, 145]];
  return `rgb(${a.map((x, k) => Math.round(x + (b[k] - x) * Math.max(0, Math.min(1, v)))).join(",")})`;
}
const lambdaInk = (v) => (isDark() ? (v > 0.6 ? "#0b1016" : "#e6ebf0") : v > 0.45 ? "#ffffff" : "#1a1f26");
function lambdaKey() {
  const piece = (_, k) => svg("rect", { x: 38 + 3 * k, y: 3, width: 3.3, height: 10, fill: lambdaColour(k / 40) });
  const about = { viewBox: "0 0 190 16", width: 190, height: 16, role: "img", "aria-label": "λ from 0 to 1" };
  const pieces = Array.from({ length: 41 }, piece);
  return svg("svg", about, text(0, 12, "start", "λ = 0"), pieces, text(167, 12, "start", "1"));
}

function barChart(host, o) {
  const n = o.values.length;
  const fig = frame(host, {
    name: o.name, height: 170, left: 30, right: 4, x: { lo: -0.5, hi: n - 0.5, none: true, label: o.label },
    y: { lo: 0, hi: 1, format: String },
  });
  const wide = fig.x(1) - fig.x(0), every = Math.ceil(22 / wide), tall = fig.floor - fig.top;
  o.values.forEach((v, k) => {
    const at = fig.x(k), high = Math.max(fig.floor - fig.y(v ?? 0), 1);
    const shape = { x: at - 0.4 * wide, y: fig.floor - high, width: 0.8 * wide, height: high, fill: o.colour };
    fig.front.append(svg("rect", shape));
    if (k % every === 0) fig.back.append(text(at, fig.floor + 15, "middle", String(o.names[k])));
    const box = [at - wide / 2, fig.top, wide, tall], title = `${o.label} ${o.names[k]}`;
    fig.marks.push({ x: at, y: fig.floor - high, r: 4, series: "", quiet: true, box, title, rows: o.rows(v) });
  });
}

function gridChart(host, o) {
  const size = Math.max(12, Math.min(64, Math.floor(Math.min(host.clientWidth, 300) / o.columns)));
  const last = Math.max(...o.live), rows = Math.floor(last / o.columns) + 1, none = { lo: 0, hi: 1, none: true };
  const edges = { left: 0, right: 0, top: 0, bottom: 0 };
  const fig = frame(host, { name: o.name, height: rows * size, ...edges, x: none, y: none });
  fig.back.replaceChildren();
  for (let s = 0; s < rows * o.columns; s++) {
    const k = o.live.indexOf(s), v = k < 0 ? null : o.values[k];
    const [x, y] = [(s % o.columns) * size, Math.floor(s / o.columns) * size], [cx, cy] = [x + size / 2, y + size / 2];
    const shape = { x: x + 1, y: y + 1, width: size - 2, height: size - 2, rx: 4 };
    if (k < 0) {
      fig.back.append(svg("rect", { ...shape, class: "hole" }), text(cx, cy + 4, "middle", size > 30 ? "end" : ""));
      continue;
    }
    fig.back.append(svg("rect", { ...shape, fill: lambdaColour(v) }));
    if (size > 30) {
      const value = text(cx, cy + 4, "middle", v === null ? "–" : v.toFixed(2));
      value.style.fill = lambdaInk(v);
      fig.back.append(value);
    }
    const mark = { x: cx, y: cy, r: size / 2 - 3, series: `row ${Math.floor(s / o.columns)}`, quiet: true };
    fig.marks.push({ ...mark, box: [x, y, size, size], title: `state ${s}`, rows: o.rows(v) });
  }
}

function mapChart(host, o) {
  const edges = (k) => o.points.flatMap((p) => [p[k] - o.tile[k] / 2, p[k] + o.tile[k] / 2]);
  const [[xlo, xhi], [ylo, yhi]] = [0, 1].map((k) => extent(edges(k), false, o.tile[k] ? 0 : 0.06));
  const x = { lo: xlo, hi: xhi, label: o.axes[0] }, y = { lo: ylo, hi: yhi, label: o.axes[1] };
  const fig = frame(host, { name: o.name, height: 260, x, y });
  o.points.forEach((p, k) => {
    const [cx, cy] = [fig.x(p[0]), fig.y(p[1])], title = `${o.axes[0]} ${num(p[0])}, ${o.axes[1]} ${num(p[1])}`;
    const fill = lambdaColour(o.values[k]), tile = [0.5, -0.5].map((share) => [
      fig.x(p[0] - share * o.tile[0]), fig.y(p[1] + share * o.tile[1])]);
    const [[left, top], [right, floor]] = tile, box = [left, top, right - left, floor - top];
    const square = { class: "crisp", x: left, y: top, width: box[2] + 0.5, height: box[3] + 0.5, fill };
    const shape = o.tile[0] ? svg("rect", square) : svg("circle", { class: "tick", cx, cy, r: 5.5, fill });
    fig.front.append(shape);
    const mark = { x: cx, y: cy, r: 7, series: `row ${p[1]}`, quiet: true, title, rows: o.rows(o.values[k]) };
    fig.marks.push(o.tile[0] ? { ...mark, box } : mark);
  });
}

// λ of each state (a row) in time (a column); of very many places, their median and where most of them are
function stripChart(host, o) {
  const n = o.values[0].length, many = n > 40, height = many ? 200 : Math.max(90, Math.min(n * 17, 300) + 46);
  const middle = (a, b) => (o.log ? Math.sqrt(a * b) : (a + b) / 2), when = (t) => `after ${count(t)} steps`;
  const edges = o.steps.map((t, k) => (k ? middle(t, o.steps[k - 1]) : o.log ? t : 0));
  edges.push(o.steps.at(-1));
  const fig = frame(host, {
    name: o.name, height, left: 34, right: 14, top: 4, y: { lo: 0, hi: many ? 1 : n, none: !many, format: String },
    x: { lo: edges[0], hi: edges.at(-1), log: o.log, label: "steps", format: steps },
  });
  if (many) {
    const at = (row, q) => [...row].sort((a, b) => a - b)[Math.round(q * (n - 1))];
    const path = (q) => o.values.map((row, k) => `${fig.x(o.steps[k])},${fig.y(at(row, q))}`);
    const d = `M${path(0.9).join("L")}L${path(0.1).reverse().join("L")}Z`;
    fig.front.append(svg("path", { fill: o.colour, "fill-opacity": 0.22, d }));
    fig.front.append(svg("path", { d: `M${path(0.5).join("L")}`, fill: "none", stroke: o.colour, "stroke-width": 2 }));
    o.values.forEach((row, k) => {
      const rows = [["median λ", num(at(row, 0.5))], ["most are in", `${num(at(row, 0.1))} to ${num(at(row, 0.9))}`]];
      const [x, y] = [fig.x(o.steps[k]), fig.y(at(row, 0.5))];
      fig.marks.push({ x, y, series: "", quiet: true, title: when(o.steps[k]), rows });
    });
  } else {
    const tall = (fig.floor - fig.top) / n, every = Math.ceil(12 / tall);
    for (let s = 0; s < n; s++) {
      const top = fig.top + s * tall;
      if (s % every === 0) fig.back.append(text(fig.left - 6, top + tall / 2 + 4, "end", String(o.names[s])));
      o.steps.forEach((t, k) => {
        const [a, b] = [fig.x(edges[k]), fig.x(edges[k + 1])], shape = { x: a, y: top, width: b - a, height: tall - 1 };
        fig.front.append(svg("rect", { ...shape, class: "crisp", fill: lambdaColour(o.values[k][s]) }));
        const mark = { x: (a + b) / 2, y: top + tall / 2, r: 5, series: `state ${s}`, quiet: true };
        const rows = [["λ", num(o.values[k][s])]];
        fig.marks.push({ ...mark, box: [a, top, b - a, tall], title: `state ${o.names[s]} ${when(t)}`, rows });
      });
    }
  }
  if (o.warmUp > edges[0] && o.warmUp < edges.at(-1)) {
    fig.labels.append(line("rule", fig.x(o.warmUp), fig.top, fig.x(o.warmUp), fig.floor));
  }
}

const placeName = (where, k) => (where.points ? where.points[k].join(" ") : where.live[k]);

figures.lambda = {
  cells() {
    const adaptive = view.shown().filter((s) => s.method?.kind === "tuned");
    return adaptive.map((s) => [s, view.at(s, view.alpha)]).filter(([, cell]) => cell && cell.l.length);
  },
  draw(host) {
    const where = view.study.layout;
    for (const [s, cell] of this.cells()) {
      const about = [view.settings(cell), `mean of ${cell.n} runs`].filter(Boolean).join(", ");
      const panel = html("div", {}, html("h3", {}, s.label), html("p", {}, about));
      host.append(panel);
      const o = {
        name: `λ learned by ${s.label}`, values: cell.l, colour: view.paint(s.colour), label: "state", ...where,
        names: where.live, rows: (v) => [["λ", num(v)], ["mean of", `n = ${cell.n}`]],
      };
      ({ grid: gridChart, map: mapChart, bars: barChart })[where.kind](panel, o);
    }
  },
  rows() {
    const where = view.study.layout;
    return {
      columns: ["method", "alpha", "settings", "n", where?.points ? "observation" : "state", "lambda"],
      rows: this.cells().flatMap(([s, cell]) => cell.l.map((v, k) => [
        s.method.name, cell.s.alpha ?? "", view.settings(cell, ["alpha"]), cell.n, placeName(where, k), v,
      ])),
    };
  },
};

figures.motion = {
  some() { return view.study.motions.filter((m) => view.shown().some((s) => s.key === m.m)); },
  draw(host) {
    for (const m of this.some()) {
      const panel = html("div", {}, html("h3", {}, m.m), html("p", {}, (m.at ? `${m.at}, ` : "") + `seed ${m.seed}`));
      host.append(panel);
      stripChart(panel, {
        name: `λ of ${m.m} in time`, steps: m.steps, values: m.l, names: view.study.layout.live,
        log: !view.study.warmUp, warmUp: view.study.warmUp, colour: view.paint(view.method(m.m).colour),
      });
    }
  },
  rows() {
    const where = view.study.layout;
    return {
      columns: ["method", "settings", "seed", "step", where?.points ? "observation" : "state", "lambda"],
      rows: this.some().flatMap((m) => m.steps.flatMap((t, k) => m.l[k].map((v, j) => [
        m.m, m.at, m.seed, t, placeName(where, j), v,
      ]))),
    };
  },
};
