// Tools to draw with: elements, numbers, scales, a frame with axes, names beside lines.
// Text from the data only ever becomes text nodes and attributes, never markup.

const NS = document.querySelector("svg").namespaceURI;

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}
const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(NS, tag), attributes, children);
const line = (kind, x1, y1, x2, y2) => svg("line", { class: kind, x1, y1, x2, y2 });
const text = (x, y, anchor, words, kind) => svg("text", { class: kind, x, y, "text-anchor": anchor }, words);

// ---- numbers
const raised = (n) => [...String(n)].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c])).join("");
const count = (n) => n.toLocaleString("en");
const percent = (x) => (x === null ? "–" : `${Math.round(100 * x)} %`);
function science(x, digits = 3) {
  if (x === null || !isFinite(x)) return "–";
  const [digit, power] = x.toExponential(digits - 1).split("e");
  return +power === 0 ? digit : `${digit}×10${raised(+power)}`;
}
function num(x, digits = 3) {
  if (x === null || !isFinite(x)) return "–";
  if (x === 0 || (Math.abs(x) >= 1e-3 && Math.abs(x) < 1000)) return String(+x.toPrecision(digits));
  return Math.abs(x) >= 1000 && Math.abs(x) < 1e7 ? count(Math.round(x)) : science(x, digits);
}
function setting(x) {
  if (typeof x !== "number") return String(x);
  if (x === 0 || (Math.abs(x) >= 1e-3 && Math.abs(x) < 1e6)) return String(x);
  const [digit, power] = x.toExponential().split("e");
  return (digit === "1" ? "" : digit + "×") + "10" + raised(+power);
}
function steps(n) {
  if (n >= 1e6) return `${+(n / 1e6).toPrecision(3)} M`;
  return n >= 1e4 ? `${+(n / 1e3).toPrecision(3)} k` : String(n);
}
function power(v) {  // as the tick of a logarithmic axis
  const [digit, k] = v.toExponential().split("e");
  if (+k === 0 || (+k === 1 && digit !== "1")) return String(v);
  return (digit === "1" ? "" : digit + "×") + "10" + raised(+k);
}

// ---- scales
function scale(lo, hi, from, to, log) {
  const t = log ? Math.log10 : (v) => v;
  const at = (v) => from + ((to - from) * (t(v) - t(lo))) / (t(hi) - t(lo) || 1);
  return Object.assign(at, { lo, hi, log, from, to });
}
function evenTicks(lo, hi, room) {
  const rough = (hi - lo) / room, unit = 10 ** Math.floor(Math.log10(rough)), some = [];
  const step = [1, 2, 5, 10].map((k) => k * unit).find((k) => k >= rough * 0.999);
  for (let k = Math.ceil(lo / step - 1e-6); k * step <= hi + step / 1e6; k++) {
    some.push({ v: +(k * step).toPrecision(9), named: true });
  }
  return some;
}
function ticks(s, room) {
  if (!s.log) return evenTicks(s.lo, s.hi, room);
  const inside = (v) => v >= s.lo * 0.9999 && v <= s.hi * 1.0001;
  const first = Math.floor(Math.log10(s.lo) - 1e-9), last = Math.ceil(Math.log10(s.hi) + 1e-9), all = [];
  for (let k = first; k <= last; k++) {
    for (const m of [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9]) {
      const v = +(m * 10 ** k).toPrecision(6);
      if (inside(v)) all.push({ v, m, k });
    }
  }
  const decades = all.filter((t) => t.m === 1).length, every = Math.ceil(decades / room);
  const few = [[1, 2, 5], [1, 2, 3, 5, 7], [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9]];
  for (const names of decades > 1 ? [[1]] : few) {
    const named = (t) => names.includes(t.m) && t.k % every === 0;
    if (decades < 2 && all.filter(named).length < 3) continue;
    return all.filter((t) => named(t) || (t.m !== 1.5 && every < 3)).map((t) => ({ v: t.v, named: named(t) }));
  }
  return evenTicks(s.lo, s.hi, Math.min(room, 5));
}
// A stretch that holds all values, with some room; on a logarithmic axis only positive ones count.
function extent(values, log, room = 0.06) {
  const some = values.filter((v) => v !== null && isFinite(v) && (!log || v > 0));
  if (!some.length) return log ? [0.1, 1] : [0, 1];
  let [lo, hi] = [Math.min(...some), Math.max(...some)];
  if (log) {
    const pad = Math.max((hi / lo) ** room, 1.12);
    return [lo / pad, hi * pad];
  }
  if (lo === hi) [lo, hi] = [lo - 1, hi + 1];
  return [lo - room * (hi - lo), hi + room * (hi - lo)];
}

