// Views of the state.
const programName = (program) => {
  const known = live.programs.find((one) => one.program === program);
  const name = known && known.name;
  // Two programs may have the same name.
  const isOnly = name && live.programs.filter((one) => one.name === name).length === 1;
  return isOnly ? name : name ? `${name} (${program})` : "program " + program;
};
// Prefix with the name of the program if there are several.
const ofProgram = (program) => (live.programs.length > 1 ? programName(program) + ", " : "");
const rankName = (program, rank) => ofProgram(program) + "rank " + rank;

const showSums = () => {
  const { total } = live;
  find("#sums").textContent = `${count(total.calls)} calls, ${count(total.slow + total.fast)} abnormal`;
};

const showOverview = () => {
  const rows = live.programs.map((one) => {
    const { loss } = one;
    const name = make("td", {}, one.name ? `${legible(one.name)} (${one.program})` : "program " + one.program);
    const numbers = [count(one.ranks), count(one.active), one.ranks ? count(one.step) : "none", count(loss.calls), count(loss.slow + loss.fast), time(loss.time)];
    return make("tr", {}, name, ...numbers.map((text) => make("td", { class: "n" }, text)));
  });
  find("#overview tbody").replaceChildren(...rows);
  const select = find("#program");
  if (select.options.length !== live.programs.length + 1) {
    const options = live.programs.map((one) => make("option", { value: one.program }, programName(one.program)));
    select.replaceChildren(make("option", { value: "" }, "all"), ...options);
    select.value = state.program;
  }
};

const showRanking = () => {
  const { ranking } = live;
  if (!ranking) return;
  const value = (one) => (ranking.by === "time" ? one.lost : one[ranking.by]) || 0;
  const text = (one) => (ranking.by === "time" ? time(one.lost) : short(value(one)));
  find("#by option[value=time]").textContent = ranking.waiting ? "waiting" : "time lost";
  const most = Math.max(1e-9, ...[...ranking.top, ...ranking.bottom].map(value));
  const list = find("#ranking .bars");
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.rank : null;
  const bar = (one) => {
    const key = one.program + "." + one.rank;
    const length = make("span", { class: "length" });
    length.style.width = Math.max(0.5, (100 * value(one)) / most) + "%";
    const button = make("button", { type: "button", "data-rank": key, "aria-pressed": String(state.ranks.includes(key)), on: { click: () => chooseRank(key) } },
      make("span", { class: "name" }, rankName(one.program, one.rank)), length, make("span", { class: "value" }, text(one)));
    return make("li", {}, button);
  };
  const left = ranking.ranks - ranking.top.length - ranking.bottom.length;
  const gap = ranking.bottom.length ? [make("li", { class: "gap" }, count(left) + " more ranks")] : [];
  list.replaceChildren(...ranking.top.map(bar), ...gap, ...ranking.bottom.map(bar));
  if (focused) find(`[data-rank="${CSS.escape(focused)}"]`, list)?.focus();
};

const inWindow = (step) => {
  if (state.from !== "" && step < Number(state.from)) return false;
  if (state.to !== "" && step > Number(state.to)) return false;
  return state.last === "" || step > lastStep() - Number(state.last);
};
const lastStep = () => Math.max(0, ...live.programs.map((one) => one.step));

const showSteps = () => {
  const marks = state.ranks.map((key, at) => ({ key, colour: "rank" + (at % 12), shape: at % 4 }));
  const items = marks.map(({ key, colour: name, shape }) => {
    const dot = make("canvas", { width: 14, height: 14, "aria-hidden": "true" });
    dot.style.width = dot.style.height = "14px";
    dot.style.border = "0";
    const to = dot.getContext("2d");
    to.fillStyle = colour(name);
    plots.steps.shape(to, [7, 7], shape, 5);
    to.fill();
    return make("li", {}, dot, rankName(...key.split(".").map(Number)));
  });
  find("#steps .legend").replaceChildren(...items);
  const points = [];
  for (const one of live.steps.values()) {
    const mark = marks.find(({ key }) => key === one.program + "." + one.rank);
    if (!mark || !inWindow(one.step)) continue;
    points.push({
      ...mark, key: [one.program, one.rank, one.step].join("."), x: one.step, y: one.slow + one.fast, one,
      text: `${rankName(one.program, one.rank)}, step ${one.step}: ${one.slow} too slow, ${one.fast} too fast, ${time(one.time)} lost`,
    });
  }
  plots.steps.set(points, { x: "step", y: "anomalies", whole: true, empty: state.ranks.length ? "No anomaly of these ranks in these steps." : "No rank is selected; select one in the list." });
};

