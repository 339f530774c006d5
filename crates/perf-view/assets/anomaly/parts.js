"use strict";
// Charts of anomalies: each draws data of the model into an element, and knows nothing of where it is from.
const perfkitAnomaly = (() => {
  const { element, count, time, percent, writer, scale, chart } = perfkit;
  const LEFT = 66, ABOVE = 44, BELOW = 42;
  const colourOf = (data, rank) => data.colours[rank % data.colours.length];
  const disc = (context, x, y, radius) => {
    context.beginPath();
    context.arc(x, y, radius, 0, 7);
    context.fill();
  };
  const box = (width, height) => [LEFT, ABOVE, width - LEFT - 14, height - ABOVE - BELOW];

  // Ticks at whole numbers, such as those of steps and counts.
  const whole = (of) => of.ticks.map(([share]) => [share, of.value(share)]).filter(([, value]) => value > -0.01 && Math.abs(value - Math.round(value)) < 1e-6)
    .map(([share, value]) => [share, count(value)]);

  // The ranks in order of a statistic, the highest first.
  const ranked = (data, by) => data.ranks.map((_, at) => at).sort((a, b) => data.ranks[b].values[by] - data.ranks[a].values[by] || a - b);

  // Bars of the highest and, where wanted, the lowest ranks.
  const ranking = (into, data, { by, top, lowest, chosen }, choose) => {
    const order = ranked(data, by), unit = writer(data.statistics[by][1]);
    const write = (value) => (data.statistics[by][1] === "" && Number.isInteger(value) ? count(value) : unit(value));
    const most = order.length ? data.ranks[order[0]].values[by] : 0;
    const bar = (at, faint) => {
      const { name, values } = data.ranks[at];
      const fill = element("span", { class: "fill" });
      fill.style.width = `calc((100% - 5.5em) * ${most > 0 ? Math.max(0, values[by]) / most : 0})`;
      fill.style.background = faint ? perfkit.variable("quiet") : colourOf(data, at);
      return element("button", { type: "button", "data-rank": at, "aria-pressed": String(at === chosen), on: { click: () => choose(at) } },
        element("span", { class: "name" }, name), element("span", { class: "rest" }, fill, element("span", {}, write(values[by]))));
    };
    const head = order.slice(0, top), tail = lowest ? order.slice(Math.max(top, order.length - top)) : [];
    const between = order.length - head.length - tail.length;
    into.replaceChildren(...head.map((at) => bar(at, false)),
      ...(between > 0 ? [element("span", { class: "gap" }, count(between) + " more ranks")] : []), ...tail.map((at) => bar(at, true)));
  };

  // Adds time that was lost in consecutive steps in equal parts. Long runs have groups of steps; few of them are enough for a picture.
  const spread = (first, last, lost, add) => {
    const parts = Math.min(64, last - first + 1);
    for (let at = 0; at < parts; at++) add(first + Math.floor(((last - first + 1) * at) / parts), lost / parts);
  };

  // Most cells that slow phases are added to.
  const MOST_CELLS = 200000;

  // First step of the column of a step. Data that are summed over `group` consecutive steps have columns of as many.
  const grouped = (data, step) => step - (step % (data.group || 1));

  // Number of columns of steps that fit a width.
  const columnsOf = (data, [first, last], width) => Math.max(1, Math.min(Math.ceil((last - first + 1) / (data.group || 1)), Math.floor(width / 2)));

  // Time that slow phases lost on a rank by step: an equal part on each one. Null if programs differ, or if these are too many cells.
  const phaseParts = (data) => {
    const parts = new Map(), ranks = data.ranks.length;
    for (const [first, last, lost] of data.phases || []) spread(first, last, lost / ranks, (at, part) => { const step = grouped(data, at); parts.set(step, (parts.get(step) || 0) + part); });
    const isOne = data.ranks.every((one) => one.program === data.ranks[0].program);
    return isOne && ranks * parts.size <= MOST_CELLS ? parts : null;
  };

  // Time lost by rank and step, in abnormal calls, on slow ranks, in new modes and in slow phases.
  const lostCells = (data) => {
    const cells = new Map();
    const add = (rank, at, found, lost) => {
      const step = grouped(data, at), key = rank + " " + step, one = cells.get(key) || { rank, step, found: 0, lost: 0 };
      one.found += found;
      one.lost += lost;
      cells.set(key, one);
    };
    for (const [rank, list] of data.steps) for (const [step, found, lost] of list) if (lost > 0) add(rank, step, found, lost);
    for (const [rank, first, last, lost] of [...(data.slow || []), ...(data.modes || [])]) spread(first, last, lost, (step, part) => add(rank, step, 0, part));
    const phases = phaseParts(data);
    if (phases) for (const [step, part] of phases) for (let rank = 0; rank < data.ranks.length; rank++) add(rank, step, 0, part);
    return [...cells.values()].sort((a, b) => b.lost - a.lost || a.rank - b.rank || a.step - b.step);
  };

  // First and last step with data.
  const range = (data, cells) => {
    let [first, last] = [Infinity, -Infinity];
    for (const [, list] of data.steps) for (const [at] of list) [first, last] = [Math.min(first, at), Math.max(last, at)];
    for (const one of cells) [first, last] = [Math.min(first, one.step), Math.max(last, one.step)];
    for (const [from, to] of data.phases || []) [first, last] = [Math.min(first, from), Math.max(last, to)];
    return first > last ? [0, 0] : [grouped(data, first), grouped(data, last) + (data.group || 1) - 1];
  };

  // Heat map of the time lost by rank and step. Ranks and steps that share a pixel show the most of one. Returns what is at a place.
  const heat = (canvas, width, data, { chosen, step, cells }) => {
    const ranks = data.ranks.length, height = Math.round(Math.min(420, Math.max(150, ABOVE + BELOW + 14 * ranks)));
    const [context] = perfkit.fit(canvas, width, height), inside = box(width, height);
    const [first, last] = range(data, cells), rows = Math.max(1, Math.min(ranks, Math.floor(inside[3]))), columns = columnsOf(data, [first, last], inside[2]);
    const column = (at) => Math.floor(((at - first) * columns) / (last - first + 1)), row = (rank) => Math.floor((rank * rows) / Math.max(1, ranks));
    const shown = new Map();
    // The worst cells come first.
    for (const one of cells) {
      const key = row(one.rank) * columns + column(one.step);
      if (!shown.has(key)) shown.set(key, one);
    }
    const most = cells.length ? cells[0].lost : 1, least = Math.max(most / 1e3, 1);
    const wide = inside[2] / columns, high = inside[3] / rows;
    // Edges at whole pixels, so that adjacent cells have no seams. Large cells have a gap of one pixel.
    const place = (one) => {
      const [[px, right], [py, below]] = [[inside[0], wide, column(one.step)], [inside[1], high, row(one.rank)]].map(([from, size, at]) => [Math.round(from + at * size), Math.round(from + (at + 1) * size)]);
      return [px, py, Math.max(1, right - px - (wide > 4 ? 1 : 0)), Math.max(1, below - py - (high > 4 ? 1 : 0))];
    };
    const x = scale(first, last + 1, "", Math.max(3, Math.round(inside[2] / 90)));
    const labels = [], every = Math.max(1, Math.ceil(ranks / Math.max(1, Math.floor(inside[3] / 16))));
    for (let at = 0; at < ranks; at += every) labels.push([1 - (row(at) + 0.5) / rows, String(data.ranks[at].rank)]);
    const without = (data.phases || []).length && !phaseParts(data) ? ", without slow phases of all ranks" : "";
    const words = `${what(data)} by rank and step${without}: ` + (cells.length ? `at most ${time(most)}, logarithmic` : "none");
    chart(context, inside, { x: whole(x), y: labels, xName: "step", yName: "rank", title: words });
    context.fillStyle = perfkit.variable("alarm");
    for (const one of shown.values()) {
      const share = most > least ? Math.log(Math.max(1, one.lost / least)) / Math.log(most / least) : 1;
      context.globalAlpha = 0.12 + 0.88 * share;
      context.fillRect(...place(one));
    }
    context.globalAlpha = 1;
    const marked = chosen === null ? (step === null ? cells[0] : null) : cells.find((one) => one.rank === chosen && (step === null || one.step === step));
    if (marked) {
      const [px, py] = place(marked);
      context.strokeStyle = perfkit.variable("ink");
      context.lineWidth = 2;
      context.strokeRect(px - 1, py - 1, Math.max(4, wide) + 1, Math.max(4, high) + 1);
    }
    canvas.setAttribute("aria-label", words + (cells.length ? `; the worst is step ${cells[0].step} of ${data.ranks[cells[0].rank].name}` : ""));
    return (px, py) => {
      if (px < inside[0] || py < inside[1] || px >= inside[0] + inside[2] || py >= inside[1] + inside[3]) return null;
      return shown.get(Math.floor((py - inside[1]) / high) * columns + Math.floor((px - inside[0]) / wide)) || null;
    };
  };

  // Calls that wait for others count only if no time was lost.
  const counts = (data, call) => call.is !== "normal" && call.lost > 0 && Boolean(call.waits) === Boolean(data.waiting);
  // What the pictures of lost time show.
  const what = (data) => (data.waiting ? "Waiting for others" : "Time lost");

  // What lost time: functions in abnormal calls, those with the most first, at most ten of them, then other causes.
  const losers = (data, cells) => {
    const lost = new Map();
    for (const call of data.calls) if (counts(data, call)) lost.set(call.model, (lost.get(call.model) || 0) + call.lost);
    const order = [...lost].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    const all = order.slice(0, 10).map(([name, sum]) => ({ name: data.names[name], sum, colour: data.name_colours[name], model: name }));
    const rest = order.slice(10), sum = (list) => list.reduce((to, one) => to + one[1], 0);
    if (rest.length) all.push({ name: `${count(rest.length)} other functions`, sum: sum(rest), colour: perfkit.variable("quiet"), models: new Set(rest.map(([name]) => name)) });
    const slow = (data.slow || []).reduce((to, one) => to + one[3], 0), modes = (data.modes || []).reduce((to, one) => to + one[3], 0);
    const phases = (data.phases || []).reduce((to, one) => to + one[2], 0);
    if (slow > 0) all.push({ name: "slow ranks", sum: slow, colour: perfkit.variable("ink"), ranks: true });
    if (modes > 0) all.push({ name: "new modes", sum: modes, colour: data.colours[4], modes: true });
    if (phases > 0) all.push({ name: "slow phases", sum: phases, colour: perfkit.variable("alarm"), phases: true });
    return all;
  };

  // Time lost by step, with functions stacked, on all ranks or on a chosen one; under the heat map, in the same columns. Returns what
  // is at a place.
  const stacked = (canvas, width, data, { chosen, step, cells, all }) => {
    const height = 190, [context] = perfkit.fit(canvas, width, height), inside = box(width, height), [first, last] = range(data, cells);
    const columns = columnsOf(data, [first, last], inside[2]), wide = inside[2] / columns;
    const column = (at) => Math.floor(((at - first) * columns) / (last - first + 1));
    const of = (call) => all.findIndex((one) => one.model === call.model || (one.models && one.models.has(call.model)));
    const sums = Array.from({ length: columns }, () => all.map(() => 0)), is = (rank) => chosen === null || rank === chosen;
    const ranks = new Map(data.ranks.map((rank, at) => [rank.program + " " + rank.rank, at]));
    for (const call of data.calls) {
      if (!counts(data, call) || !is(ranks.get(call.program + " " + call.rank))) continue;
      const at = of(call), into = sums[column(call.step)];
      if (at >= 0 && into) into[at] += call.lost;
    }
    const others = [[data.slow, all.findIndex((one) => one.ranks)], [data.modes, all.findIndex((one) => one.modes)]];
    for (const [list, which] of others) for (const [rank, from, to, lost] of list || []) {
      if (which >= 0 && is(rank)) spread(from, to, lost, (at, part) => { sums[column(at)][which] += part; });
    }
    // Slow phases are those of all ranks.
    const phases = all.findIndex((one) => one.phases);
    for (const [from, to, lost] of data.phases || []) {
      if (phases >= 0 && chosen === null) spread(from, to, lost, (at, part) => { sums[column(at)][phases] += part; });
    }
    const totals = sums.map((list) => list.reduce((to, one) => to + one, 0)), most = Math.max(1, ...totals);
    const x = scale(first, last + 1, "", Math.max(3, Math.round(inside[2] / 90))), y = scale(0, 1.05 * most, "ns", 4);
    const words = `${what(data)} by function and step${chosen === null ? "" : " on " + data.ranks[chosen].name}`;
    chart(context, inside, { x: whole(x), y: y.ticks, xName: "step", yName: data.waiting ? "time" : "time lost", title: words });
    const bottom = inside[1] + inside[3], places = [];
    sums.forEach((list, at) => {
      let above = bottom;
      list.forEach((lost, which) => {
        if (!(lost > 0)) return;
        const high = Math.max(0.7, (y.share(lost) - y.share(0)) * inside[3]), px = inside[0] + at * wide;
        above -= high;
        context.fillStyle = all[which].colour;
        context.fillRect(px, above, Math.max(1, wide - (wide > 4 ? 1 : 0)), high);
        places.push({ x: px, y: above, width: wide, height: high, which, lost, step: first + Math.floor((at * (last - first + 1)) / columns) });
      });
    });
    if (step !== null) {
      context.strokeStyle = perfkit.variable("ink");
      context.lineWidth = 2;
      context.strokeRect(inside[0] + column(step) * wide - 1, inside[1], Math.max(4, wide) + 1, inside[3]);
    }
    canvas.setAttribute("aria-label", words + (all.length ? `; most in ${all[0].name}, ${time(all[0].sum)}` : "; none"));
    return (px, py) => places.find((one) => px >= one.x && px < one.x + one.width && py >= one.y && py < one.y + one.height) || null;
  };

  // Names of what lost time with their colours. Those for which `pressed` is not null are buttons.
  const legend = (into, all, pressed, choose) => into.replaceChildren(...all.map((one) => {
    const swatch = element("span", { class: "swatch" }), is = pressed(one), words = element("span", {}, element("bdi", {}, perfkit.shortened(one.name, 40)), `: ${time(one.sum)}`);
    swatch.style.background = one.colour;
    return is === null ? element("span", { class: "entry", title: one.name }, swatch, words)
      : element("button", { type: "button", class: "entry", title: one.name, "aria-pressed": String(is), on: { click: () => choose(one) } }, swatch, words);
  }));

  // Arrow keys go from one point of a list to the next, Enter chooses it.
  const keys = (canvas, list, say, choose) => {
    let at = -1;
    canvas.addEventListener("keydown", (event) => {
      const all = list(), step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!all.length || event.ctrlKey || event.metaKey || event.altKey || (!step && event.key !== "Enter")) return;
      event.preventDefault();
      if (step) {
        at = (at + step + all.length) % all.length;
        say(all[at]);
      } else if (all[at]) choose(all[at]);
    });
  };

  // Pointer on a chart: `at` returns what is at a place, which is said, and chosen by a click.
  const pointed = (canvas, at, say, choose, leave) => {
    const of = (event) => {
      const bounds = canvas.getBoundingClientRect();
      return at(event.clientX - bounds.left, event.clientY - bounds.top);
    };
    canvas.addEventListener("pointermove", (event) => { const one = of(event); if (one) say(one); });
    canvas.addEventListener("click", (event) => { const one = of(event); if (one) choose(one); });
    canvas.addEventListener("pointerleave", leave);
  };

  // Counts by step and rank: points, of a chosen rank joined; what can be pointed at.
  const steps = (canvas, width, data, { by, top, chosen, step }) => {
    const height = Math.min(320, Math.max(260, Math.round(width * 0.6))), [context] = perfkit.fit(canvas, width, height), inside = box(width, height);
    const all = data.steps.flatMap(([rank, list]) => list.map(([at, found, lost]) => ({ rank, step: at, found, lost })));
    const numbers = [...all.map((one) => one.step), ...data.rest.map(([at]) => at)];
    let [first, last, most] = [Infinity, -Infinity, 1];
    for (const at of numbers) [first, last] = [Math.min(first, at), Math.max(last, at)];
    for (const one of all) most = Math.max(most, one.found);
    for (const one of data.rest) most = Math.max(most, one[4]);
    if (first > last) [first, last] = [0, 1];
    const x = scale(first - 0.5, last + 0.5, "", Math.max(3, Math.round(inside[2] / 90))), y = scale(-0.04 * most, 1.05 * most, "", 5);
    chart(context, inside, { x: whole(x), y: whole(y), xName: "step", yName: "abnormal calls of a rank", title: "Anomalies by step and rank" });
    const px = (at) => inside[0] + x.share(at) * inside[2], py = (found) => inside[1] + inside[3] * (1 - y.share(found));
    for (const [at, ranks, mean, deviation, largest] of data.rest) {
      context.fillStyle = perfkit.variable("idle");
      context.fillRect(px(at) - 1.5, py(largest), 3, py(0) - py(largest));
      context.fillStyle = perfkit.variable("quiet");
      context.fillRect(px(at) - 2, py(mean) - 1, 4, 2);
      context.fillRect(px(at) - 0.5, py(mean + deviation), 1, py(Math.max(0, mean - deviation)) - py(mean + deviation));
    }
    const high = new Set(ranked(data, by).slice(0, top));
    if (step !== null) {
      context.fillStyle = perfkit.variable("equal");
      context.fillRect(px(step) - 4, inside[1], 8, inside[3]);
    }
    if (chosen !== null) {
      context.strokeStyle = colourOf(data, chosen);
      context.lineWidth = 1;
      context.beginPath();
      all.filter((one) => one.rank === chosen).forEach((one, at) => context[at ? "lineTo" : "moveTo"](px(one.step), py(one.found)));
      context.stroke();
    }
    const shown = all.filter((one) => one.found > 0 || one.rank === chosen);
    shown.sort((a, b) => (a.rank === chosen) - (b.rank === chosen) || high.has(a.rank) - high.has(b.rank));
    for (const one of shown) {
      context.globalAlpha = chosen !== null && one.rank !== chosen ? 0.2 : 1;
      context.fillStyle = high.has(one.rank) || one.rank === chosen ? colourOf(data, one.rank) : perfkit.variable("quiet");
      disc(context, px(one.step), py(one.found), one.rank === chosen && one.step === step ? 5.5 : 3);
      context.globalAlpha = 1;
    }
    return shown.map((one) => ({ x: px(one.step), y: py(one.found), ...one }));
  };

  // What executions can be laid out by: name, unit, value, whether over factors.
  const AXES = [
    ["time of entry", "ns", (call) => call.call[1], false], ["run time", "ns", (call) => call.time, true], ["exclusive time", "ns", (call) => call.exclusive, true],
    ["time lost", "ns", (call) => call.lost, true], ["score", "", (call) => call.score, false], ["step", "", (call) => call.step, false],
    ["rank", "", (call) => call.rank, false], ["thread", "", (call) => call.thread, false],
  ];

  // Recorded calls in two axes: abnormal ones red, normal ones to compare with; what can be pointed at.
  const executions = (canvas, width, data, calls, { x: across, y: up, chosen, title }) => {
    const height = Math.min(320, Math.max(260, Math.round(width * 0.6))), [context] = perfkit.fit(canvas, width, height), inside = box(width, height);
    const axis = (at, most) => {
      const [name, unit, value, factors] = AXES[at], all = calls.map(value), positive = all.filter((found) => found > 0);
      let [low, high] = [Math.min(...all), Math.max(...all)];
      if (!all.length) [low, high] = [0, 1];
      const least = Math.min(...positive), log = factors && positive.length > 0 && high > 20 * least;
      const margin = (high - low) * 0.05 || 0.5;
      const of = log ? scale(least / 1.3, high * 1.3, unit, most, true) : scale(low - margin, high + margin, unit, most);
      const since = at === 0 && data.origin && data.origin !== "0" ? ", since the first one" : "";
      return { ...of, name: name + since + (log ? ", logarithmic" : ""), of: (call) => of.share(log ? Math.max(least, value(call)) : value(call)) };
    };
    const x = axis(across, Math.max(3, Math.round(inside[2] / 90))), y = axis(up, 5);
    chart(context, inside, { x: x.ticks, y: y.ticks, xName: x.name, yName: y.name, title });
    const places = calls.map((call) => ({ x: inside[0] + x.of(call) * inside[2], y: inside[1] + inside[3] * (1 - y.of(call)), call }));
    // Abnormal ones on top, the chosen one above all.
    places.sort((a, b) => (a.call === chosen) - (b.call === chosen) || (a.call.is !== "normal") - (b.call.is !== "normal"));
    for (const { x: px, y: py, call } of places) {
      context.fillStyle = perfkit.variable(call.is === "normal" ? "quiet" : "alarm");
      if (call.is === "normal") context.fillRect(px - 2.5, py - 2.5, 5, 5);
      else disc(context, px, py, 3.6);
      if (call !== chosen) continue;
      context.strokeStyle = perfkit.variable("ink");
      context.lineWidth = 2;
      context.beginPath();
      context.arc(px, py, 7, 0, 7);
      context.stroke();
    }
    return places;
  };

  // Run times of a function: counts, what is normal, thresholds, and its recorded calls.
  const distribution = (canvas, width, found, calls, chosen) => {
    const height = Math.min(320, Math.max(260, Math.round(width * 0.6))), [context] = perfkit.fit(canvas, width, height), inside = box(width, height);
    const of = found && found.distribution;
    if (!of) {
      chart(context, inside, { title: found ? `No distribution of ${found.name}` : "Select a function for its run times" });
      return;
    }
    const seen = [...of.bins.flatMap(([from, to]) => [from, to]), ...calls.map((call) => call.time)].map((found) => Math.max(1, found));
    const [least, largest] = [Math.min(...seen), Math.max(...seen)];
    // Thresholds far from all calls, such as 0, need not be seen.
    const times = [...seen, ...of.normal.flat().map((found) => Math.min(largest * 2, Math.max(least / 2, found)))];
    const x = scale(Math.min(...times) / 1.15, Math.max(...times) * 1.15, "ns", Math.max(3, Math.round(inside[2] / 90)), true);
    const most = Math.max(1, ...of.bins.map((bin) => bin[2])), high = (found) => Math.log10(1 + found) / Math.log10(1 + most) / 1.08;
    const ticks = [];
    for (let value = 1; value <= most * 1.2; value *= 10) ticks.push([high(value), count(value)]);
    const px = (found) => inside[0] + Math.min(1, Math.max(0, x.share(Math.max(1, found)))) * inside[2], bottom = inside[1] + inside[3];
    context.fillStyle = perfkit.variable("equal");
    for (const [from, to] of of.seen) context.fillRect(px(from), inside[1], Math.max(1, px(to) - px(from)), inside[3]);
    chart(context, inside, { x: x.ticks, y: ticks, xName: width < 420 ? "run time; shaded: observed and normal" : "run time, logarithmic; shaded: observed and normal", yName: "calls, logarithmic; red lines: limits of normal; triangles: abnormal calls", title: `Run times of ${perfkit.shortened(found.name, 60)}` });
    context.fillStyle = perfkit.variable("quiet");
    for (const [from, to, calls] of of.bins) context.fillRect(px(from), bottom - high(calls) * inside[3], Math.max(1.2, px(to) - px(from)), high(calls) * inside[3]);
    context.fillStyle = perfkit.variable("alarm");
    for (const threshold of of.normal.flat()) if (x.share(Math.max(1, threshold)) > 0) context.fillRect(px(threshold) - 0.75, inside[1], 1.5, inside[3]);
    for (const call of calls) {
      if (call.is === "normal") continue;
      const at = px(call.time), size = call === chosen ? 7 : 4;
      context.beginPath();
      context.moveTo(at, bottom - 12);
      context.lineTo(at - size, bottom - 12 - 2 * size);
      context.lineTo(at + size, bottom - 12 - 2 * size);
      context.closePath();
      context.fill();
    }
    canvas.setAttribute("aria-label", `Run times of ${found.name}: ${of.text}`);
  };

  // Calls by depth and time around one, and its messages as arrows to the lines of other ranks.
  const stack = (canvas, width, data, call) => {
    const levels = new Map(), bars = [], name = (one) => data.names[one[0]];
    [...call.stack, call.call].forEach((one, depth) => {
      levels.set(one[4], depth);
      bars.push({ one, depth, own: one === call.call });
    });
    // A caller that is not known was called from the innermost one that was entered before it.
    const below = (caller) => call.stack.filter((one) => one[4] < caller).length + 1;
    for (const one of [...call.before, ...call.after].sort((a, b) => a[4] - b[4])) {
      if (levels.has(one[4])) continue;
      const depth = one[5] === null ? 0 : levels.has(one[5]) ? levels.get(one[5]) + 1 : below(one[5]);
      levels.set(one[4], depth);
      bars.push({ one, depth, own: false });
    }
    const above = new Set(call.stack.map((one) => one[4])), near = [...call.before, ...call.after, call.call].filter((one) => !above.has(one[4]));
    const end = (one) => (one[2] === null ? one[1] : one[2]);
    let [low, high] = [Math.min(...near.map((one) => one[1])), Math.max(...near.map(end))];
    const margin = Math.max(1, (high - low) / 25);
    [low, high] = [low - margin, high + margin];
    const peers = [...new Set(call.messages.map((message) => message[2]))].sort((a, b) => a - b), shown = peers.slice(0, 12);
    const BAR = 24, depth = Math.max(...bars.map((bar) => bar.depth + 1)), left = width < 560 ? 56 : 76, span = width - left - 8;
    const foot = 6 + depth * BAR, lines = new Map(shown.map((rank, at) => [rank, foot + 22 + at * 24]));
    const axis = foot + (shown.length ? 16 + shown.length * 24 : 6), height = axis + 34;
    const [context] = perfkit.fit(canvas, width, height);
    const x = (at) => left + Math.min(1, Math.max(0, (at - low) / (high - low))) * span;
    context.textBaseline = "middle";
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = perfkit.variable("ink");
    context.fillText("rank " + call.rank, 2, 6 + BAR / 2 - 1, left - 6);
    const places = bars.map(({ one, depth: level, own }) => {
      const [from, to] = [x(one[1]), x(one[2] === null ? high : one[2])], wide = Math.max(2, to - from), y = 6 + level * BAR, abnormal = own || one[3];
      if (abnormal) {
        context.fillStyle = perfkit.variable("alarm");
        context.fillRect(from - 2, y, wide + 4, BAR - 2);
      }
      context.fillStyle = data.name_colours[one[0]];
      context.fillRect(from, y + 2, wide, BAR - 6);
      if (wide > 34) {
        context.font = (abnormal ? "600 " : "") + "12px system-ui, sans-serif";
        let text = name(one);
        while (text.length > 3 && context.measureText(text).width > wide - 10) text = text.slice(0, -3) + "..";
        context.globalAlpha = 0.88;
        context.fillStyle = perfkit.variable("paper");
        context.fillRect(from + 2, y + 3, context.measureText(text).width + 6, BAR - 8);
        context.globalAlpha = 1;
        context.fillStyle = perfkit.variable(abnormal ? "alarm" : "ink");
        context.fillText(text, from + 5, y + BAR / 2 - 1, wide - 6);
      }
      return { x: from, y, width: wide, height: BAR, one, name: name(one), abnormal };
    });
    context.font = "12px system-ui, sans-serif";
    context.lineWidth = 1;
    for (const [rank, line] of lines) {
      context.fillStyle = perfkit.variable("ink");
      context.fillText("rank " + rank, 2, line, left - 6);
      context.fillStyle = perfkit.variable("quiet");
      context.fillRect(left, line, span, 1);
    }
    const own = bars.find((bar) => bar.own), bottom = 6 + (own.depth + 1) * BAR - 3;
    context.strokeStyle = context.fillStyle = perfkit.variable("ink");
    const arrows = call.messages.filter((message) => lines.has(message[2]));
    for (const [at, sent, rank] of arrows) {
      const px = x(at), [from, to] = sent ? [bottom, lines.get(rank)] : [lines.get(rank), bottom], back = to > from ? -7 : 7;
      context.beginPath();
      context.moveTo(px, from);
      context.lineTo(px, to);
      context.stroke();
      context.beginPath();
      context.moveTo(px, to);
      context.lineTo(px - 4, to + back);
      context.lineTo(px + 4, to + back);
      context.closePath();
      context.fill();
    }
    context.fillStyle = perfkit.variable("quiet");
    context.fillRect(left, axis, span, 1);
    context.textAlign = "center";
    for (const [at, text] of perfkit.ticks(low, high, Math.max(2, span / 110), true)) {
      const half = context.measureText(text).width / 2;
      context.fillRect(x(at), axis, 1, 5);
      context.fillText(text, Math.min(Math.max(left + half, x(at)), left + span - half), axis + 14);
    }
    context.textAlign = "left";
    const more = peers.length - shown.length;
    const some = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;
    const words = `${some(arrows.length, "message")} with ${some(peers.length, "rank")}${more > 0 ? `, ${more} of them without a line` : ""}`;
    canvas.setAttribute("aria-label", `${name(call.call)} and the calls around it; ${words}`);
    return { places, arrows: arrows.length, words: call.messages.length ? words : "" };
  };

  return { ranked, heat, lostCells, grouped, losers, stacked, legend, keys, pointed, ranking, steps, executions, distribution, stack, AXES, colourOf, percent };
})();
