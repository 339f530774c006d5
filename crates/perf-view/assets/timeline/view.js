"use strict";
perfkit.view("timeline", (section, data) => {
  const { element, time, percent, count } = perfkit;
  const find = (name) => section.querySelector(name);
  const canvas = find(".strips"), labels = find(".labels"), status = find(".status"), box = find(".rows"), content = find(".content"), view = find(".view"), closer = find(".closer");
  const chooser = find(".op"), filter = find(".filter");
  const IDLE = 0, ABSENT = 1, UNIFORM = 2, FIRST = 3, OTHERS = data.others[2], NUMBER = data.number[0];
  const groups = data.groups, levels = data.levels;
  for (const group of groups) [group.children, group.shares] = [[], group.shares || []];
  groups.forEach(({ parent }, at) => { if (parent !== null) groups[parent].children.push(at); });
  const INDENT = 12, AXIS = 26;

  // What the link of the page selects, at first and whenever it is edited or the reader goes back to it.
  const state = { row: null, at: null };
  const follow = () => {
    const asked = perfkit.linked(section.id);
    const number = (name, otherwise) => (Number.isFinite(parseFloat(asked.get(name))) ? parseFloat(asked.get(name)) : otherwise);
    state.from = number("from", 0);
    state.span = number("span", data.span);
    state.op = Math.max(0, data.ops.findIndex(([name]) => name === asked.get("op")));
    state.open = new Set((asked.get("open") || "").split(",").filter(Boolean).map(Number));
    // A single row opens unfolded: folded it would show no difference between its members.
    if (!asked.has("open") && hierarchy.roots.length === 1) state.open.add(hierarchy.roots[0]);
    chooser.value = state.op;
  };
  // A served page asks for the cells it shows, a page with all states computes them. Both are exact at every zoom.
  // All others hold cells at several resolutions.
  const isServed = data.served !== null, local = data.local && perfkit.local(data), isExact = isServed || Boolean(local);
  const finest = isExact ? 1 : levels[levels.length - 1].columns, resolution = data.span / finest;
  // In a shorter window a column of the finest level would take several pixels.
  const shortest = () => Math.min(data.span, isServed ? data.served.shortest : local ? Math.max(1, 16e9 / Number(data.local.rate)) : resolution * layout.plot);
  const clamp = () => {
    state.span = Math.min(data.span, Math.max(shortest(), state.span));
    state.from = Math.min(data.span - state.span, Math.max(0, state.from));
  };
  const isZoomed = () => state.span < data.span;

  const moments = (nanos) => perfkit.moment(nanos, state.span, Math.abs(data.start + state.from + state.span));

  data.ops.forEach(([name, words], at) => chooser.append(element("option", { value: at }, name + ": " + words)));
  // A single stream has the same cells with each operation that selects a state.
  const plain = data.ops.findIndex(([name]) => ["usual", "max", "min", "idle", "share"].includes(name));
  const decoded = new Map();
  const isMember = (group) => Boolean(data.members) && group >= data.members.first;
  const cells = (level, group) => {
    const { columns } = levels[level], held = isMember(group) ? data.members : levels[level];
    const op = held.cells[state.op][group] ? state.op : plain, key = level + "," + op + "," + group;
    if (!decoded.has(key)) {
      if (decoded.size > 4000) decoded.clear();
      const found = perfkit.pairs(held.cells[op][group], held.columns);
      // The columns of members are wider.
      const widened = (codes) => Uint8Array.from({ length: columns }, (_, at) => codes[Math.floor(((at + 0.5) * held.columns) / columns)]);
      decoded.set(key, held.columns === columns ? found : found.map(widened));
    }
    return decoded.get(key);
  };
  // Cells of an exact page: the last part that was computed, with the cells of its rows.
  let part = null;
  const sent = new Map();
  const served = (group) => {
    if (!sent.has(group)) sent.set(group, local ? part.rows[group] : perfkit.pairs(part.rows[group], part.columns));
    return sent.get(group);
  };
  // The columns on the screen: begin, length, number, and the cells of a row; null for cells that are not there yet.
  const grid = () => (isExact
    ? { from: part ? part.from : 0, span: part ? part.span : data.span, columns: part ? part.columns : 1, cells: (group) => (part && part.rows[group] !== undefined ? served(group) : null) }
    : { from: 0, span: data.span, columns: levels[layout.level].columns, cells: (group) => cells(layout.level, group) });
  const columnAt = ({ from, span, columns }, at) => Math.min(columns - 1, Math.max(0, Math.floor(((at - from) / span) * columns)));
  // Numbers of a row: those of the window, where they are known.
  const numbers = (group) => {
    const found = part && part.shares[group];
    return found ? { busy: found[0], shares: found[1], mpi: found[2] } : groups[group];
  };
  // The coarsest level whose columns are no wider than a pixel, or the finest.
  const levelFor = (pixels) => {
    const found = levels.findIndex((level) => level.columns * state.span / data.span >= pixels);
    return found < 0 ? levels.length - 1 : found;
  };

  // Colours by code and agreement, mixed with the paper.
  let shades = null;
  const prepare = () => {
    const paper = perfkit.rgb(perfkit.variable("paper"));
    const full = new Array(256).fill(perfkit.rgb(data.others[1]));
    data.states.forEach(([, colour], at) => (full[FIRST + at] = perfkit.rgb(colour)));
    full[NUMBER] = perfkit.rgb(data.number[1]);
    full[IDLE] = perfkit.rgb(perfkit.variable("idle"));
    full[ABSENT] = perfkit.rgb(perfkit.variable("absent"));
    full[UNIFORM] = perfkit.rgb(perfkit.variable("equal"));
    const working = perfkit.rgb(perfkit.variable("quiet"));
    shades = (code, agreement, shaded) => {
      // Idle is the most frequent state, but streams may work in several functions.
      if (code === IDLE && shaded) return full[IDLE].map((channel, at) => Math.round(working[at] + (agreement / 255) * (channel - working[at])));
      const share = code >= FIRST && (shaded || code === NUMBER) ? 0.35 + (0.65 * agreement) / 255 : 1;
      return full[code].map((channel, at) => Math.round(paper[at] + share * (channel - paper[at])));
    };
  };

  let layout = null;
  const measure = () => {
    const width = Math.max(280, box.clientWidth), narrow = width < 640, rows = hierarchy.visible();
    const strip = Math.min(48, Math.max(14, Math.floor((0.55 * innerHeight) / Math.max(1, rows.length)) - 2));
    const head = narrow ? 22 : 0, hasMpi = !narrow && rows.some((group) => groups[group].mpi > 0);
    // Names, and to their right the busy share and that of MPI.
    const longest = rows.reduce((longest, group) => Math.max(longest, label(group).length + 2 * depth(group)), 0);
    const shares = hasMpi ? 150 : 96, left = narrow ? 0 : Math.min(shares + 52 + 6.9 * longest, Math.max(shares + 124, Math.round(width * 0.3)));
    const pitch = strip + head + 2;
    layout = { width, narrow, shares, rows, rowOf: new Map(rows.map((group, row) => [group, row])), strip, head, left, pitch, plot: width - left - 2 };
    // The canvas shows the scrolled part of the rows, because canvases of thousands of rows exceed the limits of browsers.
    const height = rows.length * pitch + AXIS;
    layout.view = Math.min(height, Math.max(6 * pitch, Math.floor(0.68 * innerHeight)));
    content.style.height = height + "px";
    box.style.maxHeight = layout.view + "px";
    layout.top = Math.min(box.scrollTop, height - layout.view);
    layout.bottom = layout.top + layout.view - AXIS;
  };

  const place = (at) => layout.left + ((at - state.from) / state.span) * layout.plot;
  const moment = (x) => state.from + ((x - layout.left) / layout.plot) * state.span;

  const strips = (context, scale) => {
    const pixels = Math.max(1, Math.round(layout.plot * scale));
    if (!isExact) layout.level = levelFor(pixels);
    const shown = grid(), image = context.createImageData(pixels, 1);
    const line = document.createElement("canvas");
    line.width = pixels;
    line.height = 1;
    const brush = line.getContext("2d");
    context.imageSmoothingEnabled = false;
    let [fainter, stronger] = [false, false];
    layout.rows.forEach((group, row) => {
      const found = isSeen(row) && shown.cells(group);
      if (!found) return;
      const [codes, agreement] = found;
      const [operation, , hasShades] = data.ops[state.op];
      const shaded = hasShades && groups[group].streams > 1 && !(operation === "usual" && groups[group].device);
      let last = -1, colour = null;
      for (let x = 0; x < pixels; x++) {
        const at = state.from + ((x + 0.5) / pixels) * state.span;
        const column = columnAt(shown, at);
        if (column !== last) {
          colour = shades(codes[column], agreement[column], shaded);
          if (shaded && agreement[column] < 255) {
            fainter ||= codes[column] >= FIRST && codes[column] !== NUMBER;
            stronger ||= codes[column] === IDLE;
          }
        }
        last = column;
        image.data.set(colour, 4 * x);
        // Nothing is known of what the server has not sent.
        image.data[4 * x + 3] = at < shown.from || at > shown.from + shown.span ? 0 : 255;
      }
      brush.putImageData(image, 0, 0);
      context.drawImage(line, layout.left, row * layout.pitch + layout.head - layout.top, layout.plot, layout.strip);
    });
    section.dataset.level = shown.columns;
    for (const [name, isPainted] of [[".fainter", fainter], [".stronger", stronger]]) find(name).hidden = !isPainted;
  };

  const axis = (context) => {
    const y = layout.view - AXIS + 1;
    context.clearRect(0, y - 1, layout.width, AXIS + 1);
    context.strokeStyle = context.fillStyle = perfkit.variable("quiet");
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "top";
    context.lineWidth = 1;
    for (const [at, text] of perfkit.ticks(state.from + data.start, state.from + state.span + data.start, layout.plot / 110, true)) {
      const x = place(at - data.start), width = context.measureText(text).width;
      context.beginPath();
      context.moveTo(Math.round(x) + 0.5, y);
      context.lineTo(Math.round(x) + 0.5, y + 6);
      context.stroke();
      const left = Math.min(Math.max(layout.left, x - width / 2), layout.left + layout.plot - width);
      context.fillText(text, left, y + 9);
    }
  };

  // What the messages, counters and call stacks share with the rows.
  const page = {
    section, data, state, find, moments, isServed, place, moment, numbers, grid, columnAt, codes: { FIRST, OTHERS, NUMBER },
    isOpen: (group) => isOpen(group), isSeen: (row) => isSeen(row), rowOf: (group) => rowOf(group), middle: (row) => middle(row), clipped: (context, draw) => clipped(context, draw), paint: () => paint(),
    get layout() { return layout; },
    get part() { return part; },
  };

  const hierarchy = perfkit.timelineRows(page), { depth, label, isOpen } = hierarchy;
  // The row that shows a group: itself, or what it is folded into.
  const rowOf = (group) => {
    for (let at = group; at !== null && at !== undefined; at = groups[at].parent) {
      const row = layout.rowOf.has(at) ? layout.rowOf.get(at) : -1;
      if (row >= 0 && !(isOpen(at) && at !== group)) return row;
    }
    return -1;
  };
  const isSeen = (row) => (row + 1) * layout.pitch > layout.top && row * layout.pitch < layout.bottom;
  const middle = (row) => row * layout.pitch + layout.head + layout.strip / 2;

  const clipped = (context, draw) => {
    context.save();
    context.beginPath();
    context.rect(layout.left, 0, layout.plot, layout.view - AXIS);
    context.clip();
    context.translate(0, -layout.top);
    draw();
    context.restore();
  };

  const messages = perfkit.timelineMessages(page), counters = perfkit.timelineCounters(page), calls = perfkit.timelineCalls(page), legend = perfkit.timelineLegend(page);
  follow();

  const marks = (context) => clipped(context, () => {
    context.fillStyle = perfkit.variable("alarm");
    context.strokeStyle = perfkit.variable("paper");
    context.lineWidth = 1;
    for (const [group, at] of data.markers) {
      const row = rowOf(group), x = place(at);
      if (row < 0 || x < layout.left - 6 || x > layout.left + layout.plot + 6) continue;
      const y = row * layout.pitch + layout.head;
      context.beginPath();
      context.moveTo(x - 5, y);
      context.lineTo(x + 5, y);
      context.lineTo(x, y + 9);
      context.closePath();
      context.fill();
      context.stroke();
    }
  });

  const toggle = (group) => {
    if (!groups[group].children.length) return;
    if (!state.open.delete(group)) state.open.add(group);
    paint();
    const button = labels.querySelector(`[data-group="${group}"] [aria-expanded]`);
    if (button) button.focus();
  };

  const names = () => {
    const letters = Math.floor(((layout.narrow ? layout.width : layout.left) - layout.shares - 34) / 6.6);
    // A label below the rows would cover the axis.
    const isFree = (row) => isSeen(row) && row * layout.pitch + (layout.narrow ? layout.head : layout.strip / 2) <= layout.bottom;
    const seen = layout.rows.map((group, row) => [group, row]).filter(([, row]) => isFree(row)), short = hierarchy.shortened(seen.map(([group]) => group), letters);
    const made = seen.map(([group, row]) => {
      const found = groups[group], open = isOpen(group), mark = hierarchy.isMarked(group);
      const line = element("div", { class: "row" + (row === state.row ? " chosen" : ""), "data-group": group });
      line.style.top = row * layout.pitch + "px";
      line.style.height = (layout.narrow ? layout.head : layout.strip) + "px";
      line.style.width = (layout.narrow ? layout.width - 4 : layout.left - 8) + "px";
      line.style.paddingLeft = depth(group) * INDENT + "px";
      // What the filter has opened it keeps open.
      if (found.children.length && open === state.open.has(group))
        line.append(element("button", { type: "button", "aria-expanded": String(open), "aria-label": (open ? "Fold " : "Unfold ") + found.label,
          on: { click: () => toggle(group) } }, open ? "\u25be" : "\u25b8"));
      const openStack = () => { state.row = row; calls.open(group); paint(); };
      const name = calls.exist ? { type: "button", title: `${found.label}: click for the call stack`, "aria-label": "Call stack of " + found.label, on: { click: openStack } } : {};
      line.append(element(calls.exist ? "button" : "span", { class: "name", title: found.label, ...name }, short.get(group)), ...(mark ? [element("span", { class: "unusual", title: hierarchy.differs(group).trim(), role: "img", "aria-label": "differs" }, "\u25c6")] : []),
        element("span", { class: "busy" }, percent(numbers(group).busy) + " " + data.busy + (numbers(group).mpi && !layout.narrow ? `, ${percent(numbers(group).mpi)} MPI` : "") + (isZoomed() && !isExact && data.busy === "busy" ? " in all" : "")));
      return line;
    });
    labels.replaceChildren(...made);
    find(".legend .unusual").hidden = !layout.rows.some(hierarchy.isMarked);
    // On a narrow screen the labels lie above the rows, where lines of messages pass below them.
    labels.classList.toggle("narrow", layout.narrow);
  };

  let pending = 0;
  const share = () => {
    clearTimeout(pending);
    pending = setTimeout(() => perfkit.link(section.id, {
      op: data.ops[state.op][0], from: Math.round(state.from), span: Math.round(state.span), open: [...state.open].join(),
    }), 250);
  };

  // The rows that the box does not show. Some browsers hide its scroll bar.
  const hidden = () => {
    const first = Math.ceil(layout.top / layout.pitch), last = Math.min(layout.rows.length, Math.floor(layout.bottom / layout.pitch));
    return last - first < layout.rows.length ? ` Rows ${first + 1} to ${last} of ${count(layout.rows.length)}: scroll for the others.` : "";
  };

  // The window in words, and beyond the resolution of the page the command that writes a finer one.
  const about = (remark) => {
    const isLimit = state.span <= shortest() * (1 + 1e-9), [from, to] = [data.start + state.from, data.start + state.from + state.span];
    const window = isZoomed() ? `Shown: ${moments(from)} to ${moments(to)}.` : `Shown: all, ${moments(from)} to ${moments(to)}.`;
    const whole = isZoomed() && !isExact ? ` Busy shares, legend and table are of all ${time(data.span)}, not of this window.` : "";
    const limit = isLimit && !isExact ? ` This page zooms in no further: it holds ${count(finest)} columns of ${time(resolution)} each.` : "";
    const isWide = data.members && (state.span / data.span) * data.members.columns < layout.plot && layout.rows.some((group, row) => isSeen(row) && isMember(group));
    const wide = isWide ? ` Unfolded rows of this page have ${count(data.members.columns)} columns of ${time(data.span / data.members.columns)}${data.serve ? "; " + data.serve + " shows them exactly" : ""}.` : "";
    const waiting = isServed && !part ? " The picture is being computed." : "";
    view.textContent = window + hidden() + limit + wide + waiting + remark + hierarchy.remark() + whole + uniform();
    closer.hidden = !isLimit || isExact || !data.command;
    if (!closer.hidden) closer.replaceChildren(isZoomed() ? "Finer page of this window: " : "Finer page of a shorter window: ", element("code", {}, `${data.command} --from ${Math.floor(from)}ns --to ${Math.ceil(to)}ns`),
      ...(data.serve ? [" Exact at every zoom: ", element("code", {}, data.serve)] : []));
    find(".in").setAttribute("aria-disabled", String(isLimit));
    section.dataset.limit = Number(isLimit);
    section.dataset.plot = layout.plot;
  };

  // Share of the painted cells in which all streams agree.
  const uniform = () => {
    const seen = grid();
    let all = 0, equal = 0;
    for (const group of layout.rows) {
      const found = seen.cells(group);
      if (!found) continue;
      const from = columnAt(seen, state.from), to = columnAt(seen, state.from + state.span * (1 - 1e-12));
      for (let at = from; at <= to; at++) equal += found[0][at] === UNIFORM;
      all += to - from + 1;
    }
    return equal ? ` All streams of a row are equal in ${percent(equal / all)} of the picture.` : "";
  };

  let first = true;
  const paint = () => {
    measure();
    clamp();
    prepare();
    // At first the least busy row is selected, among those that are not unfolded.
    if (state.row === null) {
      const candidates = layout.rows.map((group, row) => [groups[group].busy, row, group]).filter(([, , group]) => !isOpen(group));
      const least = Math.min(...candidates.map(([busy]) => busy));
      state.row = candidates.find(([busy]) => busy < least + 0.01)?.[1] ?? 0;
    }
    state.row = Math.min(state.row, Math.max(0, layout.rows.length - 1));
    const [context, scale] = perfkit.fit(canvas, layout.width, layout.view);
    context.clearRect(0, 0, layout.width, layout.view);
    if (local) compute(scale);
    strips(context, scale);
    axis(context);
    const remark = messages.lines(context);
    find(".links").hidden = !messages.exist();
    marks(context);
    names();
    counters.paint();
    calls.paint();
    legend.paint(isExact);
    if (isServed && part) {
      // Text between backticks is a command.
      const pieces = part.remarks.join(" ").split("`").map((text, at) => (at % 2 ? element("code", {}, text) : text));
      find(".remarks").replaceChildren(...pieces);
      find(".remarks").hidden = !part.remarks.length;
    }
    section.dataset.rows = layout.rows.length;
    section.dataset.from = Math.round(state.from);
    section.dataset.span = Math.round(state.span);
    about(remark);
    tell();
    if (isServed) ask();
    if (!first) share();
    first = false;
  };

  // The rows within the scrolled box and one screen around it.
  const near = () => {
    const height = box.clientHeight || innerHeight, top = box.scrollTop - height, bottom = box.scrollTop + 2 * height;
    return layout.rows.filter((_, row) => (row + 1) * layout.pitch >= top && row * layout.pitch <= bottom).slice(0, isServed ? data.served.mostRows : Infinity);
  };
  // The visible part. Nanoseconds since an epoch exceed the exact integers.
  let current = "";
  const wanted = (scale, most) => ({
    from: BigInt(data.begin) + BigInt(Math.floor(state.from)), to: BigInt(data.begin) + BigInt(Math.ceil(state.from + state.span)),
    columns: Math.min(most, Math.max(1, Math.round(layout.plot * scale))), op: state.op, rows: near(),
  });
  // Computes the visible part, unless it is there.
  const compute = (scale) => {
    const { from, to, columns, op, rows } = wanted(scale, 8192), key = [from, to, columns, op, ...rows].join();
    if (key === current) return;
    current = key;
    const begin = performance.now();
    part = local(from, to, columns, op, rows);
    sent.clear();
    section.dataset.computedMs = performance.now() - begin;
  };
  // Asks the server for the visible part, unless it is there or asked for. A request for an earlier part is cancelled.
  let request = null, again = 0;
  const ask = () => {
    const asked = wanted(Math.min(3, window.devicePixelRatio || 1), data.served.mostColumns);
    const query = new URLSearchParams({ ...asked, rows: asked.rows.join("-") }).toString();
    if (query === current) return;
    current = query;
    if (request) request.abort();
    request = new AbortController();
    const begin = performance.now();
    fetch(data.served.address + "?" + query, { signal: request.signal })
      .then((answer) => answer.text().then((text) => (answer.ok ? JSON.parse(text) : Promise.reject(text))))
      .then((found) => {
        part = found;
        sent.clear();
        section.dataset.served = query;
        section.dataset.servedMs = performance.now() - begin;
        first = true;
        paint();
        // The messages of a large recording follow the first picture.
        clearTimeout(again);
        if (found.awaitsLinks) again = setTimeout(() => { current = ""; ask(); }, 300);
      })
      .catch((error) => {
        if (error.name !== "AbortError") status.textContent = perfkit.unanswered(error);
      });
  };
  const name = (code) =>
    code === NUMBER ? "a number" : code === IDLE ? "in no region" : code === ABSENT ? "not recorded" : code === UNIFORM ? "all equal"
    : code === OTHERS ? data.others[0] : data.states[code - FIRST][0];

  const tell = () => {
    const group = layout.rows[state.row];
    if (group === undefined) { status.textContent = "No row matches the filter; clear it to show all rows."; return; }
    const found = groups[group], { busy: share, shares: states } = numbers(group);
    if (state.at === null) {
      // A device is busy while any of its streams is; the states are shares of the time of all of them.
      const whose = found.device && found.streams > 1 ? "of the time of its streams: " : "";
      const shares = states.length ? whose + states.map(([name, share]) => perfkit.shortened(name, 48) + " " + percent(share)).join(", ") : "";
      const busy = data.busy === "busy" ? `${percent(share)} busy over ${time(isExact ? state.span : data.span)}` : `${percent(share)} ${data.busy}`;
      const without = found.withoutStates ? `, ${count(found.withoutStates)} of them without states` : "";
      status.textContent = `${found.label}: ${count(found.streams)} ${found.streams === 1 ? "stream" : "streams"}${without}; ${[busy, shares].filter(Boolean).join("; ")}.${hierarchy.differs(group)}`;
      return;
    }
    const visibleGrid = grid(), column = columnAt(visibleGrid, state.at), cell = visibleGrid.cells(group);
    if (!cell) { status.textContent = `${found.label}: asking the server.`; return; }
    const [codes, agreement] = cell, agreed = agreement[column] / 255;
    const at = data.start + visibleGrid.from + ((column + 0.5) / visibleGrid.columns) * visibleGrid.span;
    const about = found.streams > 255 ? "about " : "";
    const members = found.streams > 1 ? `: ${about}${count(agreed * found.streams)} of ${count(found.streams)} streams (${percent(agreed)})` : "";
    const near = data.markers.find(([row, when]) => Math.abs(place(when) - place(state.at)) < 6 && rowOf(row) === state.row);
    const [most, unit] = data.ops[state.op][3] || [0, ""], value = most || found.streams;
    const what = codes[column] === NUMBER ? `${unit === "streams" ? about + count(agreed * value) + " of " + count(value) + " streams" : "entropy " + (agreed * value).toFixed(2) + " " + unit + " of at most " + value.toFixed(2)}` : name(codes[column]) + members;
    status.textContent = `${found.label} at ${moments(at)}: ${what}.${near ? " Abnormal: " + near[2] : ""}`;
  };

  const zoom = (factor, about) => {
    const share = (about - state.from) / state.span;
    state.span *= factor;
    clamp();
    state.from = about - share * state.span;
    paint();
  };
  const pan = (share) => {
    state.from += share * state.span;
    paint();
  };
  const centre = () => (state.at === null ? state.from + state.span / 2 : Math.min(state.from + state.span, Math.max(state.from, state.at)));
  const all = () => {
    [state.from, state.span, state.at] = [0, data.span, null];
    paint();
  };
  const on = (name, what, run) => find(name).addEventListener(what, run);
  on(".in", "click", () => zoom(0.5, centre()));
  on(".out", "click", () => zoom(2, centre()));
  on(".left", "click", () => pan(-0.3));
  on(".right", "click", () => pan(0.3));
  on(".all", "click", all);
  on(".fold", "click", () => { state.open.clear(); paint(); });
  chooser.addEventListener("change", () => { state.op = Number(chooser.value); paint(); });
  filter.addEventListener("input", paint);
  on(".order", "change", paint);
  on(".messages", "change", paint);
  on(".measure", "change", paint);
  box.addEventListener("scroll", () => { first = true; paint(); });
  if (isServed) {
    // The server ends once this stream is closed.
    if (!perfkit.open) perfkit.open = new EventSource("open");
  }

  const pointer = (event) => {
    const bounds = canvas.getBoundingClientRect();
    return [event.clientX - bounds.left, event.clientY - bounds.top + layout.top];
  };
  let held = null;
  canvas.addEventListener("pointerdown", (event) => {
    const [x] = pointer(event);
    held = { x, from: state.from, shift: event.shiftKey, at: moment(x) };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = pointer(event);
    if (held && !held.shift && Math.abs(x - held.x) > 2) {
      state.from = held.from - ((x - held.x) / layout.plot) * state.span;
      paint();
      return;
    }
    const row = Math.floor(y / layout.pitch);
    if (row < 0 || row >= layout.rows.length || x < layout.left || y > layout.bottom) return;
    state.at = Math.min(state.from + state.span, Math.max(state.from, moment(x)));
    if (row !== state.row) {
      state.row = row;
      names();
    }
    tell();
  });
  canvas.addEventListener("pointerup", (event) => {
    const [x] = pointer(event);
    if (held && held.shift && Math.abs(x - held.x) > 4) {
      const middle = (held.at + moment(x)) / 2;
      state.span = Math.abs(moment(x) - held.at);
      clamp();
      state.from = middle - state.span / 2;
      paint();
    }
    held = null;
  });
  canvas.addEventListener("pointercancel", () => (held = null));
  canvas.addEventListener("dblclick", (event) => zoom(0.5, moment(pointer(event)[0])));
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, moment(pointer(event)[0]));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const step = (by) => {
      state.row = Math.min(layout.rows.length - 1, Math.max(0, state.row + by));
      const top = state.row * layout.pitch, bottom = top + layout.pitch;
      if (top < layout.top) box.scrollTop = top;
      else if (bottom > layout.bottom) box.scrollTop += bottom - layout.bottom;
      names();
      tell();
    };
    const keys = {
      ArrowLeft: () => pan(-0.1), ArrowRight: () => pan(0.1), ArrowUp: () => step(-1), ArrowDown: () => step(1),
      "+": () => zoom(0.5, centre()), "=": () => zoom(0.5, centre()), "-": () => zoom(2, centre()), Home: all,
      Enter: () => { toggle(layout.rows[state.row]); canvas.focus(); }, s: () => calls.open(layout.rows[state.row]),
    };
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  addEventListener("hashchange", () => {
    const selected = location.hash.slice(1).split("?")[0];
    // Without a selection the page is as at first.
    if (selected && selected !== section.id) return;
    follow();
    first = true;
    paint();
  });
  // A window of another size is no choice of anybody: the link stays.
  perfkit.onPaint(() => { first = true; paint(); });
  paint();
  // The first picture may have added a scroll bar, which takes some of the width.
  if (Math.max(280, box.clientWidth) !== layout.width) { first = true; paint(); }
});
