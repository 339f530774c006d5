"use strict";
const find = (selector, within = document) => within.querySelector(selector);

// Creates an element with attributes and children. Data is only inserted as text, never as HTML.
const SVG = "http" + "://www.w3.org/2000/svg";
const make = (tag, attributes = {}, ...children) => {
  const of = ["svg", "g", "rect", "line", "path", "text", "title"].includes(tag);
  const made = of ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [what, run] of Object.entries(value)) made.addEventListener(what, run);
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
};

const three = (value) => value.toFixed(Math.abs(value) < 9.995 ? 2 : Math.abs(value) < 99.95 ? 1 : 0);
const short = (value, unit = "") => {
  if (!Number.isFinite(value)) return "no number";
  if (Number.isInteger(value) && Math.abs(value) < 10000 && !unit) return String(value);
  if (value === 0) return ("0 " + unit).trim();
  const scales = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "u"], [1e-9, "n"]];
  const found = scales.find(([scale]) => Math.abs(value) * 1.0005 >= scale);
  return (found ? three(value / found[0]) + " " + found[1] + unit : value.toExponential(2) + " " + unit).trim();
};
const time = (nanos) => short(Number(nanos) / 1e9, "s");
const count = (value) => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

// Returns about `most` round values from low to high; for counts only whole ones.
const ticks = (low, high, most, whole) => {
  const rough = (high - low) / Math.max(1, most);
  if (!(rough > 0) || !Number.isFinite(rough)) return [low];
  const decade = 10 ** Math.floor(Math.log10(rough));
  const round = [1, 2, 5, 10].map((f) => f * decade).find((s) => s >= rough * 0.999) || rough;
  const step = whole ? Math.max(1, round) : round;
  const out = [];
  for (let at = Math.ceil(low / step); at * step <= high * (1 + 1e-12) && out.length < 100; at++) out.push(at * step);
  return out;
};

const wrong = (what) => {
  const place = find("#wrong");
  place.hidden = !what;
  place.textContent = what || "";
};

// Sends a query. An answer is dropped if a later query of the same kind was sent meanwhile.
const asked = {};
const ask = async (kind, path, values = {}) => {
  const mine = (asked[kind] = (asked[kind] || 0) + 1);
  const given = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const query = new URLSearchParams(given).toString();
  try {
    const response = await fetch(path + (query ? "?" + query : ""));
    let text = await response.text();
    if (asked[kind] !== mine) return null;
    if (!response.ok) throw new Error(JSON.parse(text).error || text);
    // Nanoseconds since 1970 exceed the integers that a number represents exactly.
    if (kind === "call") text = text.replace(/"(entry|exit|at)":(-?\d{15,})/g, '"$1":"$2"');
    wrong("");
    return JSON.parse(text);
  } catch (error) {
    if (asked[kind] === mine) wrong("The server says: " + error.message);
    return null;
  }
};

const theme = () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
};