// Filter of the function view.
const scope = () => {
  const [program, rank, step] = state.step ? state.step.split(".").map(Number) : [];
  if (state.within === "all" || program === undefined) return { from: state.from, to: state.to };
  return state.within === "rank" ? { program, rank } : { program, rank, from: step, to: step };
};

// Text of the range of steps, if there is one.
const inSteps = () => {
  const { from, to } = state;
  if (from === "" && to === "") return "";
  return from === "" ? ` until step ${to}` : to === "" ? ` since step ${from}` : from === to ? ` in step ${from}` : ` in steps ${from} to ${to}`;
};

// Shows the functions of the selection and their calls. A refresh changes neither the selected function nor the chart.
const showFunctions = async (isRefresh) => {
  // A refresh would replace the request of a selection, whose chart would stay empty.
  if (isRefresh && live.selection) return;
  const selection = isRefresh ? null : (live.selection = {});
  const given = await ask("functions", "/api/functions", { ...scope(), limit: 200 });
  if (live.selection === selection) live.selection = null;
  if (!given) return;
  const [program, rank, step] = state.step ? state.step.split(".") : [];
  const texts = { step: `step ${step} of ${rankName(Number(program), Number(rank))}`, rank: `all steps of ${rankName(Number(program), Number(rank))}`, all: "all ranks" + inSteps() };
  find("#scope").textContent = "Stored calls of " + (program === undefined ? texts.all : texts[state.within]) + ".";
  const known = given.rows.map((row) => ({ program: row[0], name: row[1], anomalies: row[2], time: row[4] }));
  const isChosen = (one) => one.name === state.function && (state.owner === "" || Number(state.owner) === one.program);
  if (!isRefresh && !known.some(isChosen)) Object.assign(state, { function: known.length ? known[0].name : "", owner: known.length ? String(known[0].program) : "" });
  const buttons = known.map((one) => make("li", {}, make("button", { type: "button", "aria-pressed": String(isChosen(one)), title: one.name, on: { click: () => go({ function: one.name, owner: String(one.program), record: "" }) } },
    ofProgram(one.program), make("bdi", {}, shortened(one.name, 40)), `: ${count(one.anomalies)}, ${time(one.time)}`)));
  const list = find("#functions .choices"), focused = list.contains(document.activeElement) ? document.activeElement.textContent.split(":")[0] : null;
  list.replaceChildren(...buttons);
  if (focused !== null) [...list.querySelectorAll("button")].find((one) => one.textContent.split(":")[0] === focused)?.focus();
  find("#functions").dataset.functions = known.length;
  if (!isRefresh) await showSamples();
};

const TIMES = ["entry", "runtime", "severity", "exclusive", "inclusive", "expected"];
const showSamples = async () => {
  const axes = { x: state.x, y: state.y, xTime: TIMES.includes(state.x), yTime: TIMES.includes(state.y), empty: "No call of this function is stored." };
  if (!state.function) return plots.functions.set([], axes);
  const given = await ask("samples", "/api/samples", { ...scope(), ...(state.owner === "" ? {} : { program: state.owner }), function: state.function, x: state.x, y: state.y, limit: 2000 });
  if (!given) return;
  const rows = given.rows.filter((row) => row[6] !== null && row[7] !== null);
  const least = (at) => rows.reduce((low, row) => Math.min(low, row[at]), Infinity);
  const from = { x: state.x === "entry" ? least(6) : 0, y: state.y === "entry" ? least(7) : 0 };
  const say = (axis, value) => `${axis} ${TIMES.includes(axis) ? time(value) : short(value)}`;
  const points = rows.map(([id, kind, label, program, rank, step, x, y]) => ({
    key: id, id, x: x - from.x, y: y - from.y, colour: kind === "anomaly" ? "alarm" : "rank1", shape: kind === "anomaly" ? 3 : 0,
    text: `${label}, ${rankName(program, rank)}, step ${step}: ${say(state.x, x - from.x)}, ${say(state.y, y - from.y)}`,
  }));
  const name = (axis) => (axis === "entry" ? "entry since the first" : axis);
  plots.functions.set(points, { ...axes, x: name(state.x), y: name(state.y) });
};

// Number of causes that are listed.
const CAUSES = 100;

// Largest number of slow ranks of a cause that are opened.
const OPENED = 12;

