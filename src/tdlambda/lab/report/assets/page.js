// Glue: the reader's choices are passed to every chart as Vega parameters, and to the texts, the tables and the address.
const byId = (id) => document.getElementById(id), all = (css) => [...document.querySelectorAll(css)];
const system = matchMedia("(prefers-color-scheme: dark)"), CONFIG = JSON.parse(byId("theme-of-charts").textContent);
const state = { study: 0, group: 0, measure: "tail", alpha: 0, published: true, reference: "", scope: "best", theme: "", hidden: [] };
const packed = new Blob([Uint8Array.from(atob(byId("data").textContent), (c) => c.charCodeAt(0))]);
let { studies, opening = [] } = await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).json(), views = {};
const EMBED = {
  mode: "vega-lite", actions: false, renderer: "svg", ast: true, defaultStyle: false, config: CONFIG,
  tooltip: { disableDefaultStyle: true }, logLevel: 1,
};
const study = () => studies[state.study], group = () => study().groups[state.group], found = () => group().found[state.measure];
const isDark = () => (state.theme ? state.theme === "dark" : system.matches);

function html(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

// ---- rows: stored as columns, expanded here
const rowsOf = ({ n, same, columns }) => Array.from({ length: n }, (_, k) => {
  const row = { ...same };
  for (const name in columns) row[name] = columns[name][k];
  return row;
});
function opened(one) {
  if (one.tables) return one;
  one.tables = Object.fromEntries(Object.entries(one.rows).map(([name, some]) => [name, rowsOf(some)]));
  one.cellRows = Object.entries(one.cells).map(([cell, lists]) => ({ cell: Number(cell), ...lists }));
  return one;
}
// The choices, by the names of the charts' parameters.
function chosen() {
  const shown = group().series.filter((s) => !state.hidden.includes(s.key)), alpha = study().alphas[state.alpha] ?? null;
  return {
    group: group().name, measure: state.measure, alpha, at: state.scope === "best" ? "best" : alpha,
    reference: state.reference, published: state.published, keys: shown.map((s) => s.key),
    methods: Object.keys(group().methods).filter((m) => shown.some((s) => s.method === m)),
  };
}
const LISTED = { keys: "key", methods: "method" };
function shownRows(figure) {
  const now = chosen(), fits = (row) => (name) => (LISTED[name] ? now[name].includes(row[LISTED[name]]) : row[name] === now[name]);
  const some = opened(study()).tables[figure.data].filter((row) => figure.follows.every(fits(row)) && (!figure.only || row[figure.only]));
  const lists = Object.entries(figure.lists);
  return !lists.length ? some : some.flatMap((row) => {
    const held = { ...study().cells[row.cell], ...figure.constants };
    return held[lists[0][1]].map((_, k) => ({ ...row, ...Object.fromEntries(lists.map(([name, from]) => [name, held[from][k]])) }));
  });
}

// ---- charts: one view per figure or per panel; a choice changes its parameters
async function draw(id, host, figure, rows, panel) {
  const height = figure.step ? figure.step * new Set(rows.map((row) => row.series)).size : figure.spec.height, now = { ...chosen(), panel }, place = `${id} ${panel ?? ""}`, known = views[place];
  if (known && known.host.isConnected && known.figure === figure) {
    for (const { name } of figure.spec.params) if (name in now) known.view.signal(name, now[name]);
    return known.view.height(height).runAsync();
  }
  known?.view.finalize();
  const params = figure.spec.params.map((p) => (p.name in now ? { ...p, value: now[p.name] } : p));
  const datasets = { rows: opened(study()).tables[figure.data], cells: study().cellRows };
  const { view } = await vegaEmbed(host, { ...figure.spec, height, params, datasets }, EMBED);
  views[place] = { view, host, figure };
  host.querySelector("svg").setAttribute("aria-label", `${all(`#${id} h2`)[0].textContent}${panel ? `: ${panel}` : ""}; its numbers are in the table below`);
  if (id === "u") view.addEventListener("click", (_, item) => item?.datum?.alpha && set("alpha", study().alphas.indexOf(item.datum.alpha)));
}
function panels(id, plot, figure, rows) {
  const names = [...new Set(rows.map((row) => row[figure.panels]))];
  if (plot.dataset.names !== `${state.study} ${names}`) {
    plot.replaceChildren(...names.map((name) => html("div", {}, html("h3", {}, name), html("p"), html("div", { class: "chart" }))));
    plot.dataset.names = `${state.study} ${names}`;
  }
  return names.map((name, k) => {
    const one = rows.find((row) => row[figure.panels] === name);
    plot.children[k].children[1].textContent = figure.panels === "series" ? one.settings : "";
    return draw(id, plot.children[k].lastChild, figure, rows, name);
  });
}
// The errors in the thesis' colours: blue for the smallest, white for the median, red for the largest.
function heat(plot, rows) {
  const sorted = rows.map((r) => r.mean).filter((v) => v !== null).sort((a, b) => a - b), n = sorted.length;
  const middle = n % 2 ? sorted[(n - 1) / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2, [low, high] = [sorted[0], sorted[n - 1]];
  const mix = (a, b, share) => `rgb(${a.map((x, k) => Math.round(x + share * (b[k] - x))).join(", ")})`;
  const blue = [90, 138, 198], white = [252, 252, 255], red = [248, 105, 107], now = chosen();
  const shade = (v) => (v === null ? mix(red, red, 1) : v <= middle ? mix(blue, white, middle > low ? (v - low) / (middle - low) : 1) : mix(white, red, (v - middle) / (high - middle)));
  const series = [...new Set(rows.map((r) => r.series))], places = [...new Set(rows.map((r) => r.at))];
  const body = places.map((at) => {
    const line = series.map((s) => rows.find((r) => r.series === s && r.at === at)), some = line.filter(Boolean);
    const best = some.reduce((a, b) => ((b.diverged > 0) - (a.diverged > 0) || (b.mean ?? Infinity) - (a.mean ?? Infinity)) < 0 ? b : a);
    const choose = () => set("alpha", study().alphas.indexOf(best.alpha));
    const name = best.alpha === null ? "–" : html("button", { type: "button", title: "choose this α", click: choose }, at);
    return html("tr", { "aria-current": best.alpha !== null && best.alpha === now.alpha ? "true" : null }, html("th", { scope: "row" }, name), ...line.map((row) => {
      if (!row) return html("td", { class: "none" }, "·");
      const td = html("td", { "data-value": row.mean }, html(row === best ? "b" : "span", {}, row.text));
      if (state.published && row.old) td.append(html("small", { class: "printed" }, row.old));
      const further = row.settings.split(", ").filter((s) => !/^[αλ] =/.test(s)).join(", ");
      for (const text of [further, row.diverged && `${row.diverged} of ${row.n} diverged`]) if (text) td.append(html("small", {}, text));
      td.style.backgroundColor = shade(row.mean);
      return td;
    }));
  });
  plot.replaceChildren(html("table", { class: "heat" }, html("thead", {}, html("tr", {}, ...["α", ...series].map((s) => html("th", { scope: "col" }, s)))), html("tbody", {}, ...body)));
}

// ---- everything follows the state
async function render() {
  document.documentElement.dataset.theme = state.theme || (isDark() ? "dark" : "light");
  controls();
  const waiting = all("[data-figure]").flatMap((section) => {
    const figure = study().figures[section.id], plot = section.querySelector(".plot"), details = section.querySelector("details");
    const rows = figure ? shownRows(figure) : [];
    section.hidden = !rows.length && section.id !== "diverged";
    section.querySelector(".tools").hidden = plot.hidden = !rows.length;
    if (details.open) details.lastChild.replaceWith(table(figure, rows));
    if (!rows.length) return [];
    if (section.id === "heat") return [heat(plot, rows)];
    return figure.panels ? panels(section.id, plot, figure, rows) : [draw(section.id, plot, figure, rows)];
  });
  await Promise.all(waiting);
  document.body.dataset.drawn = String(Number(document.body.dataset.drawn || 0) + 1);
}
function set(name, value) {
  state[name] = value;
  if (name === "study") state.group = 0;
  if (name === "study" || name === "group") settle();
  const { name: which } = study();
  try { history.replaceState(null, "", `#${new URLSearchParams({ ...state, study: which, group: group().name, alpha: study().alphas[state.alpha], hidden: state.hidden.join("|") })}`); } catch { /* not allowed inside a frame */ }
  return render();
}
function settle() { Object.assign(state, { hidden: [], alpha: found().alpha, reference: found().reference, published: study().published }); }
function recall(said) {  // the address after # stores the choices, so that reloads and bookmarks keep them
  const place = (list, name) => Math.max(0, list.findIndex((item) => item.name === said.get(name)));
  state.study = place(studies, "study"); state.group = place(study().groups, "group");
  if (said.get("measure") === "area") state.measure = "area";
  settle();
  const alpha = study().alphas.indexOf(Number(said.get("alpha") ?? NaN));
  if (alpha >= 0) state.alpha = alpha;
  if (said.has("published")) state.published = said.get("published") === "true";
  if (said.get("reference") in group().methods) state.reference = said.get("reference");
  if (said.get("scope") === "alpha") state.scope = "alpha";
  if (["light", "dark"].includes(said.get("theme"))) state.theme = said.get("theme");
  state.hidden = (said.get("hidden") || "").split("|").filter(Boolean);
}
function controls() {
  const options = (id, names, now) => { byId(id).replaceChildren(...names.map(([value, name]) => html("option", { value }, name))); byId(id).value = now; };
  options("study", studies.map((s, k) => [k, s.name]), state.study);
  options("group", study().groups.map((g, k) => [k, g.name]), state.group);
  options("reference", Object.entries(group().methods), state.reference);
  const wanted = { study: studies.length > 1, group: study().groups.length > 1, alpha: study().alphas.length > 1, published: study().printing };
  for (const label of all("[data-control]")) label.hidden = !wanted[label.dataset.control];
  for (const radio of all("[name=measure]")) radio.checked = radio.value === state.measure;
  const name = study().alphaNames[state.alpha] ?? "";
  Object.assign(byId("alpha"), { max: Math.max(study().alphas.length - 1, 1), value: state.alpha });
  byId("alpha").setAttribute("aria-valuetext", name);
  byId("alpha-value").textContent = name;
  Object.assign(byId("published"), { checked: state.published, disabled: state.measure !== "tail" });
  byId("scope").value = state.scope;
  byId("theme").textContent = isDark() ? "Light" : "Dark";
  for (const [id, text] of Object.entries(found().words)) all(`[data-words="${id}"]`).forEach((node) => { node.textContent = text; });
  for (const card of all(".card[data-verdict]")) card.dataset.verdict = found().verdict;
  for (const node of all(".quantity")) node.textContent = study().quantity;
  for (const node of all(".at-alpha")) node.textContent = name ? `α = ${name}` : "its settings";
  for (const [id, pairs] of Object.entries({ facts: study().about, declared: study().declared })) {
    byId(id).replaceChildren(...Object.entries(pairs).flatMap(([term, text]) => [html("dt", {}, term), html("dd", {}, text)]));
  }
  const focused = document.activeElement?.value, lams = group().series.filter((s) => s.width < 2).map((s) => s.key);
  const none = lams.every((key) => state.hidden.includes(key)), toggle = (keys, hide) => set("hidden", [...state.hidden.filter((k) => !keys.includes(k)), ...(hide ? keys : [])]);
  const chips = group().series.map((s) => {
    const on = !state.hidden.includes(s.key), svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.innerHTML = `<path d="M1 6H21" fill="none" stroke="${s.colour}" stroke-width="${s.width}" stroke-dasharray="${s.dash}"/>`;
    svg.setAttribute("viewBox", "0 0 22 12");
    return html("label", {}, html("input", { type: "checkbox", value: s.key, checked: on, change: () => toggle([s.key], on) }), svg, s.label);
  });
  if (lams.length > 1) chips.push(html("button", { type: "button", value: "every λ", click: () => toggle(lams, !none) }, none ? "show every λ" : "hide every λ"));
  byId("methods").replaceChildren(byId("methods").firstElementChild, ...chips);
  if (focused) all("#methods input, #methods button").find((node) => node.value === focused)?.focus({ preventScroll: true });
}

// ---- the numbers as a table, and as CSV
const cell = (v) => (typeof v === "number" && !Number.isInteger(v) ? String(Number(v.toPrecision(4))) : String(v ?? ""));
function table({ columns }, rows) {
  const line = (tag, some) => html("tr", {}, ...some.map((v) => html(tag, tag === "th" ? { scope: "col" } : {}, cell(v))));
  const body = rows.map((row) => line("td", Object.values(columns).map((name) => row[name])));
  return html("table", {}, html("thead", {}, line("th", Object.keys(columns))), html("tbody", {}, ...body));
}
function download(id) {
  const figure = study().figures[id], field = (v) => (/[",\n\r]/.test(String(v ?? "")) ? `"${String(v).replaceAll('"', '""')}"` : String(v ?? ""));
  const lines = [Object.keys(figure.columns), ...shownRows(figure).map((row) => Object.values(figure.columns).map((name) => row[name]))];
  const url = URL.createObjectURL(new Blob([lines.map((line) => line.map(field).join(",") + "\n").join("")], { type: "text/csv" }));
  html("a", { href: url, download: `${study().name}-${id}.csv` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
for (const section of all("[data-figure]")) {
  const details = html("details", {}, html("summary", {}, "The numbers as a table"), html("div"));
  const show = () => { const figure = study().figures[section.id]; details.lastChild.replaceWith(details.open ? table(figure, shownRows(figure)) : html("div")); };
  details.addEventListener("toggle", show);
  section.append(html("div", { class: "tools" }, html("button", { type: "button", class: "csv", click: () => download(section.id) }, "Download CSV"), details));
}

// ---- events: the reader's choices and, if the page is served, new results
byId("controls").addEventListener("submit", (event) => event.preventDefault());
for (const [id, event, read] of [["study", "change", (n) => Number(n.value)], ["group", "change", (n) => Number(n.value)], ["alpha", "input", (n) => Number(n.value)],
  ["published", "change", (n) => n.checked], ["reference", "change", (n) => n.value], ["scope", "change", (n) => n.value]]) {
  byId(id).addEventListener(event, () => set(id, read(byId(id))));
}
for (const radio of all("[name=measure]")) radio.addEventListener("change", () => set("measure", radio.value));
byId("theme").addEventListener("click", () => set("theme", isDark() ? "light" : "dark"));
system.addEventListener("change", render);
let version = document.body.dataset.live;
async function renew() {
  const asked = async (name) => (await fetch(name, { cache: "no-store" })).json(), live = byId("live");
  try {
    const { version: now } = await asked("version");
    if (now !== version) {
      studies = (await asked("data")).studies;
      recall(new URLSearchParams(location.hash.slice(1)));
      await render();
      version = now;
    }
    live.className = ""; live.textContent = "live";
  } catch { live.className = "gone"; live.textContent = "the server has stopped"; }
}
recall(new URLSearchParams(location.hash.slice(1)));
byId("opening").hidden = !opening.length;
for (const { title, text, spec } of opening) {
  const place = html("div", { class: "chart" });
  all(".pictures")[0].append(html("div", { class: "picture" }, html("h2", {}, title), html("p", {}, text), place));
  await vegaEmbed(place, spec, EMBED);
  place.querySelector("svg").setAttribute("aria-label", text);
}
render();
if (version) { renew(); setInterval(() => { if (!document.hidden) renew(); }, 2000); }
