"use strict";
// Counters below the rows of a timeline. `page` is the timeline.
perfkit.timelineCounters = (page) => {
  const { time, count } = perfkit, { section, data, state, find, moments, moment, isServed } = page;
  // Counters below the rows: a line for all locations, and a heat map with a row for each, or for blocks of neighbours.
  const LINE = 52, KEY_LENGTH = 120, across = find(".across"), reading = find(".reading"), tracksCanvas = find(".tracks");
  const floats = (text) => new Float32Array(perfkit.bytes(text).buffer);
  const opened = new WeakMap();
  // Values of a row of the heat map; code 0 stands for no value.
  const values = ([low, high]) => (text) =>
    Float64Array.from(new Uint16Array(perfkit.bytes(text).buffer), (code) => (code ? low + ((code - 1) / 65534) * (high - low) : NaN));
  const unpacked = (track) => {
    if (!opened.has(track)) opened.set(track, { lines: track.lines.map(floats), band: track.band.map(floats), rows: track.rows.map(values(track.range || [0, 0])) });
    return opened.get(track);
  };
  // Mean of a pixel, the same for lines and heat maps: a column counts by the part of it that lies in the pixel. Also
  // the least and the largest value of these columns.
  const pixel = (mean, lows, highs, from, to) => {
    let sum = 0, size = 0, low = Infinity, high = -Infinity;
    for (let at = Math.max(0, Math.floor(from)); at < Math.min(to, mean.length); at++) {
      const part = Math.min(to, at + 1) - Math.max(from, at);
      if (Number.isNaN(mean[at]) || part < 1e-6) continue;
      sum += part * mean[at];
      size += part;
      low = Math.min(low, lows[at]);
      high = Math.max(high, highs[at]);
    }
    return size ? [sum / size, low, high] : null;
  };
  // Key of a heat map: its colours between the values of the first and the last one.
  const key = (context, of, painted, left, y) => {
    const [low, high] = of.colours, write = writer(of.unit), { narrow, plot } = page.layout;
    // A smaller excess than that of the next colour is not seen.
    const excess = (high - low) / 128, isBelow = painted.some((value) => value < low - excess), isAbove = painted.some((value) => value > high + excess);
    const ends = [write(low) + (isBelow ? " or less" : ""), write(high) + (isAbove ? " or more" : "")];
    context.fillStyle = perfkit.variable("ink");
    context.fillText(ends[0], left, y);
    const start = left + context.measureText(ends[0]).width + 8;
    for (let at = 0; at < KEY_LENGTH; at++) {
      context.fillStyle = data.heat[Math.floor((at / KEY_LENGTH) * data.heat.length)];
      context.fillRect(start + at, y - 5, 1, 10);
    }
    context.fillStyle = perfkit.variable("ink");
    context.fillText(ends[1], start + KEY_LENGTH + 8, y);
    const end = start + KEY_LENGTH + 24 + context.measureText(ends[1]).width, size = Math.ceil(of.locations / of.rows.length);
    const words = [`mean of each pixel and ${size > 1 ? "block of " + count(size) + " locations" : "location"};`, "colours from least to largest of the whole recording"];
    context.fillStyle = perfkit.variable("quiet");
    if (narrow) words.forEach((text, line) => context.fillText(text, left, y + 15 * (line + 1), plot));
    else context.fillText(words.join(" "), end, y, left + plot - end);
  };
  // Percentages are numbers here, no fractions.
  const writer = (unit) => (unit === "%" ? (value) => perfkit.short(value) + " %" : perfkit.writer(unit));
  const tracksOf = () => (isServed ? (page.part ? page.part.tracks : []) : data.tracks);
  const rowHeight = (rows) => Math.floor(Math.min(14, Math.max(4, 128 / Math.max(1, rows))));
  let places = [];
  const counters = () => {
    const { layout } = page;
    find(".counters").hidden = !data.counters.length;
    if (!data.counters.length) return;
    find(".across").parentElement.hidden = data.counters.every(({ locations }) => locations < 2);
    const found = tracksOf(), which = Number(across.value), head = layout.narrow ? 36 : 0, gap = 10, width = Math.floor(layout.plot);
    const below = ({ rows }) => (rows.length ? (layout.narrow ? 51 : 20) : 0);
    const height = (of) => gap + head + LINE + of.rows.length * rowHeight(of.rows.length) + below(of);
    const [context, scale] = perfkit.fit(tracksCanvas, layout.width, data.counters.reduce((sum, of) => sum + height(of), 0));
    context.clearRect(0, 0, layout.width, 1e5);
    context.textBaseline = "middle";
    let top = 0;
    places = [];
    data.counters.forEach((of, number) => {
      const track = found[number], line = top + gap + head, bottom = line + LINE, pitch = rowHeight(of.rows.length);
      places.push({ number, line, bottom, end: bottom + of.rows.length * pitch, pitch });
      top += height(of);
      if (!track) return;
      const { lines, band, rows } = unpacked(track), of_line = lines[which], hasBand = which !== 1;
      const column = (x) => ((moment(layout.left + x) - track.from) / track.span) * track.columns;
      const edges = Array.from({ length: width + 1 }, (_, x) => column(x));
      const [lows, highs] = hasBand ? band : [of_line, of_line];
      const pixels = Array.from({ length: width }, (_, x) => pixel(of_line, lows, highs, edges[x], edges[x + 1]));
      const known = pixels.filter(Boolean);
      const least = known.reduce((least, [, low]) => Math.min(least, low), 0), largest = known.reduce((largest, [, , high]) => Math.max(largest, high), 0);
      const size = largest > least ? largest - least : 1;
      const y = (value) => bottom - 1 - ((value - least) / size) * (LINE - 4);
      // Half ink, so that the line is clear on both papers.
      const [full, ink] = [data.number[1], perfkit.variable("ink")].map(perfkit.rgb);
      const mark = `rgb(${full.map((channel, at) => Math.round((channel + ink[at]) / 2)).join()})`;
      context.fillStyle = perfkit.variable("grid");
      context.fillRect(layout.left, line, width, 1);
      context.fillRect(layout.left, bottom - 1, width, 1);
      context.strokeStyle = context.fillStyle = mark;
      context.lineWidth = 1.3;
      context.globalAlpha = 0.25;
      pixels.forEach((pixel, x) => pixel && context.fillRect(layout.left + x, y(pixel[2]), 1, Math.max(0.5, y(pixel[1]) - y(pixel[2]))));
      context.globalAlpha = 1;
      context.beginPath();
      pixels.forEach((pixel, x) => {
        if (!pixel) return;
        const at = layout.left + x;
        if (pixels[x - 1]) context.lineTo(at, y(pixel[0]));
        else context.moveTo(at, y(pixel[0]));
        context.lineTo(at + 1, y(pixel[0]));
      });
      context.stroke();
      // Rows of the heat map: the colours are those of the whole recording, the same in every window and page.
      const strip = document.createElement("canvas");
      [strip.width, strip.height] = [width, 1];
      const brush = strip.getContext("2d"), absent = perfkit.rgb(perfkit.variable("absent")), shades = data.heat.map(perfkit.rgb);
      const [low, high] = of.colours || [0, 0];
      const colour = (value) => {
        const share = (value - low) / (high - low);
        return shades[Math.round(Math.min(1, Math.max(0, Number.isNaN(share) ? 0.5 : share)) * (shades.length - 1))];
      };
      const heat = rows.map((values, row) => {
        const image = brush.createImageData(width, 1), means = [];
        for (let x = 0; x < width; x++) {
          const found = pixel(values, values, values, edges[x], edges[x + 1]);
          means.push(found ? found[0] : NaN);
          image.data.set(found ? colour(found[0]) : absent, 4 * x);
          image.data[4 * x + 3] = 255;
        }
        brush.putImageData(image, 0, 0);
        context.imageSmoothingEnabled = false;
        context.drawImage(strip, layout.left, bottom + row * pitch, width, pitch - (pitch > 6 ? 1 : 0));
        return means;
      });
      places[number].painted = [pixels.map((found) => (found ? found[0] : NaN)), ...heat];
      context.font = "12px system-ui, sans-serif";
      context.textAlign = "left";
      if (rows.length && of.colours) key(context, of, heat.flat(), layout.narrow ? 4 : layout.left, bottom + rows.length * pitch + 11);
      const write = writer(of.unit), isWindow = Math.abs(track.span - state.span) <= 2;
      const seen = known.map(([mean]) => mean), about = seen.length ? seen.reduce((sum, value) => sum + value, 0) / seen.length : NaN;
      const over = isWindow ? track.over[which] : about;
      const letters = Math.floor((layout.narrow ? layout.width : layout.left - 12) / 6.9), middle = layout.narrow ? top - height(of) + gap + 8 : (line + bottom) / 2 - 16;
      const name = of.locations > 1 ? `${across.selectedOptions[0].text} ${of.name}` : of.name;
      context.textAlign = "left";
      context.fillStyle = perfkit.variable("ink");
      context.font = "12px system-ui, sans-serif";
      context.fillText(perfkit.shortened(name, Math.max(12, letters)), 4, middle);
      context.fillStyle = perfkit.variable("quiet");
      const texts = seen.length ? [`mean ${write(over)}`, `${write(least)} to ${write(largest)}`] : ["no samples here"];
      if (layout.narrow) context.fillText(texts.join(", "), 4, middle + 16);
      else texts.forEach((text, at) => context.fillText(text, 4, middle + 16 * (at + 1)));
      if (pitch >= 12 && !layout.narrow) of.rows.forEach((label, row) => context.fillText(perfkit.shortened(label, Math.max(12, letters)), 4, bottom + (row + 0.5) * pitch));
    });
    section.dataset.counters = places.length;
    const coarse = isServed ? 0 : Math.max(0, ...found.map(({ span, columns }) => (span / columns) * layout.plot > state.span ? span / columns : 0));
    reading.textContent = coarse ? `This page holds counters in columns of ${time(coarse)}; a page of perfkit serve computes them for each window.` : "";
  };
  tracksCanvas.addEventListener("pointermove", (event) => {
    const { layout } = page, bounds = tracksCanvas.getBoundingClientRect(), [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
    const place = places.find(({ line, end }) => y >= line && y < end), track = place && tracksOf()[place.number];
    if (!track || x < layout.left) return;
    if (!place.painted) return;
    const of = data.counters[place.number], write = writer(of.unit), at = moment(x);
    const row = y < place.bottom ? -1 : Math.floor((y - place.bottom) / place.pitch), value = place.painted[row + 1][Math.floor(x - layout.left)];
    const where = row < 0 ? (of.locations > 1 ? across.selectedOptions[0].text + " of " + count(of.locations) + " locations" : "") : of.rows[row];
    reading.textContent = `${of.name} at ${moments(data.start + at)}${where ? ", " + where : ""}: ${Number.isFinite(value) ? write(value) : "no value"}.`;
  });
  across.addEventListener("change", () => counters());

  return { paint: counters };
};