// Lists the causes of lost time in the sentences of the server. Slow ranks open their steps, another cause the calls
// of its function in its steps.
const showCauses = async () => {
  const given = await ask("causes", "/api/causes", { limit: CAUSES });
  const slow = given && (await ask("slow", "/api/slow", { limit: 1000 }));
  if (!slow) return;
  live.phases = slow.phases.flatMap((one) => one.steps);
  find("#causes .sentence").textContent = given.sentence;
  const list = find("#causes .found"), focused = list.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  const item = (one) => {
    const key = [one.kind, one.program, one.ranks[0], one.function].join(" ");
    const [from, to] = one.steps || ["", ""];
    const open = async () => {
      const ranks = one.ranks.slice(0, OPENED).map((rank) => one.program + "." + rank);
      if (ranks.length) return go({ ranks, step: ranks[0] + "." + from, within: "rank", from: String(from), to: String(to) });
      const call = await worstCall({ program: one.program, function: one.function, from, to });
      go({ within: "all", from: String(from), to: String(to), function: one.function, owner: String(one.program), record: call ? String(call.id) : "" });
    };
    const mark = make("span", { class: "kind" }, one.kind);
    return make("li", { "data-kind": one.kind }, make("button", { type: "button", "data-key": key, title: `${ofProgram(one.program)}${legible(one.function)}`, on: { click: open } }, mark, make("bdi", {}, ofProgram(one.program) + legible(one.sentence))));
  };
  list.replaceChildren(...given.causes.map(item));
  if (focused !== null) find(`[data-key="${CSS.escape(focused)}"]`, list)?.focus();
  const more = given.count - given.causes.length;
  const parts = [more && `and ${count(more)} more`, slow.late && `${count(slow.late)} calls arrived too late to be compared with those of other ranks`];
  find("#causes-status").textContent = given.count ? parts.filter(Boolean).join("; ") : "No time is lost.";
};

// Lists the functions that became slower or faster, which is context and no lost time. A change opens the calls of its
// function.
const showChanges = async () => {
  const given = await ask("changes", "/api/changes", { limit: CAUSES });
  if (!given) return;
  const place = find("#changes"), list = find(".found", place), focused = list.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  place.hidden = !given.count;
  const more = given.count - given.changes.length;
  find("summary", place).textContent = `Functions that became slower or faster (${count(given.count)}${more ? `, the first ${count(given.changes.length)} are listed` : ""})`;
  list.replaceChildren(...given.changes.map((one) => {
    const open = async () => {
      const call = await worstCall({ program: one.program, function: one.function });
      go({ within: "all", from: "", to: "", function: one.function, owner: String(one.program), record: call ? String(call.id) : "" });
    };
    const key = [one.program, one.function, one.step, one.to].join(" ");
    return make("li", {}, make("button", { type: "button", "data-key": key, title: `${ofProgram(one.program)}${legible(one.function)}`, on: { click: open } }, make("bdi", {}, ofProgram(one.program) + legible(one.sentence))));
  }));
  if (focused !== null) find(`[data-key="${CSS.escape(focused)}"]`, list)?.focus();
};

// Columns of the table of functions: name, value and text of a row.
const moments = (name, at) => [name, (one) => one.exclusive[at], time];
const COLUMNS = [
  ["Function", (one) => one.function, String],
  ["Calls", (one) => one.loss.calls, count],
  moments("Total", "sum"), moments("Mean", "mean"), moments("Deviation", "deviation"), moments("Least", "minimum"), moments("Most", "maximum"),
  ["Abnormal", (one) => one.loss.slow + one.loss.fast, count],
  ["In slow calls", (one) => one.loss.time + one.loss.waiting, time], ["Waiting", (one) => one.loss.waiting, time],
];
let profile = [];

// Returns the head of a table that a click on a column sorts. `keys` are the names in the selection of the column and of
// the order, and `at` and `isRising` their values.
const sortHead = (columns, [column, order], at, isRising) => columns.map(([name], place) => make("th", { scope: "col", class: place ? "n" : null, "aria-sort": place === at ? (isRising ? "ascending" : "descending") : null },
  make("button", { type: "button", "data-key": name, on: { click: () => go({ [column]: String(place), [order]: place === at && !isRising ? "1" : "" }, true) } }, name + (place === at ? (isRising ? " \u2191" : " \u2193") : ""))));
// Sorts rows by a value, which may be null.
const sortRows = (rows, value, isRising) => rows.sort((one, other) => {
  const [a, b] = [value(one), value(other)];
  return (isRising ? 1 : -1) * (typeof a === "string" ? a.localeCompare(b) : Number(a > b) - Number(a < b));
});

// Loads the statistics of all functions.
const showProfile = async () => {
  const given = await ask("profile", "/api/profile", { limit: 1000 });
  if (!given) return;
  profile = given.functions;
  drawProfile();
};

