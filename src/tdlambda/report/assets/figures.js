// The figures of errors, or costs. Each has `draw(host)` and `rows()`: the table of what is shown, also as CSV.

figures.u = {
  series() {
    return view.shown().map((s) => {
      const points = view.places.map((alpha) => [alpha, view.at(s, alpha)]).filter(([, cell]) => cell);
      const drawn = points.map(([alpha, cell]) => {
        const printed = view.printed(s, alpha), name = s.method ? s.method.name : s.label;
        const point = view.point(alpha ?? 0.5, cell, `${name}, ${view.settings(cell)}`);
        const source = view.study.byEye ? "read off the published figure" : "published";
        if (printed) point.rows.push([source, `${num(printed.mean)} ± ${num(printed.spread)}`]);
        if (printed && printed.z !== null) point.rows.push(["difference", `z = ${num(printed.z)}`]);
        const pick = alpha === null ? null : () => set("alpha", view.study.alphas.indexOf(alpha));
        return { ...point, printed, pick };
      });
      const off = (p) => (view.study.byEye ? p.printed.spread : 0);
      const open = drawn.filter((p) => p.printed).map((p) => ({ x: p.x, mean: p.printed.mean, off: off(p) }));
      return { ...s, colour: view.paint(s.colour), points: drawn, open };
    });
  },
  draw(host) {
    const series = this.series();
    lineChart(host, {
      name: `The ${view.measureName} of each method over the step size α`, series, picks: true, x: view.alphaAxis(),
      y: view.errorAxis(series.flatMap((s) => [...s.points, ...s.open])), chosen: view.alpha,
      height: host.clientWidth < 520 ? 390 : 480,
    });
  },
  rows() {
    const axes = Object.keys(view.study.axes), measured = ["n", "diverged", "mean", "low", "high", "std"];
    const spread = view.study.byEye ? "published_uncertainty" : "published_std";
    return {
      columns: ["series", "method", ...axes, "measure", ...measured, "published_mean", spread, "z"],
      rows: this.series().flatMap((s) => s.points.map(({ cell, printed }) => [
        s.label, cell.m, ...axes.map((axis) => cell.s[axis] ?? ""), state.measure, cell.n, cell.d,
        ...cell[state.measure], printed?.mean ?? "", printed?.spread ?? "", printed?.z ?? "",
      ])),
    };
  },
};

figures.learning = {
  series() {
    const cells = view.shown().map((s) => [s, view.at(s, view.alpha)]).filter(([, cell]) => cell);
    return cells.map(([s, cell]) => ({
      ...s, cell, colour: view.paint(s.colour),
      points: view.study.curveSteps.map((at, k) => {
        const mean = cell.c[k], none = mean === null || cell.e[k] === null;  // e: the interval's half width in log mean
        const value = none ? [mean, null, null] : [mean, mean * Math.exp(-cell.e[k]), mean * Math.exp(cell.e[k])];
        const point = view.point(at, cell, `${s.label}, ${view.settings(cell, ["lam"])}`, value);
        point.rows.unshift(["after", `${count(at)} ${view.study.unit}`]);
        return point;
      }),
    }));
  },
  draw(host) {
    const series = this.series(), points = series.flatMap((s) => s.points);
    lineChart(host, {
      name: `Learning curves at α = ${setting(view.alpha)}`, series, height: host.clientWidth < 520 ? 350 : 420,
      dots: false, warmUp: view.study.warmUp, x: { lo: 0, hi: view.study.steps, label: view.study.unit, format: steps },
      y: { ...view.errorAxis(points), label: view.explained(view.study.quantity) },
    });
  },
  rows() {
    const axes = Object.keys(view.study.axes);
    return {
      columns: ["series", "method", ...axes, "n", "diverged", "step", "mean", "low", "high"],
      rows: this.series().flatMap(({ label, cell, points }) => points.map((p) => [
        label, cell.m, ...axes.map((axis) => cell.s[axis] ?? ""), cell.n, cell.d, p.x, p.mean, p.low, p.high,
      ])),
    };
  },
};

// The thesis' colours: blue for the least error of a table, white at the median, red for the largest.
function thesisColours(values) {
  const blue = [90, 138, 198], white = [252, 252, 255], red = [248, 105, 107];
  const some = values.filter((v) => v !== null).sort((a, b) => a - b), n = some.length, low = some[0];
  const middle = n % 2 ? some[(n - 1) / 2] : (some[n / 2 - 1] + some[n / 2]) / 2;
  return values.map((v) => {
    let [share, one, two] = [1, white, red];
    if (v !== null && v <= middle) [share, one, two] = [middle > low ? (v - low) / (middle - low) : 1, blue, white];
    else if (v !== null) share = (v - middle) / (some[n - 1] - middle);
    return `rgb(${one.map((x, k) => Math.round(x + share * (two[k] - x))).join(", ")})`;
  });
}

