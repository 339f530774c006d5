"use strict";
// Filtered circular cross correlation of fields on a periodic grid, by the rules of `perfkit correlate`.
perfkit.correlator = (waves, tolerance, occupied) => {
  // Equal magnitudes differ by the rounding of coded views.
  const TIE = 1e-6, NOTHING = 1e-12;
  const { dims, size, strides, along, signed, norms, opposite, half, isPair, shares, transform, forward, inverse } = waves;
  const weightsOf = (f) => {
    const weights = new Float64Array(half.length);
    dims.forEach((_, axis) => shares[axis].forEach((share, at) => (weights[at] += f[axis] * share)));
    return weights;
  };
  // Power that a filter passes; 0 if it is rounding error.
  const powerOf = ({ energies, square }, f) => {
    const power = energies.reduce((sum, energy, axis) => sum + f[axis] * energy, 0);
    return power / size <= NOTHING * square ? 0 : power;
  };

  // The extreme of a sign with the smallest shift that `accepts` takes, in the order of cells.
  const nearest = (r, sign, least, accepts) => {
    let best = -1;
    for (let cell = 0; cell < size; cell++) {
      if (sign * r[cell] >= least && (best < 0 || norms[cell] < norms[best]) && accepts(cell)) best = cell;
    }
    return best;
  };
  const isExtreme = (r, cell, sign) => dims.every((len, axis) => {
    const at = along(cell, axis), base = cell - at * strides[axis];
    if (!at) return true;
    const beside = [(at + 1) % len, (at + len - 1) % len];
    return beside.every((next) => sign * r[base + next * strides[axis]] <= sign * r[cell] + TIE);
  });
  const peak = (r) => {
    let [high, low] = [-Infinity, Infinity];
    for (let cell = 0; cell < size; cell++) {
      if (r[cell] > high) high = r[cell];
      if (r[cell] < low) low = r[cell];
    }
    const most = Math.max(Math.abs(high), Math.abs(low)), least = most * (1 - tolerance) - TIE;
    if (tolerance > 0 && Math.abs(r[0]) >= least) return 0;
    const any = () => true;
    const ends = [[nearest(r, 1, high - TIE, any), 1], [nearest(r, -1, -low - TIE, any), -1]];
    const hasSign = tolerance > 0 && Math.abs(r[0]) > tolerance * most;
    let best = null;
    for (const [end, sign] of ends) {
      if (r[end] * sign < least) continue;
      let cell = end;
      if (tolerance > 0) {
        const near = nearest(r, sign, least, (at) => isExtreme(r, at, sign));
        if (near >= 0 && (norms[near] < norms[cell] || (norms[near] === norms[cell] && near < cell))) cell = near;
      }
      const key = [norms[cell], hasSign && r[0] * sign < 0 ? 1 : 0, cell];
      const differs = best && key.findIndex((part, at) => part !== best[at]);
      if (!best || (differs >= 0 && key[differs] < best[differs])) best = key;
    }
    return best ? best[2] : 0;
  };

  const [re, im] = [new Float64Array(size), new Float64Array(size)];
  // Correlations of one view, or of two: they are real, so two of them share a transform.
  const correlate = (product, one, other) => {
    const { re: b, im: bi } = one, { re: c, im: ci } = other ?? one, both = other ? 1 : 0;
    re[0] = im[0] = 0;
    for (let at = 0; at < half.length; at++) {
      const x = product.re[at], y = product.im[at], cell = half[at], there = opposite[cell];
      const br = x * b[at] + y * bi[at], bj = x * bi[at] - y * b[at];
      const cr = both * (x * c[at] + y * ci[at]), cj = both * (x * ci[at] - y * c[at]);
      re[there] = br + cj; im[there] = cr - bj;
      re[cell] = br - cj; im[cell] = bj + cr;
    }
    transform(re, im, 1);
  };
  const largest = (values) => {
    let [high, low] = [0, 0];
    for (let cell = 0; cell < size; cell++) {
      if (values[cell] > high) high = values[cell];
      else if (values[cell] < low) low = values[cell];
    }
    return Math.max(high, -low);
  };

  // The `top` views of a list that correlate most with a spectrum, of `count` that vary. Transforms are saved where the sum of all
  // magnitudes shows that a view cannot be among them.
  const rank = (own, f, views, spectrum, top) => {
    const weights = weightsOf(f), power = powerOf(own, f);
    const times = (values, of) => Float64Array.from(values, (value, at) => of(at) * weights[at] * value);
    const product = { re: times(own.re, () => 1), im: times(own.im, () => 1) };
    const both = { re: times(own.re, (at) => 1 + isPair[at]), im: times(own.im, (at) => 1 + isPair[at]) };
    const magnitude = times(own.magnitude, (at) => 1 + isPair[at]);
    const open = [];
    for (const view of views) {
      const other = spectrum(view), norm = Math.sqrt(power * powerOf(other, f));
      if (!(norm > 0)) continue;
      const { re: x, im: y, magnitude: size } = other;
      let [bound, zero] = [0, 0];
      for (let at = 0; at < half.length; at++) {
        bound += magnitude[at] * size[at];
        zero += both.re[at] * x[at] + both.im[at] * y[at];
      }
      open.push({ view, norm, bound: bound / norm, most: Math.abs(zero) / norm });
    }
    const count = open.length;
    const leading = (key) => open.map((entry) => entry[key]).sort((one, other) => other - one)[top - 1] ?? 0;
    const spare = 1 - tolerance;
    let least = leading("most") * spare - TIE;
    open.sort((one, other) => other.bound - one.bound || one.view - other.view);
    for (let at = 0; at < open.length; at += 2) {
      if (at % 256 === 0 && at) least = Math.max(least, leading("most") * spare - TIE);
      if (open[at].bound < least) {
        open.length = at;
        break;
      }
      const [one, other] = [open[at], open[at + 1]];
      correlate(product, spectrum(one.view), other && spectrum(other.view));
      one.most = largest(re) / one.norm;
      if (other) other.most = largest(im) / other.norm;
    }
    // The reported correlation is at most the largest one, and less by at most the tolerance.
    open.sort((one, other) => other.most - one.most || one.view - other.view);
    const found = [], r = new Float64Array(size);
    for (const { view, norm, most } of open) {
      if (found.length >= top && Math.abs(found[top - 1].r) > most + TIE) break;
      correlate(product, spectrum(view));
      for (let cell = 0; cell < size; cell++) r[cell] = Math.max(-1, Math.min(1, re[cell] / norm));
      const at = peak(r);
      found.push({ view, r: r[at], shift: dims.map((len, axis) => signed(along(at, axis), len)), unshifted: r[0] });
      found.sort((one, other) => Math.abs(other.r) - Math.abs(one.r) || one.view - other.view);
    }
    return { found: found.slice(0, top).filter(({ r }) => r !== 0), count };
  };

  // Upper bound of the probability that a view of the same magnitudes and random phases correlates as strongly, by the Chernoff bound
  // of `perf_spectral`: at one shift, and by the union bound at any.
  const polynomial = (x, coefficients) => coefficients.reduceRight((sum, c) => sum * x + c, 0);
  const logI0 = (x) => {
    if (x < 3.75) return Math.log(polynomial((x / 3.75) ** 2, [1, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813]));
    const scaled = polynomial(3.75 / x, [0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281, -0.02057706, 0.02635537, -0.01647633, 0.00392377]);
    return x + Math.log(scaled) - 0.5 * Math.log(x);
  };
  const logCosh = (x) => x + Math.log1p(Math.exp(-2 * x)) - Math.LN2;
  const chance = (own, other, f, r) => {
    const weights = weightsOf(f);
    const norm = Math.sqrt(powerOf(own, f) * powerOf(other, f));
    const [waves, signs] = [[], []];
    for (let place = 0; place < half.length; place++) {
      const c = (weights[place] * own.magnitude[place] * other.magnitude[place]) / norm;
      if (c > 0) (isPair[place] ? waves : signs).push((1 + isPair[place]) * c);
    }
    // Smaller terms are replaced by equal ones, which keeps the bound.
    waves.sort((one, two) => two - one);
    const rest = waves.splice(32), mean = Math.sqrt(rest.reduce((sum, c) => sum + c * c, 0) / Math.max(1, rest.length));
    const logarithm = (t) => waves.reduce((sum, c) => sum + logI0(c * t), rest.length * logI0(mean * t)) + signs.reduce((sum, c) => sum + logCosh(c * t), 0);
    // The exponent is convex in t: its minimum by the golden section over powers.
    const exponent = (power) => logarithm(Math.exp(power)) - Math.abs(r) * Math.exp(power);
    const GOLDEN = (Math.sqrt(5) - 1) / 2;
    let [low, high] = [-5, 28];
    for (let step = 0; step < 48; step++) {
      const [a, b] = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)];
      if (exponent(a) < exponent(b)) high = b;
      else low = a;
    }
    const single = Math.min(1, 2 * Math.exp(exponent((low + high) / 2)));
    return { single, any: Math.min(1, size * single) };
  };

  // The cells of a field that deviate most from the mean of the others, the largest first.
  const MOST_OUTLIERS = 4;
  const outliers = (values) => {
    const cells = [];
    let [sum, mean] = [0, 0];
    for (let taken = 1; taken <= Math.min(MOST_OUTLIERS, occupied - 3); taken++) {
      let best = -1;
      for (let cell = 0; cell < size; cell++) {
        if (!cells.includes(cell) && (best < 0 || Math.abs(values[cell] - mean) > Math.abs(values[best] - mean))) best = cell;
      }
      cells.push(best);
      sum -= values[best];
      mean = sum / (occupied - taken);
    }
    return cells;
  };
  const unshifted = (own, other, f) => {
    const weights = weightsOf(f), norm = Math.sqrt(powerOf(own, f) * powerOf(other, f));
    let sum = 0;
    for (let at = 0; at < half.length; at++) sum += (1 + isPair[at]) * weights[at] * (own.re[at] * other.re[at] + own.im[at] * other.im[at]);
    return norm > 0 ? sum / norm : 0;
  };
  // The bound of `chance`, raised as in `perf_spectral`: if the same few cells deviate most in both views, which random phases do not
  // know, at least the probability that they coincide, times that of the correlation of the others.
  const bounded = (own, other, f, r, shift) => {
    let { single } = chance(own, other, f, r);
    const one = inverse(own), at = inverse(other);
    const moved = (cell) => dims.reduce((to, len, axis) => to + ((along(cell, axis) + shift[axis] + len) % len) * strides[axis], 0);
    const two = shift.some(Boolean) ? at.map((_, cell) => at[moved(cell)]) : at;
    const [first, second] = [outliers(one), outliers(two)];
    let sets = 1;
    for (let count = 1; count <= first.length; count++) {
      sets *= (occupied - count + 1) / count;
      const cells = first.slice(0, count);
      if (!second.slice(0, count).every((cell) => cells.includes(cell))) continue;
      const [x, y] = [one, two].map((values) => {
        const mean = -cells.reduce((sum, cell) => sum + values[cell], 0) / (occupied - count);
        return forward(values.map((value, cell) => (cells.includes(cell) ? mean : value)));
      });
      const rest = unshifted(x, y, f);
      single = Math.max(single, (rest * r > 0 ? chance(x, y, f, rest).single : 1) / sets);
    }
    return { single, any: Math.min(1, size * single) };
  };

  const filtered = (own, f) => {
    const weights = weightsOf(f);
    return powerOf(own, f) ? inverse(own, weights.map(Math.sqrt)) : new Float64Array(size);
  };
  return { rank, bounded, filtered };
};
