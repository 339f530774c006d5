// Facts with long values, which take a whole line.
const WIDE = ["function", "launched by", "model"];

// View of a call with its surroundings, stack and messages.
const callView = (place, given) => {
  const { record, model } = given;
  const nanos = (value) => (value === undefined || value === null ? null : BigInt(value));
  const all = [...(record.stack || []), ...(record.before || []), record.call, ...(record.after || [])];
  const origin = nanos(record.call.entry);
  const since = (value) => Number(nanos(value) - origin);
  const depth = new Map();
  (record.stack || []).forEach((call, at) => depth.set(call.number, at));
  const own = (record.stack || []).length;
  const deep = (call) => {
    if (!depth.has(call.number)) depth.set(call.number, depth.has(call.caller) ? depth.get(call.caller) + 1 : own);
    return depth.get(call.number);
  };
  const near = [...(record.before || []), record.call, ...(record.after || [])];
  const low = Math.min(...near.map((call) => since(call.entry)));
  const high = Math.max(1, ...near.map((call) => (call.exit === undefined ? 0 : since(call.exit))));
  const facts = [
    ["function", record.function], ["label", record.label], ["program, rank, thread", `${programName(record.program)}, ${record.rank}, ${record.thread}`],
    ["step", record.step], ["host", record.host], ["run time", time(record.runtime)],
    ["expected", record.expected === undefined ? null : time(record.expected)], [record.waits ? "waiting" : "time lost", time(record.severity)],
    ["score", record.score === null ? null : short(record.score)], ["repaired", record.repair],
    ["launched by", record.launch ? record.launch.path.join(" / ") : null],
    ["model", model ? `${model.detector}: ${model.text}` : null],
  ].filter(([, value]) => value !== null && value !== undefined);
  const list = make("dl", {}, ...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", WIDE.includes(name) ? { class: "wide" } : {}, legible(value))]));
  const frames = [...(record.stack || []), record.call].map((call) => {
    const took = call.exit === undefined ? "still open" : time(since(call.exit) - since(call.entry));
    const isRed = call.anomaly || (call === record.call && record.type === "anomaly");
    return make("li", isRed ? { class: "abnormal" } : {}, make("bdi", {}, legible(call.function)), ", " + took + (isRed ? ", abnormal" : ""));
  });
  const left = record.left_out && record.left_out.frames ? [make("p", { class: "note" }, `${record.left_out.frames} outer calls are not stored.`)] : [];
  const messages = (record.messages || []).map((one) => make("li", {},
    `${one.kind === "send" ? "sent to" : "received from"} rank ${one.rank}, tag ${one.tag}, ${one.bytes} bytes, ${time(since(one.at))} after its begin`));
  place.replaceChildren(
    list, make("div", { class: "scroll" }, timeline(all, { deep, since, low, high, record })),
    make("h3", {}, "Call stack, outermost first"), ...left, make("ol", { class: "stack" }, ...frames),
    ...(messages.length ? [make("h3", {}, "Messages"), make("ul", {}, ...messages)] : []),
    ...countersView(record, since),
  );
  place.dataset.frames = frames.length;
};

// Largest number of values of counters that are shown.
const COUNTERS = 100;

// Counters in a call in order of time, and the last values of those that describe its node.
const countersView = (record, since) => {
  const own = (record.counters || []).map((one) => ({ ...one, when: `${time(since(one.at))} after its begin` }));
  const all = [...own, ...(record.node || []).map((one) => ({ ...one, when: "of the node" }))];
  if (!all.length) return [];
  const value = (one) => (one.value === null ? "no number" : Number.isInteger(one.value) ? count(one.value) : short(one.value));
  const rows = all.slice(0, COUNTERS).map((one) => make("tr", {}, make("th", { scope: "row" }, make("bdi", {}, shortened(one.name, 60))),
    make("td", { class: "n" }, value(one)), make("td", {}, one.when)));
  const more = all.length > rows.length ? [make("p", { class: "note" }, `and ${count(all.length - rows.length)} more values`)] : [];
  return [make("h3", {}, "Counters"), make("div", { class: "scroll" }, make("table", { class: "counters" }, make("tbody", {}, ...rows))), ...more];
};

// Calls as bars by depth; below, a line for each rank with messages.
const timeline = (all, { deep, since, low, high, record }) => {
  const width = 1000, row = 20, room = (high - low) * 0.04;
  const x = (at) => Math.max(-5, Math.min(width + 5, ((at - low + room) / (high - low + 2 * room)) * width));
  const rows = Math.max(...all.map(deep)) + 1;
  const ranks = [...new Set((record.messages || []).map((one) => one.rank))].slice(0, 12);
  const height = rows * row + (ranks.length ? 14 + ranks.length * row : 0) + 6;
  const parts = all.map((call) => {
    const begin = x(since(call.entry)), end = call.exit === undefined ? width + 5 : x(since(call.exit));
    const isRed = call.anomaly || (call === record.call && record.type === "anomaly");
    const wide = Math.max(1.5, end - begin), top = deep(call) * row + 3;
    const name = wide > 40 ? legible(call.function).slice(0, Math.floor(wide / 7)) : "";
    return make("g", {}, make("title", {}, legible(call.function) + (isRed ? ", abnormal" : "")),
      make("rect", { class: "frame" + (isRed ? " red" : "") + (call === record.call ? " own" : ""), x: begin, y: top, width: wide, height: row - 3 }),
      make("text", { class: isRed ? "on" : "", x: Math.max(begin, 0) + 4, y: top + 13 }, name));
  });
  const lineOf = (rank) => rows * row + 20 + ranks.indexOf(rank) * row;
  for (const rank of ranks) {
    parts.push(make("line", { class: "rank", x1: 0, x2: width, y1: lineOf(rank), y2: lineOf(rank) }),
      make("text", { x: 4, y: lineOf(rank) - 3 }, "rank " + rank));
  }
  for (const one of (record.messages || []).filter((one) => ranks.includes(one.rank))) {
    const at = x(since(one.at)), own = (deep(record.call) + 1) * row, far = lineOf(one.rank), sent = one.kind === "send";
    const [from, to] = sent ? [own, far] : [far, own];
    const head = to > from ? -7 : 7;
    parts.push(make("g", { class: sent ? "send" : "receive" },
      make("title", {}, `${one.kind} ${one.bytes} bytes`),
      make("line", { x1: at, x2: at, y1: from, y2: to }),
      make("path", { d: `M${at} ${to} l-4 ${head} h8 z` })));
  }
  return make("svg", { class: "line", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "The selected call and the calls around it; the text below has the same facts" }, ...parts);
};