// Shows the statistics of the functions whose names contain the text of the filter, in the chosen order.
const drawProfile = () => {
  const at = Number(state.sort), isRising = state.rising === "1", [, value] = COLUMNS[at] || COLUMNS[8];
  const wanted = state.filter.toLowerCase();
  const rows = profile.filter((one) => one.function.toLowerCase().includes(wanted));
  sortRows(rows, value, isRising);
  const table = find("#profile table"), focused = table.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  const head = sortHead(COLUMNS, ["sort", "rising"], at, isRising);
  const open = (one) => async () => {
    const call = await worstCall({ program: one.program, function: one.function });
    go({ within: "all", function: one.function, owner: String(one.program), record: call ? String(call.id) : "" }, true);
    await showDistribution();
    for (const part of [".distribution", "#distribution-facts"]) find("#profile " + part).scrollIntoView({ block: "nearest" });
  };
  const body = rows.slice(0, 200).map((one) => make("tr", {}, ...COLUMNS.map(([, of, text], place) => place
    ? make("td", { class: "n" }, text(of(one)))
    : make("th", { scope: "row" }, make("button", { type: "button", "data-key": one.program + " " + one.function, title: legible(one.function), on: { click: open(one) } }, ofProgram(one.program), make("bdi", {}, shortened(one.function, 60)))))));
  table.replaceChildren(make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
  if (focused !== null) find(`[data-key="${CSS.escape(focused)}"]`, table)?.focus();
  find("#profile-status").textContent = rows.length > body.length ? `${count(body.length)} of ${count(rows.length)} functions` : `${count(rows.length)} ${rows.length === 1 ? "function" : "functions"}`;
};

// Largest number of abnormal calls that are marked in the picture of run times.
const MARKS = 500;

// Shows the run times of the selected function that the model of all ranks knows, what is normal, and its abnormal calls.
const showDistribution = async () => {
  const { owner: program, function: name } = state;
  live.distribution = name && live.distribution && live.distribution.key === program + " " + name ? live.distribution : null;
  const given = name ? await ask("distribution", "/api/distribution", { program, function: name }) : null;
  const stored = given && (await ask("marks", "/api/records", { kind: "anomaly", order: "severity", limit: MARKS, program, function: name }));
  if (stored) {
    const [id, label, runtime] = ["id", "label", "runtime"].map((column) => stored.columns.indexOf(column));
    const calls = stored.rows.map((row) => ({ id: String(row[id]), is: row[label], time: row[runtime] }));
    live.distribution = { key: program + " " + name, name: ofProgram(program) + legible(name), distribution: given.distribution, calls };
  }
  drawDistribution();
};

const drawDistribution = () => {
  const found = live.distribution, canvas = find("#profile .distribution");
  canvas.hidden = !found;
  find("#distribution-facts").textContent = found && found.distribution ? `${found.distribution.text}.` : "";
  if (!found) return;
  const width = Math.max(260, Math.min(800, Math.floor(find("#profile").getBoundingClientRect().width)));
  charts.distribution(canvas, width, found, found.calls, found.calls.find((one) => one.id === state.record) || null);
};

const NO_CALL = "No call is selected; select a point of a chart or a row of the query.";
const showCall = async () => {
  const place = find("#call .body");
  if (!state.record) return place.replaceChildren(make("p", { class: "note" }, NO_CALL));
  const given = await ask("call", "/api/record", { id: state.record });
  if (!given) return;
  callView(place, given);
  place.dataset.record = given.id;
};

const showRecords = async () => {
  const form = new FormData(find("#records form"));
  const values = Object.fromEntries(form);
  if (values.severity !== "") values.severity = Math.round(1000 * Number(values.severity));
  const given = await ask("records", "/api/records", values);
  if (!given) return;
  const at = Object.fromEntries(given.columns.map((name, place) => [name, place]));
  const names = ["Function", "Label", "Rank", "Step", "Time lost", "Run time", "Score"];
  const head = make("tr", {}, ...names.map((name, place) => make("th", { scope: "col", class: place > 1 ? "n" : null }, name)));
  const rows = given.rows.map((row) => {
    const open = make("button", { type: "button", title: row[at.function], on: { click: () => go({ record: String(row[at.id]) }) } }, make("bdi", {}, shortened(row[at.function], 60)));
    const numbers = [rankName(row[at.program], row[at.rank]), row[at.step], time(row[at.severity]), time(row[at.runtime]), row[at.score] === null ? "" : short(row[at.score])];
    return make("tr", {}, make("th", { scope: "row" }, open), make("td", { class: row[at.kind] === "anomaly" ? "abnormal" : null }, row[at.label]),
      ...numbers.map((text) => make("td", { class: "n" }, String(text))));
  });
  find("#records table").replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
  find("#records-status").textContent = rows.length ? `${count(rows.length)} calls` : "No call matches; relax a condition.";
};
