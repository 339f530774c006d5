"use strict";
// Runs the parts of a work one after another, each in a turn of its own, so that the browser shows what is done so far. A part that
// returns `true` runs again. Calls `done` when none is left.
perfkit.stages = (done) => {
  let [left, isWaiting] = [[], false];
  const next = () => {
    const part = left[0];
    if (part?.() !== true && left[0] === part) left.shift();
    if (left.length) return void setTimeout(next);
    isWaiting = false;
    done();
  };
  const start = () => {
    if (isWaiting) return;
    isWaiting = true;
    // A timer of a frame runs once the frame is drawn.
    requestAnimationFrame(() => setTimeout(next));
  };
  return {
    // Replaces what is left of older work.
    run: (...parts) => {
      left = parts;
      start();
    },
    add: (part) => {
      if (!left.includes(part)) left.push(part);
      start();
    },
  };
};
