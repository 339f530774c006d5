"use strict";
// Views of a served page: lists of the server, and values that it sends when they are drawn. A view is its number, or the text of a
// selection in the trees.
perfkit.servedViews = (waves, { fields }, failed) => {
  const { size, forward } = waves, [address] = fields.served, held = perfkit.bytes(fields.held);
  // Views in an answer, and cells of all views that are kept.
  const AT_ONCE = 64, MOST_CELLS = 1 << 22;
  const values = new Map(), spectra = new Map();
  const get = (what, query, signal) =>
    fetch(`${address}/${what}?${new URLSearchParams(query)}`, { signal })
      .then((answer) => answer.text().then((text) => (answer.ok ? JSON.parse(text) : Promise.reject(text))));
  const keep = (needed) => {
    for (const view of [...values.keys()]) {
      if (values.size * size <= MOST_CELLS) return;
      if (needed.has(view)) continue;
      values.delete(view);
      spectra.delete(view);
    }
  };
  // Gets the values of views that are not there.
  let shown = new Set();
  const need = async (views, signal) => {
    const missing = [...new Set(views)].filter((view) => !values.has(view));
    for (let at = 0; at < missing.length; at += AT_ONCE) {
      const some = missing.slice(at, at + AT_ONCE), found = await get("fields", { views: some.join("-") }, signal);
      some.forEach((view, place) => values.set(view, found.fields[place].map((text) => new Float64Array(perfkit.bytes(text).buffer))));
    }
    keep(new Set([...views, ...shown]));
  };
  // Requests of one purpose: a new one supersedes the one in flight.
  const purpose = () => {
    let request = null;
    return (run, done) => {
      request?.abort();
      const own = (request = new AbortController());
      run(own.signal).then((found) => own === request && done(found), (error) => error.name !== "AbortError" && own === request && failed(error));
    };
  };
  const [lists, reads, shows] = [purpose(), purpose(), purpose()];
  // The list comes before the values of the views that are drawn first.
  const list = ({ view, own, weights, top, right }, done) => {
    const reference = own ? own.key : view;
    lists(async (signal) => {
      const { found, count } = await get("list", { reference, weights: weights.join("_"), top }, signal), list = { found, count, open: 0 };
      const views = [reference, right, ...found.slice(0, 1).map(([view]) => view)];
      if (own) await need([reference], signal);
      if (!signal.aborted && !views.every((view) => values.has(view))) done(list);
      await need(views, signal);
      shown = new Set(views);
      return list;
    }, done);
  };
  const read = (keys, _, done) => reads(async (signal) => {
    await need(keys, signal);
    return keys.map((key) => ({ values: values.get(key)[0], view: typeof key === "number" ? key : null }));
  }, done);
  // Gets the values of a view that is going to be drawn.
  const show = (view, done) => (values.has(view) ? done() : shows((signal) => need([view], signal), done));
  const spectrum = (view) => {
    if (!spectra.has(view)) spectra.set(view, forward(values.get(view)[0], Float64Array));
    return spectra.get(view);
  };
  // The server ends once this stream is closed.
  const start = () => { perfkit.open ??= new EventSource("open"); };
  return { spectrum, kinds: (view) => values.get(view), show, grain: () => 0, held, list, read, start, has: (view) => values.has(view), isServed: true };
};
