// What the page says in words.

const byId = (id) => document.getElementById(id);
const say = (id, words) => { byId(id).textContent = words; };

function words(study, found) {
  const runs = Math.max(...view.methods.map((m) => m.seeds));
  const task = study.task + (study.preset ? ` (${study.preset})` : "");
  const unfinished = `unfinished: ${count(study.done)} of ${count(study.wanted)} units done`;
  const about = [study.name, task, `${runs} runs of ${count(study.steps)} ${study.unit}`];
  say("title", study.title || study.name);
  say("subtitle", [...about, ...(study.done < study.wanted ? [unfinished] : [])].join(" · "));
  say("headline", found.headline);
  for (const id of ["which", "better", "sure"]) {
    byId(id).querySelector("h2").textContent = found[id].question;
    byId(id).querySelector(".short").textContent = found[id].short;
    byId(id).querySelector(".long").textContent = found[id].text;
    byId(id).dataset.verdict = id === "which" ? "" : found.verdict;
  }
  for (const node of document.querySelectorAll(".quantity")) node.textContent = study.quantity;
  const acting = `In each run an agent learns to act in ${study.task} while it acts; its cost is minus the return of `
    + "its episodes, so lower is better. α is the step size of its critic.";
  const measured = {
    value: "the error is the squared distance to the true values",
    rmsve: "the RMSVE is the root of the mean squared distance to the true values, states weighted by visits",
    rms: "the RMS error is the root of the mean squared distance to the true values, states weighted equally",
    rmspbe: "the RMSPBE is the root of the mean squared projected Bellman error",
  }[study.score];
  const predicting = `Each run learns the value of every state while it walks through ${study.task}; ${measured}, so lower `
    + "is better. α is the step size.";
  say("intro", (study.control ? acting : predicting) + " λ says how far back a reward is "
    + "credited: 0 to the last state alone, 1 to the whole past." + tuning());
  say("u-hint", uHint(study));
  for (const span of document.querySelectorAll(".at-alpha")) {
    span.textContent = view.alpha === null ? "its settings" : `α = ${setting(view.alpha)}`;
  }
  const warm = `In the warm-up, the first ${count(study.warmUp)} steps, rules that tune λ leave it at 1`
    + (study.control ? " and policies are frozen." : ".");
  say("shared", study.control ? "meet the same starts and the same noise on a seed" : "see the same trajectories");
  say("warm-up", study.warmUp ? warm : "");
  const source = study.byEye ? "what was read off the published figure" : "the published value";
  say("heat-hint", view.printing ? `Small below it: ${source}.` : "");
  say("published-name", study.byEye ? "points of the published figure" : "published values");
  lambdaWords(study);
  const total = (name) => view.methods.reduce((sum, m) => sum + m[name], 0);
  const lost = total("diverged"), all = `${count(total("runs"))} runs of these methods`;
  const some = `${count(lost)} of ${all} diverged: their estimates left every bound. `
    + "The share of runs at each α where any did:";
  say("diverged-hint", lost ? some : `None of the ${all} did.`);
  const pair = ([name, said]) => [html("dt", {}, name), html("dd", {}, said)];
  const list = (id, pairs) => byId(id).replaceChildren(...pairs.flatMap(pair));
  list("facts", Object.entries(study.about));
  list("declared", view.methods.map((m) => [m.name, [
    m.about, m.learner + (m.rule ? ` with ${m.rule}` : ""),
    m.truth === "exact" ? "" : `measured against the values of the ${m.truth}`, `${m.seeds} seeds`,
  ].filter(Boolean).join("; ")]));
}

function tuning() {
  const names = view.methods.filter((m) => m.kind === "tuned").map((m) => m.name), last = names.pop();
  if (!last) return "";
  return names.length ? ` ${names.join(", ")} and ${last} tune λ themselves.` : ` ${last} tunes λ itself.`;
}

function uHint(study) {
  const last = `final ${study.quantity} (the mean of the last ${study.tailPoints} of ${study.points} readings)`;
  const after = study.control && study.warmUp ? " after the warm-up" : "";
  const what = state.measure === "tail" ? last : `area under the learning curve (the mean of all readings${after})`;
  const other = study.steps === study.printedSteps ? "" : `, which are of ${count(study.printedSteps)} steps`;
  const eye = "read by eye off the published figure, whose protocol was another; a bar says how far off that may be";
  const printed = study.byEye ? eye : `the published values${other}`;
  return `Each point is the mean over runs of the ${what}; the band is its 95 % interval. “Best fixed λ” and κ are `
    + "chosen at each α in hindsight. Choose a point to see its α below."
    + (view.printing ? ` Open markers are ${printed}.` : "")
    + (view.methods.some((m) => m.diverged) ? " A cross: some of its runs diverged and are left out." : "");
}

function lambdaWords(study) {
  const where = study.layout, last = study.motions[0]?.steps.at(-1), many = where && where.live.length > 40;
  say("lambda-hint", where?.kind === "map" ? "The λ at the end at some observations, mean over runs."
    : "The λ of each state at the end, mean over runs. States where an episode ends have none.");
  const part = ` and followed for its first ${count(last || 0)} steps`;
  const far = last < (study.unit === "steps" ? study.steps : 0) ? part : " from its first step to its last";
  const rows = `A row is a state, a column a moment; ${isDark() ? "brighter" : "darker"} is closer to 1.`;
  const drawn = many ? "The line is the median over observations, the band holds 80 % of them." : rows;
  say("motion-hint", last ? `One run of each method at its best cell, done again${far}. ${drawn}` : "");
  const key = (id, wanted) => byId(id).querySelector(".key-place").replaceChildren(...(wanted ? [lambdaKey()] : []));
  key("lambda", where && where.kind !== "bars");
  key("motion", where && !many);
}
