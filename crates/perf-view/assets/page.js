"use strict";
// What the scripts of all views share.
const perfkit = (() => {
  const root = document.documentElement;
  const watchers = [];

  const bytes = (text) => {
    const raw = atob(text);
    const out = new Uint8Array(raw.length);
    for (let at = 0; at < raw.length; at++) out[at] = raw.charCodeAt(at);
    return out;
  };

  // Runs of pairs, each into an array of its own.
  const pairs = (text, count) => {
    const from = bytes(text), first = new Uint8Array(count), second = new Uint8Array(count);
    for (let at = 0, out = 0; at < from.length; at += 2) {
      let length = 0, scale = 1;
      for (; from[at] > 127; at++, scale *= 128) length += (from[at] & 127) * scale;
      length += from[at++] * scale;
      first.fill(from[at], out, out + length);
      second.fill(from[at + 1], out, out + length);
      out += length;
    }
    return [first, second];
  };

  const three = (value) => value.toFixed(Math.abs(value) < 9.995 ? 2 : Math.abs(value) < 99.95 ? 1 : 0);
  const short = (value, unit = "") => {
    if (!Number.isFinite(value)) return "no number";
    if (value === 0) return ("0 " + unit).trim();
    const scales = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "u"], [1e-9, "n"]];
    const found = scales.find(([scale]) => Math.abs(value) * 1.0005 >= scale);
    return (found ? three(value / found[0]) + " " + found[1] + unit : value.toExponential(2) + " " + unit).trim();
  };
  const time = (nanos) => short(nanos / 1e9, "s");
  const percent = (share) => (share > 0 && share < 0.0995 ? (100 * share).toFixed(1) : (100 * share).toFixed(0)) + " %";
  const count = (value) => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
  const bytesText = (value) => {
    const unit = ["B", "KiB", "MiB", "GiB", "TiB"];
    let at = 0;
    for (; value >= 1024 && at < 4; at++) value /= 1024;
    return (at ? three(value) : String(value)) + " " + unit[at];
  };

  // Round values from low to high, about `most`, as [value, text] with text made by unit.
  const ticks = (low, high, most, nanos) => {
    const rough = (high - low) / Math.max(1, most);
    if (!(rough > 0) || !Number.isFinite(rough)) return [];
    const decade = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((f) => f * decade).find((s) => s >= rough * 0.999) || rough;
    const size = Math.max(Math.abs(low), Math.abs(high));
    const [scale, unit] = nanos
      ? [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]].find(([s]) => step >= s || size / s >= 1e4) || [1, "ns"]
      : [1, ""];
    const places = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step / scale) - 1e-9)));
    const out = [];
    for (let at = Math.ceil(low / step); at * step <= high && out.length < 1000; at++)
      out.push([at * step, nanos ? (at * step / scale).toFixed(places) + " " + unit : short(at * step)]);
    return out;
  };

  const variable = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "on") for (const [what, run] of Object.entries(value)) made.addEventListener(what, run);
      else if (value !== null) made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  };

  // A canvas as large as it is shown, in the pixels of the screen.
  const fit = (canvas, width, height) => {
    const scale = Math.min(3, window.devicePixelRatio || 1);
    canvas.width = Math.max(1, Math.round(width * scale));
    canvas.height = Math.max(1, Math.round(height * scale));
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    return [context, scale];
  };

  // #section?name=value&...: where a view is told to begin, and where it writes what it shows.
  const linked = (id) => {
    const [at, query] = location.hash.slice(1).split("?");
    return new URLSearchParams(at === id ? query || "" : "");
  };
  const link = (id, values) => {
    const query = new URLSearchParams(values).toString();
    try {
      history.replaceState(null, "", "#" + id + (query ? "?" + query : ""));
    } catch (error) { /* A page inside of another may not: then it has no links. */ }
  };

  const view = (name, start) => {
    for (const section of document.querySelectorAll(`section[data-view="${name}"]`)) {
      try {
        const data = section.querySelector('script[type="application/json"]');
        start(section, JSON.parse(data.textContent));
        section.dataset.ready = "1";
        section.dataset.readyMs = performance.now();
        if (location.hash.slice(1).split("?")[0] === section.id) section.scrollIntoView();
      } catch (error) {
        console.error(error);
        section.append(element("p", { class: "failed", role: "alert" }, "This view failed: " + error.message));
      }
    }
  };

  const repaint = () => watchers.forEach((run) => run());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(repaint, 80);
  });
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    repaint();
  });

  return {
    bytes, pairs, short, time, percent, count, bytesText, ticks, variable, rgb, element, fit, linked, link, view,
    onPaint: (run) => watchers.push(run),
  };
})();
