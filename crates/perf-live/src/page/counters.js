// Table of counters.

// Columns: name, value of a row, which may be null, and text of a row. Only the increase of a counter that accumulates
// means something, and other counters have none.
const level = (at) => (one) => (one.accumulates ? null : one.values[at]);
const highest = (one) => one.highest && (one.accumulates ? one.highest.increase : one.highest.values.mean);
const amount = (value) => (value === null ? "" : Math.abs(value) >= 1e3 && Math.abs(value) < 1e9 ? count(value) : short(value));
const COUNTER_COLUMNS = [
  ["Counter", (one) => one.counter, String],
  ["Ranks", (one) => one.ranks, (value, one) => count(value) + (one.more_ranks ? "+" : "")],
  ["Values", (one) => one.values.count, count],
  ["Mean", level("mean"), amount], ["Deviation", level("deviation"), amount],
  ["Smallest", (one) => one.values.minimum, amount], ["Largest", (one) => one.values.maximum, amount],
  ["Increase", (one) => (one.accumulates ? one.increase : null), amount],
  ["Highest rank", highest, (value, one) => (value === null ? "" : `rank ${one.highest.rank}: ${amount(value)}`)],
];
// Largest number of counters in the table.
const MOST_COUNTERS = 500;
let counters = { count: 0, dropped: 0, counters: [] };

// Loads the statistics of all counters.
const showCounters = async () => {
  const given = await ask("counters", "/api/counters", { limit: MOST_COUNTERS });
  if (!given) return;
  const isSame = JSON.stringify(given) === JSON.stringify(counters);
  counters = given;
  if (!isSame) drawCounters();
};

// Shows the statistics in the chosen order, at first in that of the server: those of which ranks differ most first.
const drawCounters = () => {
  const place = find("#counters"), table = find("table", place), rows = [...counters.counters];
  place.hidden = !rows.length;
  const at = COUNTER_COLUMNS[state.counters] ? Number(state.counters) : null, isRising = state.counting === "1";
  if (at !== null) sortRows(rows, COUNTER_COLUMNS[at][1], isRising);
  const focused = table.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  const head = sortHead(COUNTER_COLUMNS, ["counters", "counting"], at, isRising);
  const cell = (one) => ([, of, text], column) => column
    ? make("td", { class: "n" }, text(of(one), one))
    : make("th", { scope: "row", title: legible(one.counter) }, ofProgram(one.program), make("bdi", {}, shortened(one.counter, 60)));
  // Columns without a value are not shown.
  const shown = COUNTER_COLUMNS.map(([, of]) => rows.some((one) => of(one) !== null));
  const row = (cells) => make("tr", {}, ...cells.filter((_, column) => shown[column]));
  table.replaceChildren(make("thead", {}, row(head)), make("tbody", {}, ...rows.map((one) => row(COUNTER_COLUMNS.map(cell(one))))));
  if (focused !== null) find(`[data-key="${CSS.escape(focused)}"]`, table)?.focus();
  const parts = [
    rows.length < counters.count ? `${count(rows.length)} of ${count(counters.count)} counters` : `${count(rows.length)} ${rows.length === 1 ? "counter" : "counters"}`,
    rows.some((one) => one.accumulates) && "counters that only increase have no mean, but an increase from the first to the last value of each thread",
    counters.dropped && `${count(counters.dropped)} values are not counted: they are invalid (no numbers, negative numbers of events, or all bits), or there are too many counters`,
  ];
  find("#counters-status").textContent = parts.filter(Boolean).join("; ");
};
