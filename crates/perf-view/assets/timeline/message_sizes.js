"use strict";
// Messages of a timeline by length, in classes between powers of two: class n has 2^(n-1) to 2^n - 1 bytes.
perfkit.timelineSizes = ({ section, data, state, find, moments, isServed }) => {
  const { element, time, count, bytesText } = perfkit, box = find(".sizes");

  // The classes of the messages that are sent in the window; the times of early ones are unknown.
  const computed = (bundles) => {
    const found = new Map();
    for (const [, sent, , received, , bytes] of bundles) {
      if (sent < state.from || sent >= state.from + state.span) continue;
      const number = bytes ? BigInt(bytes).toString(2).length : 0, lasts = received - sent;
      const of = found.get(number) || [number, 0, 0, 0, 0, 0, 0];
      of[1]++;
      of[2] += bytes;
      if (lasts < 0) of[6]++;
      else {
        of[3] += bytes;
        of[4] += lasts;
        of[5] = Math.max(of[5], lasts);
      }
      found.set(number, of);
    }
    return [...found.values()].sort((a, b) => a[0] - b[0]);
  };

  const row = ([number, messages, bytes, timed, sum, longest, early]) => {
    const length = number ? `${bytesText(2 ** (number - 1))} to below ${bytesText(2 ** number)}` : "0 B", isTimed = messages > early;
    const figures = [count(messages), bytesText(bytes), isTimed ? time(sum / (messages - early)) : "unknown", isTimed ? time(longest) : "unknown",
      sum > 0 ? bytesText(Math.round((timed / sum) * 1e9)) + "/s" : "unknown"];
    return element("tr", {}, element("th", { scope: "row" }, length), ...figures.map((text) => element("td", { class: "n" }, text)));
  };

  // `part` is what the server has sent. A page of bundles knows the lengths of all its messages together only.
  return (part) => {
    const all = isServed ? (part ? part.sizes : []) : data.sizes || computed(data.links ? data.links.bundles : []);
    box.hidden = !all.length;
    section.dataset.sizes = all.reduce((sum, of) => sum + of[1], 0);
    if (box.hidden) return;
    const [from, span] = isServed ? [part.from, part.span] : data.sizes ? [0, data.span] : [state.from, state.span];
    const isWhole = !isServed && data.sizes && state.span < data.span;
    box.querySelector(".sent").textContent = `${moments(data.start + from)} to ${moments(data.start + from + span)}`;
    const early = all.reduce((sum, of) => sum + of[6], 0);
    box.querySelector(".note").textContent = [
      isWhole ? `This page knows the lengths of all its messages together, not of this window.${data.serve ? ` ${data.serve} shows those of each window.` : ""}` : "",
      early ? `${count(early)} arrive before they are sent and are not in the times and the bandwidth: the clocks disagree.` : "",
    ].filter(Boolean).join(" ");
    box.querySelector("tbody").replaceChildren(...all.map(row));
  };
};
