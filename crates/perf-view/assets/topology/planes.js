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
// Draws a plane. A line marks where the weights of the two axes pass half, and what they filter is dimmed.
perfkit.drawPlane = (canvas, [height, width], bytes, [f, g], table) => {
  const side = Math.min(260, Math.max(120, canvas.parentElement.clientWidth));
  const [context] = perfkit.fit(canvas, side, side);
  const weight = (row, column) => {
    const [a, b] = [row - Math.floor(height / 2), column - Math.floor(width / 2)].map((k) => k * k);
    return a + b ? (f * a + g * b) / (a + b) : 0;
  };
  const [w, h] = [side / width, side / height], image = new ImageData(width, height), small = document.createElement("canvas");
  for (let row = 0, at = 0; row < height; row++) for (let column = 0; column < width; column++, at++) {
    const step = bytes[at], keep = 0.25 + 0.75 * weight(row, column);
    for (let channel = 0; channel < 3; channel++) image.data[4 * at + channel] = Math.round(keep * table[3 * step + channel] + (1 - keep) * 128);
    image.data[4 * at + 3] = 255;
  }
  [small.width, small.height] = [width, height];
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, side, side);
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
