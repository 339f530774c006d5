"use strict";
// Messages of a timeline: lines between the rows, a table and a matrix. `page` is the timeline.
perfkit.timelineMessages = (page) => {
  const { element, time, count } = perfkit, { section, data, state, find, moments, place, isServed } = page;
  const groups = data.groups, isShown = find(".messages"), sizes = perfkit.timelineSizes(page);
  // Share of the colours for a value between the least and the largest: on a logarithmic scale if they differ much.
  const scaled = (values) => {
    const positive = values.filter((value) => value > 0), least = Math.min(...positive), largest = Math.max(...positive), isLog = largest > 100 * least;
    return { isLog, least, largest, share: (value) => (!(value > 0) ? 0 : isLog ? Math.log(value / least) / Math.log(largest / least) : value / largest) };
  };
  const heat = (share) => data.heat[Math.round(Math.min(1, Math.max(0, share)) * (data.heat.length - 1))];

  // The messages as a matrix of the rows that are not unfolded: rows send, columns receive.
  let cellsOf = null;
  const matrix = (pairs, mean) => {
    const { layout } = page;
    const box = find(".matrix"), measure = find(".measure").value, rows = layout.rows.map((group, row) => [group, row]).filter(([group]) => !page.isOpen(group));
    box.hidden = !pairs.length || rows.length < 2;
    if (box.hidden) return;
    const left = layout.narrow ? 22 : 150, top = 22, side = Math.min(420, layout.width - left - 8), cell = side / rows.length, index = new Map(rows.map(([, row], at) => [row, at]));
    const value = (pair) => (measure === "mean" ? pair.times.filter((time) => time >= 0).reduce((sum, time, _, all) => sum + time / all.length, 0) : pair[measure]);
    const scale = scaled(pairs.map(value)), [context] = perfkit.fit(box, Math.min(layout.width, Math.max(left + side, 560)), top + side + 50);
    context.fillStyle = perfkit.variable("idle");
    context.fillRect(left, top, side, side);
    cellsOf = { rows, cell, left, top, found: new Map() };
    for (const pair of pairs) {
      const [x, y] = [index.get(pair.b), index.get(pair.a)], gap = cell > 8 ? 1 : 0;
      context.fillStyle = heat(scale.share(value(pair)));
      context.fillRect(left + x * cell, top + y * cell, Math.max(1, cell - gap), Math.max(1, cell - gap));
      cellsOf.found.set(y + "," + x, `${count(pair.number)} messages, ${perfkit.bytesText(pair.bytes)}, mean time ${mean(pair)}`);
    }
    axes(context, rows, { left, top, side, cell });
    key(context, scale, measure, [4, top + side + 16]);
    section.dataset.matrix = pairs.length;
  };
  // Names of both axes, and labels of the senders; the receivers have the same order.
  const axes = (context, rows, { left, top, side, cell }) => {
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "center";
    context.fillStyle = perfkit.variable("ink");
    context.fillText("Receiver, in the order of the senders", left + side / 2, top / 2, side);
    context.save();
    context.translate(10, top + side / 2);
    context.rotate(-Math.PI / 2);
    context.fillText("Sender", 0, 0);
    context.restore();
    if (left < 60) return;
    context.textAlign = "right";
    context.fillStyle = perfkit.variable("quiet");
    const every = Math.ceil(14 / cell), shown = rows.filter((_, at) => at % every === 0);
    perfkit.shortenedApart(shown.map(([group]) => groups[group].label), 18, 0.35).forEach((text, at) => context.fillText(text, left - 6, top + (at * every + 0.5) * cell, left - 26));
  };
  const QUANTITY = { bytes: ["bytes", perfkit.bytesText], number: ["messages", count], mean: ["mean time from sending to receipt", time] };
  const key = (context, { isLog, least, largest }, measure, [x, y]) => {
    const [words, write] = QUANTITY[measure], isKnown = largest > 0, low = write(isLog ? least : 0), length = 120;
    context.textAlign = "left";
    context.fillStyle = perfkit.variable("ink");
    context.fillText(isKnown ? low : "no value is known", x, y);
    context.fillStyle = perfkit.variable("quiet");
    context.fillText("Grey: no messages.", x, y + 18);
    if (!isKnown) return;
    const start = x + context.measureText(low).width + 8;
    for (let at = 0; at < length; at++) {
      context.fillStyle = heat(at / (length - 1));
      context.fillRect(start + at, y - 5, 1, 10);
    }
    context.fillStyle = perfkit.variable("ink");
    context.fillText(`${write(largest)}  ${words}${isLog ? ", logarithmic" : ""}`, start + length + 8, y);
  };
  find(".matrix").addEventListener("pointermove", (event) => {
    const bounds = event.target.getBoundingClientRect(), { left, top, cell } = cellsOf;
    const [x, y] = [event.clientX - bounds.left - left, event.clientY - bounds.top - top].map((at) => Math.floor(at / cell));
    const [from, to] = [cellsOf.rows[y], cellsOf.rows[x]];
    if (from && to) find(".pair").textContent = `${groups[from[0]].label} to ${groups[to[0]].label}: ${cellsOf.found.get(y + "," + x) || "no messages"}.`;
  });

  // Table of the messages between the visible rows. Bundles are counted at the time of the message that stands for them.
  const between = (pairs, isBundled) => {
    const { layout } = page;
    const box = find(".between"), body = box.querySelector("tbody"), most = 40;
    box.hidden = false;
    box.querySelector(".whole").textContent = `${moments(data.start + state.from)} to ${moments(data.start + state.from + state.span)}`;
    pairs.sort((a, b) => b.bytes - a.bytes || b.number - a.number || a.a - b.a || a.b - b.b);
    const label = (row) => element("td", {}, groups[layout.rows[row]].label);
    const figure = (text) => element("td", { class: "n" }, text);
    const mean = ({ number, times }) => {
      const forward = times.filter((time) => time >= 0);
      return times.length < number || !forward.length ? "unknown" : time(forward.reduce((sum, time) => sum + time, 0) / forward.length);
    };
    body.replaceChildren(...pairs.slice(0, most).map((pair) =>
      element("tr", {}, label(pair.a), label(pair.b), figure(count(pair.number)), figure(perfkit.bytesText(pair.bytes)), figure(mean(pair)))));
    matrix(pairs, mean);
    const early = pairs.reduce((sum, { times }) => sum + times.filter((time) => time < 0).length, 0);
    box.querySelector(".note").textContent = [
      pairs.length ? "" : "None.",
      pairs.length > most ? `${count(pairs.length - most)} more pairs have fewer bytes.` : "",
      isBundled ? "Numbers are approximate at the ends of the window: this page holds bundles of messages." : "",
      early ? `${count(early)} arrive before they are sent and are not in the mean times.` : "",
    ].filter(Boolean).join(" ");
  };

  // Each line is a message at its own times. Past the grid of the bundles it stands for itself alone.
  const lines = (context) => {
    const { layout, part } = page;
    section.dataset.bundles = section.dataset.hidden = 0;
    const links = isServed ? part && part.links : data.links, span = isServed && part ? part.span : data.span;
    if (!links) return part && part.awaitsLinks ? " The messages are being matched." : "";
    if (!isShown.checked) return " Messages are hidden.";
    const cache = new Map(), merged = new Map(), pairs = new Map();
    const row = (group) => {
      if (!cache.has(group)) cache.set(group, page.rowOf(group));
      return cache.get(group);
    };
    const scale = layout.plot / state.span, pitch = links.columns ? (span / links.columns) * scale : 0;
    const isPast = pitch > 2, reach = isPast ? pitch : 0;
    let drawn = 0, hidden = 0, blocks = 0, inside = isServed ? part.inside : 0, elsewhere = isServed ? part.elsewhere : 0;
    for (const [from, sent, to, received, number, bytes] of links.bundles) {
      const [x, y] = [place(sent), place(received)];
      const isNear = (by) => Math.max(x, y) >= layout.left - by && Math.min(x, y) <= layout.left + layout.plot + by;
      const isSent = sent >= state.from && sent < state.from + state.span;
      if (!isSent && !isNear(number > 1 ? reach : 0)) continue;
      const a = row(from), b = row(to);
      if (isSent && a >= 0 && b >= 0 && a !== b) {
        const key = a + "," + b, pair = pairs.get(key) || { a, b, number: 0, bytes: 0, times: [] };
        pair.number += number;
        pair.bytes += bytes;
        if (number === 1) pair.times.push(received - sent);
        pairs.set(key, pair);
      }
      if (!isNear(number > 1 ? reach : 0)) continue;
      // Of the members of an unfolded row only the row is known.
      if (page.isOpen(from) || page.isOpen(to)) { blocks += number; continue; }
      if (a < 0 || b < 0) { elsewhere += number; continue; }
      if (a === b) { inside += number; continue; }
      const one = isPast ? 1 : number;
      if (isPast) hidden += number - (isNear(0) ? 1 : 0);
      if (!isNear(0)) continue;
      drawn += one;
      const key = [a, b, Math.round(x / 2), Math.round(y / 2)].join();
      const bundle = merged.get(key) || { a, b, x, y, number: 0, bytes: 0 };
      bundle.number += one;
      bundle.bytes += bytes;
      merged.set(key, bundle);
    }
    const all = [...merged.values()].sort((a, b) => a.number - b.number);
    const most = all.length ? all[all.length - 1].number : 1;
    // Where many lines lie close they are fainter: what is below is seen through them.
    const length = all.reduce((sum, { a, b, x, y }) => sum + Math.hypot(y - x, page.middle(b) - page.middle(a)), 0);
    const covered = length / (layout.plot * layout.rows.length * layout.pitch);
    const faint = Math.min(0.4, Math.max(0.02, 0.03 / covered));
    page.clipped(context, () => all.forEach((bundle, index) => {
      context.strokeStyle = perfkit.variable("ink");
      const weight = most > 1 ? bundle.number / most : 0;
      context.globalAlpha = Math.min(0.7, faint * (1 + 2 * weight * weight));
      context.lineWidth = 0.8 + 1.4 * weight;
      context.beginPath();
      context.moveTo(bundle.x, page.middle(bundle.a));
      context.lineTo(bundle.y, page.middle(bundle.b));
      context.stroke();
      if (bundle.number > 1 && index >= all.length - 12) {
        context.globalAlpha = 1;
        context.font = "12px system-ui, sans-serif";
        context.lineWidth = 3;
        context.strokeStyle = perfkit.variable("paper");
        context.fillStyle = perfkit.variable("ink");
        const where = [(bundle.x + bundle.y) / 2 + 4, (page.middle(bundle.a) + page.middle(bundle.b)) / 2];
        context.strokeText(count(bundle.number), ...where);
        context.fillText(count(bundle.number), ...where);
      }
    }));
    between([...pairs.values()], Boolean(links.columns));
    sizes(part);
    section.dataset.bundles = all.length;
    section.dataset.hidden = hidden;
    const more = [
      hidden ? `up to ${count(hidden)} more are not drawn, since this page holds one of each bundle of ${time(span / links.columns)}` : "",
      inside ? `${count(inside)} are within one row` : "",
      blocks ? `${count(blocks)} are known between folded rows only` : "",
      elsewhere ? `${count(elsewhere)} go to rows that are not shown` : "",
    ].filter(Boolean).map((text) => "; " + text).join("");
    return ` Messages: ${count(drawn)} in view, lines at their true times${more}.`;
  };

  const exist = () => Boolean(isServed ? (page.part ? page.part.links || page.part.awaitsLinks : data.served.hasLinks) : data.links);
  return { lines, exist };
};
