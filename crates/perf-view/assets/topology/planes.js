"use strict";
// Magnitude spectra over two axes, summed over the others, with frequency 0 in the middle.
// The plane of a half spectrum, as the program writes it: magnitudes span decades, so the scale is logarithmic.
perfkit.spectrumPlane = ({ dims, half, isPair, opposite, along }, { re, im }, [down, across]) => {
  const [height, width] = [dims[down], dims[across]], power = new Float64Array(height * width);
  const place = (cell) => ((along(cell, down) + (height >> 1)) % height) * width + ((along(cell, across) + (width >> 1)) % width);
  half.forEach((cell, at) => {
    const own = re[at] ** 2 + im[at] ** 2;
    power[place(cell)] += own;
    if (isPair[at]) power[place(opposite[cell])] += own;
  });
  const most = power.reduce((most, own) => Math.max(most, own), 0) || 1;
  return Uint8Array.from(power, (own) => Math.round(255 * Math.max(0, 1 + Math.log10(Math.max(Math.sqrt(own / most), 1e-12)) / 4)));
};
// Room left of and below a spectrum for its labels, in pixels.
perfkit.LABEL_ROOM = 36;
// Writes the lowest and the highest frequency, 0, and the names of the axes beside a plane of a spectrum, which lies at the upper
// right of a square of `side` pixels.
perfkit.frequencyLabels = (context, side, [height, width], [down, across]) => {
  const room = perfkit.LABEL_ROOM, inner = side - room;
  context.fillStyle = perfkit.variable("ink");
  context.font = "11px sans-serif";
  const marks = (count) => [...new Set([0, Math.floor(count / 2), count - 1])].map((at) => [(at + 0.5) / count, String(at - Math.floor(count / 2))]);
  // Ends stay within the plane.
  const along = (share, text) => Math.min(inner - context.measureText(text).width / 2, Math.max(context.measureText(text).width / 2, share * inner));
  context.textAlign = "center";
  for (const [share, text] of marks(width)) context.fillText(text, room + along(share, text), inner + 13);
  const name = (axis) => perfkit.shortened(`frequency of ${axis}`, 30);
  context.fillText(name(across), room + inner / 2, side - 5);
  context.textAlign = "right";
  for (const [share, text] of marks(height)) context.fillText(text, room - 4, Math.min(inner, Math.max(11, share * inner + 4)));
  context.save();
  context.translate(11, inner / 2);
  context.rotate(-Math.PI / 2);
  context.textAlign = "center";
  context.fillText(name(down), 0, 0);
  context.restore();
};
// Draws a plane with the labels of its axes. A line marks where the weights of the two axes pass half, and what they filter is dimmed.
perfkit.drawPlane = (canvas, [height, width], bytes, [f, g], [table, names]) => {
  const side = Math.min(260, Math.max(120, canvas.parentElement.clientWidth));
  const [context] = perfkit.fit(canvas, side, side), room = perfkit.LABEL_ROOM, inner = side - room;
  perfkit.frequencyLabels(context, side, [height, width], names);
  context.translate(room, 0);
  const weight = (row, column) => {
    const [a, b] = [row - Math.floor(height / 2), column - Math.floor(width / 2)].map((k) => k * k);
    return a + b ? (f * a + g * b) / (a + b) : 0;
  };
  const [w, h] = [inner / width, inner / height], image = new ImageData(width, height), small = document.createElement("canvas");
  for (let row = 0, at = 0; row < height; row++) for (let column = 0; column < width; column++, at++) {
    const step = bytes[at], keep = 0.25 + 0.75 * weight(row, column);
    for (let channel = 0; channel < 3; channel++) image.data[4 * at + channel] = Math.round(keep * table[3 * step + channel] + (1 - keep) * 128);
    image.data[4 * at + 3] = 255;
  }
  [small.width, small.height] = [width, height];
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, inner, inner);
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
