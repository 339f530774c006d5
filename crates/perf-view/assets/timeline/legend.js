"use strict";
// Legend of a timeline and the table of its rows, both of the visible window. `page` is the timeline.
perfkit.timelineLegend = (page) => {
  const { element, time, percent, count } = perfkit, { section, data, find, moments, numbers } = page, groups = data.groups;
  const list = find(".legend"), model = list.querySelector("svg"), remarks = list.querySelectorAll(".fainter, .stronger, .unusual"), table = find(".table");
  const rootOf = (group) => (groups[group].parent === null ? group : rootOf(groups[group].parent));
  // A reader cannot tell the shades of hundreds of kernels apart.
  const MOST_STATES = 14;
  // Number of painted cells of the window by colour, in the rows below some roots.
  const areas = (roots) => {
    const { FIRST, OTHERS, NUMBER } = page.codes, { grid, columnAt, layout, state } = page;
    const codes = new Float64Array(256), within = new Set(roots), seen = grid(), from = columnAt(seen, state.from), to = columnAt(seen, state.from + state.span * (1 - 1e-12));
    for (const group of layout.rows.filter((group) => within.has(rootOf(group)))) {
      const found = seen.cells(group);
      if (found) for (let at = from; at <= to; at++) codes[found[0][at]]++;
    }
    const colours = new Map();
    const add = (colour, area) => colours.set(colour, (colours.get(colour) || 0) + area);
    data.states.forEach(([, colour], at) => add(colour, codes[FIRST + at]));
    add(data.others[1], codes[OTHERS]);
    return { colours, hasNumbers: codes[NUMBER] > 0 };
  };
  const swatch = (colour) => {
    const picture = model.cloneNode(true), square = picture.firstElementChild;
    square.setAttribute("class", data.themed[colour] || "");
    square.setAttribute("fill", colour);
    return picture;
  };
  const isThemed = (colour) => data.themed[colour] !== undefined;
  // States of one kind of row by painted area, those in no cell together.
  const entries = (found, roots) => {
    const { colours, hasNumbers } = areas(roots), isState = ([, colour]) => !isThemed(colour), isPainted = ([, colour]) => colours.get(colour) > 0;
    const painted = found.filter((it) => isState(it) && isPainted(it)).sort((a, b) => colours.get(b[1]) - colours.get(a[1]));
    const hidden = found.filter((it) => isState(it) && !isPainted(it)), smaller = painted.splice(painted.length > MOST_STATES + 1 ? MOST_STATES : painted.length);
    const joined = (all, words) => {
      const sum = (at) => all.reduce((sum, [, , shares]) => sum + shares[at], 0);
      return all.length && !hasNumbers ? [[`${all.length > 1 ? count(all.length) + " more" : all[0][0]} ${words}`, null, [sum(0), sum(1)]]] : [];
    };
    const rest = [...joined(smaller, "with smaller areas"), ...joined(hidden, "in no cell here")];
    return [...painted, ...rest, ...found.filter(([, colour]) => isThemed(colour))];
  };
  const legend = () => {
    const { part } = page;
    if (!part) return;
    const words = `${moments(data.start + part.from)} to ${moments(data.start + part.from + part.span)}`;
    for (const whole of section.querySelectorAll(".whole")) whole.textContent = words;
    const parts = part.legend.map(([heading, found], at) => [heading, entries(found, data.parts[at][1])]);
    const short = perfkit.shortenedApart(parts.flatMap(([, all]) => all.map(([name]) => name)), 72);
    const item = ([name, colour, [share, length]]) =>
      element("li", {}, ...(colour && model ? [swatch(colour)] : []), element("span", { title: name }, `${short.shift()} ${percent(share)}, ${time(length)}`));
    list.replaceChildren(...parts.flatMap(([heading, all]) => [
      ...(heading ? [element("li", { class: "part" }, element("span", {}, heading))] : []), ...all.map(item)]), ...remarks);
  };

  // Table of the rows on the screen.
  const rows = () => {
    table.querySelector(".which").textContent = "rows on the screen";
    if (!table.open) return;
    const { layout, isSeen } = page;
    table.querySelector("tbody").replaceChildren(...layout.rows.filter((_, row) => isSeen(row)).map((group) => {
      const { busy, shares } = numbers(group), states = shares.map(([name, share]) => `${perfkit.shortened(name, 72)} ${percent(share)}.`).join(" ");
      return element("tr", {}, element("th", { scope: "row" }, groups[group].label), element("td", { class: "n" }, count(groups[group].streams)),
        element("td", { class: "n" }, percent(busy)), element("td", { title: shares.map(([name]) => name).join("\n") }, states || "not held by this page"));
    }));
  };
  table.addEventListener("toggle", rows);

  return {
    paint: (isExact) => {
      if (isExact) legend();
      rows();
    },
  };
};
