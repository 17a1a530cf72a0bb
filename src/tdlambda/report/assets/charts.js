// Charts of errors: lines with bands, and ranges in rows.

// series: {key, label, colour, strong, dash, shape, points: [{x, mean, low, high, title, rows, pick, crossed}], open}
function lineChart(host, o) {
  const longest = Math.max(0, ...o.series.map((s) => s.label.length * letterWidth(host.clientWidth < 520, s.strong)));
  const fig = frame(host, { ...o, right: Math.min(longest + 26, host.clientWidth < 520 ? 112 : 200) });
  const { x, y } = fig, on = (v) => Math.max(-40, Math.min(fig.height + 40, y(Math.max(v, y.lo / 1e6))));
  if (o.warmUp > x.lo) {
    const edge = x(Math.min(o.warmUp, x.hi));
    const shade = { class: "wash", x: fig.left, y: fig.top, width: edge - fig.left, height: fig.floor - fig.top };
    fig.back.prepend(svg("rect", shade));
    fig.back.append(line("rule", edge, fig.top, edge, fig.floor));
    fig.back.append(text(edge + 5, fig.top + 10, "start", "warm-up ends"));
  }
  if (o.chosen !== undefined && o.chosen !== null) {
    fig.back.append(line("rule", x(o.chosen), fig.top, x(o.chosen), fig.floor));
  }
  const ends = [];
  for (const s of o.series) {
    const group = svg("g", { class: `series${s.strong || s.dash ? "" : " thin"}`, "data-series": s.key });
    const there = s.points.filter((p) => p.mean !== null && p.mean > 0);
    const banded = there.filter((p) => p.low !== null && p.high !== null);
    if (banded.length > 1) {
      const upper = banded.map((p) => `${x(p.x)},${on(p.high)}`), lower = banded.map((p) => `${x(p.x)},${on(p.low)}`);
      const d = `M${upper.join("L")}L${lower.reverse().join("L")}Z`;
      group.append(svg("path", { class: "band", fill: s.colour, d }));
    }
    let pen = "M";
    const d = s.points.map((p) => {
      if (!there.includes(p)) return (pen = "M", "");
      const step = `${pen}${x(p.x)},${on(p.mean)}`;
      return (pen = "L", step);
    }).join("");
    group.append(svg("path", {
      d, fill: "none", stroke: s.colour, "stroke-width": s.strong ? 2.4 : 1.5, "stroke-dasharray": s.dash,
      "stroke-linejoin": "round",
    }));
    for (const p of there) {
      const [px, py] = [x(p.x), on(p.mean)];
      if (p.crossed && o.dots !== false && !s.dash) {
        group.append(marker("cross", px, py, 3.5, { stroke: s.colour, "stroke-width": 1.8, fill: "none" }));
      } else if (o.dots !== false && !s.dash) {
        group.append(marker(s.shape, px, py, s.strong ? 3.6 : 2.4, { fill: s.colour }));
      }
      if (p.mean <= y.hi) fig.marks.push({ x: px, y: py, series: s.key, title: p.title, rows: p.rows, pick: p.pick });
    }
    for (const p of s.open || []) {
      if (p.off) {
        const ends = { x1: x(p.x), x2: x(p.x), y1: on(p.mean - p.off), y2: on(p.mean + p.off) };
        group.append(svg("line", { class: "printed", ...ends, stroke: s.colour, "stroke-width": 1.5 }));
      }
      group.append(marker(s.shape, x(p.x), on(p.mean), s.strong ? 5.2 : 4.2, {
        class: "hollow printed", stroke: s.colour, "stroke-width": 1.5, "fill-opacity": 0.5,
      }));
    }
    fig.front.append(group);
    const last = there.filter((p) => p.mean <= y.hi).at(-1);
    if (last) ends.push({ ...s, x: x(last.x), y: y(last.mean) });
  }
  nameEnds(fig, ends);
  if (!fig.marks.length) fig.back.append(text((fig.left + fig.edge) / 2, fig.height / 2, "middle", "nothing above 0"));
}

// rows: {key, label, colour, shape, low, mid, high, text, title, tips, lowOpen, highOpen}
function rangeChart(host, o) {
  const small = host.clientWidth < 640, tall = small ? 44 : 30, top = o.above ? 22 : 6;
  const widest = (name) => Math.max(...o.rows.map((row) => row[name].length));
  const fig = frame(host, {
    name: o.name, height: o.rows.length * tall + top + 46, x: o.x, y: { lo: 0, hi: 1, none: true }, top,
    left: small ? 8 : Math.min(widest("label") * 7.2 + 20, 240), right: small ? 12 : widest("text") * 6.5 + 24,
  });
  if (o.line !== undefined) fig.back.append(line("rule", fig.x(o.line), top, fig.x(o.line), fig.floor));
  if (o.above) fig.back.append(text(fig.left, 12, "start", o.above[0]), text(fig.edge, 12, "end", o.above[1]));
  const inside = (v) => Math.max(fig.left, Math.min(fig.edge, fig.x(v)));
  o.rows.forEach((row, k) => {
    const y = top + k * tall + (small ? 30 : tall / 2), words = small ? y - 12 : y + 4;
    const group = svg("g", { class: "series", "data-series": row.key });
    group.append(text(small ? fig.left : fig.left - 12, words, small ? "start" : "end", row.label, "name"));
    group.append(text(small ? fig.edge : fig.edge + 14, words, small ? "end" : "start", row.text, "name"));
    if (row.low !== null) {
      const ends = { x1: inside(row.low), x2: inside(row.high), y1: y, y2: y };
      group.append(svg("line", { ...ends, stroke: row.colour, "stroke-width": 4, "stroke-opacity": 0.6 }));
    }
    for (const v of [row.lowOpen ? row.low : null, row.highOpen ? row.high : null].filter((end) => end !== null)) {
      const open = { class: "hollow", stroke: row.colour, "stroke-width": 1.6 };
      group.append(svg("circle", { ...open, cx: inside(v), cy: y, r: 3.5 }));
    }
    if (row.mid !== null) {
      group.append(marker(row.shape, inside(row.mid), y, 5, { fill: row.colour }));
      const box = [fig.left, y - tall / 2, fig.edge - fig.left, tall];
      fig.marks.push({ x: inside(row.mid), y, r: 9, series: row.key, title: row.title, rows: row.tips, box });
    }
    fig.over.before(group);
  });
}
