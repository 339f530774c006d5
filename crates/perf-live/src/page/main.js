// Selection of the reader, stored in the address so that a link restores it.
const USUAL = { by: "time", top: "8", bottom: "0", program: "", ranks: [], from: "", to: "", last: "", step: "", within: "step", function: "", owner: "", x: "entry", y: "runtime", record: "", sort: "8", rising: "", filter: "", counters: "", counting: "" };
let state = { ...USUAL };
// Data from the server.
const live = { programs: [], total: { calls: 0, slow: 0, fast: 0, time: 0 }, phases: [], map: null, distribution: null, ranking: null, steps: new Map(), paused: false, isLive: true, looked: 0, rest: 3000, isSelected: false, opened: null, selection: null };
const plots = {};
// Largest number of points that are kept.
const MOST = 20000;

const readAddress = () => {
  const given = new URLSearchParams(location.hash.slice(1));
  state = { ...USUAL, ranks: [] };
  for (const name of Object.keys(USUAL)) {
    if (!given.has(name)) continue;
    state[name] = name === "ranks" ? given.get(name).split(",").filter((key) => /^\d+\.\d+$/.test(key)).slice(0, 64) : given.get(name);
  }
  for (const name of ["by", "top", "bottom", "program", "from", "to", "last", "within", "x", "y", "filter"]) find("#" + name).value = state[name];
};

const writeAddress = (isNew) => {
  const values = new URLSearchParams();
  for (const [name, usual] of Object.entries(USUAL)) {
    const text = String(state[name]);
    if (text !== String(usual)) values.set(name, text);
  }
  history[isNew ? "pushState" : "replaceState"](null, "", "#" + values);
};

// Shows the new selection, and scrolls to it unless `isQuiet`.
const go = (change, isQuiet) => {
  const before = state;
  state = { ...state, ...change };
  writeAddress(true);
  follow(before, isQuiet);
};

// Number of ranks that are selected at first.
const FIRST_RANKS = 3;

// Selects the rank and step with the most time lost, their worst call and the highest ranks, once and
// only if the reader has selected nothing. If no call is abnormal yet, the first one is selected later.
const selectWorst = async () => {
  const isFree = () => state === live.opened || (!state.ranks.length && !state.step && !state.record);
  if (live.isSelected || !live.ranking || !live.map) return;
  const high = live.ranking.top.filter((one) => ((live.ranking.by === "time" ? one.lost : one[live.ranking.by]) || 0) > 0);
  const cell = live.map.cells.map(worstOf).find(([program]) => state.program === "" || program === Number(state.program));
  if (!high.length && !cell && isFree()) return;
  live.isSelected = true;
  if (!isFree()) return;
  // A slow rank may have no abnormal call in its worst step; then the worst call of the run is shown.
  const own = cell && (await worstCallOf(cell)), call = own || (await worstCall({ program: state.program }));
  live.isSelected = !!call;
  if (!isFree() || (!call && state === live.opened)) return;
  const before = state, ranks = high.slice(0, FIRST_RANKS).map((one) => one.program + "." + one.rank);
  const change = { ranks }, [program, number, step] = cell || (call ? [call.program, call.rank, call.step] : []);
  if (program !== undefined) {
    const rank = program + "." + number;
    change.ranks = [rank, ...ranks.filter((key) => key !== rank)].slice(0, FIRST_RANKS);
    change.step = rank + "." + step;
  }
  if (call) change.record = String(call.id);
  if (own || (call && !cell)) Object.assign(change, { function: call.function, owner: String(call.program) });
  state = { ...state, ...change };
  live.opened = state;
  writeAddress(false);
  follow(before, true);
  showRecords();
};

const follow = (before, isQuiet) => {
  const differs = (...names) => names.some((name) => String(before[name]) !== String(state[name]));
  for (const name of ["within", "from", "to"]) find("#" + name).value = state[name];
  if (differs("by", "top", "bottom", "program", "ranks")) listen();
  if (differs("ranks", "from", "to")) loadSteps();
  else if (differs("last")) showSteps();
  if (differs("step", "within") || (state.within === "all" && differs("from", "to"))) showFunctions();
  else if (differs("function", "owner")) showFunctions();
  else if (differs("x", "y")) showSamples();
  if (differs("sort", "rising", "filter")) drawProfile();
  if (differs("counters", "counting")) drawCounters();
  if (differs("record")) showCall();
  if (differs("function", "owner")) showDistribution();
  else if (differs("record")) drawDistribution();
  if (!isQuiet && change(before, "step")) find("#functions").scrollIntoView({ block: "nearest" });
  if (!isQuiet && change(before, "record")) find("#call").scrollIntoView({ block: "nearest" });
  showRanking();
  drawLost();
};
const change = (before, name) => state[name] && before[name] !== state[name];

const chooseRank = (key) => {
  const without = state.ranks.filter((known) => known !== key);
  go({ ranks: without.length < state.ranks.length ? without : [...without, key].slice(-12) });
};

const loadSteps = async () => {
  live.steps.clear();
  showSteps();
  if (!state.ranks.length) return;
  const given = await ask("steps", "/api/steps", { ranks: state.ranks.join(), from: state.from, to: state.to, limit: 10000 });
  if (!given) return;
  given.rows.forEach(keepStep);
  showSteps();
};

