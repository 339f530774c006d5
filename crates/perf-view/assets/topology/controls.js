"use strict";
// Turns, zooms and picks the cubes of a canvas by pointer, wheel and keys.
perfkit.cubeControls = (canvas, { turn, zoom, hover, leave, pick }) => {
  let held = null;
  canvas.addEventListener("pointerdown", (event) => {
    held = { x: event.clientX, y: event.clientY, moved: 0 };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held) {
      hover(event);
      return;
    }
    const [x, y] = [event.clientX - held.x, event.clientY - held.y];
    held = { x: event.clientX, y: event.clientY, moved: held.moved + Math.abs(x) + Math.abs(y) };
    turn(-x / 150, y / 150);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (held && held.moved < 5) pick(event);
    held = null;
  });
  canvas.addEventListener("pointercancel", () => (held = null));
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 0.85 : 1.18);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const keys = { ArrowLeft: () => turn(0.15, 0), ArrowRight: () => turn(-0.15, 0), ArrowUp: () => turn(0, 0.12), ArrowDown: () => turn(0, -0.12),
      "+": () => zoom(1.2), "=": () => zoom(1.2), "-": () => zoom(0.83) };
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
};
