"use strict";
// Filtered circular cross correlation of fields on a periodic grid, by the rules of `perfkit correlate`.
perfkit.correlator = (waves, tolerance) => {
  // Equal magnitudes differ by the rounding of coded views.
  const TIE = 1e-6;
  const { dims, size, strides, along, signed, norms, opposite, half, isPair, weightsOf, powerOf, transform, inverse } = waves;
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

  const filtered = (own, f) => {
    const weights = weightsOf(f);
    return powerOf(own, f) ? inverse(own, weights.map(Math.sqrt)) : new Float64Array(size);
  };
  return { rank, filtered };
};
