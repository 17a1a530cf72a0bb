// The page itself: what the reader chose, the controls, the tools of each figure, and renewal when it is served.

let studies = JSON.parse(byId("data").textContent).studies;
const state = {
  study: 0, group: 0, measure: "tail", alpha: 0, published: true, reference: "", scope: "best", theme: "",
  hidden: new Set(),
};
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (state.theme ? state.theme === "dark" : prefersDark.matches);

function set(name, value) {
  state[name] = value;
  if (name === "study") state.group = 0;
  if (name === "study" || name === "group") settle();
  remember();
  render();
}
// What follows from the choice of a table and a group: the α at which the rule in question is best, and its rival.
function settle() {
  state.hidden.clear();
  state.alpha = Math.max(0, view.study.alphas.indexOf(view.found.alpha));
  state.reference = view.found.best;
  state.published = view.study.steps === view.study.printedSteps;
}
function toggle(keys, hide) {
  for (const key of keys) state.hidden[hide ? "add" : "delete"](key);
  remember();
  render();
}

// ---- choices live in the address after #, so that a reload or a bookmark keeps them
function remember() {
  const said = new URLSearchParams({
    study: view.study.name, group: view.group.name, measure: state.measure, alpha: String(view.alpha),
    published: String(state.published), reference: state.reference, scope: state.scope, theme: state.theme,
    hidden: [...state.hidden].join("|"),
  });
  try { history.replaceState(null, "", `#${said}`); } catch { /* a page inside another may not */ }
}
function recall(said) {
  const place = (list, name) => Math.max(0, list.findIndex((item) => item.name === said.get(name)));
  state.study = place(studies, "study");
  state.group = place(view.study.groups, "group");
  settle();
  const alpha = view.study.alphas.indexOf(Number(said.get("alpha") ?? NaN));
  if (alpha >= 0) state.alpha = alpha;
  if (said.get("measure") === "area") state.measure = "area";
  if (said.has("published")) state.published = said.get("published") === "true";
  if (view.group.methods.includes(said.get("reference"))) state.reference = said.get("reference");
  if (said.get("scope") === "alpha") state.scope = "alpha";
  if (["light", "dark"].includes(said.get("theme"))) state.theme = said.get("theme");
  state.hidden = new Set((said.get("hidden") || "").split("|").filter(Boolean));
}

// ---- everything is drawn anew from the state; the reader's place and focus stay
function render() {
  const focused = document.activeElement, host = focused?.closest?.(".plot"), chip = focused?.closest?.("#methods");
  const place = host ? [...host.querySelectorAll("svg, button")].indexOf(focused) : -1, mark = focused?.current?.();
  document.documentElement.dataset.theme = state.theme;
  tip.hide();
  words(view.study, view.found);
  controls(view.study);
  for (const section of document.querySelectorAll("[data-figure]")) {
    const plot = section.querySelector(".plot"), details = section.querySelector("details");
    const figure = figures[section.id], table = figure.rows();
    section.hidden = !table.rows.length && !figure.stays?.();
    plot.style.minHeight = `${plot.clientHeight}px`;  // or the page would jump
    plot.replaceChildren();
    if (!section.hidden) figure.draw(plot);
    plot.style.minHeight = "";
    section.querySelector(".tools").hidden = !table.rows.length;
    if (details.open) details.lastChild.replaceWith(asTable(table));
  }
  const again = host?.querySelectorAll("svg, button")[place];
  again?.focus({ preventScroll: true });
  if (mark) again?.restore?.(mark);
  if (chip) [...chip.querySelectorAll("input, button")].find((input) => input.value === focused.value)?.focus();
}

