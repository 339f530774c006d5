"use strict";
// Call stack of one location below the rows of a timeline, a row for each depth. `page` is the timeline.
perfkit.timelineCalls = (page) => {
  const { element, time, percent, count } = perfkit, { section, data, state, find, moments, moment, isServed } = page;
  const box = find(".calls"), canvas = find(".depths"), chooser = find(".location"), frame = find(".frame");
  const groups = data.groups, DEPTH = 18, exist = Boolean(isServed ? data.served.hasCalls : data.calls);
  // The location that is shown: its group, and the frames of its depths at the centres of columns.
  let shown = null, stack = null, wanted = "", request = null;

  const leaves = (group) => (groups[group].stream === undefined ? groups[group].children.flatMap(leaves) : [group]);
  const close = () => {
    box.hidden = true;
    shown = stack = null;
    wanted = "";
    section.dataset.calls = "";
  };
  const choose = (group) => {
    [shown, stack, wanted] = [group, null, ""];
    paint();
  };
  const open = (group) => {
    if (!exist) return;
    const found = leaves(group);
    if (!found.length) return;
    chooser.replaceChildren(...found.map((leaf) => element("option", { value: leaf }, groups[leaf].label)));
    box.hidden = false;
    choose(found[0]);
    box.scrollIntoView({ block: "nearest" });
  };

  // Transitions of each depth of a stream: times since the begin of the page, and numbers of functions, 0 for none.
  const decoded = new Map();
  const depths = (stream) => {
    if (!decoded.has(stream)) decoded.set(stream, data.calls.streams[stream].map((text) => {
      const from = perfkit.bytes(text), found = [];
      for (let at = 0; at < from.length; at++) {
        let value = 0, scale = 1;
        for (; from[at] > 127; at++, scale *= 128) value += (from[at] & 127) * scale;
        found.push(value + from[at] * scale);
      }
      const times = [], codes = [];
      for (let at = 0, now = 0; at < found.length; at += 2) {
        times.push((now += found[at]));
        codes.push(found[at + 1] ? found[at + 1] - 1 : null);
      }
      return { times, codes };
    }));
    return decoded.get(stream);
  };
  const compute = (columns) => {
    const { from, span } = state;
    const sampled = depths(groups[shown].stream).map(({ times, codes }) => {
      const runs = [];
      let low = 0, high = times.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (times[middle] <= from) low = middle + 1;
        else high = middle;
      }
      for (let column = 0; column < columns; column++) {
        const at = from + ((column + 0.5) / columns) * span;
        while (low < times.length && times[low] <= at) low++;
        const code = low ? codes[low - 1] : null, last = runs[runs.length - 1];
        if (last && last[1] === code) last[0]++;
        else runs.push([1, code]);
      }
      return runs;
    });
    return { from, span, columns, names: data.calls.names, depths: sampled };
  };
  const ask = (query) => {
    if (request) request.abort();
    request = new AbortController();
    fetch(data.served.address.replace("cells", "calls") + "?" + query, { signal: request.signal })
      .then((answer) => answer.text().then((text) => (answer.ok ? JSON.parse(text) : Promise.reject(text))))
      .then((found) => {
        stack = found;
        draw();
      })
      .catch((error) => {
        if (error.name !== "AbortError") frame.textContent = perfkit.unanswered(error);
      });
  };

  const draw = () => {
    const { layout } = page, rows = Math.max(1, stack ? stack.depths.length : 0);
    const [context] = perfkit.fit(canvas, layout.width, rows * DEPTH + 2), x = (column) => page.place(stack.from + (column / stack.columns) * stack.span);
    context.clearRect(0, 0, layout.width, rows * DEPTH + 2);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    section.dataset.calls = stack ? `${shown},${stack.depths.length}` : "";
    if (!stack) return;
    stack.depths.forEach((runs, depth) => {
      const y = depth * DEPTH;
      context.fillStyle = perfkit.variable("quiet");
      if (!layout.narrow) context.fillText(`depth ${depth}`, 4, y + DEPTH / 2);
      let at = 0;
      for (const [length, code] of runs) {
        const [left, right] = [Math.max(layout.left, x(at)), Math.min(layout.left + layout.plot, x(at + length))];
        at += length;
        if (right <= left) continue;
        context.fillStyle = code === null ? perfkit.variable("idle") : stack.names[code][1];
        context.fillRect(left, y + 1, right - left, DEPTH - 2);
        const letters = Math.floor((right - left - 8) / 6.6);
        if (code === null || letters < Math.min(6, stack.names[code][0].length)) continue;
        context.fillStyle = perfkit.readable(perfkit.rgb(stack.names[code][1]));
        context.fillText(perfkit.shortened(stack.names[code][0], letters), left + 4, y + DEPTH / 2, right - left - 6);
      }
    });
    frame.textContent = stack.depths.length ? summary() : `${groups[shown].label} has no recorded calls.`;
  };
  // The functions with the most time at the innermost depth that each is at, in the window.
  const summary = () => {
    const sums = new Map();
    let all = 0;
    for (const runs of stack.depths) for (const [length, code] of runs) {
      if (code !== null) sums.set(code, (sums.get(code) || 0) + length);
    }
    for (const [length] of stack.depths[0]) all += length;
    const most = [...sums].sort((a, b) => b[1] - a[1]).slice(0, 4).map(([code, length]) => `${perfkit.shortened(stack.names[code][0], 40)} ${percent(length / all)}`);
    return `${count(stack.depths.length)} ${stack.depths.length === 1 ? "depth" : "depths"}, ${moments(data.start + stack.from)} to ${moments(data.start + stack.from + stack.span)}; on the stack: ${most.join(", ")}.`;
  };

  const paint = () => {
    if (shown === null) return;
    const { layout } = page, columns = Math.min(2048, Math.max(1, Math.round(layout.plot)));
    chooser.value = shown;
    if (isServed) {
      const from = BigInt(data.begin) + BigInt(Math.floor(state.from)), to = BigInt(data.begin) + BigInt(Math.ceil(state.from + state.span));
      const query = new URLSearchParams({ from, to, columns, row: shown }).toString();
      draw();
      if (query !== wanted) ask((wanted = query));
      return;
    }
    const isHeld = Boolean(data.calls.streams[groups[shown].stream]);
    stack = isHeld ? compute(columns) : null;
    draw();
    if (isHeld) return;
    const command = data.command ? `${data.command} --stack '${groups[shown].label.replaceAll("'", "'\\''")}'` : "";
    frame.replaceChildren(`This page holds no call stack of ${groups[shown].label}: those of ${count(data.calls.missing)} locations exceed its size. `,
      ...(command ? ["A page of this one: ", element("code", {}, command), " "] : []), ...(data.serve ? ["All of them: ", element("code", {}, data.serve)] : []));
  };

  canvas.addEventListener("pointermove", (event) => {
    if (!stack) return;
    const bounds = canvas.getBoundingClientRect(), x = event.clientX - bounds.left, depth = Math.floor((event.clientY - bounds.top) / DEPTH), runs = stack.depths[depth];
    if (!runs || x < page.layout.left) return;
    const column = ((moment(x) - stack.from) / stack.span) * stack.columns;
    let at = 0;
    const run = runs.find(([length]) => (at += length) > column);
    if (!run) return;
    const begin = stack.from + ((at - run[0]) / stack.columns) * stack.span, length = (run[0] / stack.columns) * stack.span;
    frame.textContent = `Depth ${depth} at ${moments(data.start + moment(x))}: ${run[1] === null ? "no frame" : stack.names[run[1]][0]}, from ${moments(data.start + begin)} for about ${time(length)}.`;
  });
  chooser.addEventListener("change", () => choose(Number(chooser.value)));
  find(".calls .close").addEventListener("click", close);
  return { open, paint, exist };
};
