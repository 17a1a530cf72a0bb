// Methods side by side: run by run, over the step size, and by how many runs diverged.

const decades = (n) => `${num(10 ** n, 2)}-fold (${n.toFixed(2)} decades)`;

figures.paired = {
  stays: () => view.methods.length > 1,
  some() {
    const at = state.scope === "best" ? null : view.alpha, { measure, reference } = state;
    const pair = (a, b) => view.study.comparisons.find(
      (c) => c.measure === measure && c.alpha === at && c.a === a && c.b === b);
    const over = (v) => (v ? 1 / v : null), less = (v) => (v === null ? null : 1 - v);
    const turned = (r) => [over(r[0]), over(r[2]), over(r[1]), less(r[3]), less(r[5]), less(r[4])];  // b against a
    const visible = (m) => view.shown().some((s) => s.method === m);
    return view.methods.filter((m) => m.name !== reference && visible(m)).flatMap((m) => {
      const one = pair(m.name, reference), other = pair(reference, m.name);
      if (!one && !other) return [];
      const { r, n, d } = one || other;
      return [{ m, n, d, r: one ? r : turned(r) }];
    });
  },
  draw(host) {
    const found = this.some(), reference = view.label(view.method(state.reference)), { quantity } = view.study;
    if (!found.length) {
      host.append(html("p", { class: "hint" }, "Nothing that is shown can be compared with it."));
      return;
    }
    const near = (v) => (v === null ? null : Math.min(Math.max(v, 0.01), 100));
    const [lo, hi] = extent([1, ...found.flatMap(({ r }) => r.slice(0, 3).map(near))], true, 0.08);
    rangeChart(host, {
      name: `The ${quantity}s of the methods divided by that of ${reference}`, line: 1, above: ["← better", "worse →"],
      x: { lo, hi, log: true, label: `mean ${quantity} / that of ${reference}`, format: (v) => num(v) },
      rows: found.map(({ m, n, d, r }) => ({
        key: m.name, label: view.label(m), colour: view.paint(m.colour), shape: view.shape(m), low: r[1], mid: r[0],
        high: r[1] === null ? null : r[2] ?? 1e9, title: `${view.label(m)} / ${reference}`, text: this.said(r, n),
        tips: [
          ["ratio of means", num(r[0])], ["95 % interval", `${num(r[1])} to ${num(r[2])}`],
          ["better in", percent(r[3])], ["its interval", `${percent(r[4])} to ${percent(r[5])}`],
          ["pairs of runs", `n = ${n}`], ...(d ? [["diverged", `${d}, left out`]] : []),
        ],
      })),
    });
  },
  said(r, n) {
    if (r[1] === null) return `${r[0] === null ? "" : `${num(r[0])}, `}no interval (n = ${n})`;
    return `${num(r[0])} (${num(r[1])} to ${num(r[2])}), better in ${percent(r[3])}`;
  },
  rows() {
    const at = state.scope === "best" ? "best" : view.alpha;
    return {
      columns: [
        "method", "reference", "alpha", "measure", "n", "diverged", "ratio", "ratio_low", "ratio_high", "better",
        "better_low", "better_high",
      ],
      rows: this.some().map(({ m, n, d, r }) => [m.name, state.reference, at, state.measure, n, d, ...r]),
    };
  },
};

figures.sensitivity = {
  some() {
    const shown = view.shown().map((s) => s.method?.name);
    return view.study.stretches.filter((row) => row.measure === state.measure && shown.includes(row.m));
  },
  draw(host) {
    const { alphas, quantity } = view.study;
    rangeChart(host, {
      name: `The stretches of α within twice the best ${quantity}`, x: view.alphaAxis(),
      rows: this.some().map((row) => {
        const m = view.method(row.m), about = `α from ${setting(row.first)} to ${setting(row.last)}`;
        return {
          key: row.m, label: view.label(m), colour: view.paint(m.colour), shape: view.shape(m), low: row.first,
          mid: row.best, high: row.last, lowOpen: row.first === alphas[0], highOpen: row.last === alphas.at(-1),
          text: decades(row.decades), title: view.label(m),
          tips: [["within twice its best", about], ["that is", decades(row.decades)], ["best α", setting(row.best)]],
        };
      }),
    });
  },
  rows() {
    return {
      columns: ["method", "measure", "best_alpha", "from_alpha", "to_alpha", "decades"],
      rows: this.some().map((row) => [row.m, row.measure, row.best, row.first, row.last, row.decades]),
    };
  },
};

figures.diverged = {
  stays: () => true,
  lines() {
    const sum = (cells, name) => cells.reduce((total, cell) => total + cell[name], 0);
    return view.methods.filter((m) => m.diverged).map((m) => [m, view.places.map((alpha) => {
      const cells = view.here(view.study.cells.filter((cell) => cell.m === m.name), alpha);
      return [alpha, sum(cells, "d"), sum(cells, "n")];
    })]);
  },
  draw(host) {
    const lines = this.lines();
    if (!lines.length) return;
    const some = view.places.map((_, k) => k).filter((k) => lines.some(([, line]) => line[k][1]));
    const names = ["α", ...some.map((k) => setting(view.places[k] ?? "–")), "in all"];
    const body = lines.map(([m, line]) => {
      const row = html("tr", {}, html("th", { scope: "row" }, m.name));
      for (const [, d, n] of some.map((k) => line[k])) {
        const td = html("td", { class: d ? "" : "none", title: `${d} of ${n} runs` }, d ? percent(d / n) : "·");
        const mix = (x, k) => Math.round(x + ([248, 105, 107][k] - x) * Math.min(1, 0.15 + d / n));
        if (d) td.style.backgroundColor = `rgb(${[252, 252, 255].map(mix).join(",")})`;
        row.append(td);
      }
      row.append(html("th", {}, `${count(m.diverged)} of ${count(m.runs)}`));
      return row;
    });
    const head = html("tr", {}, names.map((name) => html("th", { scope: "col" }, name)));
    host.append(html("table", { class: "heat" }, html("thead", {}, head), html("tbody", {}, body)));
  },
  rows() {
    return {
      columns: ["method", "alpha", "diverged", "runs"],
      rows: this.lines().flatMap(([m, some]) => some.map(([alpha, d, n]) => [m.name, alpha ?? "", d, n])),
    };
  },
};
