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

  const PREFIXES = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "u"], [1e-9, "n"]];
  const three = (value) => value.toFixed(Math.abs(value) < 9.995 ? 2 : Math.abs(value) < 99.95 ? 1 : 0);
  const short = (value, unit = "") => {
    if (!Number.isFinite(value)) return "not a number";
    if (value === 0) return ("0 " + unit).trim();
    const size = Math.abs(value) * 1.0005;
    // A prefix without a unit would read as one.
    if (!unit && size < 1) return size >= 1e-3 ? value.toFixed(2 - Math.floor(Math.log10(size))) : value.toExponential(2);
    // Nobody reads thousands of seconds as kiloseconds.
    const found = PREFIXES.find(([scale]) => size >= scale && !(unit === "s" && scale > 1));
    if (found && unit === "s" && size >= 1e4) return count(value) + " s";
    return (found ? three(value / found[0]) + " " + found[1] + unit : value.toExponential(2) + " " + unit).trim();
  };
  const time = (nanos) => short(nanos / 1e9, "s");
  const percent = (share) => (share > 0 && share < 0.0005 ? "< 0.1" : share > 0 && share < 0.0995 ? (100 * share).toFixed(1) : (100 * share).toFixed(0)) + " %";
  const count = (value) => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, " ");
  // Digits before the point in groups of three.
  const grouped = (text) => text.replace(/^(-?)(\d{5,})/, (_, sign, digits) => sign + count(digits));
  // Unit of times that differ by `fine`: the largest that does not exceed it, or a larger one if times of `size` would
  // have more than four digits before the point.
  const timeUnit = (fine, size) => {
    const units = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]], at = units.findIndex(([scale]) => fine >= scale);
    return units.slice(0, at < 0 ? units.length : at + 1).reverse().find(([scale]) => size / scale < 1e4) || units[0];
  };
  // A time in a window, with as many digits as tell a thousandth of the window apart, but none below a nanosecond.
  const moment = (nanos, span, size) => {
    const [scale, unit] = timeUnit(span, size), places = Math.min(Math.log10(scale), Math.max(0, Math.ceil(3 - Math.log10(span / scale) - 1e-9)));
    return grouped((nanos / scale).toFixed(places)) + " " + unit;
  };
  const bytesText = (value) => {
    const unit = ["B", "KiB", "MiB", "GiB", "TiB"];
    let at = 0;
    for (; value >= 1024 && at < 4; at++) value /= 1024;
    return (at ? three(value) : String(value)) + " " + unit[at];
  };

  // Round values from low to high, about `most`, as [value, text] with as many digits as tell them apart.
  const ticks = (low, high, most, nanos, name = "") => {
    const rough = (high - low) / Math.max(1, most);
    if (!(rough > 0) || !Number.isFinite(rough)) return [];
    const decade = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((f) => f * decade).find((s) => s >= rough * 0.999) || rough;
    const size = Math.max(Math.abs(low), Math.abs(high));
    const [scale, unit] = nanos
      ? timeUnit(step, size)
      : (name || size * 1.0005 >= 1 ? PREFIXES.find(([s]) => size * 1.0005 >= s) : null) || [1, ""];
    const places = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step / scale) - 1e-9)));
    const out = [];
    for (let at = Math.ceil(low / step); at * step <= high && out.length < 1000; at++)
      out.push([at * step, at === 0 && !nanos ? "0" : ((nanos ? grouped((at * step / scale).toFixed(places)) : (at * step / scale).toFixed(places)) + " " + unit + (nanos ? "" : name)).trim()]);
    return out;
  };

  // How values of a unit are written.
  const writer = (unit) => (unit === "ns" ? time : unit === "B" ? bytesText : unit === "%" ? percent : (value) => short(value, unit));

  // Round values over several factors of ten.
  const factors = (low, high, most) => {
    const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
    const all = (steps, every) => {
      const out = [];
      for (let decade = first; decade <= last; decade++)
        if (decade % every === 0) for (const step of steps) out.push(step * 10 ** decade);
      return out.filter((value) => value >= low && value <= high);
    };
    for (const steps of [[1, 2, 5], [1, 3], [1]]) if (all(steps, 1).length <= Math.max(2, most)) return all(steps, 1);
    return all([1], Math.floor((last - first) / Math.max(1, most)) + 1);
  };

  // From values to shares of a length and back, with ticks as [share, text].
  const scale = (low, high, unit, most, log = false) => {
    if (!(high > low)) [low, high] = log ? [low / 2, low * 2] : [low - 0.5, low + 0.5];
    const to = log ? Math.log : (value) => value, back = log ? Math.exp : (value) => value;
    const [from, until] = [to(low), to(high)], write = writer(unit);
    const share = (value) => (to(value) - from) / (until - from);
    const found = log && high > 3 * low
      ? factors(low, high, most).map((value) => [value, write(value)])
      : ticks(low, high, most, unit === "ns", unit).map(([value, text]) => [value, unit === "B" || unit === "%" ? write(value) : text]);
    return { share, value: (at) => back(from + at * (until - from)), ticks: found.map(([value, text]) => [share(value), text]) };
  };

  // A rectangle with axes on a canvas: ticks as [share, text].
  const chart = (context, [left, top, width, height], { x = [], y = [], xName = "", yName = "", title = "" }) => {
    const [right, bottom] = [left + width, top + height];
    context.font = "12px system-ui, sans-serif";
    context.lineWidth = 1;
    context.textBaseline = "middle";
    const line = (x1, y1, x2, y2, colour) => {
      context.strokeStyle = variable(colour);
      context.beginPath();
      context.moveTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
      context.lineTo(Math.round(x2) + 0.5, Math.round(y2) + 0.5);
      context.stroke();
    };
    context.fillStyle = variable("quiet");
    let last = -Infinity;
    context.textAlign = "center";
    for (const [share, text] of x) {
      const at = left + share * width, half = context.measureText(text).width / 2;
      if (!(share >= -0.001 && share <= 1.001)) continue;
      line(at, top, at, bottom + 4, "grid");
      if (at - half < last + 6) continue;
      // A label at the very edge would be cut.
      context.fillText(text, Math.min(at, right + 12 - half), bottom + 13);
      last = at + half;
    }
    context.textAlign = "right";
    for (const [share, text] of y) {
      if (!(share >= -0.001 && share <= 1.001)) continue;
      const at = bottom - share * height;
      line(left - 4, at, right, at, "grid");
      context.fillText(text, left - 7, at);
    }
    line(left, bottom, right, bottom, "quiet");
    line(left, top, left, bottom, "quiet");
    context.textAlign = "center";
    context.fillText(xName, left + width / 2, bottom + 31);
    context.textAlign = "left";
    context.fillText(yName, Math.max(2, left - 60), top - 12, width + 56);
    context.fillStyle = variable("ink");
    context.font = "600 13px system-ui, sans-serif";
    context.fillText(title, Math.max(2, left - 60), top - 29, width + 56);
    context.font = "12px system-ui, sans-serif";
  };

  // A name shortened in the middle, after a part of its letters; the caller shows the whole name on hover.
  // A C++ function without return type, namespaces and parameters, with one template argument; null for other names.
  const bareFunction = (text) => {
    const name = text.replaceAll("(anonymous namespace)::", "").replace(/^void /, ""), at = name.search(/[<(]/), last = (path) => path.split("::").pop();
    if (at < 0) return null;
    const head = name.slice(0, at), rest = name.slice(at), base = last(head);
    if (!base || /[ {]/.test(head) || base.startsWith("operator")) return null;
    if (rest[0] === "(") return base;
    let depth = 0;
    const close = [...rest].findIndex((letter) => (depth += (letter === "<") - (letter === ">")) === 0);
    if (close < 0 || !/^\s*(\(|$)/.test([...rest].slice(close + 1).join(""))) return null;
    const argument = rest.split(/[^A-Za-z0-9_:]/).map(last).find((word) => /^[A-Za-z]/.test(word) && word.length > 5 && !["double", "signed", "unsigned"].includes(word));
    return argument ? `${base}<${argument}>` : base;
  };
  const shortened = (full, most, part = 0.5) => {
    const name = [...full].length <= most ? full : bareFunction(full) ?? full;
    const letters = [...name], kept = Math.max(0, most - 2), head = Math.ceil(part * kept);
    return letters.length <= most ? name : letters.slice(0, head).join("") + ".." + letters.slice(letters.length - (kept - head)).join("");
  };
  // Names shortened so that different names stay different: where several would have one form, the first letters in
  // which they differ follow the beginning.
  const sharedLetters = (one, other) => {
    const [a, b] = [[...one], [...other]], at = a.findIndex((letter, place) => letter !== b[place]);
    return one === other ? Infinity : at < 0 ? a.length : at;
  };
  const withDifference = (name, start, most) => {
    const letters = [...name], kept = most - 4, head = Math.floor(kept / 3), part = kept - head;
    if (letters.length <= most || most < 8) return shortened(name, most);
    const from = Math.min(Math.max(0, start - Math.floor(part / 3)), letters.length - part);
    if (from <= head) return letters.slice(0, most - 2).join("") + "..";
    return [...(bareFunction(name) ?? name)].slice(0, head).join("") + ".." + letters.slice(from, from + part).join("") + (from + part < letters.length ? ".." : "");
  };
  const shortenedApart = (names, most, part = 0.5) => {
    const short = names.map((name) => shortened(name, most, part)), open = [[names.map((_, at) => at), Infinity]];
    while (open.length) {
      const [group, size] = open.pop(), alike = new Map();
      for (const at of group) alike.set(short[at], [...(alike.get(short[at]) || []), at]);
      for (const same of alike.values()) {
        const start = Math.min(...same.map((at) => sharedLetters(names[same[0]], names[at])));
        if (start === Infinity || same.length >= size) continue;
        for (const at of same) short[at] = withDifference(names[at], start, most);
        open.push([same, same.length]);
      }
    }
    return short;
  };
  const variable = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  // Black or white, whichever is easier to read on a colour.
  const readable = (channels) => {
    const light = channels.map((channel) => (channel / 255 <= 0.04045 ? channel / 255 / 12.92 : ((channel / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] > 0.179 ? "#000000" : "#ffffff";
  };
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

  // Why the server gave no data: the text of its refusal, or an error of the connection.
  const unanswered = (error) => (typeof error === "string" ? `The server refused the request: ${error}.`
    : "perfkit serve does not answer. If it has ended, start it again and open its new address.");

  const view = (name, start) => {
    for (const section of document.querySelectorAll(`section[data-view="${name}"]`)) {
      try {
        const data = section.querySelector('script[type="application/json"]'), line = section.querySelector(".status");
        // A status that is too long ends with a mark; its tool tip has all of it.
        const told = new MutationObserver(() => (line.title = line.textContent));
        if (line) told.observe(line, { childList: true, characterData: true, subtree: true });
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
    bytes, pairs, short, time, moment, percent, count, bytesText, ticks, writer, factors, scale, chart, bareFunction, shortened, shortenedApart, variable, rgb, readable, element, fit, linked, link, unanswered, view,
    onPaint: (run) => watchers.push(run),
  };
})();