figures.heat = {
  draw(host) {
    const series = view.shown().filter((s) => s.method), value = (cell) => cell[state.measure][0];
    const lines = view.places.map((alpha) => series.map((s) => view.at(s, alpha)));
    const shades = thesisColours(lines.flat().filter(Boolean).map(value));
    const head = ["α", ...series.map((s) => s.label)].map((name) => html("th", { scope: "col" }, name));
    const body = lines.map((cells, k) => {
      const alpha = view.places[k], least = view.best(cells.filter(Boolean)), choose = () => set("alpha", k);
      const button = html("button", { type: "button", title: "choose this α", click: choose }, setting(alpha ?? "–"));
      const row = html("tr", { "aria-current": alpha !== null && k === state.alpha ? "true" : null });
      row.append(html("th", { scope: "row" }, alpha === null ? "–" : button));
      cells.forEach((cell, j) => {
        if (!cell) return row.append(html("td", { class: "none" }, "·"));
        const printed = view.printed(series[j], alpha), further = view.settings(cell, ["alpha", "lam"]);
        const written = (v) => (v >= 1 ? num(v) : science(v));
        const shown = html(cell === least ? "b" : "span", {}, written(value(cell)));
        const td = html("td", { "data-value": value(cell) }, shown);
        if (printed) td.append(html("small", { class: "printed" }, written(printed.mean)));
        if (further) td.append(html("small", {}, further));
        if (cell.d) td.append(html("small", {}, `${cell.d} of ${cell.n} diverged`));
        td.style.backgroundColor = shades.shift();
        return row.append(td);
      });
      return row;
    });
    host.append(html("table", { class: "heat" }, html("thead", {}, html("tr", {}, head)), html("tbody", {}, body)));
  },
  rows: () => figures.u.rows(),
};

figures.kappa = {
  // For each further parameter of the grid: the methods with several values of it
  axes() {
    const further = Object.keys(view.study.axes).filter((name) => name !== "alpha" && name !== "lam");
    return further.map((axis) => ({ axis, series: view.shown().map((s) => this.along(s, axis)) }))
      .map(({ axis, series }) => ({ axis, series: series.filter((s) => s.points.length > 1) }))
      .filter(({ series }) => series.length);
  },
  along(s, axis) {
    const here = s.method?.axes.includes(axis) ? view.here(s.cells, view.alpha) : [];
    const values = [...new Set(here.map((cell) => cell.s[axis]))].filter((v) => typeof v === "number");
    const points = values.sort((a, b) => a - b).map((v) => {
      const cell = view.best(here.filter((other) => other.s[axis] === v));
      return view.point(v, cell, `${s.label}, ${view.settings(cell)}`);
    });
    return { ...s, colour: view.paint(s.colour), points };
  },
  draw(host) {
    for (const { axis, series } of this.axes()) {
      const values = series.flatMap((s) => s.points.map((p) => p.x)), log = Math.min(...values) > 0;
      const [lo, hi] = extent(values, log, 0.02), name = view.study.axes[axis], keys = series.map((s) => s.key);
      const others = view.shown().filter((s) => s.key === "envelope" || (s.strong && !keys.includes(s.key)));
      const across = others.map((s) => [s, view.at(s, view.alpha)]).filter(([, cell]) => cell).map(([s, cell]) => {
        const ends = [Math.min(...values), Math.max(...values)];
        const points = ends.map((x) => view.point(x, cell, `${s.label}, ${view.settings(cell)}`));
        return { ...s, colour: view.paint(s.colour), dash: s.dash || "2 3", points };
      });
      const all = [...series, ...across], y = view.errorAxis(all.flatMap((s) => s.points));
      const about = `The ${view.measureName} over ${name}`, height = host.clientWidth < 520 ? 320 : 360;
      lineChart(host, { name: about, series: all, height, x: { lo, hi, log, label: name }, y });
    }
  },
  rows() {
    return {
      columns: ["parameter", "value", "method", "alpha", "measure", "n", "diverged", "mean", "low", "high", "std"],
      rows: this.axes().flatMap(({ axis, series }) => series.flatMap((s) => s.points.map(({ x, cell }) => [
        axis, x, s.label, view.alpha ?? "", state.measure, cell.n, cell.d, ...cell[state.measure],
      ]))),
    };
  },
};