// ---- a frame: x and y are {lo, hi, log, label, format, none}; `right` is the room for names beside it
function frame(host, o) {
  const width = Math.max(240, Math.floor(host.clientWidth)), height = o.height, small = width < 520;
  const left = o.left ?? (small ? 44 : 56), right = o.right ?? 14, top = o.top ?? (o.y.label ? 26 : 12);
  const bottom = o.bottom ?? (o.x.label ? 42 : 26), floor = height - bottom, edge = width - right;
  const x = scale(o.x.lo, o.x.hi, left, edge, o.x.log), y = scale(o.y.lo, o.y.hi, floor, top, o.y.log);
  const root = svg("svg", {
    viewBox: `0 0 ${width} ${height}`, height, tabindex: 0, role: "img", "aria-label": o.name,
    "aria-description": `Arrow keys read the values one by one${o.picks ? "; Enter chooses an α." : "."}`,
  });
  const back = svg("g"), labels = svg("g"), over = svg("g"), clip = svg("clipPath", { id: `clip-${++frame.made}` });
  clip.append(svg("rect", { x: left - 6, y: top - 6, width: edge - left + 12, height: floor - top + 6 }));
  const front = svg("g", { "clip-path": `url(#clip-${frame.made})` });
  const format = (axis) => axis.format || (axis.log && axis.hi / axis.lo > 50 ? power : setting);
  for (const { v, named } of o.x.none ? [] : ticks(x, Math.max(2, Math.floor((edge - left) / (small ? 54 : 80))))) {
    back.append(line(named ? "grid" : "tick", x(v), named ? top : floor - 4, x(v), floor));
    if (named) back.append(text(x(v), floor + 17, "middle", format(o.x)(v)));
  }
  for (const { v, named } of o.y.none ? [] : ticks(y, Math.max(2, Math.floor((floor - top) / 40)))) {
    back.append(line(named ? "grid" : "tick", left, y(v), named ? edge : left + 4, y(v)));
    if (named) back.append(text(left - 7, y(v) + 4, "end", format(o.y)(v)));
  }
  if (!o.y.none) back.append(line("axis", left, top, left, floor));
  back.append(line("axis", left, floor, edge, floor));
  if (o.x.label) back.append(text((left + edge) / 2, height - 6, "middle", o.x.label));
  if (o.y.label) back.append(text(small ? 0 : left, 11, "start", o.y.label));
  root.append(svg("defs", {}, clip), back, front, labels, over);
  host.append(root);
  const fig = { root, back, front, labels, over, x, y, left, right, top, bottom, width, height, floor, edge, small };
  fig.marks = [];
  interact(fig);
  return fig;
}
frame.made = 0;

const letterWidth = (small, strong) => (small ? 6.2 : 6.8) * (strong ? 1.1 : 1);

// Names beside the right end of lines, moved apart, each tied to its line; cut where there is no room for them.
function nameEnds(fig, ends) {
  const gap = 14, low = fig.top + 4, some = ends.filter((end) => isFinite(end.y)).sort((a, b) => a.y - b.y);
  some.forEach((end, k) => { end.at = Math.max(end.y, low, k ? some[k - 1].at + gap : -Infinity); });
  for (let k = some.length - 1; k >= 0; k--) {
    some[k].at = Math.min(some[k].at, k === some.length - 1 ? fig.floor : some[k + 1].at - gap);
  }
  for (const { key, x, y, at, colour, strong, label } of some) {
    const d = `M${x},${y} L${fig.edge + 4},${y} L${fig.edge + 12},${at} L${fig.edge + 16},${at}`;
    const tie = svg("path", { d, fill: "none", stroke: colour, "stroke-opacity": 0.65 });
    const room = Math.floor((fig.right - 22) / letterWidth(fig.small, strong));
    const said = label.length > room ? `${label.slice(0, room - 1)}…` : label;
    const name = text(fig.edge + 19, at + 4, "start", said, strong ? "strong" : "name");
    fig.labels.append(svg("g", { class: "series", "data-series": key }, tie, name));
  }
}

function marker(shape, x, y, r, attributes) {
  const d = {
    square: `M${x - r},${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
    triangle: `M${x},${y - 1.25 * r}l${1.2 * r},${2.1 * r}h${-2.4 * r}z`,
    diamond: `M${x},${y - 1.4 * r}l${1.4 * r},${1.4 * r}l${-1.4 * r},${1.4 * r}l${-1.4 * r},${-1.4 * r}z`,
    down: `M${x},${y + 1.25 * r}l${1.2 * r},${-2.1 * r}h${-2.4 * r}z`,
    cross: `M${x - r},${y - r}l${2 * r},${2 * r}m0,${-2 * r}l${-2 * r},${2 * r}`,
  }[shape];
  return d ? svg("path", { d, ...attributes }) : svg("circle", { cx: x, cy: y, r, ...attributes });
}
