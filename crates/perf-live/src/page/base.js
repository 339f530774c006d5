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

const { count } = perfkit;
// Text of a name. Marks of writing direction would reverse the text around it.
const legible = (name) => String(name).replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
const shortened = (name, most) => perfkit.shortened(legible(name), most);
// Whole numbers are written without a prefix.
const short = (value, unit = "") => (Number.isInteger(value) && Math.abs(value) < 10000 && !unit ? String(value) : perfkit.short(value, unit));
const time = (nanos) => perfkit.time(Number(nanos));
const colour = perfkit.variable;

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
    if (asked[kind] === mine) wrong("The request failed: " + error.message);
    return null;
  }
};
