"use strict";
// Short forms of call paths: the last function, and as many of its callers as fit.
(() => {
  // "> >" closes template arguments; other signs between spaces separate callers.
  const frames = (name) => name.split(/ > (?=[^\s>])/);
  // A name that a tool has cut within its template arguments keeps the function.
  const cut = (name) => (/^[\w:~]+</.test(name) && !name.trimEnd().endsWith(">") ? name.slice(0, name.indexOf("<")).split("::").pop() + "<..>" : name);
  const length = (text) => [...text].length;
  const bare = (frame) => perfkit.bareFunction(frame) ?? cut(frame);
  const one = (name, most) => {
    if (length(name) <= most) return name;
    const all = frames(name).map(bare);
    let text = all.pop();
    if (length(text) + (all.length ? 5 : 0) > most) return perfkit.shortened(text, most);
    while (all.length) {
      const longer = all.at(-1) + " > " + text;
      if (length(longer) + (all.length > 1 ? 5 : 0) > most) return ".. > " + text;
      text = longer;
      all.pop();
    }
    return text;
  };
  // The letters from a place on, and the function.
  const around = (name, start, most) => {
    const leaf = perfkit.shortened(bare(frames(name).pop()), Math.floor(most / 2)), part = Math.max(0, most - length(leaf) - 7);
    const from = Math.max(0, start - Math.floor(part / 3));
    return `..${[...name].slice(from, from + part).join("")}.. > ${leaf}`;
  };
  const shared = (one, other) => {
    const [a, b] = [[...one], [...other]], at = a.findIndex((letter, place) => letter !== b[place]);
    return at < 0 ? a.length : at;
  };
  // Names of call paths of at most `most` letters. Where several would have one form, the letters in which they differ
  // come before the function.
  perfkit.pathNames = (names, most) => {
    const short = names.map((name) => one(name, most)), alike = new Map();
    short.forEach((text, at) => alike.set(text, [...(alike.get(text) ?? []), at]));
    for (const same of alike.values()) {
      if (same.every((at) => names[at] === names[same[0]])) continue;
      const start = Math.min(...same.filter((at) => names[at] !== names[same[0]]).map((at) => shared(names[same[0]], names[at])));
      for (const at of same) short[at] = around(names[at], start, most);
    }
    return short;
  };
})();
