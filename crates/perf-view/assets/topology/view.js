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
  // With values, the page correlates any reference itself.
  const waveSet = data.fields ? perfkit.waves(axes.map((axis) => axis.len)) : null;
  const coded = waveSet && perfkit.codedSpectra(waveSet, data.fields);
  const held = coded?.held;
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
  const grids = data.grids.map(({ unit, kinds }, at) => ({ name: gridNames[at], unit, kinds: coded ? null : kinds.map(unpack) }));
  const kindsOf = (grid, at) => (grid.kinds ??= [coloured(coded.field(at))]);
  const maps = data.maps.map(([name, text]) => ({ name, table: perfkit.bytes(text) }));
  const waveTable = perfkit.bytes(data.waves[0][1]);
  // Views of a list, and by which factor the reader extends it.
  const MOST_LISTED = 12, MORE = 4;
  const state = { map: 0, kind: 0, left: 0, filtered: false, weights: null, right: grids.length > 1 ? 1 : 0, yaw: 0.7, pitch: 0.5, zoom: 1, mask: (1 << axes.length) - 1, picked: null, top: MOST_LISTED };
  // The list of a choice of axes: a bit an axis, the views, and the weights.
  const listOf = (mask) => data.lists.find(([own]) => own === mask);
  if (data.lists.length) state.mask = listOf(data.chosen ?? state.mask) ? (data.chosen ?? state.mask) : data.lists[0][0];
  // With exact values, lists are computed for any reference and any weights.
  const correlator = coded && perfkit.correlator(waveSet, data.fields.tolerance, held.reduce((count, is) => count + Boolean(is), 0));
  // Kin of a view: runs of higher numbers.
  const holds = (runs, number) => runs.some((first, at) => at % 2 === 0 && number >= first && number < first + runs[at + 1]);
  const areKin = (one, other) => holds(data.fields.kin[Math.min(one, other)], Math.max(one, other));
  // A reference that is no grid of the page, but was selected in the trees: the last grid.
  const OWN = grids.length;
  let own = null;
  const spectrumOf = (view) => (view === OWN ? own.spectrum : coded.spectrum(view));
  state.weights = listOf(state.mask)?.[2].slice() ?? axes.map(() => 1);
  let computed = null;
  // Bounds of the probability of chance, until the list is computed again.
  const bounds = new Map();
  const compute = () => {
    const begin = performance.now();
    bounds.clear();
    const isOther = state.left === OWN ? (view) => !own.kin.has(view) : (view) => view !== state.left && !areKin(state.left, view);
    const views = grids.slice(0, OWN).map((_, view) => view).filter(isOther);
    const { found: top, count } = correlator.rank(spectrumOf(state.left), state.weights, views, coded.spectrum, state.top);
    computed = [state.mask, top.map(({ view, r, shift, unshifted }) => [view, r, shift, unshifted]), state.weights, count];
    section.dataset.computed = JSON.stringify(top.map(({ view, r, shift }) => [grids[view].name, r, shift]));
    section.dataset.took = Math.round(performance.now() - begin);
    if (top.length) state.right = top[0].view;
  };
  const current = () => computed ?? listOf(state.mask);
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
    const renderer = perfkit.cubeRenderer(canvas);
    return { figure, canvas, renderer, label: perfkit.axisLabels(figure, canvas, renderer), caption: figure.querySelector("figcaption"),
      bar: figure.querySelector(".bar"), ends: figure.querySelector(".ends"), seen: [], view: null };
  });
  const drawn = panes.every((pane) => pane.renderer);
  section.dataset.webgl = drawn ? "1" : "0";
  find(".stills").hidden = drawn;
  find(".panes").hidden = !drawn;

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
    kindsOf(grid, view);
    return grid;
  };
  const fill = () => {
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

  // The values of the selected cube, after the grids have changed. Its place in the trees is the same.
  const redescribe = () => {
    const cube = state.picked && panes[0].view.cells.get(state.picked.join());
    if (cube) status.textContent = words(panes[0], cube);
  };

  const link = () => perfkit.link(section.id, { view: grids[state.right].name, axes: state.mask, map: state.map,
    ...(computed && state.left !== OWN ? { reference: grids[state.left].name, weights: state.weights.join() } : {}) });
  // A bound of the probability of chance: without a shift at that shift alone, otherwise at any.
  const pCell = (view, r, shift, count) => {
    const key = [state.mask, shift, view].join(";");
    if (!bounds.has(key)) bounds.set(key, correlator.bounded(spectrumOf(state.left), coded.spectrum(view), current()[2], r, shift));
    const { single, any } = bounds.get(key);
    const text = (p) => (p >= 0.0095 ? p.toFixed(2) : p >= 1e-15 ? p.toExponential(0) : "< 1e-15");
    const p = shift.some(Boolean) ? any : single, all = Math.min(1, p * count);
    const title = `At this shift: at most ${text(single)}; at any shift: at most ${text(any)}. For the strongest of ${count} views: at most ${text(all)}.`;
    return element("td", { class: all > 0.05 ? "n faint" : "n", title }, text(p));
  };
  const isConstant = () => correlator && kindsOf(state.left === OWN ? own : grids[state.left], state.left).every(({ low, high }) => !(low < high));
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
    return share > LONE ? `${cellNames[best]} holds ${percent(share)} of the variance of the reference: r shows mostly whether a view deviates there as well` : "";
  };
  const sortAgain = perfkit.sortable(find(".found table"));
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
    const varying = list ? list[1].filter(([, r]) => r !== 0) : [];
    const short = perfkit.pathNames(varying.map(([view]) => parted(grids[view].name)[0]), 56);
    if (!varying.length) body.replaceChildren(element("tr", {}, element("td", { colspan: 5 }, isConstant() ? "The reference does not vary, so no view correlates with it." : "No view correlates with the reference for these axes.")));
    else body.replaceChildren(...varying.map(([view, r, shift, unshifted], at) => {
      const button = element("button", { type: "button", "aria-pressed": String(view === state.right),
        title: grids[view].name, on: { click: () => { state.right = view; rows(); fill(); link(); } } }, short[at], ...(parted(grids[view].name)[1] ? [element("small", {}, parted(grids[view].name)[1])] : []));
      return element("tr", { class: view === state.right ? "chosen" : "" }, element("td", { class: "n" }, signed(r)), element("td", {}, button),
        element("td", { class: "n" }, shift.some(Boolean) ? shift.join(", ") : "none"), element("td", { class: "n" }, signed(unshifted)),
        ...(correlator ? [pCell(view, r, shift, list[3] ?? OWN - 1)] : []));
    }));
    sortAgain();
    section.dataset.found = varying.length;
    if (!correlator) return;
    const count = list?.[3] ?? OWN - 1;
    find(".listed").textContent = varying.length ? `${perfkit.count(varying.length)} of ${perfkit.count(count)} views` : "";
    find(".more").hidden = !(varying.length >= state.top && varying.length < count);
    offer();
    find(".lone").textContent = state.left === 0 ? "" : lone();
    find(".reference").value = state.left;
    sliders.forEach(({ slider, text }, at) => {
      slider.value = state.weights[at];
      text.textContent = state.weights[at].toFixed(2);
    });
  };
  // References whose names hold all words that are looked for, by metric.
  const options = !correlator ? [] : perfkit.pathNames(grids.map(({ name }) => parted(name)[0]), 64)
    .map((text, value) => element("option", { value, title: grids[value].name }, text));
  const ownOption = element("option", { value: OWN, hidden: "" }, "selection in the trees");
  const matches = () => {
    const words = find(".seek").value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = options.map((_, view) => view);
    return words.length ? all.filter((view) => words.every((word) => grids[view].name.toLowerCase().includes(word))) : all;
  };
  let offered = null;
  const offer = () => {
    const found = matches(), isSought = found.length < options.length;
    // The reference itself is always among them.
    const views = state.left === OWN || found.includes(state.left) ? found : [state.left, ...found], key = views.length < options.length ? views.join() : "";
    find(".offered").textContent = isSought ? `${perfkit.count(found.length)} of ${perfkit.count(options.length)}${found.length ? "; Enter takes the first" : ""}` : "";
    if (key === offered) return;
    offered = key;
    const byMetric = new Map();
    for (const view of views) {
      const metric = parted(grids[view].name)[1];
      if (!byMetric.has(metric)) byMetric.set(metric, []);
      byMetric.get(metric).push(options[view]);
    }
    find(".reference").replaceChildren(...[...byMetric].map(([label, all]) => element("optgroup", { label }, ...all)), ownOption);
    find(".reference").value = state.left;
  };
  // Another reference, or other weights: the list is computed again.
  const change = () => {
    state.mask = state.weights.reduce((mask, weight, at) => mask | (weight > 0 ? 1 << at : 0), 0);
    compute();
    rows();
    waves();
    fill();
    redescribe();
    link();
    if (state.left !== OWN) trees?.show(state.left);
  };

  const waves = () => {
    const canvas = find(".waves");
    const plane = data.spectra[Number(find(".pair").value) || 0];
    // The planes are those of the first reference.
    find(".spectrum").hidden = !plane || state.left !== 0;
    if (!plane || state.left !== 0) return;
    const [[down, across], [height, width], text] = plane, bytes = perfkit.bytes(text);
    const side = Math.min(260, Math.max(120, canvas.parentElement.clientWidth));
    const [context] = perfkit.fit(canvas, side, side);
    const table = waveTable, weights = current()?.[2], f = (axis) => weights ? weights[axis] : 1;
    const weight = (row, column) => {
      const [a, b] = [row - Math.floor(height / 2), column - Math.floor(width / 2)].map((k) => k * k);
      return a + b ? (f(down) * a + f(across) * b) / (a + b) : 0;
    };
    const room = perfkit.LABEL_ROOM, [w, h] = [(side - room) / width, (side - room) / height];
    perfkit.frequencyLabels(context, side, [height, width], [axes[down].name, axes[across].name]);
    context.translate(room, 0);
    const tint = (row, column) => {
      const step = bytes[row * width + column], keep = 0.25 + 0.75 * weight(row, column);
      return [0, 1, 2].map((at) => Math.round(keep * table[3 * step + at] + (1 - keep) * 128));
    };
    for (let row = 0; row < height; row++) for (let column = 0; column < width; column++) {
      context.fillStyle = `rgb(${tint(row, column).join()})`;
      context.fillRect(column * w, row * h, w + 0.5, h + 0.5);
    }
    // The filter: where it lets half through, on both sides of which weights differ.
    context.strokeStyle = "#ff3ea5";
    context.lineWidth = 2;
    context.beginPath();
    for (let row = 0; row < height; row++) for (let column = 0; column < width; column++) {
      const inside = weight(row, column) >= 0.5;
      if (column + 1 < width && inside !== weight(row, column + 1) >= 0.5) {
        context.moveTo((column + 1) * w, row * h);
        context.lineTo((column + 1) * w, (row + 1) * h);
      }
      if (row + 1 < height && inside !== weight(row + 1, column) >= 0.5) {
        context.moveTo(column * w, (row + 1) * h);
        context.lineTo((column + 1) * w, (row + 1) * h);
      }
    }
    context.stroke();
  };

  const choices = (name, texts) => find(name).append(...texts.map((text, value) => element("option", { value }, text)));
  choices(".map", maps.map(({ name }) => name));
  choices(".by", ["reference", "selected view"]);
  choices(".kind", data.coarser ? ["mean", "maximum", "spread"] : ["each"]);
  choices(".pair", data.spectra.map(([pair]) => pair.map((axis) => axes[axis].name).join(" and ")));
  find(".kind").closest("label").hidden = !data.coarser;
  const asked = perfkit.linked(section.id);
  if (listOf(Number(asked.get("axes") ?? NaN))) state.mask = Number(asked.get("axes"));
  if (asked.has("map")) state.map = Math.min(maps.length - 1, Math.max(0, Number(asked.get("map")) || 0));
  const named = grids.findIndex(({ name }) => name === asked.get("view"));
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
        state.weights[at] = state.weights[at] > 0 ? 0 : 1;
        change();
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
    return { box, axis, label: element("label", axis.len > 1 ? {} : { hidden: "" }, box, element("span", {})) };
  });
  find(".filter").append(...boxes.map(({ label }) => label));
  // A slider for the weight of each axis along which something can vary.
  const sliders = !correlator ? [] : axes.map((axis, at) => {
    const slider = element("input", { type: "range", min: 0, max: 1, step: 0.05, "aria-label": "Weight of " + axis.name });
    const text = element("output", {});
    slider.addEventListener("input", () => {
      state.weights[at] = Number(slider.value);
      change();
    });
    if (axis.len > 1) boxes[at].label.after(slider, text);
    return { slider, text };
  });
  if (correlator) {
    find(".reference").addEventListener("change", (event) => { state.left = Number(event.target.value); change(); });
    // The first of the offered views becomes the reference.
    find(".seek").addEventListener("input", offer);
    find(".seek").addEventListener("keydown", (event) => {
      const first = event.key === "Enter" && event.target.value.trim() ? matches()[0] : undefined;
      if (first === undefined) return;
      event.preventDefault();
      state.left = first;
      change();
    });
    find(".more").addEventListener("click", () => {
      state.top *= MORE;
      const { right } = state;
      compute();
      state.right = right;
      rows();
      find(".found tbody tr.chosen button")?.focus();
    });
    find(".swap").addEventListener("click", () => { state.left = state.right; change(); });
    find(".filtered").addEventListener("change", (event) => { state.filtered = event.target.checked; fill(); redescribe(); });
    const reference = grids.findIndex(({ name }) => name === asked.get("reference"));
    const weights = (asked.get("weights") ?? "").split(",").map(Number);
    if (weights.length === axes.length && weights.every((weight) => weight >= 0 && weight <= 1)) state.weights = weights;
    if (reference >= 0) {
      state.left = reference;
      state.mask = state.weights.reduce((mask, weight, at) => mask | (weight > 0 ? 1 << at : 0), 0);
      compute();
      if (named >= 0) state.right = named;
    }
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
    let held = null;
    pane.canvas.addEventListener("pointerdown", (event) => {
      held = { x: event.clientX, y: event.clientY, moved: 0 };
      pane.canvas.setPointerCapture(event.pointerId);
    });
    pane.canvas.addEventListener("pointermove", (event) => {
      if (!held) {
        hover(pane, event);
        return;
      }
      const [x, y] = [event.clientX - held.x, event.clientY - held.y];
      held = { x: event.clientX, y: event.clientY, moved: held.moved + Math.abs(x) + Math.abs(y) };
      turn(-x / 150, y / 150);
    });
    pane.canvas.addEventListener("pointerup", (event) => {
      const cube = held && held.moved < 5 ? pick(pane, event) : null;
      if (cube) describe(pane, cube);
      held = null;
    });
    pane.canvas.addEventListener("pointercancel", () => (held = null));
    pane.canvas.addEventListener("pointerleave", () => (tip.hidden = true));
    pane.canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(event.deltaY > 0 ? 0.85 : 1.18);
    }, { passive: false });
    pane.canvas.addEventListener("keydown", (event) => {
      const keys = { ArrowLeft: () => turn(0.15, 0), ArrowRight: () => turn(-0.15, 0), ArrowUp: () => turn(0, 0.12), ArrowDown: () => turn(0, -0.12),
        "+": () => zoom(1.2), "=": () => zoom(1.2), "-": () => zoom(0.83) };
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      keys[event.key]();
    });
  }
  const trees = !data.fields?.trees ? null : perfkit.trees(find(".profile"), data.fields.trees, {
    names, field: (view) => kindsOf(grids[view], view)[0].values, grain: coded.grain, held, write,
    colour: (share) => {
      const { table } = maps[state.map], step = 3 * Math.round(255 * Math.min(1, share));
      return `rgb(${table[step]},${table[step + 1]},${table[step + 2]})`;
    },
    // What is selected becomes the reference: a grid of the page, or a sum of several.
    select: ({ name, unit, view, values, kin }) => {
      if (view === null && !values) {
        status.textContent = `${name}: the page does not hold the values of the cells.`;
        return;
      }
      if (view === null) {
        const mean = values.reduce((sum, value, at) => sum + (held[at] ? value : 0), 0) / held.reduce((sum, is) => sum + is, 0);
        const filled = values.map((value, at) => (held[at] ? value : mean));
        own = { name, unit, kinds: [coloured(filled)], spectrum: waveSet.forward(filled), kin };
      }
      state.left = view ?? OWN;
      change();
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
  rows();
  fill();
  waves();
  // The cube with the highest value of the reference is selected at first.
  const highest = panes[0].view.list.reduce((best, cube) => (best && best.value >= cube.value ? best : cube), null);
  trees?.show(state.left);
  if (highest) describe(panes[0], highest);
  coded?.ahead();
});
