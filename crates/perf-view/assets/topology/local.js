"use strict";
// Views of a page that holds them all. They are decoded beside the page right after the first picture; until that is done, lists
// contain what is decoded.
perfkit.localViews = (waves, fields, correlator) => {
  const coded = perfkit.codedSpectra(waves, fields), all = fields.views.length;
  // Kin of a view: runs of higher numbers.
  const holds = (runs, number) => runs.some((first, at) => at % 2 === 0 && number >= first && number < first + runs[at + 1]);
  const areKin = (one, other) => holds(fields.kin[Math.min(one, other)], Math.max(one, other));
  const views = Array.from({ length: all }, (_, view) => view);
  let [latest, waiting] = [0, null];
  // Milliseconds in which a list decodes views by itself.
  const AT_ONCE = 25;

  const list = ({ view, own, weights, top }, done) => {
    const turn = ++latest, isOther = own ? (other) => !own.kin.has(other) : (other) => other !== view && !areKin(view, other);
    const reference = own ? own.spectrum : coded.spectrum(view), others = views.filter(isOther);
    // Small pages have whole lists at once.
    for (const begin = performance.now(), rest = others.values(); performance.now() - begin < AT_ONCE; ) {
      const { value, done } = rest.next();
      if (done) break;
      coded.spectrum(value);
    }
    const rank = () => {
      if (turn !== latest) return;
      const decoded = others.filter(coded.isKnown), { found, count } = correlator.rank(reference, weights, decoded, coded.spectrum, top);
      waiting = decoded.length < others.length ? rank : null;
      done({ found: found.map(({ view, r, shift, unshifted }) => [view, r, shift, unshifted]), count, open: others.length - decoded.length });
    };
    rank();
  };
  const check = () => {
    if (coded.count() < all || !waiting) return;
    const rank = waiting;
    waiting = null;
    rank();
  };

  // Slices of some milliseconds where the browser refuses workers.
  const slices = (at = 0) => {
    const begin = performance.now();
    while (at < all && performance.now() - begin < 8) coded.spectrum(at++);
    if (at < all) setTimeout(() => slices(at), 0);
    else check();
  };
  const WORKERS = 4, BATCH = 32;
  const decode = ({ data: { dims, fields, first, step, batch } }) => {
    const coded = perfkit.codedSpectra(perfkit.waves(dims), fields);
    let found = [];
    for (let at = first; at < fields.views.length; at += step) {
      found.push([at, coded.spectrum(at)]);
      if (found.length < batch && at + step < fields.views.length) continue;
      postMessage(found, found.flatMap(([, { re, im, magnitude }]) => [re.buffer, im.buffer, magnitude.buffer]));
      found = [];
    }
  };
  const start = () => {
    const text = `"use strict"; const perfkit = { bytes: (bytes) => bytes }; perfkit.waves = ${perfkit.waves}; perfkit.codedSpectra = ${perfkit.codedSpectra}; onmessage = ${decode};`;
    const step = Math.max(1, Math.min(WORKERS, (navigator.hardwareConcurrency || 2) - 1));
    const { views, exact, best, accuracy } = fields, bytes = { views, exact, best, accuracy, data: coded.data, held: coded.held };
    let address = null;
    try {
      address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
      for (let first = 0; first < step; first++) {
        const worker = new Worker(address);
        let left = Math.ceil((all - first) / step);
        worker.onmessage = ({ data }) => {
          for (const [at, spectrum] of data) coded.put(at, spectrum);
          left -= data.length;
          if (left <= 0) worker.terminate();
          check();
        };
        worker.onerror = (event) => {
          event.preventDefault();
          worker.terminate();
          slices();
        };
        worker.postMessage({ dims: waves.dims, fields: bytes, first, step, batch: BATCH });
      }
    } catch (error) {
      slices();
    }
  };
  const { spectrum, field, grain, held } = coded;
  return { spectrum, kinds: (view) => [field(view)], field, show: (_, done) => done(), grain, held, list, start, has: () => true, read: (_, compute, done) => done(compute()) };
};
