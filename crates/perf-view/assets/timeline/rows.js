"use strict";
// Rows of a timeline: their order, the filter, their labels, and the marks of rows that differ. `page` is the timeline.
perfkit.timelineRows = (page) => {
  const { percent, time } = perfkit, { data, state, find, numbers } = page, groups = data.groups;
  const filter = find(".filter"), order = find(".order");
  // Largest number of rows that match the filter for which folded rows are opened.
  const MOST_FOUND = 256;
  const roots = groups.map((_, at) => at).filter((at) => groups[at].parent === null);
  const depth = (group) => (groups[group].parent === null ? 0 : 1 + depth(groups[group].parent));
  // Label of a row: without the part that it shares with the row that unfolds into it.
  const label = (group) => {
    const { parent, label } = groups[group], shared = parent === null ? "" : groups[parent].label.replace(/, (threads|streams)$/, "") + ", ";
    return shared && label.startsWith(shared) ? label.slice(shared.length) : label;
  };

  // Rows that match the filter, and their number within each row. A label that repeats that of the row above it says
  // nothing new.
  let searched = { wanted: "" };
  const search = (wanted) => {
    if (searched.wanted === wanted) return searched;
    const has = (text) => text.toLowerCase().includes(wanted);
    const matches = groups.map((group, at) => has(label(at)) || (has(group.label) && (group.parent === null || !has(groups[group.parent].label))));
    const inside = new Uint32Array(groups.length);
    // Members follow their parents.
    for (let at = groups.length - 1; at >= 0; at--) if (groups[at].parent !== null) inside[groups[at].parent] += inside[at] + matches[at];
    const total = roots.reduce((sum, at) => sum + inside[at] + matches[at], 0);
    return (searched = { wanted, matches, inside, total, opens: total <= MOST_FOUND });
  };
  // Rows that the filter opens, because a row within them matches.
  let opened = new Set();
  const isOpen = (group) => groups[group].children.length > 0 && (state.open.has(group) || opened.has(group));

  // How much a row, or a row within it, differs from the rows of its kind. Marked rows come first.
  const difference = (group) => {
    const of = (at) => (groups[at].differs || 0) + (groups[at].unusual ? 1 : 0);
    return Math.max(of(group), groups[group].most === undefined ? 0 : of(groups[group].most));
  };
  const before = {
    name: (a, b) => groups[a].label.localeCompare(groups[b].label, "en", { numeric: true }) || a - b,
    similar: (a, b) => groups[a].similar - groups[b].similar || a - b,
    differs: (a, b) => difference(b) - difference(a) || a - b,
    busy: (a, b) => numbers(b).busy - numbers(a).busy || a - b,
    mpi: (a, b) => numbers(b).mpi - numbers(a).mpi || a - b,
    idle: (a, b) => numbers(a).busy - numbers(b).busy || a - b,
  };
  // The rows that are seen, from the top.
  const visible = () => {
    const wanted = filter.value.trim().toLowerCase(), found = wanted ? search(wanted) : null, out = [];
    const sorted = (all) => (before[order.value] ? [...all].sort(before[order.value]) : all);
    opened = new Set();
    const walk = (group) => {
      if (found && !found.matches[group] && !found.inside[group]) return;
      out.push(group);
      if (found && found.opens && found.inside[group]) opened.add(group);
      if (isOpen(group)) sorted(groups[group].children).forEach(walk);
    };
    sorted(roots).forEach(walk);
    return out;
  };
  const remark = () => (filter.value.trim() && searched.wanted && !searched.opens
    ? ` ${perfkit.count(searched.total)} rows match: folded rows stay folded until the filter has more of the name.` : "");

  // Labels of some rows with at most `letters` letters less their indentation. Different rows keep different labels.
  const shortened = (shown, letters) => {
    const most = new Map(), out = new Map();
    for (const group of shown) {
      const room = Math.max(12, letters - 2 * depth(group)), end = (label(group).match(/ and \d+ more$/) || [""])[0];
      const key = room - end.length;
      most.set(key, [...(most.get(key) || []), [group, label(group).slice(0, label(group).length - end.length), end]]);
    }
    for (const [room, all] of most)
      perfkit.shortenedApart(all.map(([, text]) => text), room, 0.35).forEach((text, at) => out.set(all[at][0], text + all[at][2]));
    return out;
  };

  const isMarked = (group) => Boolean(groups[group].unusual || (!isOpen(group) && groups[group].most !== undefined && groups[groups[group].most].unusual));
  // The row within a folded row that differs most, or how a marked row differs; in a part of the page the numbers are
  // still of all of it.
  const differs = (group) => {
    const own = groups[group], isFolded = own.children.length > 0 && !isOpen(group) && own.most !== undefined, of = isFolded ? groups[own.most] : own;
    // A smaller difference is usual scatter.
    if (!of.state || !(isFolded ? of.differs >= 0.01 : own.unusual)) return "";
    const [name, share, median] = of.state, whole = state.span < data.span ? ` over all ${time(data.span)}` : "";
    const numbers = `${name} ${percent(share)}${whole}, median of such rows ${percent(median)}`;
    return isFolded ? ` Differs most: ${of.label} (${numbers}).` : ` Differs from the other rows: ${numbers}.`;
  };

  return { roots, depth, label, visible, remark, isOpen, shortened, isMarked, differs };
};