function controls(study) {
  const options = (id, names, chosen) => {
    byId(id).replaceChildren(...names.map((name, k) => html("option", { value: k }, name)));
    byId(id).value = chosen;
  };
  const place = view.methods.findIndex((m) => m.name === state.reference);
  options("study", studies.map((s) => s.name), state.study);
  options("group", study.groups.map((g) => g.name), state.group);
  options("reference", view.methods.map((m) => view.label(m)), place);
  const wanted = {
    study: studies.length > 1, group: study.groups.length > 1, alpha: study.alphas.length > 1,
    published: study.published.length > 0,
  };
  for (const label of document.querySelectorAll("[data-control]")) label.hidden = !wanted[label.dataset.control];
  for (const radio of document.querySelectorAll("[name=measure]")) radio.checked = radio.value === state.measure;
  Object.assign(byId("alpha"), { max: Math.max(study.alphas.length - 1, 1), value: state.alpha });
  byId("alpha").setAttribute("aria-valuetext", setting(view.alpha));
  say("alpha-value", setting(view.alpha));
  Object.assign(byId("published"), { checked: state.published, disabled: state.measure !== "tail" });
  byId("scope").value = state.scope;
  say("theme", isDark() ? "Light" : "Dark");
  const all = view.all(), lams = all.filter((s) => s.method?.kind === "fixed").map((s) => s.key);
  const none = lams.every((key) => state.hidden.has(key)), flip = () => toggle(lams, !none);
  const says = none ? "show every λ" : "hide every λ", chips = all.map(chip);
  if (lams.length > 1) chips.push(html("button", { type: "button", value: "every λ", click: flip }, says));
  byId("methods").replaceChildren(byId("methods").firstElementChild, ...chips);
}
function chip(s) {
  const colour = view.paint(s.colour), on = !state.hidden.has(s.key), change = () => toggle([s.key], on);
  const stroke = { stroke: colour, "stroke-width": s.strong ? 2.4 : 1.6, "stroke-dasharray": s.dash };
  const swatch = svg("svg", { viewBox: "0 0 22 12", "aria-hidden": "true" });
  swatch.append(svg("line", { x1: 1, x2: 21, y1: 6, y2: 6, ...stroke }));
  if (!s.dash) swatch.append(marker(s.shape, 11, 6, s.strong ? 3.6 : 2.8, { fill: colour }));
  const about = s.method ? s.method.about : "the least mean over all fixed λ, at each α";
  const input = html("input", { type: "checkbox", value: s.key, checked: on, change });
  return html("label", { title: about || null }, input, swatch, s.label);
}

// ---- the table and the CSV of what a figure shows
function asTable({ columns, rows }) {
  const shown = (v) => (typeof v === "number" && !Number.isInteger(v) ? num(v, 4) : String(v ?? ""));
  const head = html("tr", {}, columns.map((name) => html("th", { scope: "col" }, name)));
  const body = rows.map((row) => html("tr", {}, row.map((v) => html("td", {}, shown(v)))));
  return html("table", {}, html("thead", {}, head), html("tbody", {}, body));
}
function csv({ columns, rows }) {
  const plain = (v) => String(v ?? ""), quoted = (v) => `"${v.replaceAll('"', '""')}"`;
  const field = (v) => (/[",\n\r]/.test(plain(v)) ? quoted(plain(v)) : plain(v));
  return [columns, ...rows].map((row) => row.map(field).join(",")).join("\n") + "\n";
}
function download(name) {
  const url = URL.createObjectURL(new Blob([csv(figures[name].rows())], { type: "text/csv" }));
  html("a", { href: url, download: `${view.study.name}-${name}.csv` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
for (const section of document.querySelectorAll("[data-figure]")) {
  const details = html("details", {}, html("summary", {}, "The numbers as a table"), html("div", {}));
  details.addEventListener("toggle", () => {
    details.lastChild.replaceWith(details.open ? asTable(figures[section.id].rows()) : html("div", {}));
  });
  const button = html("button", { type: "button", class: "csv", click: () => download(section.id) }, "Download CSV");
  section.append(html("div", { class: "tools" }, button, details));
}

// ---- what the reader does
const on = (id, event, act) => byId(id).addEventListener(event, (happened) => act(happened.target));
byId("controls").addEventListener("submit", (event) => event.preventDefault());
for (const id of ["study", "group"]) on(id, "change", (select) => set(id, +select.value));
on("alpha", "input", (range) => set("alpha", +range.value));
on("published", "change", (box) => set("published", box.checked));
on("reference", "change", (select) => set("reference", view.methods[+select.value].name));
on("scope", "change", (select) => set("scope", select.value));
on("theme", "click", () => set("theme", isDark() ? "light" : "dark"));
for (const radio of document.querySelectorAll("[name=measure]")) {
  radio.addEventListener("change", () => set("measure", radio.value));
}
prefersDark.addEventListener("change", () => render());
let width = document.documentElement.clientWidth;
addEventListener("resize", () => {
  if (document.documentElement.clientWidth === width) return;
  width = document.documentElement.clientWidth;
  render();
});

// ---- served, the page asks now and then whether there are new results, and shows them in place
const asked = async (name) => (await fetch(name, { cache: "no-store" })).json();
async function renew() {
  const live = byId("live");
  try {
    const { version } = await asked("version");
    if (version !== renew.version) {
      const choices = new URLSearchParams(location.hash.slice(1));
      studies = (await asked("data")).studies;
      recall(choices);
      render();
      renew.version = version;
    }
    live.className = "";
    live.textContent = "live";
  } catch {
    live.className = "gone";
    live.textContent = "the server has stopped";
  }
}
recall(new URLSearchParams(location.hash.slice(1)));
render();
if (document.body.dataset.live) {
  renew.version = document.body.dataset.live;
  renew();
  setInterval(() => { if (!document.hidden) renew(); }, 2000);
}
