// What is looked at: the study, the group of methods, the measure and α that the reader chose, and the lines to draw.

const figures = {};
const SHAPES = ["diamond", "triangle", "down", "square", "circle"];

const view = {
  get study() { return studies[state.study]; },
  get group() { return this.study.groups[state.group]; },
  get found() { return this.group.found[state.measure]; },
  get alpha() { return this.study.alphas[state.alpha] ?? null; },
  get places() { return this.study.alphas.length ? this.study.alphas : [null]; },
  get measureName() { return this.study.measures[state.measure]; },
  explained(words) { return words + this.study.explained; },  // what a cost is
  get methods() { return this.study.methods.filter((m) => this.group.methods.includes(m.name)); },
  get printing() { return state.published && state.measure === "tail" && this.study.published.length > 0; },
  method(name) { return this.study.methods.find((m) => m.name === name); },
  label(m) { return m.kind === "fixed" && m.axes.includes("lam") ? `best λ of ${m.name}` : m.name; },
  paint(pair) { return pair[isDark() ? 1 : 0]; },
  shape(m) {
    const place = this.methods.filter((other) => other.kind !== "fixed").indexOf(m);
    return place < 0 ? "circle" : SHAPES[place % SHAPES.length];
  },

  // A line for each fixed λ, one for every other method, and what the best fixed λ would have been at each α.
  all() {
    const fixed = this.methods.filter((m) => m.kind === "fixed"), out = [];
    for (const m of this.methods) {
      const cells = this.study.cells.filter((cell) => cell.m === m.name);
      if (m.kind !== "fixed" || !m.axes.includes("lam")) {
        const strong = m.kind !== "fixed", shape = this.shape(m);
        out.push({ key: m.name, method: m, label: m.name, colour: m.colour, shape, strong, cells });
        continue;
      }
      for (const lam of new Set(cells.map((cell) => cell.s.lam))) {
        const [, ...colour] = this.study.lambdaColours.find((row) => row[0] === lam) || [lam, ...m.colour];
        const label = `${fixed.length > 1 ? m.name + " " : ""}λ = ${setting(lam)}`, key = `${m.name} ${lam}`;
        const own = cells.filter((cell) => cell.s.lam === lam);
        out.push({ key, method: m, label, colour, shape: "circle", cells: own });
      }
    }
    const lams = out.filter((s) => s.method.kind === "fixed");
    if (lams.length > 1 && new Set(fixed.map((m) => m.truth)).size === 1) {
      const cells = lams.flatMap((s) => s.cells), colour = ["#1a1f26", "#e6ebf0"];
      out.push({ key: "envelope", method: null, label: "best fixed λ", colour, dash: "5 4", cells });
    }
    return out;
  },
  shown() { return this.all().filter((s) => !state.hidden.has(s.key)); },

  // The cell with the least mean; one in which no run diverged, if there is any.
  best(cells) {
    const value = (cell) => cell[state.measure][0] ?? Infinity, lost = (cell) => (cell.d > 0 ? 1 : 0);
    const better = (a, b) => lost(a) - lost(b) || (value(a) === value(b) ? 0 : value(a) - value(b));
    return cells.reduce((found, cell) => (found === null || better(cell, found) < 0 ? cell : found), null);
  },
  here(cells, alpha) { return cells.filter((cell) => !("alpha" in cell.s) || cell.s.alpha === alpha); },
  at(series, alpha) { return this.best(this.here(series.cells, alpha)); },
  settings(cell, but = []) {
    const some = Object.entries(cell.s).filter(([name]) => !but.includes(name));
    return some.map(([name, v]) => `${this.study.axes[name]} = ${setting(v)}`).join(", ");
  },
  printed(series, alpha) {
    if (!this.printing || !series.method) return undefined;
    const lam = series.method.axes.includes("lam") ? series.cells[0].s.lam : null;
    const fits = (p) => p.m === series.method.name && p.alpha === alpha && (p.lam === null || p.lam === lam);
    return this.study.published.find(fits);
  },

  // A cell as a point of a line chart, and what is said when it is pointed at
  point(x, cell, title, value = cell[state.measure]) {
    const rows = [["mean", num(value[0])]];
    if (value[1] !== null) rows.push(["95 % interval", `${num(value[1])} to ${num(value[2])}`]);
    rows.push(["runs", `n = ${cell.n}`]);
    if (cell.d) rows.push(["diverged", `${cell.d} of ${cell.n}, left out`]);
    return { x, cell, mean: value[0], low: value[1], high: value[2], crossed: cell.d > 0, title, rows };
  },
  alphaAxis() {
    const some = this.study.alphas, log = some.length > 0 && some[0] > 0;
    const [lo, hi] = some.length ? extent(some, log, 0.02) : [0, 1];
    return { lo, hi, log, none: !some.length, label: some.length ? "step size α" : "α was not varied" };
  },
  // Runs that diverged, or nearly, leave means of any size: they do not stretch the axis.
  errorAxis(points) {
    const all = points.filter((p) => p.mean !== null && p.mean > 0), calm = all.filter((p) => !p.crossed);
    const some = (calm.length ? calm : all).sort((a, b) => a.mean - b.mean), middle = some[some.length >> 1]?.mean;
    const near = some.filter((p) => p.mean <= 1e4 * middle), means = near.map((p) => p.mean);
    const bands = near.flatMap((p) => [Math.max(p.low ?? p.mean, p.mean / 2), Math.min(p.high ?? p.mean, 2 * p.mean)]);
    const [lo, hi] = extent([...means, ...bands], true, 0.04);
    return { lo, hi, log: true, label: this.explained(this.measureName) };
  },
};
