"use strict";
// Metrics, call paths and system of a profile as three coupled trees. A collapsed item contains the items below it, an expanded one
// does not.
perfkit.trees = (host, data, { names, source: { field, grain, held, read }, write, colour, select, pick }) => {
  const { element, percent } = perfkit;
  const MOST_CHILDREN = 300;
  // Width of what stands before the names, and of a letter, in pixels; time in milliseconds after which letters begin a new name.
  const SIDES = 150, LETTER = 7.2, PAUSE = 800;
  const regions = names(data.regions), places = names(data.system);
  const cells = held.reduce((count, is) => count + is, 0);
  const below = (parents) => {
    const lists = new Map();
    parents.forEach((parent, at) => {
      const key = parent ?? -1;
      if (!lists.has(key)) lists.set(key, []);
      lists.get(key).push(at);
    });
    return (at) => lists.get(at) ?? [];
  };
  const pathParents = data.paths.map(([, parent]) => parent);
  const [metricsBelow, pathsBelow, placesBelow] = [data.metrics.map(({ parent }) => parent), pathParents, data.parents].map(below);
  const rowOf = data.rows.map(({ paths }) => new Map(paths.map((path, at) => [path, at])));

  // Sums over all locations, by call path.
  const add = { sum: (a, b) => a + b, min: Math.min, max: Math.max, none: () => NaN };
  const totals = new Map();
  const totalsOf = (metric, own) => {
    const key = 2 * metric + (own ? 1 : 0);
    if (totals.has(key)) return totals.get(key);
    const { inclusive, exclusive, combine } = data.metrics[metric];
    const source = own ? exclusive ?? inclusive : inclusive ?? exclusive;
    const has = new Uint8Array(data.paths.length), values = new Float64Array(data.paths.length);
    data.rows[source].paths.forEach((path, at) => {
      has[path] = 1;
      values[path] = data.rows[source].totals[at] ?? NaN;
    });
    const stored = values.slice();
    if (own && exclusive === null && combine === "sum") {
      pathParents.forEach((parent, path) => { if (parent !== null) values[parent] -= stored[path]; });
    }
    // Parents come before their children.
    if (!own && inclusive === null && combine !== "none") for (let path = values.length - 1; path > 0; path--) {
      const parent = pathParents[path];
      if (parent === null || !has[path]) continue;
      values[parent] = has[parent] ? add[combine](values[parent], values[path]) : values[path];
      has[parent] = 1;
    }
    totals.set(key, values);
    return values;
  };
  const additive = (metric) => data.metrics[metric].combine === "sum";
  // Metrics with their signs: those below an expanded one are taken away.
  const metricParts = (metric, isOpen) =>
    [[metric, 1], ...(isOpen && additive(metric) ? metricsBelow(metric).filter(additive).map((part) => [part, -1]) : [])];
  const whole = (metric) => {
    const { exclusive, combine } = data.metrics[metric];
    if (exclusive !== null) return data.rows[exclusive].totals.reduce((sum, value) => (sum === null ? value : add[combine](sum, value ?? NaN)), null) ?? 0;
    const all = totalsOf(metric, false), roots = pathsBelow(-1);
    return roots.length ? roots.map((root) => all[root]).reduce(add[combine]) : 0;
  };
  // Rows of a metric and call path with their signs, as [source, path, sign].
  const subtree = (path) => {
    const found = [path];
    for (let at = 0; at < found.length; at++) found.push(...pathsBelow(found[at]));
    return found;
  };
  const rowsOf = (metric, path, own) => {
    const { inclusive, exclusive, combine } = data.metrics[metric];
    if (own && exclusive !== null) return [[exclusive, path, 1]];
    if (own) return [[inclusive, path, 1], ...(combine === "sum" ? pathsBelow(path).map((child) => [inclusive, child, -1]) : [])];
    if (inclusive !== null) return [[inclusive, path, 1]];
    return combine === "none" ? [[exclusive, path, 1]] : subtree(path).map((each) => [exclusive, each, 1]);
  };
  // Places of the values of a selection, with their signs: those of a metric, without its parts if it is open, and of a call path.
  const termsOf = ([metric, path, isOpen, own]) => metricParts(metric, isOpen).flatMap(([metric, sign]) => rowsOf(metric, path, own)
    .map(([source, each, direction]) => [data.rows[source].views[rowOf[source].get(each)], sign * direction]).filter(([place]) => place !== undefined));
  // The grid of a selection, or its text.
  const keyOf = (selection) => {
    const terms = termsOf(selection), [place, factor] = terms[0] ?? [null, 0];
    return terms.length === 1 && factor === 1 && typeof place === "number" ? place : selection.map(Number).join(".");
  };
  // Values of the cells, and the grid if they are those of a single one; null if the page does not hold them.
  const fieldOf = (selection) => {
    let [values, count, single, unit] = [null, 0, null, 0];
    const { combine } = data.metrics[selection[0]];
    for (const [place, factor] of termsOf(selection)) {
      if (place === null) return null;
      const isSame = Array.isArray(place), own = isSame ? place[0] : field(place);
      count++;
      single = count === 1 && factor === 1 && !isSame ? place : null;
      if (!isSame) unit += grain(place);
      const first = !values;
      values ??= new Float64Array(held.length);
      for (let cell = 0; cell < held.length; cell++) {
        const value = factor * (isSame ? own : own[cell]);
        values[cell] = first ? value : add[combine](values[cell], value);
      }
    }
    // Differences below the rounding of their parts are 0.
    if (count > 1) values.forEach((value, cell) => { if (Math.abs(value) <= unit) values[cell] = 0; });
    return { values: values ?? new Float64Array(held.length), view: single };
  };

  const state = { metric: 0, path: 0, place: null, as: "absolute" };
  let shown = { values: new Float64Array(held.length), view: null };
  // A tree: `value(at, isOpen)` of an item, and `chosen(at)` when it is selected.
  const tree = (name, label, { children, text, value, whole, unit, calls, chosen, scale, byLevel }) => {
    const box = element("div", { role: "tree", tabindex: 0, "aria-label": label });
    host.querySelector("." + name).append(box);
    const open = new Set(), limits = new Map();
    let [focus, selected, lines] = [null, null, []];
    const id = (at) => `${host.closest("section").id}-${name}-${at}`;
    const said = (at, isOpen) => {
      const found = value(at, isOpen);
      if (!Number.isFinite(found)) return [found, "-"];
      if (state.as === "share") return [found, whole(at) ? percent(found / whole(at)) : "-"];
      if (state.as === "call") {
        const count = calls(at);
        return [found, count > 0 ? write(found / count, unit(at)) : "-"];
      }
      return [found, write(found, unit(at))];
    };
    const paint = () => {
      lines = [];
      const visit = (at, level) => {
        const all = children(at), isOpen = open.has(at);
        lines.push({ at, level, isOpen: all.length ? isOpen : null });
        if (!isOpen) return;
        const limit = limits.get(at) ?? MOST_CHILDREN;
        all.slice(0, limit).forEach((child) => visit(child, level + 1));
        if (all.length > limit) lines.push({ more: at, level: level + 1, count: all.length - limit });
      };
      children(-1).forEach((root) => visit(root, 1));
      if (!lines.some((line) => line.at === focus)) focus = lines[0]?.at ?? null;
      const values = lines.map((line) => (line.more === undefined ? said(line.at, line.isOpen) : [0, ""]));
      // A colour compares items: all of a tree, or those of one level, where each level holds the sums of the next.
      const most = new Map(), group = (line) => (byLevel ? line.level : 0);
      values.forEach(([found], at) => most.set(group(lines[at]), Math.max(most.get(group(lines[at])) ?? 0, Math.abs(found) || 0)));
      box.replaceChildren(...lines.map((line, at) => {
        const [found, words] = values[at];
        const mark = element("i", {});
        const full = scale ? scale(line.at) : most.get(group(line));
        if (line.more === undefined && full > 0) mark.style.background = colour(Math.abs(found) / full);
        const item = element("div", { role: "treeitem", "aria-level": line.level, "aria-selected": String(line.at === selected && line.more === undefined),
          class: found === 0 ? "zero" : "" },
          element("b", {}, line.more !== undefined || line.isOpen === null ? "" : line.isOpen ? "▾" : "▸"), mark,
          element("span", { class: "n" }, words), element("span", line.more === undefined ? { title: text(line.at) } : {}, `${line.count} more`));
        item.style.paddingLeft = 14 * (line.level - 1) + "px";
        if (line.more === undefined) item.id = id(line.at);
        if (line.isOpen !== null && line.isOpen !== undefined) item.setAttribute("aria-expanded", String(line.isOpen));
        item.addEventListener("click", (event) => {
          if (line.more !== undefined) {
            limits.set(line.more, (limits.get(line.more) ?? MOST_CHILDREN) + MOST_CHILDREN);
            paint();
          } else if (event.target.tagName === "B" && line.isOpen !== null) toggle(line.at);
          else choose(line.at);
        });
        return item;
      }));
      mark();
    };
    const mark = () => {
      const room = (box.clientWidth || 300) - SIDES;
      lines.forEach((line, at) => {
        const isFocus = line.at === focus && line.more === undefined, label = box.children[at].lastChild;
        box.children[at].classList.toggle("focus", isFocus);
        // The item with the focus has its whole name, the others what fits into the pane.
        const most = Math.max(12, Math.floor((room - 14 * (line.level - 1)) / LETTER));
        if (line.more === undefined) label.textContent = isFocus && document.activeElement === box ? text(line.at) : perfkit.shortened(text(line.at), most);
      });
      if (focus !== null) box.setAttribute("aria-activedescendant", id(focus));
    };
    const scroll = () => {
      const line = lines.findIndex(({ at }) => at === focus), item = box.children[line];
      if (item) box.scrollTop = Math.min(item.offsetTop, Math.max(box.scrollTop, item.offsetTop + item.offsetHeight - box.clientHeight));
    };
    const choose = (at) => {
      focus = selected = at;
      chosen(at, open.has(at));
    };
    // The value of a selected item changes with its expansion.
    const toggle = (at) => {
      if (open.has(at)) open.delete(at);
      else open.add(at);
      focus = at;
      if (at === selected) chosen(at, open.has(at));
      else paint();
    };
    // Letters that are typed in a row go to the next item whose name, or function without its type, begins with them.
    let [typed, last] = ["", 0];
    const seek = (letter, at) => {
      typed = (performance.now() - last < PAUSE ? typed : "") + letter.toLowerCase();
      last = performance.now();
      const begins = (line) => line.more === undefined && [text(line.at), perfkit.bareFunction(text(line.at)) ?? ""].some((name) => name.toLowerCase().startsWith(typed));
      // One letter leaves the item, more letters may still mean it.
      const from = at + (typed.length > 1 ? 0 : 1), order = [...lines.slice(from), ...lines.slice(0, from)];
      focus = order.find(begins)?.at ?? focus;
    };
    box.addEventListener("focus", () => mark());
    box.addEventListener("blur", () => mark());
    perfkit.onPaint(() => mark());
    box.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const at = lines.findIndex((line) => line.at === focus), line = lines[at];
      if (!line) return;
      const go = (to) => {
        const found = lines[Math.max(0, Math.min(lines.length - 1, to))];
        if (found.more === undefined) focus = found.at;
      };
      const up = lines.slice(0, at).findLastIndex(({ level }) => level < line.level);
      const keys = { ArrowDown: () => go(at + 1), ArrowUp: () => go(at - 1), Home: () => go(0), End: () => go(lines.length - 1),
        ArrowRight: () => (line.isOpen === false ? toggle(line.at) : line.isOpen && go(at + 1)),
        ArrowLeft: () => (line.isOpen ? toggle(line.at) : up >= 0 && go(up)), Enter: () => choose(line.at), " ": () => choose(line.at) };
      const isTyping = event.key === " " && typed && performance.now() - last < PAUSE;
      if ([...event.key].length === 1 && (event.key !== " " || isTyping)) keys[event.key] = () => seek(event.key, at);
      if (!keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
      mark();
      scroll();
    });
    return { paint, scroll, open, select: (at) => (focus = selected = at), isOpen: (at) => open.has(at) };
  };

  const isMetricOpen = () => metricTree.isOpen(state.metric);
  const parts = () => metricParts(state.metric, isMetricOpen());
  const unit = () => data.metrics[state.metric].unit;
  const sum = (list, of) => {
    let [sum, size] = [0, 0];
    for (const [metric, sign] of list) {
      sum += sign * of(metric);
      size += Math.abs(of(metric));
    }
    return Math.abs(sum) > 1e-12 * size ? sum : 0;
  };
  // Metrics of different roots have different units, so a share is one of the own root.
  const baseOf = (metric) => {
    let root = metric;
    while (data.metrics[root].parent !== null) root = data.metrics[root].parent;
    return whole(root);
  };
  const base = () => baseOf(state.metric);
  const callsOf = (path) => (data.calls === null ? NaN : totalsOf(data.calls, true)[path]);
  const pathValue = (path, own) => {
    const list = parts();
    return list.length === 1 ? totalsOf(state.metric, own)[path] : sum(list, (metric) => totalsOf(metric, own)[path]);
  };
  const isPathOpen = () => pathTree.isOpen(state.path) || !pathsBelow(state.path).length;
  let callValues = null;
  const over = (at, values) => {
    const { combine } = data.metrics[state.metric];
    if (data.cells[at] !== null) return values[data.cells[at]];
    const found = placesBelow(at).map((child) => over(child, values));
    return found.length ? found.reduce(add[combine]) : 0;
  };

  const metricTree = tree("metrics", "Metrics", {
    children: metricsBelow, text: (at) => data.metrics[at].name, unit: (at) => data.metrics[at].unit, whole: baseOf, calls: () => NaN, scale: (at) => Math.abs(baseOf(at)),
    value: (at, isOpen) => sum(metricParts(at, isOpen), whole),
    chosen: (at) => { state.metric = at; update(true); },
  });
  const pathTree = tree("calls", "Call paths", {
    children: pathsBelow, text: (at) => regions[data.paths[at][0]], unit, whole: base, calls: callsOf,
    value: (at, isOpen) => pathValue(at, isOpen !== false),
    chosen: (at) => { state.path = at; update(true); },
  });
  const systemTree = tree("system", "System", {
    children: placesBelow, text: (at) => places[at], unit, whole: base, byLevel: true,
    calls: (at) => (callValues ? over(at, callValues.values) : NaN),
    value: (at) => (shown ? over(at, shown.values) : NaN),
    chosen: (at) => { state.place = at; systemTree.paint(); if (data.cells[at] !== null) pick(data.cells[at]); },
  });
  const update = (isOwn) => {
    const selections = [[state.metric, state.path, isMetricOpen(), isPathOpen()]];
    if (state.as === "call" && data.calls !== null) selections.push([data.calls, state.path, false, true]);
    read(selections.map(keyOf), () => selections.map(fieldOf), ([own, calls]) => {
      [shown, callValues] = [own, calls ?? null];
      updated(isOwn);
    });
  };
  const updated = (isOwn) => {
    host.dataset.selected = JSON.stringify([data.metrics[state.metric].name, regions[data.paths[state.path][0]], isPathOpen(), pathValue(state.path, isPathOpen())]);
    [metricTree, pathTree, systemTree].forEach(({ paint }) => paint());
    if (!isOwn) return;
    const { name } = data.metrics[state.metric];
    const words = [isMetricOpen() && parts().length > 1 ? "without its parts" : "", pathsBelow(state.path).length ? (isPathOpen() ? "exclusive" : "inclusive") : ""].filter(Boolean);
    const label = `${regions[data.paths[state.path][0]]}, ${name}${words.length ? ` (${words.join(", ")})` : ""}`;
    const key = keyOf([state.metric, state.path, isMetricOpen(), isPathOpen()]);
    select({ name: label, unit: unit(), view: shown?.view ?? null, values: shown?.values ?? null, kin: kinOf(), key });
  };
  // Grids that contain the selection or are part of it.
  const kinOf = () => {
    const path = new Set(subtree(state.path)), found = new Set();
    for (let at = state.path; at !== null; at = pathParents[at]) path.add(at);
    const metrics = [state.metric, ...metricsBelow(state.metric)];
    for (let at = data.metrics[state.metric].parent; at !== null; at = data.metrics[at].parent) metrics.push(at);
    for (const metric of metrics) for (const source of [data.metrics[metric].inclusive, data.metrics[metric].exclusive]) {
      if (source === null) continue;
      data.rows[source].paths.forEach((each, at) => {
        const place = data.rows[source].views[at];
        if (path.has(each) && typeof place === "number") found.add(place);
      });
    }
    return found;
  };
  // Shows a grid of the page: expanded if its values are exclusive.
  const show = (view) => {
    for (const [metric, { inclusive, exclusive }] of data.metrics.entries()) for (const [source, own] of [[exclusive, true], [inclusive, false]]) {
      const at = source === null ? -1 : data.rows[source].views.indexOf(view);
      if (at < 0) continue;
      [state.metric, state.path] = [metric, data.rows[source].paths[at]];
      for (let up = data.metrics[metric].parent; up !== null; up = data.metrics[up].parent) metricTree.open.add(up);
      for (let up = pathParents[state.path]; up !== null; up = pathParents[up]) pathTree.open.add(up);
      metricTree.open.delete(metric);
      if (own && pathsBelow(state.path).length) pathTree.open.add(state.path);
      else pathTree.open.delete(state.path);
      metricTree.select(metric);
      pathTree.select(state.path);
      update(false);
      metricTree.scroll();
      pathTree.scroll();
      return;
    }
  };
  const cell = (at) => {
    const place = data.cells.indexOf(at);
    if (place < 0) return;
    for (let up = data.parents[place]; up !== null; up = data.parents[up]) systemTree.open.add(up);
    state.place = place;
    systemTree.select(place);
    systemTree.paint();
    systemTree.scroll();
  };
  host.querySelector(".as").append(...[["absolute", "absolute"], ["share", "per cent"], ["call", "per call"]]
    .filter(([value]) => value !== "call" || data.calls !== null).map(([value, text]) => element("option", { value }, text)));
  host.querySelector(".as").addEventListener("change", (event) => {
    state.as = event.target.value;
    update(false);
  });
  // Small systems are shown whole, others to their first branches.
  for (let at = 0; at < data.parents.length && data.parents.length <= 40; at++) if (data.cells[at] === null) systemTree.open.add(at);
  for (let all = placesBelow(-1); all.length === 1; all = placesBelow(all[0])) systemTree.open.add(all[0]);
  if (data.unplaced) host.querySelector(".system").append(element("p", { class: "note" }, `${data.unplaced} locations have no cell of the grid and are not shown here.`));
  return { show, cell };
};
