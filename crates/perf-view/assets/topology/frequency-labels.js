"use strict";
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
