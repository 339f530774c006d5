// Heat map of the time lost by rank and step, and below it the time lost by function and step, drawn
// with the charts of the pages of recordings.
const charts = perfkitAnomaly;
// Numbers of functions for their colours, which do not change while the page is open. Red is the colour of slow phases.
const functionNumbers = new Map();
let lostAt = () => null, partAt = () => null;

// Loads the matrix of the server. The functions come from stored calls.
const showLost = async () => {
  const given = await ask("lost", "/api/lost");
  if (!given) return;
  const found = await ask("stacked", "/api/stacked", { group: given.steps, limit: 10000 });
  live.map = lostMap(given, found ? found.rows : []);
  drawLost();
  selectWorst();
};

// Turns the answers into the data of the charts.
const lostMap = ({ steps: group, rows, cells, missing, waiting }, stored) => {
  const names = [], owners = [], numbers = new Map();
  const numberOf = (program, name) => {
    const key = program + " " + name;
    if (!functionNumbers.has(key)) functionNumbers.set(key, functionNumbers.size);
    if (!numbers.has(key)) {
      numbers.set(key, names.length);
      names.push(ofProgram(program) + legible(name));
      owners.push({ program, name, number: functionNumbers.get(key) });
    }
    return numbers.get(key);
  };
  const calls = stored.map(([program, name, step, lost]) => ({ is: "anomaly", model: numberOf(program, name), step, lost, waits: waiting }));
  const ranks = rows.map(([program, rank, last]) => ({ program, rank, last, name: rankName(program, rank === last ? rank : `${rank} to ${last}`).replace(/rank (?=\d+ to )/, "ranks ") }));
  const data = {
    group, ranks, calls, names, waiting, colours: Array.from({ length: 12 }, (_, at) => colour("rank" + at)),
    steps: ranks.map((_, at) => [at, []]), phases: live.phases,
    slow: cells.filter((cell) => cell[4] > 0).map(([row, step, , , slow]) => [row, step, step + group - 1, slow]),
    modes: cells.filter((cell) => cell[7] !== 0).map(([row, step, , , , , , lost]) => [row, step, step + group - 1, lost]),
  };
  // The last step of the run, in which nothing may be lost, is in the picture too.
  if (ranks.length) data.steps[0][1].push([lastStep(), 0, 0]);
  const worst = new Map();
  for (const [row, step, anomalies, lost, , rank, at] of cells) {
    data.steps[row][1].push([step, anomalies, lost]);
    worst.set(row + " " + step, [ranks[row].program, rank, at]);
  }
  const sum = (place) => cells.reduce((all, cell) => all + cell[place], 0);
  return { data, owners, worst, missing, calls: sum(3), slow: sum(4), modes: sum(7), cells: charts.lostCells(data) };
};

// Rank and step of a cell that lost the most. A cell of a slow phase stands for its first ones.
const worstOf = (cell) => live.map.worst.get(cell.rank + " " + cell.step) || [live.map.data.ranks[cell.rank].program, live.map.data.ranks[cell.rank].rank, cell.step];

// Returns the abnormal call with the most time lost among some, or null if there is none.
const worstCall = async (where) => {
  const given = await ask("first", "/api/records", { kind: "anomaly", order: "severity", limit: 1, ...where });
  return given && given.rows.length ? Object.fromEntries(given.columns.map((name, place) => [name, given.rows[0][place]])) : null;
};
const worstCallOf = ([program, rank, step]) => worstCall({ program, rank, from: step, to: step });

// Selects the rank and step of a cell that lost the most, with its functions and its worst call. The heat map stays
// in sight, for the next cell.
const chooseCell = async (cell) => {
  const worst = worstOf(cell), call = await worstCallOf(worst), key = worst.slice(0, 2).join(".");
  const ranks = [...state.ranks.filter((known) => known !== key).slice(-11), key], within = state.within === "all" ? "step" : state.within;
  const chosen = call ? { function: call.function, owner: String(call.program), record: String(call.id) } : { function: "", owner: "", record: "" };
  go({ ranks, step: worst.join("."), within, ...chosen }, true);
};

// What the times of the map are.
const said = () => (live.map.data.waiting ? "of waiting" : "lost");

