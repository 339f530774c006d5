perfkit.view("anomaly", (section, data) => {
  const { element, count, time } = perfkit, parts = perfkitAnomaly;
  const find = (name) => section.querySelector(name);
  const status = find(".status"), ranksBox = find(".ranks"), stepsBox = find(".steps"), executionsBox = find(".executions"), distributionBox = find(".distribution");
  const byBox = find(".by"), topBox = find(".top"), lowest = find(".lowest"), xBox = find(".x"), yBox = find(".y");
  const callsBox = find(".calls tbody"), stackBox = find(".stack"), caption = find(".call figcaption"), path = find(".path"), about = find(".about");
  const asked = perfkit.linked(section.id), whole = (name) => (/^\d+$/.test(asked.get(name) || "") ? Number(asked.get(name)) : null);
  const within = (value, list) => (value !== null && value < list.length ? value : null);
  // Ranks are in order of time lost at first, and of anomalies if no time was lost.
  const USUAL = data.waiting ? 0 : data.statistics.findIndex(([, unit]) => unit === "ns"), word = data.waiting ? "of waiting" : "lost";
  const state = {
    by: within(whole("by"), data.statistics) ?? USUAL, rank: within(whole("rank"), data.ranks), step: whole("step"),
    function: within(whole("function"), data.functions), call: within(whole("call"), data.calls), x: 0, y: 1, focus: null,
  };
  const nameOf = (call) => data.names[call.call[0]];
  const of = (call) => data.ranks.findIndex((rank) => rank.program === call.program && rank.rank === call.rank);
  const places = new Map(data.calls.map((call) => [call, of(call)]));
  const here = (call) => (state.rank === null || places.get(call) === state.rank) && (state.step === null || call.step === state.step);
  const cells = parts.lostCells(data), heatBox = find(".heat"), stackedBox = find(".stacked"), legend = find(".legend");
  let lost = parts.losers(data, cells);
  // The worst call of the worst rank and step is selected at first.
  if (state.rank === null && state.step === null && state.function === null && state.call === null) {
    const abnormal = data.calls.filter((call) => call.is !== "normal");
    const worst = abnormal.find((call) => cells.length && places.get(call) === cells[0].rank && call.step === cells[0].step) || abnormal[0];
    if (worst) state.call = data.calls.indexOf(worst);
  }
  // Functions of several programs may have the same name; they have a program then.
  const isOf = (call, one) => data.names[call.model] === one.name && (one.program ?? call.program) === call.program;
  const labelOf = (one) => one.name + (one.program === undefined ? "" : ` of program ${one.program}`);
  const model = (call) => state.function === null || isOf(call, data.functions[state.function]);

  data.statistics.forEach(([name], at) => byBox.append(element("option", { value: at }, name)));
  byBox.value = state.by;
  parts.AXES.forEach(([name], at) => [xBox, yBox].forEach((select) => select.append(element("option", { value: at }, name))));
  xBox.value = state.x;
  yBox.value = state.y;

  // Width of the column of a chart.
  const column = (name) => {
    const columns = getComputedStyle(find(name)).gridTemplateColumns.split(" ");
    return Math.max(260, Math.floor(parseFloat(columns[columns.length - 1])) || 0);
  };
  let points = [], marks = [], stackPlaces = [], cellAt = () => null, partAt = () => null;
  const numberOf = (name) => data.functions.findIndex((one) => one.name === name);
  const chooseFunction = (name) => {
    const at = numberOf(name);
    if (at >= 0) go({ function: at === state.function ? null : at });
  };
  const legends = () => parts.legend(legend, lost, (one) => { const at = numberOf(one.name); return at < 0 ? null : at === state.function; }, (one) => chooseFunction(one.name));
  const overview = () => {
    cellAt = parts.heat(heatBox, Math.max(260, Math.floor(find(".tools").getBoundingClientRect().width)), data, { chosen: state.rank, step: state.step, cells });
    partAt = parts.stacked(stackedBox, Math.max(260, Math.floor(find(".tools").getBoundingClientRect().width)), data, { chosen: state.rank, step: state.step, cells, all: lost });
    stackedBox.hidden = legend.hidden = !lost.length;
    legends();
    const top = Number(topBox.value);
    parts.ranking(ranksBox, data, { by: state.by, top, lowest: lowest.checked, chosen: state.rank }, (at) => {
      go({ rank: at === state.rank ? null : at, step: null });
      const again = ranksBox.querySelector(`[data-rank="${at}"]`);
      if (again) again.focus();
    });
    points = parts.steps(stepsBox, column(".pair"), data, { by: state.by, top, chosen: state.rank, step: state.step });
  };
  const functions = () => {
    for (const row of section.querySelectorAll(".functions tbody tr")) {
      const at = Number(row.dataset.function), one = data.functions[at];
      const found = data.calls.filter((call) => call.is !== "normal" && here(call) && isOf(call, one)).length;
      row.querySelector(".here").textContent = count(found);
      row.classList.toggle("chosen", at === state.function);
      row.querySelector("button").setAttribute("aria-pressed", String(at === state.function));
    }
    const shown = data.calls.filter((call) => here(call) && model(call)), chosen = state.call === null ? null : data.calls[state.call];
    const title = state.function === null ? "Recorded calls" : `Recorded calls of ${perfkit.shortened(labelOf(data.functions[state.function]), 60)}`;
    marks = parts.executions(executionsBox, column(".trio"), data, shown, { x: state.x, y: state.y, chosen, title });
    const worst = state.function === null ? (chosen && data.functions.find((one) => isOf(chosen, one))) || data.functions[0] : data.functions[state.function];
    const own = worst ? data.calls.filter((call) => isOf(call, worst) && here(call)) : [];
    parts.distribution(distributionBox, column(".trio"), worst, own, chosen);
    callsBox.replaceChildren(...shown.filter((call) => call.is !== "normal").slice(0, 100).map((call) => {
      const at = data.calls.indexOf(call), button = element("button", { type: "button", "aria-pressed": String(at === state.call), title: nameOf(call), on: { click: () => { go({ call: at }); caption.focus(); } } }, perfkit.shortened(nameOf(call), 60));
      const cell = (text) => element("td", { class: "n" }, text);
      return element("tr", { "data-call": at, class: at === state.call ? "chosen" : "" }, element("th", { scope: "row" }, button),
        element("td", {}, `rank ${call.rank}, thread ${call.thread}`), cell(count(call.step)), cell(time(call.time)),
        cell(call.expected === null ? "" : time(call.expected)), cell(time(call.lost)), cell(call.score.toFixed(1)));
    }));
    section.dataset.calls = shown.length;
  };
  const call = () => {
    const found = state.call === null ? data.calls.find((one) => one.is !== "normal" && here(one) && model(one)) : data.calls[state.call];
    find(".call").hidden = !found;
    if (!found) return;
    const drawn = parts.stack(stackBox, column(".pair"), data, found);
    stackPlaces = drawn.places;
    const expected = found.expected === null ? "" : `, expected ${time(found.expected)}`;
    caption.textContent = `${perfkit.shortened(nameOf(found), 120)} on rank ${found.rank}, thread ${found.thread}${found.host ? " of " + found.host : ""}, step ${found.step}: ${found.is}, took ${time(found.time)}${expected}, ${time(found.lost)} ${found.waits ? "of waiting" : "lost"}`;
    const line = (one, abnormal) => element("li", abnormal ? { class: "abnormal" } : {}, data.names[one[0]] + (abnormal ? " (abnormal)" : ""));
    path.replaceChildren(...found.stack.map((one) => line(one, one[3])), line(found.call, found.is !== "normal"));
    const around = (name, list) => (list.length ? `${name}: ${list.map((one) => perfkit.shortened(data.names[one[0]], 60)).join(", ")}. ` : "");
    about.textContent = around("Before", found.before) + around("After", found.after) + (drawn.words ? drawn.words + ". " : "")
      + (found.launch ? `Launched by ${found.launch}. ` : "") + (found.repair ? `Its end was repaired: ${found.repair}. ` : "")
      + (found.counters.length ? `Counters: ${found.counters.map(([name, value]) => name + " " + value).join(", ")}. ` : "")
      + (found.cut[0] ? `${found.cut[0]} outer calls are not shown. ` : "") + (found.cut[1] ? `${found.cut[1]} messages are not shown. ` : "");
    section.dataset.stack = found.id;
    section.dataset.arrows = drawn.arrows;
  };
  const tell = () => {
    const where = [];
    if (state.rank !== null) where.push(data.ranks[state.rank].name);
    if (state.step !== null) where.push("step " + state.step);
    if (state.function !== null) where.push(labelOf(data.functions[state.function]));
    const found = data.calls.filter((one) => one.is !== "normal" && here(one) && model(one));
    const lost = found.reduce((sum, one) => sum + one.lost, 0);
    status.textContent = `${where.length ? where.join(", ") : "All ranks and steps"}: ${count(found.length)} abnormal ${found.length === 1 ? "call" : "calls"} recorded, ${time(lost)} longer than expected.`;
  };
  let pending = 0;
  const share = () => {
    clearTimeout(pending);
    const values = {};
    for (const name of ["by", "rank", "step", "function", "call"]) if (state[name] !== null && (name !== "by" || state.by !== USUAL)) values[name] = state[name];
    pending = setTimeout(() => perfkit.link(section.id, values), 250);
  };
  const paint = () => {
    overview();
    functions();
    call();
    for (const name of ["rank", "step", "function"]) section.dataset[name] = state[name] === null ? "" : state[name];
  };
  // Goes on from where one is; what no longer fits is let go.
  const go = (to) => {
    Object.assign(state, to);
    if (state.call !== null && !("call" in to) && !(here(data.calls[state.call]) && model(data.calls[state.call]))) state.call = null;
    paint();
    tell();
    share();
  };

  byBox.addEventListener("change", () => go({ by: Number(byBox.value) }));
  topBox.addEventListener("change", () => paint());
  lowest.addEventListener("change", () => paint());
  xBox.addEventListener("change", () => { state.x = Number(xBox.value); functions(); });
  yBox.addEventListener("change", () => { state.y = Number(yBox.value); functions(); });
  find(".all").addEventListener("click", () => go({ rank: null, step: null, function: null, call: null }));
  for (const row of section.querySelectorAll(".functions tbody tr")) {
    const at = Number(row.dataset.function);
    row.querySelector("button").addEventListener("click", () => go({ function: at === state.function ? null : at }));
  }

  const nearest = (canvas, all, event) => {
    const bounds = canvas.getBoundingClientRect(), x = event.clientX - bounds.left, y = event.clientY - bounds.top;
    let best = null, least = 14 * 14;
    for (const one of all) {
      const far = (one.x - x) ** 2 + (one.y - y) ** 2;
      if (far <= least) [best, least] = [one, far];
    }
    return best;
  };
  const sayStep = (one) => { status.textContent = `${data.ranks[one.rank].name}, step ${one.step}: ${count(one.found)} abnormal calls, ${time(one.lost)} ${word}.`; };
  const sayCall = (one) => { status.textContent = `${nameOf(one)} on rank ${one.rank}, step ${one.step}: ${one.is}, ${time(one.time)}${one.expected === null ? "" : ", expected " + time(one.expected)}, score ${one.score.toFixed(1)}.`; };
  parts.pointed(heatBox, (x, y) => cellAt(x, y), sayStep, (one) => go({ rank: one.rank, step: one.step }), tell);
  parts.pointed(stackedBox, (x, y) => partAt(x, y), (one) => { status.textContent = `Step ${one.step}: ${time(one.lost)} ${word} in ${lost[one.which].name}.`; }, (one) => {
    const at = numberOf(lost[one.which].name);
    go(at < 0 ? { step: one.step } : { step: one.step, function: at });
  }, tell);
  // A click on a heading sorts the functions, the largest first and names from A on; a second one turns the order around.
  const body = find(".functions tbody"), order = { key: "lost", falling: true };
  const valueOf = (row, key) => {
    const one = data.functions[Number(row.dataset.function)];
    return key === "name" ? one.name : /^\d$/.test(key) ? (one.quantiles ? one.quantiles[key] : -1) : one[key];
  };
  const heads = [...section.querySelectorAll(".functions .sort")];
  const sorted = () => heads.forEach((head) => head.parentElement.setAttribute("aria-sort", head.dataset.key !== order.key ? "none" : order.falling ? "descending" : "ascending"));
  for (const head of heads) {
    head.addEventListener("click", () => {
      const key = head.dataset.key;
      order.falling = order.key === key ? !order.falling : key !== "name";
      order.key = key;
      const turn = order.falling ? -1 : 1, compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
      const rows = [...body.children].map((row) => [valueOf(row, key), row]);
      body.append(...rows.sort((a, b) => turn * compare(a[0], b[0]) || a[1].dataset.function - b[1].dataset.function).map(([, row]) => row));
      sorted();
    });
  }
  sorted();
  stepsBox.addEventListener("pointermove", (event) => { const one = nearest(stepsBox, points, event); if (one) sayStep(one); });
  stepsBox.addEventListener("click", (event) => {
    const one = nearest(stepsBox, points, event);
    if (one) go({ rank: one.rank, step: one.step });
  });
  stepsBox.addEventListener("pointerleave", tell);
  executionsBox.addEventListener("pointermove", (event) => { const one = nearest(executionsBox, marks, event); if (one) sayCall(one.call); });
  executionsBox.addEventListener("click", (event) => {
    const one = nearest(executionsBox, marks, event);
    if (one) go({ call: data.calls.indexOf(one.call) });
  });
  executionsBox.addEventListener("pointerleave", tell);
  stackBox.addEventListener("pointermove", (event) => {
    const bounds = stackBox.getBoundingClientRect(), x = event.clientX - bounds.left, y = event.clientY - bounds.top;
    const one = stackPlaces.find((place) => x >= place.x - 2 && x <= place.x + place.width + 2 && y >= place.y && y < place.y + place.height);
    if (one) status.textContent = `${one.name}: ${one.one[2] === null ? "still open" : time(one.one[2] - one.one[1])}${one.abnormal ? ", abnormal" : ""}.`;
  });
  const ordered = () => points.filter((one) => state.rank === null || one.rank === state.rank).sort((a, b) => a.step - b.step || a.rank - b.rank);
  parts.keys(stackedBox, () => lost, (one) => { status.textContent = `${one.name}: ${time(one.sum)} ${word}.`; }, (one) => chooseFunction(one.name));
  parts.keys(heatBox, () => cells, sayStep, (one) => go({ rank: one.rank, step: one.step }));
  parts.keys(stepsBox, ordered, sayStep, (one) => go({ rank: one.rank, step: one.step }));
  parts.keys(executionsBox, () => [...marks].sort((a, b) => a.x - b.x || a.y - b.y), (one) => sayCall(one.call), (one) => go({ call: data.calls.indexOf(one.call) }));

  // Another theme has other colours.
  perfkit.onPaint(() => { lost = parts.losers(data, cells); paint(); });
  paint();
  tell();
});
