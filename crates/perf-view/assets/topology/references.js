"use strict";
// The choice of the reference: all views by metric, or those whose names hold all words that are looked for. `parted` returns the call
// path and the metric of a name, and `change` takes the number of the chosen view. A selection in the trees has the number after the
// last view.
perfkit.references = (find, names, { parted, change }) => {
  const { element, count } = perfkit, own = names.length;
  const options = perfkit.pathNames(names.map((name) => parted(name)[0]), 64).map((text, value) => element("option", { value, title: names[value] }, text));
  const ownOption = element("option", { value: own, hidden: "" }, "selection in the trees");
  const matches = () => {
    const words = find(".seek").value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = options.map((_, view) => view);
    return words.length ? all.filter((view) => words.every((word) => names[view].toLowerCase().includes(word))) : all;
  };
  let [offered, current] = [null, 0];
  // Shows the views on offer, and which of them is the reference.
  const offer = () => {
    const found = matches(), isSought = found.length < options.length;
    // The reference itself is always among them.
    const views = current === own || found.includes(current) ? found : [current, ...found], key = views.length < options.length ? views.join() : "";
    find(".offered").textContent = isSought ? `${count(found.length)} of ${count(options.length)}${found.length ? "; Enter takes the first" : ""}` : "";
    if (key !== offered) {
      offered = key;
      const byMetric = new Map();
      for (const view of views) {
        const metric = parted(names[view])[1];
        if (!byMetric.has(metric)) byMetric.set(metric, []);
        byMetric.get(metric).push(options[view]);
      }
      find(".reference").replaceChildren(...[...byMetric].map(([label, all]) => element("optgroup", { label }, ...all)), ownOption);
    }
    find(".reference").value = current;
  };
  find(".reference").addEventListener("change", (event) => change(Number(event.target.value)));
  find(".seek").addEventListener("input", offer);
  // The first of the offered views becomes the reference.
  find(".seek").addEventListener("keydown", (event) => {
    const first = event.key === "Enter" && event.target.value.trim() ? matches()[0] : undefined;
    if (first === undefined) return;
    event.preventDefault();
    change(first);
  });
  return (view) => {
    current = view;
    offer();
  };
};