const sayLost = () => {
  const { data, cells, calls, slow, modes, missing } = live.map, all = cells.reduce((sum, one) => sum + one.lost, 0);
  const phases = live.phases.reduce((sum, one) => sum + one[2], 0), other = Math.max(0, all - calls - slow - modes);
  const parts = [[calls, "in abnormal calls"], [slow, "in other calls of slow ranks"], [modes, "in other calls of slow modes"], [other, "in slow phases"]].filter(([lost]) => lost >= 1).map(([lost, where]) => `${time(lost)} ${where}`);
  const most = Math.max(1, ...data.ranks.map((one) => one.last - one.rank + 1));
  const merged = [[most, "ranks share a row"], [data.group, "steps share a column"]].filter(([of]) => of > 1).map(([of, what]) => `${count(of)} ${what}`);
  const left = [[missing, "of dropped steps"], [phases - other, "in slow phases"]].filter(([lost]) => lost >= 1).map(([lost, where]) => `${time(lost)} ${where}`);
  find("#lost .note").textContent = (data.waiting ? "No time was lost; the map shows calls that wait for others. " : "") + (parts.length ? `The cells add up to ${parts.length > 1 ? time(all) + ": " : ""}${parts.join(", ")}.` : data.waiting ? "" : "No time was lost.")
    + (left.length ? ` Not in them: ${left.join(", ")}.` : "") + (merged.length ? ` Up to ${merged.join(" and ")}.` : "");
};

const sayCell = (cell) => {
  const { data } = live.map, [program, rank, step] = worstOf(cell), { group } = data, row = data.ranks[cell.rank];
  const steps = group === 1 ? `step ${cell.step}` : `steps ${cell.step} to ${cell.step + group - 1}`;
  const most = group > 1 || row.last > row.rank ? `, most on ${rankName(program, rank)} in step ${step}` : "";
  find("#lost .status").textContent = `${row.name}, ${steps}: ${time(cell.lost)} ${said()}, ${count(cell.found)} abnormal ${cell.found === 1 ? "call" : "calls"}${most}.`;
};

const drawLost = () => {
  if (!live.map) return;
  const { data, cells, owners } = live.map, heat = find("#lost .heat"), stacked = find("#lost .stacked");
  const width = Math.max(260, Math.floor(find("#lost").getBoundingClientRect().width));
  data.name_colours = owners.map((one) => colour("rank" + (1 + (one.number % 11))));
  const lost = charts.losers(data, cells);
  const [program, rank, at] = state.step ? state.step.split(".").map(Number) : [], step = state.step ? charts.grouped(data, at) : null;
  const row = state.step ? data.ranks.findIndex((one) => one.program === program && one.rank <= rank && rank <= one.last) : null;
  lostAt = charts.heat(heat, width, data, { chosen: row, step, cells });
  partAt = charts.stacked(stacked, width, data, { chosen: null, step, cells, all: lost });
  stacked.hidden = !lost.length;
  const owner = (one) => (one.model === undefined ? null : owners[one.model]);
  const choose = async (one) => {
    const of = owner(one), call = of && (await worstCall({ program: of.program, function: of.name }));
    if (of) go({ within: "all", function: of.name, owner: String(of.program), record: call ? String(call.id) : "" }, true);
  };
  const pressed = (one) => { const of = owner(one); return of ? of.name === state.function && String(of.program) === state.owner : null; };
  const list = find("#lost .legend");
  const focused = list.contains(document.activeElement) ? document.activeElement.title : null;
  charts.legend(list, lost, pressed, choose);
  if (focused !== null) [...list.children].find((one) => one.title === focused)?.focus();
  live.map.lost = lost;
  live.map.choose = choose;
  heat.dataset.cells = cells.length;
  heat.dataset.worst = cells.length ? worstOf(cells[0]).join(".") : "";
  heat.dataset.drawn = Number(heat.dataset.drawn || 0) + 1;
  sayLost();
};

const listenLost = () => {
  const heat = find("#lost .heat"), stacked = find("#lost .stacked");
  const sayPart = (one) => { find("#lost .status").textContent = `Step ${one.step}: ${time(one.lost)} ${said()} in ${live.map.lost[one.which].name}.`; };
  const leave = () => { find("#lost .status").textContent = ""; };
  charts.pointed(heat, (x, y) => lostAt(x, y), sayCell, chooseCell, leave);
  charts.pointed(stacked, (x, y) => partAt(x, y), sayPart, (one) => live.map.choose(live.map.lost[one.which]), leave);
  charts.keys(heat, () => (live.map ? live.map.cells : []), sayCell, chooseCell);
  charts.keys(stacked, () => (live.map ? live.map.lost : []), (one) => { find("#lost .status").textContent = `${one.name}: ${time(one.sum)} ${said()}.`; }, (one) => live.map.choose(one));
};
