"use strict";
// Views of a page, decoded when they are used: half spectra whose coefficients were rounded, or the few values of a field.
perfkit.codedSpectra = (waves, fields) => {
  const { dims, size, half, norms, isPair, shares, forward, inverse } = waves;
  const data = perfkit.bytes(fields.data), held = perfkit.bytes(fields.held);
  const starts = [0];
  fields.views.forEach(([, ranges, raws]) => starts.push(starts.at(-1) + ranges + raws));
  // Coefficients come by frequency, the lowest first.
  const order = Int32Array.from(half, (_, at) => at).sort((one, other) => norms[half[one]] - norms[half[other]] || one - other);

  // Binary decisions with adaptive probabilities, see `range_coder.rs`.
  const decoder = (from, middle, end) => {
    let at = from, range = 0xffffffff, code = 0, raw = middle, bits = 0, have = 0;
    const next = () => (at < middle ? data[at++] : 0);
    for (let byte = 0; byte < 4; byte++) code = ((code << 8) | next()) >>> 0;
    // A number of 4 bits: `trees` has 16 probabilities for each context.
    const symbol = (trees, context) => {
      let node = 1;
      for (let bit = 0; bit < 4; bit++) {
        const place = 16 * context + node, bound = (range >>> 11) * trees[place];
        node *= 2;
        if (code < bound) {
          range = bound;
          trees[place] += (2048 - trees[place]) >> 5;
        } else {
          code -= bound;
          range -= bound;
          trees[place] -= trees[place] >> 5;
          node++;
        }
        while (range < 0x1000000) {
          range = (range << 8) >>> 0;
          code = ((code << 8) | next()) >>> 0;
        }
      }
      return node - 16;
    };
    const plain = (count) => {
      for (; have < count; have += 8) bits = (bits << 8) | (raw < end ? data[raw++] : 0);
      have -= count;
      const value = bits >> have;
      bits &= (1 << have) - 1;
      return value;
    };
    return { symbol, plain };
  };
  const trees = () => new Uint16Array(256).fill(1024);
  const CONTEXTS = 4, BELOW = 6, ESCAPE = 15;

  const readSpectrum = ([[mean, energies]], at) => {
    const { symbol, plain } = decoder(starts[at], starts[at] + fields.views[at][1], starts[at + 1]);
    const probabilities = trees();
    let average = 0;
    const number = () => {
      const expected = 32 - Math.clz32(Math.floor(average + 0.5));
      const found = symbol(probabilities, Math.min(expected, CONTEXTS - 1));
      const length = found === ESCAPE ? plain(6) : found + Math.max(0, expected - BELOW);
      const size = length > 1 ? 2 ** (length - 1) + plain(length - 1) : length;
      average = 0.75 * average + 0.25 * size;
      return size && plain(1) ? -size : size;
    };
    const accuracy = at < fields.exact ? fields.best : fields.accuracy;
    const re = new Float32Array(half.length), im = new Float32Array(half.length);
    let [square, error] = [0, 0];
    for (const place of order) {
      let least = Infinity;
      for (let axis = 0; axis < dims.length; axis++) if (shares[axis][place] > 0) least = Math.min(least, energies[axis] / shares[axis][place]);
      if (!(least > 0)) continue;
      const step = accuracy * Math.sqrt(least / 12), pair = isPair[place];
      re[place] = step * number();
      if (pair) im[place] = step * number();
      error += (pair ? 4 : 1) * step ** 2;
      square += (pair ? 2 : 1) * (re[place] ** 2 + im[place] ** 2);
    }
    return waves.spectrum(re, im, { mean, square: size * mean ** 2 + square / size, error: Math.sqrt(error / 12) / size });
  };
  const readValues = ([[values]], at) => {
    const { symbol } = decoder(starts[at], starts[at] + fields.views[at][1], starts[at + 1]);
    const probabilities = trees();
    let last = 0, count = 0, mean = 0;
    const field = Float64Array.from(held, (is) => {
      if (!is) return NaN;
      last = symbol(probabilities, last);
      mean += values[last];
      count++;
      return values[last];
    });
    return field.map((value) => (Number.isNaN(value) ? mean / count : value));
  };

  const known = [];
  let decoded = 0;
  const isField = (at) => Array.isArray(fields.views[at][0][0]);
  const spectrum = (at) => {
    if (!isKnown(at)) put(at, isField(at) ? forward(readValues(fields.views[at], at)) : readSpectrum(fields.views[at], at));
    return known[at];
  };
  // Values are rounded to the power of ten above their error, so that what was 0 is 0.
  const grain = (at) => (isField(at) || !(spectrum(at).error > 0) ? 0 : 10 ** Math.ceil(Math.log10(4 * spectrum(at).error)));
  const field = (at) => {
    if (isField(at)) return readValues(fields.views[at], at);
    const own = spectrum(at), unit = grain(at);
    return inverse(own).map((value) => (unit > 0 ? Math.round((value + own.mean) / unit) * unit : value + own.mean));
  };
  const isKnown = (at) => known[at] !== undefined;
  // Adds a view that was decoded elsewhere.
  const put = (at, own) => { if (!isKnown(at)) [known[at], decoded] = [own, decoded + 1]; };
  return { spectrum, field, grain, held, data, isKnown, put, count: () => decoded };
};
