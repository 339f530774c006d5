"use strict";
perfkit.view("topology", (section, data) => {
  const { element, percent, short, bytesText } = perfkit;
  const find = (name) => section.querySelector(name);
  const axes = data.axes.map(([name, len, block, all]) => ({ name, len, block, all, low: 0, high: len - 1, role: "mean" }));
  const unpack = ([low, high, text]) => ({ low, high, bytes: perfkit.bytes(text) });
  // Names come with the part that they share with the one before.
  const names = (coded) => {
    let last = "";
    return coded.map(([shared, rest]) => (last = last.slice(0, shared) + rest));
  };
  const cellNames = names(data.names);
  // With values or a server, the page has lists for any reference and any weights.
  const waveSet = data.fields ? perfkit.waves(axes.map((axis) => axis.len)) : null;
  const isHeld = data.fields && perfkit.bytes(data.fields.held);
  const correlator = waveSet && perfkit.correlator(waveSet, data.fields.tolerance);
  // A server sends the bounds of chance with its lists.
  const chances = waveSet && !data.fields.served ? perfkit.chances(waveSet, isHeld.reduce((count, is) => count + is, 0)) : null;
  const source = !correlator ? null : data.fields.served ? perfkit.servedViews(waveSet, data, (error) => failed(error)) : perfkit.localViews(waveSet, data.fields, correlator);
  const held = source?.held;
  const coloured = (values) => {
    let [low, high] = [Infinity, -Infinity];
    values.forEach((value, at) => {
      if (!held[at]) return;
      low = Math.min(low, value);
      high = Math.max(high, value);
    });
    return { low, high, values };
  };
  const gridNames = names(data.grids.map(({ name }) => name));
  const grids = data.grids.map(({ unit, kinds }, at) => ({ name: gridNames[at], unit, kinds: source ? null : kinds.map(unpack) }));
  // A served page keeps the values of some views only.
  const kindsOf = (grid, at) => grid.kinds ?? (source.isServed ? source.kinds(at).map(coloured) : (grid.kinds = source.kinds(at).map(coloured)));
  const maps = data.maps.map(([name, text]) => ({ name, table: perfkit.bytes(text) }));
  const waveTable = perfkit.bytes(data.waves[0][1]);
  // Views of a list, and by which factor the reader extends it.
  const MOST_LISTED = 12, MORE = 4;
  const state = { map: 0, kind: 0, left: 0, filtered: false, weights: null, right: grids.length > 1 ? 1 : 0, yaw: 0.7, pitch: 0.5, zoom: 1, mask: (1 << axes.length) - 1, picked: null, top: MOST_LISTED };
  // The list of a choice of axes: a bit an axis, the views, and the weights.
  const listOf = (mask) => data.lists.find(([own]) => own === mask);
  if (data.lists.length) state.mask = listOf(data.chosen ?? state.mask) ? (data.chosen ?? state.mask) : data.lists[0][0];
  // A reference that is no grid of the page, but was selected in the trees: the last grid.
  const OWN = grids.length;
  let own = null;
  const spectrumOf = (view) => (view === OWN ? own.spectrum : source.spectrum(view));
  state.weights = data.fields?.served?.[1].slice() ?? listOf(state.mask)?.[2].slice() ?? axes.map(() => 1);
  const firstWeights = state.weights.join();
  // The reference and the weights that the reader asks for last; the page changes when their list is there.
  const asked = { left: 0, own: null, weights: state.weights.slice() };
  let computed = null;
  // Bounds of the probability of chance, until the list is there again.
  const bounds = new Map();
  // Gets the list, and calls `then` with `true` for the first list of these choices.
  const compute = (top, then) => {
    const begin = performance.now(), { left, weights } = asked, sum = left === OWN ? asked.own : null, chosen = weights.slice();
    const order = [left, ...chosen, top].join();
    let first = true;
    source.list({ view: left, own: sum, weights: chosen, top, right: state.right }, ({ found, count, open }) => {
      bounds.clear();
      if (sum) own = { ...sum, spectrum: sum.spectrum ?? source.spectrum(sum.key), kinds: sum.kinds ?? source.kinds(sum.key).map(coloured) };
      // The view that the reader has selected since stays.
      const isKept = !first && state.right !== computed?.best;
      pending = [];
      Object.assign(state, { left, weights: chosen, top, mask: chosen.reduce((mask, weight, at) => mask | (weight > 0 ? 1 << at : 0), 0) });
      computed = { list: [state.mask, found, chosen, count], open, best: found.length ? found[0][0] : null };
      section.dataset.computed = JSON.stringify(found.map(([view, r, shift]) => [grids[view].name, r, shift]));
      section.dataset.took = Math.round(performance.now() - begin);
      section.dataset.order = order;
      if (found.length && !isKept) state.right = found[0][0];
      then(first);
      first = false;
    });
  };
  const current = () => computed?.list ?? listOf(state.mask);
  // A grid with a single long axis lies across the pane, and one with two is seen from above, as a map.
  const long = axes.filter((axis) => axis.len > 1);
  if (long.length < 2) state.yaw = 0;
  if (long.length === 2) [state.yaw, state.pitch, state.zoom] = [0, Math.PI / 2, (0.88 * Math.hypot(...long.map((axis) => axis.len))) / Math.max(...long.map((axis) => axis.len))];
  // Share of the variance above which a single cell rules every correlation.
  const LONE = 0.5;
  // Views of a profile are named by their call path and their metric.
  const parted = (name) => {
    const cut = correlator ? name.lastIndexOf(", ") : -1;
    return cut < 0 ? [name, ""] : [name.slice(0, cut), name.slice(cut + 2)];
  };
  const nameOf = (name, most) => {
    const [path, metric] = parted(name);
    return metric ? `${perfkit.pathNames([path], Math.max(16, most - metric.length - 2))[0]}, ${metric}` : perfkit.pathNames([path], most)[0];
  };
  const home = { yaw: state.yaw, pitch: state.pitch, zoom: state.zoom };
  const status = find(".status");

  const write = (value, unit) =>
    unit === "ns" ? perfkit.time(value) : unit === "B" ? bytesText(value) : unit === "%" ? percent(value) : short(value, unit);

  // Axes of these names keep them. Otherwise the first three long axes are x, y and z; the others are taken together.
  const ROLES = ["x", "y", "z"];
  if (long.length <= ROLES.length) for (const axis of long) if (ROLES.slice(0, long.length).includes(axis.name)) axis.role = axis.name;
  ROLES.forEach((role) => {
    if (axes.some((axis) => axis.role === role)) return;
    const next = axes.find((axis) => axis.len > 1 && axis.role === "mean");
    if (next) next.role = role;
  });

  // What is seen of a grid: cells by place, with the axes that are taken together reduced.
  const reduced = (grid) => {
    const shown = grid.kinds[Math.min(state.kind, grid.kinds.length - 1)];
    const { bytes, values } = shown;
    const inner = ["x", "y", "z"].map((role) => axes.filter((axis) => axis.role === role));
    const dims = inner.map((all) => all.reduce((size, axis) => size * axis.len + (size > 1 ? size - 1 : 0), 1));
    const strides = axes.map((_, at) => axes.slice(at + 1).reduce((size, axis) => size * axis.len, 1));
    const cells = new Map();
    const total = axes.reduce((size, axis) => size * axis.len, 1);
    for (let cell = 0; cell < total; cell++) {
      if (values ? !held[cell] : !bytes[cell]) continue;
      let inside = true;
      const at = axes.map((axis, index) => {
        const place = Math.floor(cell / strides[index]) % axis.len;
        if (place < axis.low || place > axis.high) inside = false;
        return place;
      });
      if (!inside) continue;
      // Several axes in one direction: the first one in steps as wide as the others, and a gap.
      const place = ["x", "y", "z"].map((role) => axes.reduce(([sum, wide], axis, index) =>
        axis.role === role ? [sum * (axis.len + (wide ? 1 : 0)) + at[index], true] : [sum, wide], [0, false])[0]);
      const key = place.join();
      const value = values ? values[cell] : shown.low + ((bytes[cell] - 1) / 254) * (shown.high - shown.low);
      const found = cells.get(key);
      if (!found) cells.set(key, { place, sum: value, count: 1, max: value, cell, at });
      else {
        found.sum += value;
        found.count += 1;
        found.max = Math.max(found.max, value);
      }
    }
    const largest = axes.some((axis) => axis.role === "max");
    const out = [...cells.values()];
    out.forEach((found) => (found.value = largest ? found.max : found.sum / found.count));
    return { cells, list: out, dims };
  };

  const ends = (view) => view.list.reduce(([low, high], { value }) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);

  const panes = ["left", "right"].map((name) => {
    const figure = find("." + name), canvas = figure.querySelector("canvas");
    return { figure, canvas, renderer: undefined, label: null, caption: figure.querySelector("figcaption"),
      bar: figure.querySelector(".bar"), ends: figure.querySelector(".ends"), seen: [], view: null };
  });
  find(".stills").hidden = true;
  // Renderers take long to make, so that the list is shown before.
  let drawn = false;
  const prepare = (pane) => {
    if (pane.renderer !== undefined) return;
    pane.renderer = perfkit.cubeRenderer(pane.canvas);
    pane.label = perfkit.axisLabels(pane.figure, pane.canvas, pane.renderer);
    if (panes.some(({ renderer }) => renderer === undefined)) return;
    drawn = panes.every(({ renderer }) => renderer);
    section.dataset.webgl = drawn ? "1" : "0";
    find(".stills").hidden = drawn;
    find(".panes").hidden = !drawn;
  };
  const preparations = panes.map((pane) => () => prepare(pane));

  // Which cubes are seen: cells that the brush selects in one of the grids, and not hidden by neighbours on all six sides.
  const brushed = () => {
    const { view, range: [low, high] } = panes[Number(find(".by").value)];
    const from = low + (find(".low").value / 1000) * (high - low), to = low + (find(".high").value / 1000) * (high - low);
    const spare = 1e-9 * (high - low);
    return (place) => {
      const cell = view.cells.get(place);
      return cell && cell.value >= from - spare && cell.value <= to + spare;
    };
  };
  const exposed = (pane, isBrushed) => {
    const inside = (cell) => cell && isBrushed(cell.place.join());
    const kept = pane.view.list.filter(inside);
    const cells = pane.view.cells;
    pane.kept = kept.length;
    // Above and below first, where a flat grid has no neighbours.
    return kept.filter(({ place: [x, y, z] }) =>
      ![[0, 0, 1], [0, 0, -1], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]].every(([a, b, c]) => inside(cells.get([x + a, y + b, z + c].join()))));
  };

  // A grid as recorded, or filtered by the weights of the axes.
  const shown = (view) => {
    const grid = view === OWN ? own : grids[view], { name, unit } = grid;
    if (state.filtered && correlator) return { name: "filtered: " + name, unit, kinds: [coloured(correlator.filtered(spectrumOf(view), state.weights))] };
    return { name, unit, kinds: kindsOf(grid, view) };
  };
  // A served page has nothing to draw until the first answer.
  const isThere = () => !source || ((state.left === OWN || source.has(state.left)) && source.has(state.right));
  const fill = () => {
    if (!isThere()) return;
    panes.forEach(prepare);
    const all = panes.map((pane, at) => {
      pane.grid = shown(at ? state.right : state.left);
      pane.view = reduced(pane.grid);
      return ends(pane.view);
    });
    const shared = find(".shared").checked && panes[0].grid.unit === panes[1].grid.unit;
    panes.forEach((pane, at) => (pane.range = shared ? [Math.min(all[0][0], all[1][0]), Math.max(all[0][1], all[1][1])] : all[at]));
    const isBrushed = brushed();
    panes.forEach((pane) => {
      const { range } = pane;
      pane.seen = exposed(pane, isBrushed);
      const { table } = maps[state.map];
      if (pane.renderer) {
        const places = new Float32Array(3 * pane.seen.length), colours = new Uint8Array(4 * pane.seen.length);
        pane.seen.forEach(({ place, value }, index) => {
          places.set(place, 3 * index);
          const step = range[1] > range[0] ? Math.round((255 * (value - range[0])) / (range[1] - range[0])) : 0;
          colours.set(table.subarray(3 * step, 3 * step + 3), 4 * index);
          colours[4 * index + 3] = 255;
        });
        pane.renderer.fill(places, colours);
      }
      pane.caption.textContent = nameOf(pane.grid.name, Math.max(16, Math.floor(pane.figure.clientWidth / 8)));
      pane.caption.title = pane.grid.name;
      const [low, high] = range.map((value) => write(value, pane.grid.unit));
      // Values that differ little have a spread rather than two equal ends.
      const end = low === high && range[0] < range[1] ? `${low} + ${write(range[1] - range[0], pane.grid.unit)}` : high;
      pane.ends.replaceChildren(...[low, end].map((text) => element("span", {}, text)));
      const [context] = perfkit.fit(pane.bar, Math.max(40, pane.figure.clientWidth), 12);
      pane.bar.style.width = "100%";
      const width = pane.figure.clientWidth / 256;
      for (let step = 0; step < 256; step++) {
        context.fillStyle = `rgb(${table[3 * step]},${table[3 * step + 1]},${table[3 * step + 2]})`;
        context.fillRect(step * width, 0, width + 1, 12);
      }
    });
    section.dataset.cubes = panes.map((pane) => pane.kept).join();
    draw();
  };

  // Length of the sides of a cube; cells have the distance 1.
  const side = () => 1 - find(".gap").value / 100;
  const draw = () => {
    if (!drawn) return;
    const paper = perfkit.rgb(perfkit.variable("paper")).map((value) => value / 255);
    for (const pane of panes) {
      pane.renderer.draw(state, pane.view.dims, side(), paper);
      pane.label(state, pane.view.dims, ROLES.map((role) => axes.filter((axis) => axis.role === role && axis.len > 1).map(({ name }) => name).join(", ")));
    }
    section.dataset.camera = [state.yaw, state.pitch, state.zoom].map((value) => value.toFixed(3)).join();
  };

  const pick = (pane, event) => pane.renderer.pick(state, pane.view.dims, side(), pane.seen, event);
  const MOST_SAID = 64;
  const words = (pane, cube) => {
    const where = axes.map((axis, at) => {
      if (!["x", "y", "z"].includes(axis.role) && axis.len > 1) return null;
      const first = cube.at[at] * axis.block, last = Math.min(axis.all, first + axis.block) - 1;
      // "axis 0 1" would be two numbers.
      return `${axis.name}${/\d$/.test(axis.name) ? " at" : ""} ${first === last ? first : first + " to " + last}`;
    }).filter(Boolean);
    const name = cube.count === 1 ? cellNames[cube.cell] : null;
    const others = panes.filter((other) => other !== pane).map((other) => {
      const found = other.view.cells.get(cube.place.join());
      return found ? ` ${nameOf(other.grid.name, MOST_SAID)}: ${write(found.value, other.grid.unit)}.` : "";
    });
    return `${name ? name + ", " : ""}${where.join(", ")}: ${write(cube.value, pane.grid.unit)} (${nameOf(pane.grid.name, MOST_SAID)}).${others.join("")}`;
  };
  const describe = (pane, cube) => {
    status.textContent = words(pane, cube);
    state.picked = cube.place;
    section.dataset.picked = cube.place.join();
    if (cube.count === 1) trees?.cell(cube.cell);
  };
  // The values under the pointer.
  const tip = element("div", { class: "tip", "aria-hidden": "true", hidden: "" });
  section.append(tip);
  const hover = (pane, event) => {
    const cube = event.buttons ? null : pick(pane, event);
    tip.hidden = !cube;
    if (!cube) return;
    tip.textContent = words(pane, cube);
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8)) + "px";
    tip.style.top = (event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18) + "px";
  };

  // The values of the selected cube, after the grids have changed. Its place in the trees is the same. At first the cube with the
  // highest value of the reference is selected.
  const redescribe = () => {
    const { cells, list } = panes[0].view, cube = state.picked && cells.get(state.picked.join());
    if (cube) status.textContent = words(panes[0], cube);
    const highest = state.picked ? null : list.reduce((best, cube) => (best && best.value >= cube.value ? best : cube), null);
    if (highest) describe(panes[0], highest);
  };

  const link = () => perfkit.link(section.id, { view: grids[state.right].name, axes: state.mask, map: state.map,
    ...(computed && state.left !== OWN ? { reference: grids[state.left].name, weights: state.weights.join() } : {}) });
  // A bound of the probability of chance: without a shift at that shift alone, otherwise at any.
  const showChance = (cell, { single, any }, shift, count) => {
    const text = (p) => (p >= 0.0095 ? p.toFixed(2) : p >= 1e-15 ? p.toExponential(0) : "< 1e-15");
    const p = shift.some(Boolean) ? any : single, all = Math.min(1, p * count);
    cell.title = `At this shift: at most ${text(single)}; at any shift: at most ${text(any)}. For the strongest of ${count} views: at most ${text(all)}.`;
    cell.className = all > 0.05 ? "n faint" : "n";
    cell.textContent = text(p);
    cell.dataset.p = p;
  };
  // Cells of the list whose bounds are not there yet.
  let pending = [];
  const chanceCell = ([view, r, shift, , chance], count) => {
    const cell = element("td", { class: "n" }, "…"), key = [shift, view].join(";"), known = chance ? { single: chance[0], any: chance[1] } : bounds.get(key);
    if (known) showChance(cell, known, shift, count);
    else pending.push({ cell, key, view, r, shift, count });
    return cell;
  };
  const sided = (view) => ({ spectrum: spectrumOf(view), values: kindsOf(view === OWN ? own : grids[view], view)[0].values });
  // Milliseconds of one turn.
  const TURN = 8;
  const fillChances = () => {
    for (const begin = performance.now(); pending.length && performance.now() - begin < TURN; ) {
      const { cell, key, view, r, shift, count } = pending.shift(), found = chances(sided(state.left), sided(view), current()[2], r, shift);
      bounds.set(key, found);
      showChance(cell, found, shift, count);
    }
    if (pending.length) return true;
    sortAgain(false);
    return false;
  };
  const isConstant = () => correlator && isThere() && kindsOf(state.left === OWN ? own : grids[state.left], state.left).every(({ low, high }) => !(low < high));
  // Names the cell that holds most of the variance of the reference.
  const lone = () => {
    const values = correlator.filtered(spectrumOf(state.left), state.weights);
    let [sum, best] = [0, -1];
    values.forEach((value, cell) => {
      if (!held[cell]) return;
      sum += value * value;
      if (best < 0 || Math.abs(value) > Math.abs(values[best])) best = cell;
    });
    const share = best < 0 ? 0 : values[best] ** 2 / sum;
    return share > LONE && cellNames[best] ? `${cellNames[best]} holds ${percent(share)} of the variance of the reference: r shows mostly whether a view deviates there as well` : "";
  };
  // Headings and notes about the first list hold for that list only.
  const headings = [section.querySelector("h2"), document.querySelector("h1"), document.querySelector("title")].filter(Boolean).map((heading) => [heading, heading.textContent]);
  const remark = () => {
    const isFirst = state.left === 0 && state.weights.join() === firstWeights;
    for (const [heading, text] of headings) heading.textContent = state.left === 0 ? text : text.replace(/: correlated with .*/, ": views on the grid");
    section.querySelectorAll(".note.first").forEach((note) => (note.hidden = !isFirst));
    find(".lone").textContent = isFirst && !source.isServed ? "" : lone();
  };
  const select = (view) => {
    const draw = () => {
      state.right = view;
      rows();
      fill();
      link();
    };
    if (source) source.show(view, draw);
    else draw();
  };
  const sortAgain = perfkit.sortable(find(".found table"));
  const stages = perfkit.stages(() => { if (isThere()) section.dataset.settled = section.dataset.order ?? ""; });
  const rows = () => {
    const list = current();
    section.dataset.mask = state.mask;
    section.dataset.reference = state.left;
    // An axis can be switched where that choice has a list; its weight stands beside its name.
    boxes.forEach(({ box, label, axis }, at) => {
      const weight = list ? list[2][at] : 0;
      box.checked = Boolean((state.mask >> at) & 1);
      box.disabled = !correlator && !listOf(state.mask ^ (1 << at));
      label.title = box.disabled ? "The page has no list for this choice of axes; write another page with --axes." : "";
      label.lastChild.textContent = axis.name + (weight > 0 && weight < 1 ? ` × ${weight}` : "");
    });
    const body = find(".found tbody");
    const signed = (r) => (r < 0 ? "" : "+") + r.toFixed(3);
    const varying = list ? list[1].filter(([, r]) => r !== 0) : [], count = list?.[3] ?? OWN - 1;
    pending = [];
    const short = perfkit.pathNames(varying.map(([view]) => parted(grids[view].name)[0]), 56);
    if (!varying.length && computed?.open) body.replaceChildren();
    else if (!varying.length) body.replaceChildren(element("tr", {}, element("td", { colspan: 5 }, isConstant() ? "The reference does not vary, so no view correlates with it." : "No view correlates with the reference for these axes.")));
    else body.replaceChildren(...varying.map((entry, at) => {
      const [view, r, shift, unshifted] = entry;
      const button = element("button", { type: "button", "aria-pressed": String(view === state.right),
        title: grids[view].name, on: { click: () => select(view) } }, short[at], ...(parted(grids[view].name)[1] ? [element("small", {}, parted(grids[view].name)[1])] : []));
      return element("tr", { class: view === state.right ? "chosen" : "" }, element("td", { class: "n" }, signed(r)), element("td", {}, button),
        element("td", { class: "n" }, shift.some(Boolean) ? shift.join(", ") : "none"), element("td", { class: "n" }, signed(unshifted)),
        ...(correlator ? [chanceCell(entry, count)] : []));
    }));
    sortAgain(true);
    if (pending.length) stages.add(fillChances);
    section.dataset.found = varying.length;
    if (!correlator) return;
    const open = computed?.open ? `; ${perfkit.count(computed.open)} more are being decoded, then they are compared` : "";
    find(".listed").textContent = varying.length || open ? `${perfkit.count(varying.length)} of ${perfkit.count(count)} views${open}` : "";
    find(".more").hidden = !(varying.length >= state.top && varying.length < count);
    offer(state.left);
    sliders.forEach(({ slider, text }, at) => {
      slider.value = state.weights[at];
      text.textContent = state.weights[at].toFixed(2);
    });
  };
  const offer = !correlator ? null : perfkit.references(find, grids.map(({ name }) => name), { parted, change: (left) => change({ left }) });
  // What follows the list, once the values are there.
  let inTrees = null;
  const drawing = [
    ...preparations, () => { if (isThere()) { fill(); redescribe(); remark(); } }, fillChances, () => waves(),
    () => {
      const isOther = state.left !== OWN && state.left !== inTrees;
      inTrees = state.left;
      if (isOther) trees?.show(state.left);
    },
  ];
  // Another reference, or other weights: the list is computed again.
  const change = (to) => {
    Object.assign(asked, to);
    compute(MOST_LISTED, () => {
      rows();
      stages.run(...drawing, link);
    });
  };
  const failed = (error) => {
    status.textContent = perfkit.unanswered(error);
    [asked.left, asked.own, asked.weights] = [state.left, own, state.weights.slice()];
    if (isThere()) rows();
  };

  const waves = () => {
    const plane = data.spectra[Number(find(".pair").value) || 0];
    find(".spectrum").hidden = !plane;
    if (!plane || !isThere()) return;
    const [pair, lens, text] = plane, list = current(), weights = pair.map((axis) => (list ? list[2][axis] : 1));
    const bytes = source ? perfkit.spectrumPlane(waveSet, spectrumOf(state.left), pair) : perfkit.bytes(text);
    perfkit.drawPlane(find(".waves"), lens, bytes, weights, [waveTable, pair.map((axis) => axes[axis].name)]);
  };

  const choices = (name, texts) => find(name).append(...texts.map((text, value) => element("option", { value }, text)));
  choices(".map", maps.map(({ name }) => name));
  choices(".by", ["reference", "selected view"]);
  choices(".kind", data.coarser ? ["mean", "maximum", "spread"] : ["each"]);
  choices(".pair", data.spectra.map(([pair]) => pair.map((axis) => axes[axis].name).join(" and ")));
  find(".kind").closest("label").hidden = !data.coarser;
  const linked = perfkit.linked(section.id);
  if (listOf(Number(linked.get("axes") ?? NaN))) state.mask = Number(linked.get("axes"));
  if (linked.has("map")) state.map = Math.min(maps.length - 1, Math.max(0, Number(linked.get("map")) || 0));
  const named = grids.findIndex(({ name }) => name === linked.get("view"));
  if (named >= 0) state.right = named;
  else {
    const list = listOf(state.mask);
    if (list && list[1].length) state.right = list[1][0][0];
  }
  find(".map").value = state.map;

  find(".axes").append(...axes.filter((axis) => axis.len > 1).map((axis) => {
    const role = element("select", { "aria-label": axis.name + " is shown as" },
      ...[["x", "x"], ["y", "y"], ["z", "z"], ["mean", "mean"], ["max", "maximum"]].map(([value, text]) => element("option", { value }, text)));
    role.value = axis.role;
    role.addEventListener("change", () => { axis.role = role.value; fill(); });
    const bound = (name, text) => {
      const input = element("input", { type: "number", min: 0, max: axis.len - 1, value: axis[name], "aria-label": `${axis.name} ${text}` });
      input.addEventListener("input", () => {
        axis[name] = Math.min(axis.len - 1, Math.max(0, Math.round(Number(input.value)) || 0));
        fill();
      });
      return input;
    };
    return element("span", {}, axis.name, role, bound("low", "from"), "to", bound("high", "to"));
  }));
  // Nothing varies along an axis of one cell.
  const boxes = axes.map((axis, at) => {
    const box = element("input", { type: "checkbox" });
    box.addEventListener("change", () => {
      if (correlator) {
        change({ weights: Object.assign(asked.weights.slice(), { [at]: asked.weights[at] > 0 ? 0 : 1 }) });
        return;
      }
      state.mask ^= 1 << at;
      const list = listOf(state.mask);
      if (list && list[1].length) state.right = list[1][0][0];
      rows();
      waves();
      fill();
      link();
    });
    const label = element("label", {}, box, element("span", {}));
    return { box, axis, label, group: element("span", axis.len > 1 ? { class: "weight" } : { hidden: "" }, label) };
  });
  find(".filter").append(...boxes.map(({ group }) => group));
  // A slider for the weight of each axis along which something can vary.
  const sliders = !correlator ? [] : axes.map((axis, at) => {
    const slider = element("input", { type: "range", min: 0, max: 1, step: 0.05, "aria-label": "Weight of " + axis.name });
    const text = element("output", {});
    slider.addEventListener("input", () => {
      change({ weights: Object.assign(asked.weights.slice(), { [at]: Number(slider.value) }) });
    });
    boxes[at].group.append(slider, text);
    return { slider, text };
  });
  if (correlator) {
    find(".more").addEventListener("click", () => {
      const { right } = state;
      compute(state.top * MORE, () => {
        state.right = right;
        rows();
        find(".found tbody tr.chosen button")?.focus();
      });
    });
    find(".swap").addEventListener("click", () => change({ left: state.right }));
    find(".filtered").addEventListener("change", (event) => { state.filtered = event.target.checked; fill(); redescribe(); });
    const reference = grids.findIndex(({ name }) => name === linked.get("reference"));
    const weights = (linked.get("weights") ?? "").split(",").map(Number);
    if (weights.length === axes.length && weights.every((weight) => weight >= 0 && weight <= 1)) asked.weights = weights;
    if (reference >= 0) asked.left = reference;
  }
  find(".map").addEventListener("change", (event) => { state.map = Number(event.target.value); fill(); link(); });
  find(".kind").addEventListener("change", (event) => { state.kind = Number(event.target.value); fill(); });
  find(".pair").addEventListener("change", waves);
  for (const name of [".low", ".high", ".shared", ".by"]) find(name).addEventListener("input", fill);
  find(".gap").addEventListener("input", draw);
  // Width of the square that holds a map: the zoom follows it, so that a turned map stays within its pane.
  const extent = (yaw, [a, b] = long.map(({ len }) => len), c = Math.abs(Math.cos(yaw)), s = Math.abs(Math.sin(yaw))) => Math.max(a * c + b * s, a * s + b * c);
  const turn = (yaw, pitch) => {
    if (long.length === 2) state.zoom *= extent(state.yaw) / extent(state.yaw + yaw);
    state.yaw += yaw;
    state.pitch = Math.min(1.57, Math.max(-1.57, state.pitch + pitch));
    draw();
  };
  const zoom = (factor) => {
    state.zoom = Math.min(40, Math.max(0.2, state.zoom * factor));
    draw();
  };
  // A map is shown upright.
  find(".turn").addEventListener("click", () => turn(long.length === 2 ? Math.PI / 2 : Math.PI / 4, 0));
  find(".home").addEventListener("click", () => {
    Object.assign(state, home);
    find(".low").value = 0;
    find(".high").value = 1000;
    fill();
  });
  for (const pane of panes) {
    perfkit.cubeControls(pane.canvas, {
      turn, zoom, hover: (event) => hover(pane, event), leave: () => (tip.hidden = true),
      pick: (event) => {
        const cube = pick(pane, event);
        if (cube) describe(pane, cube);
      },
    });
  }
  const trees = !data.fields?.trees ? null : perfkit.trees(find(".profile"), data.fields.trees, {
    names, source, write,
    colour: (share) => {
      const { table } = maps[state.map], step = 3 * Math.round(255 * Math.min(1, share));
      return `rgb(${table[step]},${table[step + 1]},${table[step + 2]})`;
    },
    // What is selected becomes the reference: a grid of the page, or a sum of several.
    select: ({ name, unit, view, values, kin, key }) => {
      if (view === null && !values) {
        status.textContent = `${name}: the page does not hold the values of the cells.`;
        return;
      }
      if (view === null) {
        const mean = values.reduce((sum, value, at) => sum + (held[at] ? value : 0), 0) / held.reduce((sum, is) => sum + is, 0);
        const filled = values.map((value, at) => (held[at] ? value : mean));
        asked.own = { name, unit, kinds: [coloured(filled)], spectrum: waveSet.forward(filled, source.isServed ? Float64Array : undefined), kin, key };
      }
      change({ left: view ?? OWN });
    },
    pick: (cell) => {
      const cube = panes[0].view.list.find((cube) => cube.cell === cell);
      if (cube) {
        status.textContent = words(panes[0], cube);
        state.picked = cube.place;
        section.dataset.picked = cube.place.join();
      }
    },
  });
  perfkit.onPaint(() => { fill(); waves(); });
  // The list of the page is that of its first reference and weights.
  if (source?.isServed || (source && linked.has("reference"))) {
    let isNew = true;
    compute(MOST_LISTED, () => {
      if (named >= 0 && isNew && source.has(named)) state.right = named;
      isNew &&= !isThere();
      rows();
      stages.run(...drawing);
    });
  } else {
    rows();
    if (correlator) stages.run(...drawing);
    else { fill(); redescribe(); waves(); }
  }
  source?.start();
});
