"use strict";
// Counters below the rows of a timeline. `page` is the timeline.
perfkit.timelineCounters = (page) => {
  const { time, count } = perfkit, { section, data, state, find, moments, moment, isServed } = page;
  // Counters below the rows: a line for all locations, and a heat map with a row for each, or for blocks of neighbours.
  const LINE = 52, across = find(".across"), reading = find(".reading"), tracksCanvas = find(".tracks");
  const floats = (text) => new Float32Array(perfkit.bytes(text).buffer);
  const opened = new WeakMap();
  const unpacked = (track) => {
    if (!opened.has(track)) opened.set(track, { lines: track.lines.map(floats), band: track.band.map(floats), rows: track.rows.map(perfkit.bytes) });
    return opened.get(track);
  };
  const tracksOf = () => (isServed ? (page.part ? page.part.tracks : []) : data.tracks);
  const rowHeight = (rows) => Math.floor(Math.min(14, Math.max(4, 128 / Math.max(1, rows))));
  let places = [];
  const counters = () => {
    const { layout } = page;
    find(".counters").hidden = !data.counters.length;
    if (!data.counters.length) return;
    find(".across").parentElement.hidden = data.counters.every(({ locations }) => locations < 2);
    const found = tracksOf(), which = Number(across.value), head = layout.narrow ? 36 : 0, gap = 10, width = Math.floor(layout.plot);
    const height = ({ rows }) => gap + head + LINE + rows.length * rowHeight(rows.length);
    const [context, scale] = perfkit.fit(tracksCanvas, layout.width, data.counters.reduce((sum, of) => sum + height(of), 0));
    context.clearRect(0, 0, layout.width, 1e5);
    context.textBaseline = "middle";
    let top = 0;
    places = [];
    data.counters.forEach((of, number) => {
      const track = found[number], line = top + gap + head, bottom = line + LINE, high = rowHeight(of.rows.length);
      places.push({ number, line, bottom, end: bottom + of.rows.length * high, high });
      top += height(of);
      if (!track) return;
      const { lines, band, rows } = unpacked(track), of_line = lines[which], hasBand = which !== 1;
      const column = (x) => Math.floor(((moment(layout.left + x) - track.from) / track.span) * track.columns);
      // Mean and range of each pixel: of the columns that begin in it, or of the one around it.
      const pixels = [];
      let least = 0, largest = 0;
      for (let x = 0; x < width; x++) {
        const from = column(x + 1e-6), to = Math.max(from + 1, column(x + 1));
        let sum = 0, size = 0, low = Infinity, top = -Infinity;
        for (let at = Math.max(0, from); at < Math.min(to, track.columns); at++) {
          if (Number.isNaN(of_line[at])) continue;
          sum += of_line[at];
          size++;
          low = Math.min(low, hasBand ? band[0][at] : of_line[at]);
          top = Math.max(top, hasBand ? band[1][at] : of_line[at]);
        }
        pixels.push(size ? [sum / size, low, top] : null);
        if (size) [least, largest] = [Math.min(least, low), Math.max(largest, top)];
      }
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
      // Rows of the heat map, with the colours of the whole range of the counter.
      const strip = document.createElement("canvas"), wide = Math.max(1, Math.round(width * scale));
      [strip.width, strip.height] = [wide, 1];
      const brush = strip.getContext("2d"), absent = perfkit.rgb(perfkit.variable("absent"));
      const shades = data.heat.map(perfkit.rgb);
      rows.forEach((codes, row) => {
        const image = brush.createImageData(wide, 1);
        for (let x = 0; x < wide; x++) {
          const at = column((x + 0.5) / scale), code = at >= 0 && at < track.columns ? codes[at] : 0;
          image.data.set(code ? shades[Math.round(((code - 1) / 254) * (shades.length - 1))] : absent, 4 * x);
          image.data[4 * x + 3] = 255;
        }
        brush.putImageData(image, 0, 0);
        context.imageSmoothingEnabled = false;
        context.drawImage(strip, layout.left, bottom + row * high, width, high - (high > 6 ? 1 : 0));
      });
      const write = perfkit.writer(of.unit), isWindow = Math.abs(track.span - state.span) <= 2;
      const seen = pixels.filter(Boolean).map(([mean]) => mean), about = seen.length ? seen.reduce((sum, value) => sum + value, 0) / seen.length : NaN;
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
      if (high >= 12 && !layout.narrow) of.rows.forEach((label, row) => context.fillText(perfkit.shortened(label, Math.max(12, letters)), 4, bottom + (row + 0.5) * high));
    });
    section.dataset.counters = places.length;
    const coarse = isServed ? 0 : Math.max(0, ...found.map(({ span, columns }) => (span / columns) * layout.plot > state.span ? span / columns : 0));
    reading.textContent = coarse ? `This page holds counters in columns of ${time(coarse)}; a page of perfkit serve computes them for each window.` : "";
  };
  tracksCanvas.addEventListener("pointermove", (event) => {
    const { layout } = page, bounds = tracksCanvas.getBoundingClientRect(), [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
    const place = places.find(({ line, end }) => y >= line && y < end), track = place && tracksOf()[place.number];
    if (!track || x < layout.left) return;
    const of = data.counters[place.number], write = perfkit.writer(of.unit), at = moment(x), { lines, rows } = unpacked(track);
    const column = Math.floor(((at - track.from) / track.span) * track.columns), row = y < place.bottom ? -1 : Math.floor((y - place.bottom) / place.high);
    const code = row < 0 ? 0 : rows[row][column], [low, high] = track.range || [0, 0];
    const value = row < 0 ? lines[Number(across.value)][column] : code ? low + ((code - 1) / 254) * (high - low) : NaN;
    const where = row < 0 ? (of.locations > 1 ? across.selectedOptions[0].text + " of " + count(of.locations) + " locations" : "") : of.rows[row];
    reading.textContent = `${of.name} at ${moments(data.start + at)}${where ? ", " + where : ""}: ${Number.isFinite(value) ? (row < 0 ? "" : "about ") + write(value) : "no value"}.`;
  });
  across.addEventListener("change", () => counters());

  return { paint: counters };
};
