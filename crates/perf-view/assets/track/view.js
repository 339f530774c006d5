"use strict";
perfkit.view("track", (section, data) => {
  const { element, percent, count, writer, scale, factors, chart } = perfkit;
  const find = (name) => section.querySelector(name);
  const cloud = find(".cloud"), trend = find(".trend"), many = find(".experiments"), status = find(".status");
  const slider = find(".at"), play = find(".play"), acrossBox = find(".x"), upBox = find(".y");
  const metricBox = find(".metric"), kindBox = find(".kind"), relative = find(".relative");
  // A unit of more than three letters stands once, with the name.
  const beside = (unit) => (unit === "#" ? "" : unit.length > 3 && unit !== "bytes" ? "" : unit === "bytes" ? "B" : unit);
  const withUnit = (name, unit) => name + (unit.length > 3 && unit !== "bytes" ? ` [${unit}]` : "");
  const experiments = data.experiments, last = experiments.length - 1;
  const regions = new Map(data.regions.map((region) => [region.id, region]));
  const asked = perfkit.linked(section.id);
  const number = (name, most, otherwise) => {
    const value = parseFloat(asked.get(name));
    return Number.isFinite(value) ? Math.min(most, Math.max(0, value)) : otherwise;
  };
  const state = {
    x: Math.round(number("x", data.axes.length - 1, 0)),
    y: Math.round(number("y", data.axes.length - 1, Math.min(1, data.axes.length - 1))),
    at: number("experiment", last, 0),
    metric: Math.round(number("metric", data.metrics.length - 1, 0)),
    // The region with the most time is selected at first. Others are only dimmed after a choice.
    region: regions.has(Number(asked.get("region"))) ? Number(asked.get("region")) : data.regions.length ? data.regions[0].id : null,
    isolated: regions.has(Number(asked.get("region"))),
  };

  // Numbers of 16 bits.
  const words = (text) => {
    const bytes = perfkit.bytes(text), out = new Uint16Array(bytes.length / 2);
    for (let at = 0; at < out.length; at++) out[at] = bytes[2 * at] | (bytes[2 * at + 1] << 8);
    return out;
  };
  const clouds = experiments.map((experiment) => {
    const of = words(experiment.regions), counts = experiment.counts ? words(experiment.counts) : null;
    // What is in none lies below.
    const order = Uint32Array.from(of.keys()).sort((a, b) => (of[a] ? 1 : 0) - (of[b] ? 1 : 0) || of[a] - of[b] || a - b);
    return { places: experiment.places.map(words), regions: of, counts, order };
  });
  const size = (cells, at) => (cells.counts ? Math.exp(cells.counts[at] / 1000) : 1);
  const grey = () => {
    const [from, to] = [perfkit.rgb(perfkit.variable("quiet")), perfkit.rgb(perfkit.variable("paper"))];
    return from.map((channel, at) => Math.round(channel + 0.45 * (to[at] - channel)));
  };
  const channels = (id) => (regions.has(id) ? perfkit.rgb(regions.get(id).colour) : grey());
  const colour = (id) => `rgb(${channels(id).join()})`;

  const place = (axis, coordinate) => {
    const [low, high] = data.ranges[axis];
    return (coordinate - low) / (high - low);
  };
  const value = (axis, experiment, share) => {
    const { experiments: shifts, log } = data.axes[axis], [low, high] = data.ranges[axis];
    const y = shifts[experiment][0] + shifts[experiment][1] * (low + share * (high - low));
    return log ? Math.exp(y) : y;
  };
  // Ticks of an axis in an experiment: round values, where they lie.
  const ticks = (axis, experiment, most) => {
    const { log } = data.axes[axis], unit = beside(data.axes[axis].unit), [low, high] = [value(axis, experiment, 0), value(axis, experiment, 1)];
    const write = writer(unit);
    if (!(high > low)) return [[place(axis, 0), write(low)]];
    if (log && low > 0 && high > 3 * low)
      return factors(low, high, most).map((found) => [Math.log(found / low) / Math.log(high / low), write(found)]);
    return perfkit.ticks(low, high, most, unit === "ns", unit).map(([found, text]) =>
      [log ? Math.log(found / low) / Math.log(high / low) : (found - low) / (high - low), unit === "B" || unit === "%" ? write(found) : text]);
  };
  const axisName = (axis) => withUnit(data.axes[axis].name, data.axes[axis].unit) + (data.axes[axis].log ? ", logarithmic" : "");
  const isDimmed = (id) => state.isolated && state.region !== null && state.region !== id;
  const single = () => state.x === state.y;

  const points = (context, experiment, [left, top, width, height], alpha) => {
    const cells = clouds[experiment], xs = cells.places[state.x], ys = cells.places[state.y];
    let current = -1;
    for (const at of cells.order) {
      const id = cells.regions[at];
      if (id !== current) {
        context.fillStyle = colour(id);
        context.globalAlpha = alpha * (isDimmed(id) ? 0.15 : id ? 0.85 : 0.6);
        current = id;
      }
      const x = left + (xs[at] / 65535) * width, y = single() ? top + height / 2 : top + height - (ys[at] / 65535) * height;
      const radius = 1.7 * Math.sqrt(1 + Math.log10(size(cells, at)));
      if (radius < 2) context.fillRect(x - radius, y - radius, 2 * radius, 2 * radius);
      else {
        context.beginPath();
        context.arc(x, y, radius, 0, 7);
        context.fill();
      }
    }
    context.globalAlpha = 1;
  };

  // Discs with the numbers of regions, where their centres are.
  const badges = (context, at, [left, top, width, height], sized) => {
    const [from, to] = [Math.floor(at), Math.min(last, Math.ceil(at))], share = at - from;
    for (const region of data.regions.slice(0, 40)) {
      const [a, b] = [region.centres[from], region.centres[to]];
      if (!a && !b) continue;
      const centre = (axis) => {
        const [one, other] = [(a || b)[0][axis], (b || a)[0][axis]];
        return place(axis, one + share * (other - one));
      };
      const x = left + centre(state.x) * width, y = single() ? top + height / 2 : top + height - centre(state.y) * height;
      const seen = (a ? 1 - share : 0) + (b ? share : 0);
      const time = (1 - share) * (region.share[from] || 0) + share * (region.share[to] || 0);
      const faint = isDimmed(region.id) ? 0.25 : 1;
      if (sized) {
        context.globalAlpha = 0.25 * seen * faint;
        context.fillStyle = region.colour;
        context.beginPath();
        context.arc(x, y, 8 + 44 * Math.sqrt(Math.max(0, time)), 0, 7);
        context.fill();
      }
      context.globalAlpha = seen * faint;
      const [right, above] = [x + 13, y - 13];
      context.fillStyle = "#ffffff";
      context.beginPath();
      context.arc(right, above, 10, 0, 7);
      context.fill();
      context.fillStyle = region.colour;
      context.beginPath();
      context.arc(right, above, 9, 0, 7);
      context.fill();
      context.fillStyle = perfkit.readable(perfkit.rgb(region.colour));
      context.font = "600 11px system-ui, sans-serif";
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.fillText(region.id, right, above + 0.5);
      context.globalAlpha = 1;
    }
  };

  const LEFT = 66, ABOVE = 44, BELOW = 42;
  const around = (experiment, most) => ({
    x: ticks(state.x, experiment, most), y: single() ? [] : ticks(state.y, experiment, most),
    xName: axisName(state.x), yName: single() ? "" : axisName(state.y),
    title: experiments[experiment].name + (experiments[experiment].tasks ? ", " + count(experiments[experiment].tasks) + " " + (experiments[experiment].tasks === 1 ? data.scale.replace(/s$/, "") : data.scale) : ""),
  });
  let box = null;
  // Both charts of the stage have the same height, so that they share a baseline.
  const tall = (width) => Math.round(Math.min(480, Math.max(300, Math.min(width * 0.9, innerHeight * 0.46))));
  const paintCloud = () => {
    const columns = getComputedStyle(find(".stage")).gridTemplateColumns.split(" ");
    const width = Math.max(260, Math.floor(parseFloat(columns[0]))), height = tall(width);
    const [context] = perfkit.fit(cloud, width, height);
    box = [LEFT, ABOVE, width - LEFT - 14, height - ABOVE - BELOW];
    const nearest = Math.round(state.at), low = Math.floor(state.at), share = state.at - low;
    chart(context, box, around(nearest, Math.max(3, Math.round(box[2] / 90))));
    points(context, low, box, 1 - share);
    if (share > 0) points(context, low + 1, box, share);
    badges(context, state.at, box, true);
    if (state.near) {
      context.strokeStyle = perfkit.variable("ink");
      context.lineWidth = 2;
      context.beginPath();
      context.arc(state.near[0], state.near[1], 7, 0, 7);
      context.stroke();
    }
    section.dataset.experiment = state.at;
    return columns.length > 1 ? Math.floor(parseFloat(columns[1])) : width;
  };

  const paintTrend = (width) => {
    const metric = data.metrics[state.metric];
    trend.hidden = !metric;
    if (!metric) return;
    const boxes = kindBox.value === "boxes", height = tall(width);
    const [context] = perfkit.fit(trend, width, height);
    const inside = [LEFT, ABOVE, width - LEFT - 14, height - ABOVE - BELOW];
    const shown = data.regions.slice(0, 16).map((region, at) => {
      const series = metric.series[at], first = series.find((found) => found);
      const by = relative && relative.checked && first && first[0] ? 1 / first[0] : 1;
      return [region, series.map((found) => found && found.map((value) => value * by))];
    });
    // A deviation reaches no further than the values: durations are not negative.
    const ends = (s) => (boxes ? [s[2], s[8]] : [Math.max(s[2], s[0] - s[1]), Math.min(s[8], s[0] + s[1])]);
    const all = shown.flatMap(([, series]) => series.filter(Boolean).flatMap(ends)), means = shown.flatMap(([, series]) => series.filter(Boolean).map((s) => s[0]));
    if (!all.length) return;
    const positive = all.filter((value) => value > 0), least = Math.min(...positive), most = Math.max(...all);
    const log = most > 20 * least && means.every((value) => value > 0);
    const low = log ? least / 1.2 : Math.min(...all) - 0.04 * (most - Math.min(...all)), high = log ? most * 1.2 : most + 0.04 * (most - low);
    const by = relative && relative.checked, up = scale(low, high, by ? "" : beside(metric.unit), Math.max(3, Math.round(inside[3] / 50)), log);
    const scaling = experiments.some((experiment) => experiment.tasks !== experiments[0].tasks), alone = experiments.length === 1;
    chart(context, inside, {
      x: experiments.map((experiment, at) => [(at + 0.5) / experiments.length, scaling ? count(experiment.tasks) : alone ? experiment.name : String(at + 1)]), y: up.ticks,
      xName: scaling ? data.scale + " of each experiment" : alone ? "" : "experiments in order", title: withUnit(metric.name, by ? "" : metric.unit) + (by ? ", relative to the first experiment" : ""),
      yName: boxes ? "quartiles, whiskers, extremes" : "mean and standard deviation",
    });
    const y = (found) => inside[1] + inside[3] * (1 - up.share(log ? Math.max(low, found) : found));
    const room = inside[2] / experiments.length, step = Math.min(14, (0.8 * room) / Math.max(1, shown.length));
    shown.forEach(([region, series], at) => {
      context.globalAlpha = isDimmed(region.id) ? 0.2 : 1;
      context.strokeStyle = context.fillStyle = region.colour;
      let before = null;
      series.forEach((s, experiment) => {
        if (!s) return;
        const x = inside[0] + (experiment + 0.5) * room + (at - (shown.length - 1) / 2) * step;
        const line = (x1, y1, x2, y2, wide) => {
          context.lineWidth = wide;
          context.beginPath();
          context.moveTo(x1, y1);
          context.lineTo(x2, y2);
          context.stroke();
        };
        if (boxes) {
          const half = Math.max(1.5, 0.36 * step);
          line(x, y(s[3]), x, y(s[7]), 1.2);
          const tall = Math.max(2, y(s[4]) - y(s[6]));
          context.fillRect(x - half, y(s[6]), 2 * half, tall);
          context.strokeStyle = perfkit.variable("paper");
          if (tall > 4) line(x - half, y(s[5]), x + half, y(s[5]), 1.2);
          context.strokeStyle = region.colour;
          for (const [found, outside] of [[s[2], s[2] < s[3]], [s[8], s[8] > s[7]]])
            if (outside) context.fillRect(x - 1.5, y(found) - 1.5, 3, 3);
          return;
        }
        if (before) line(before[0], before[1], x, y(s[0]), 1.8);
        const [from, to] = ends(s);
        line(x, y(from), x, y(to), 1.3);
        context.beginPath();
        context.arc(x, y(s[0]), 3.4, 0, 7);
        context.fill();
        before = [x, y(s[0])];
      });
      context.globalAlpha = 1;
    });
    // Where the slider is.
    context.fillStyle = perfkit.variable("ink");
    context.fillRect(inside[0] + (state.at + 0.5) * room - 4, inside[1] + inside[3] + 1, 8, 3);
  };

  const paintMany = () => {
    if (!many) return;
    const width = Math.max(260, section.clientWidth), across = Math.max(1, Math.min(experiments.length, Math.floor(width / 270)));
    const pitch = width / across, side = pitch - LEFT - 16, high = Math.min(side, 230), rows = Math.ceil(experiments.length / across);
    const [context] = perfkit.fit(many, width, rows * (high + ABOVE + BELOW));
    experiments.forEach((_, experiment) => {
      const inside = [(experiment % across) * pitch + LEFT, Math.floor(experiment / across) * (high + ABOVE + BELOW) + ABOVE, side, high];
      chart(context, inside, around(experiment, 4));
      points(context, experiment, inside, 1);
      badges(context, experiment, inside, false);
    });
  };

  // Threads over time: each cell has the colour of the region with most time, the stronger the more of the cell is computed.
  const lanes = find(".timeline"), spot = find(".where");
  const timelines = experiments.map(({ timeline }) => timeline && { ...timeline, regions: words(timeline.regions), shares: perfkit.bytes(timeline.shares) });
  let lane = null;
  const paintLanes = () => {
    const timeline = lanes && timelines[Math.round(state.at)];
    if (lanes) lanes.hidden = !timeline;
    if (!timeline) return;
    const { threads, columns, regions, shares, duration } = timeline, width = Math.max(260, section.clientWidth);
    const row = Math.min(18, Math.max(1, Math.floor(420 / threads.length))), height = row * threads.length;
    const [context] = perfkit.fit(lanes, width, height + ABOVE + BELOW);
    context.font = "12px system-ui, sans-serif";
    const most = Math.min(170, width / 4), cut = (name) => {
      if (context.measureText(name).width <= most) return name;
      let length = name.length;
      while (length > 1 && context.measureText(name.slice(0, length) + "…").width > most) length--;
      return name.slice(0, length) + "…";
    };
    const every = Math.ceil(14 / row), named = threads.map((name, at) => [1 - (at + 0.5) / threads.length, cut(name)]).filter((_, at) => at % every === 0);
    const left = Math.max(LEFT, ...named.map(([, name]) => Math.ceil(context.measureText(name).width) + 34));
    lane = [left, ABOVE, width - left - 14, height, row];
    chart(context, lane.slice(0, 4), {
      x: perfkit.ticks(0, duration, Math.max(3, Math.round(lane[2] / 90)), true, "ns").map(([time, text]) => [time / duration, text]), y: named,
      xName: "time since the first burst", yName: "",
      title: `${data.noun} of each thread, ${experiments[Math.round(state.at)].name}` + (threads.length < timeline.total ? `: ${threads.length} of ${timeline.total} threads` : ""),
    });
    const picture = document.createElement("canvas");
    [picture.width, picture.height] = [columns, threads.length];
    const brush = picture.getContext("2d"), image = brush.createImageData(columns, threads.length), known = new Map();
    const ink = (id) => {
      if (!known.has(id)) known.set(id, channels(id));
      return known.get(id);
    };
    for (let at = 0; at < regions.length; at++) {
      if (!regions[at]) continue;
      const id = regions[at] - 1, [r, g, b] = ink(id), strong = (0.25 + (0.75 * shares[at]) / 255) * (isDimmed(id) ? 0.15 : 1);
      image.data.set([r, g, b, Math.round(255 * strong)], 4 * at);
    }
    brush.putImageData(image, 0, 0);
    context.imageSmoothingEnabled = columns > lane[2];
    context.drawImage(picture, lane[0], lane[1], lane[2], height);
  };
  const cell = (event) => {
    const timeline = timelines[Math.round(state.at)], bounds = lanes.getBoundingClientRect();
    const x = (event.clientX - bounds.left - lane[0]) / lane[2], y = (event.clientY - bounds.top - lane[1]) / lane[3];
    if (!(x >= 0 && x < 1 && y >= 0 && y < 1)) return null;
    const column = Math.floor(x * timeline.columns), thread = Math.floor(y * timeline.threads.length);
    return { timeline, column, thread, at: thread * timeline.columns + column };
  };
  if (lanes) {
    lanes.addEventListener("pointermove", (event) => {
      const found = cell(event);
      if (!found) { spot.textContent = ""; return; }
      const { timeline, column, thread, at } = found, id = timeline.regions[at] - 1, write = writer("ns"), wide = timeline.duration / timeline.columns;
      const what = id < 0 ? "no computation" : `${id ? data.noun + " " + id : "in no " + data.noun}${regions.has(id) && regions.get(id).position ? ", " + regions.get(id).position : ""}; ${percent(timeline.shares[at] / 255)} of this time is computation`;
      spot.textContent = `${timeline.threads[thread]}, ${write(column * wide)} to ${write((column + 1) * wide)}: ${what}.`;
    });
    lanes.addEventListener("click", (event) => {
      const found = cell(event), id = found ? found.timeline.regions[found.at] - 1 : 0;
      choose(regions.has(id) && !(state.isolated && id === state.region) ? id : null);
    });
  }

  // The selected region: where it is in the program, how it scales.
  const paintRegion = () => {
    const region = regions.get(state.region), lines = region ? [region.position, ...region.events, ...region.facts].filter(Boolean) : [];
    find(".region").replaceChildren(...(lines.length ? [
      element("h3", {}, `${data.noun[0].toUpperCase()}${data.noun.slice(1)} ${region.id}`),
      element("ul", {}, ...lines.map((line) => element("li", {}, line))),
    ] : []));
  };

  let pending = 0, first = true;
  const share = () => {
    clearTimeout(pending);
    pending = setTimeout(() => perfkit.link(section.id, {
      x: state.x, y: state.y, experiment: Math.round(state.at), metric: state.metric, ...(state.region === null || !state.isolated ? {} : { region: state.region }),
    }), 250);
  };
  const paint = (only) => {
    const width = paintCloud();
    paintTrend(width);
    if (only !== "cloud") paintMany();
    paintLanes();
    paintRegion();
    for (const row of section.querySelectorAll(".regions tbody tr")) {
      const chosen = Number(row.dataset.region) === state.region;
      row.classList.toggle("chosen", chosen);
      row.querySelector("button").setAttribute("aria-pressed", String(chosen));
    }
    section.dataset.region = state.region === null ? "" : state.region;
    if (!first) share();
    first = false;
  };

  // What every evaluator says of a link.
  const said = (link) => {
    const votes = link.votes.map(([who, found]) => who + " " + found.toFixed(2)).join(", ");
    return `Cluster ${link.from[1]} of ${experiments[link.from[0]].name} ${link.kind} cluster ${link.to[1]} of ${experiments[link.to[0]].name}, confidence ${link.confidence.toFixed(2)}: ${votes}`;
  };
  const showStatus = (region, experiment) => {
    if (!region) {
      const { name, points: all, noise } = experiments[experiment];
      status.textContent = `${name}: ${count(all)} bursts, ${count(noise)} of them in no cluster; ${data.regions.length} ${data.noun}s.`;
      return;
    }
    const part = region.share[experiment] ? `, ${percent(region.share[experiment])} ${data.noun === "cluster" ? "share" : "of the CPU time"}` : ", not seen";
    const into = region.links.filter((link) => link.to[0] === experiment), from = region.links.filter((link) => link.from[0] === experiment);
    const links = (into.length ? into : from).map(said).join(". ");
    status.textContent = `${data.noun[0].toUpperCase()}${data.noun.slice(1)} ${region.id} in ${experiments[experiment].name}${part}. ${links}`;
  };

  // The cell next to a place, if one is near.
  const near = (x, y) => {
    const experiment = Math.round(state.at), cells = clouds[experiment], xs = cells.places[state.x], ys = cells.places[state.y];
    let best = null, least = 12 * 12;
    for (let at = 0; at < cells.regions.length; at++) {
      const px = box[0] + (xs[at] / 65535) * box[2], py = single() ? box[1] + box[3] / 2 : box[1] + box[3] - (ys[at] / 65535) * box[3];
      const far = (px - x) ** 2 + (py - y) ** 2 - (cells.regions[at] ? 0.01 : 0);
      if (far < least) [best, least] = [{ at, px, py, experiment }, far];
    }
    return best;
  };
  const hover = (event) => {
    const bounds = cloud.getBoundingClientRect();
    const found = near(event.clientX - bounds.left, event.clientY - bounds.top);
    state.near = found && [found.px, found.py];
    paintCloud();
    if (!found) return showStatus(regions.get(state.region), Math.round(state.at));
    const cells = clouds[found.experiment], region = regions.get(cells.regions[found.at]), bursts = Math.round(size(cells, found.at));
    showStatus(region, found.experiment);
    const values = [...new Set([state.x, state.y])].map((axis) =>
      `${data.axes[axis].name} ${writer(beside(data.axes[axis].unit))(value(axis, found.experiment, cells.places[axis][found.at] / 65535))}`);
    const what = region ? "" : `in no ${data.noun}: `;
    status.textContent = `${what}${bursts === 1 ? "a burst" : count(bursts) + " bursts"} of ${values.join(", ")}. ${region ? status.textContent : ""}`;
  };
  cloud.addEventListener("pointermove", hover);
  cloud.addEventListener("pointerleave", () => { state.near = null; paintCloud(); });
  cloud.addEventListener("click", (event) => {
    const bounds = cloud.getBoundingClientRect(), found = near(event.clientX - bounds.left, event.clientY - bounds.top);
    const id = found ? clouds[found.experiment].regions[found.at] : 0;
    choose(regions.has(id) && !(state.isolated && id === state.region) ? id : null);
  });
  const choose = (id) => {
    state.region = id;
    state.isolated = id !== null;
    paint();
    showStatus(regions.get(id), Math.round(state.at));
  };
  const go = (at) => {
    state.at = Math.min(last, Math.max(0, at));
    state.near = null;
    if (slider) slider.value = state.at;
    paint("cloud");
    showStatus(regions.get(state.region), Math.round(state.at));
  };
  cloud.addEventListener("keydown", (event) => {
    const step = (by) => {
      const ids = data.regions.map((region) => region.id), at = state.isolated ? ids.indexOf(state.region) : -1;
      if (ids.length) choose(ids[at < 0 ? (by > 0 ? 0 : ids.length - 1) : (at + by + ids.length) % ids.length]);
    };
    const keys = {
      ArrowLeft: () => go(Math.ceil(state.at) - 1), ArrowRight: () => go(Math.floor(state.at) + 1),
      ArrowUp: () => step(-1), ArrowDown: () => step(1), Escape: () => choose(null), Home: () => go(0), End: () => go(last),
    };
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });

  data.axes.forEach((_, at) => [acrossBox, upBox].forEach((select) => select.append(element("option", { value: at }, axisName(at)))));
  acrossBox.value = state.x;
  upBox.value = state.y;
  acrossBox.addEventListener("change", () => { state.x = Number(acrossBox.value); paint(); });
  upBox.addEventListener("change", () => { state.y = Number(upBox.value); paint(); });
  data.metrics.forEach((metric, at) => metricBox.append(element("option", { value: at }, metric.name)));
  metricBox.value = state.metric;
  metricBox.addEventListener("change", () => { state.metric = Number(metricBox.value); paint("cloud"); });
  kindBox.addEventListener("change", () => paint("cloud"));
  if (relative) relative.addEventListener("change", () => paint("cloud"));
  find(".none").addEventListener("click", () => choose(null));
  for (const button of section.querySelectorAll(".pick")) {
    const id = Number(button.closest("tr").dataset.region);
    button.addEventListener("click", () => choose(state.isolated && state.region === id ? null : id));
  }

  if (slider) {
    slider.max = last;
    slider.value = state.at;
    slider.addEventListener("input", () => go(Number(slider.value)));
    slider.addEventListener("change", () => go(Math.round(Number(slider.value))));
    let playing = 0;
    const stop = () => {
      cancelAnimationFrame(playing);
      playing = 0;
      play.textContent = "Play";
      play.setAttribute("aria-pressed", "false");
      go(Math.round(state.at));
    };
    play.addEventListener("click", () => {
      if (playing) return stop();
      play.textContent = "Stop";
      play.setAttribute("aria-pressed", "true");
      const calm = matchMedia("(prefers-reduced-motion: reduce)").matches, from = state.at >= last ? 0 : state.at;
      let begin = null;
      const move = (now) => {
        begin = begin === null ? now : begin;
        const at = from + (now - begin) / 1500;
        if (at >= last) { state.at = last; return stop(); }
        // It rests at each experiment for half of the time.
        const part = Math.max(0, (at % 1) * 2 - 1);
        go(Math.floor(at) + (calm ? 0 : part));
        playing = requestAnimationFrame(move);
      };
      playing = requestAnimationFrame(move);
    });
  }

  // Matrices: the votes of a pair of clusters where one points at its cell.
  if (data.pairs.length) {
    const pairBox = find(".pair"), byBox = find(".by"), votes = find(".votes"), matrix = find(".matrix");
    data.pairs.forEach((pair, at) => pairBox.append(element("option", { value: at }, `${experiments[pair.from].name} to ${experiments[pair.to].name}`)));
    const of = (experiment, cluster) => data.regions.find((region) => (region.members[experiment] || []).includes(cluster));
    const fill = () => {
      const pair = data.pairs[Number(pairBox.value)], kept = byBox.value;
      byBox.replaceChildren(...pair.matrices.map(([name]) => element("option", { value: name }, name)));
      byBox.value = pair.matrices.some(([name]) => name === kept) ? kept : pair.matrices[0][0];
      const rows = pair.matrices.find(([name]) => name === byBox.value)[1], [paper, full] = [perfkit.rgb(perfkit.variable("absent")), [43, 92, 158]];
      const told = (row, column) => {
        const all = pair.matrices.map(([name, values]) => [name, values[row][column]]).filter(([, found]) => found !== null);
        const same = of(pair.from, row + 1), other = of(pair.to, column + 1);
        const what = same && same === other ? `both are ${data.noun} ${same.id}` : `different ${data.noun}s`;
        votes.textContent = `${row + 1} of ${experiments[pair.from].name} and ${column + 1} of ${experiments[pair.to].name}: ${what}. ${all.map(([name, found]) => name + " " + found.toFixed(2)).join(", ")}`;
      };
      const head = (experiment, cluster, scope) => {
        const label = element("th", { scope }, String(cluster)), region = of(experiment, cluster);
        if (region) label.style.borderBottom = "3px solid " + region.colour;
        return label;
      };
      const body = rows.map((row, at) => element("tr", {}, head(pair.from, at + 1, "row"), ...row.map((found, column) => {
        const button = element("button", { type: "button", on: { pointerenter: () => told(at, column), focus: () => told(at, column), click: () => told(at, column) } }, found === null ? "" : (100 * found).toFixed(0));
        button.setAttribute("aria-label", `${at + 1} to ${column + 1}: ${found === null ? "no vote" : percent(found)}`);
        if (found !== null) {
          const mixed = paper.map((channel, at) => Math.round(channel + found * (full[at] - channel)));
          button.style.background = `rgb(${mixed.join()})`;
          button.style.color = perfkit.readable(mixed);
        }
        return element("td", {}, button);
      })));
      const top = element("tr", {}, element("th", {}, ""), ...(rows[0] || []).map((_, column) => head(pair.to, column + 1, "col")));
      matrix.replaceChildren(element("thead", {}, top), element("tbody", {}, ...body));
      const left = pair.left_out[0] + pair.left_out[1];
      votes.textContent = `Rows are clusters of ${experiments[pair.from].name}, columns those of ${experiments[pair.to].name}, in percent; point at a cell for the votes of all evaluators.${left ? ` ${left} clusters with the least time are not compared.` : ""}`;
    };
    pairBox.addEventListener("change", fill);
    byBox.addEventListener("change", fill);
    fill();
    perfkit.onPaint(fill);
  }

  // A window of another size is no choice of anybody: the link stays.
  perfkit.onPaint(() => { first = true; paint(); });
  paint();
  showStatus(regions.get(state.region), Math.round(state.at));
});