const keepStep = ([program, rank, step, slow, fast, lost]) => {
  const key = [program, rank, step].join(".");
  live.steps.delete(key);
  live.steps.set(key, { program, rank, step, slow, fast, time: lost });
  if (live.steps.size > MOST) live.steps.delete(live.steps.keys().next().value);
};

let source = null, again = 0, wait = 0;
const say = (text, isGone) => {
  const place = find("#state");
  if (place.textContent !== text) place.textContent = text;
  place.classList.toggle("gone", isGone);
};

// Receives events for the selection. Reconnects until the server is available again.
const listen = () => {
  if (source) source.close();
  clearTimeout(again);
  const values = Object.entries({ by: state.by, top: state.top || "0", bottom: state.bottom || "0", program: state.program, ranks: state.ranks.join() });
  const mine = (source = new EventSource("/events?" + new URLSearchParams(values.filter(([, value]) => value !== ""))));
  mine.onmessage = (event) => {
    wait = 0;
    say(live.paused ? "paused" : live.isLive ? "live" : "finished run", false);
    if (!live.paused) hear(JSON.parse(event.data));
  };
  mine.onerror = () => {
    say("no connection to the server; retrying", true);
    document.body.dataset.gone = "1";
    mine.close();
    if (mine !== source) return;
    wait = Math.min(5000, 2 * wait || 500);
    again = setTimeout(listen, wait);
  };
};

const showStore = ({ failure, unstored }) => {
  const place = find("#store");
  place.hidden = !failure;
  const text = failure ? `The database cannot be written: ${failure}. ${unstored} messages were not stored; the clients send them again.` : "";
  if (place.textContent !== text) place.textContent = text;
};

const hear = (news) => {
  showStore(news);
  Object.assign(live, { programs: news.programs, total: news.total, ranking: news.ranking });
  showSums();
  showOverview();
  showRanking();
  selectWorst();
  if (document.body.dataset.gone) {
    delete document.body.dataset.gone;
    loadSteps();
  }
  if (news.steps.length || state.last !== "") {
    news.steps.filter((row) => (state.from === "" || row[2] >= Number(state.from)) && (state.to === "" || row[2] <= Number(state.to))).forEach(keepStep);
    showSteps();
  }
  if (Date.now() - live.looked > live.rest) look();
  document.body.dataset.news = Number(document.body.dataset.news || 0) + 1;
};

// Refreshes the causes of lost time, the time lost and functions at most every 3 s, and less often if the answers take long.
// The chart of a function is refreshed until a step or function is selected.
const look = async () => {
  const began = Date.now();
  live.looked = Infinity;
  await showFunctions(Boolean(state.step || state.function));
  await showCauses();
  await showChanges();
  await showLost();
  await showProfile();
  await showCounters();
  await showDistribution();
  live.looked = Date.now();
  live.rest = Math.max(3000, 5 * (live.looked - began));
};

const begin = async () => {
  const run = await ask("run", "/api/run");
  if (!run) {
    say("no connection to the server; retrying", true);
    return setTimeout(begin, 1000);
  }
  live.isLive = run.live;
  find("#pause").hidden = !run.live;
  for (const name of ["x", "y"]) find("#" + name).replaceChildren(...run.axes.map((axis) => make("option", {}, axis)));
  plots.steps = plots.steps || new Scatter(find("#steps"), ({ one }) => go({ step: [one.program, one.rank, one.step].join("."), within: state.within === "all" ? "step" : state.within, function: "", owner: "", record: "" }));
  plots.functions = plots.functions || new Scatter(find("#functions"), ({ id }) => go({ record: String(id) }));
  Object.assign(live, { programs: run.programs, total: run.total });
  showStore(run);
  showSums();
  showOverview();
  readAddress();
  listen();
  await Promise.all([loadSteps(), showFunctions(), showCall(), showRecords(), showCauses().then(showChanges).then(showLost), showProfile().then(showDistribution), showCounters()]);
  document.body.dataset.ready = "1";
};

for (const name of ["by", "top", "bottom", "program", "from", "to", "last", "within", "x", "y"]) {
  find("#" + name).addEventListener("change", (event) => go({ [name]: event.target.value }));
}
find("#filter").addEventListener("input", (event) => {
  state.filter = event.target.value;
  writeAddress(false);
  drawProfile();
});
find("#pause").addEventListener("click", (event) => {
  live.paused = !live.paused;
  event.target.setAttribute("aria-pressed", String(live.paused));
  event.target.textContent = live.paused ? "Resume" : "Pause";
  say(live.paused ? "paused" : "live", false);
  if (!live.paused) { listen(); loadSteps(); }
});
const repaint = () => Object.values(plots).forEach((plot) => plot.draw());
perfkit.onPaint(() => { repaint(); drawLost(); drawDistribution(); if (plots.steps) showSteps(); });
find("#records form").addEventListener("submit", (event) => {
  event.preventDefault();
  showRecords();
});
addEventListener("popstate", () => {
  const before = state;
  readAddress();
  follow(before);
});
listenLost();
begin();
