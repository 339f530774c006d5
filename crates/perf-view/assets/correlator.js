"use strict";
// Filtered circular cross correlation of fields on a periodic grid, by the rules of `perfkit correlate`.
perfkit.correlator = (dims, fields, tolerance) => {
  const TIE = 1e-9, NOTHING = 1e-12;
  const size = dims.reduce((product, len) => product * len, 1);
  const strides = dims.map((_, at) => dims.slice(at + 1).reduce((product, len) => product * len, 1));
  const along = (cell, axis) => Math.floor(cell / strides[axis]) % dims[axis];
  const signed = (k, len) => (2 * k > len ? k - len : k);
  // Squared torus norm of each shift.
  const norms = new Float64Array(size);
  for (let cell = 0; cell < size; cell++) norms[cell] = dims.reduce((sum, len, axis) => sum + signed(along(cell, axis), len) ** 2, 0);

  const factor = (len) => {
    if (len % 4 === 0) return 4;
    for (let prime = 2; prime * prime <= len; prime++) if (len % prime === 0) return prime;
    return len;
  };
  // A plan for lines of a length: the order in which they are read, and a stage for each factor.
  const plans = new Map();
  const planned = (len) => {
    if (plans.has(len)) return plans.get(len);
    const factors = [];
    for (let rest = len; rest > 1; rest /= factors.at(-1)) factors.push(factor(rest));
    // Entries with the same remainder come together, level by level.
    const ordered = (from, step, count, level) =>
      count === 1 ? [from] : Array.from({ length: factors[level] }, (_, j) =>
        ordered(from + j * step, step * factors[level], count / factors[level], level + 1)).flat();
    const turn = (of) => Float64Array.from({ length: len }, (_, at) => of((2 * Math.PI * at) / len));
    const plan = { order: Int32Array.from(ordered(0, 1, len, 0)), stages: factors.reverse(), cos: turn(Math.cos), sin: turn(Math.sin),
      re: new Float64Array(len), im: new Float64Array(len), spare: new Float64Array(2 * len) };
    plans.set(len, plan);
    return plan;
  };
  // Mixed radix, decimation in time: from the buffers of the plan into themselves.
  const line = (plan, sign) => {
    const { re, im, cos, sin, spare, stages } = plan, len = re.length;
    let m = 1;
    for (const p of stages) {
      const turn = len / (m * p);
      for (let k = 0; k < m; k++) {
        const [w1, w2, w3] = [k * turn, 2 * k * turn, 3 * k * turn];
        if (p === 2) {
          const c = cos[w1], s = sign * sin[w1];
          for (let a = k; a < len; a += 2 * m) {
            const b = a + m, x = re[b] * c - im[b] * s, y = re[b] * s + im[b] * c;
            re[b] = re[a] - x; im[b] = im[a] - y;
            re[a] += x; im[a] += y;
          }
        } else if (p === 4) {
          const c1 = cos[w1], s1 = sign * sin[w1], c2 = cos[w2], s2 = sign * sin[w2], c3 = cos[w3], s3 = sign * sin[w3];
          for (let a = k; a < len; a += 4 * m) {
            const b = a + m, c = b + m, d = c + m;
            const xb = re[b] * c1 - im[b] * s1, yb = re[b] * s1 + im[b] * c1;
            const xc = re[c] * c2 - im[c] * s2, yc = re[c] * s2 + im[c] * c2;
            const xd = re[d] * c3 - im[d] * s3, yd = re[d] * s3 + im[d] * c3;
            const pr = re[a] + xc, pi = im[a] + yc, qr = re[a] - xc, qi = im[a] - yc;
            const rr = xb + xd, ri = yb + yd, tr = -sign * (yb - yd), ti = sign * (xb - xd);
            re[a] = pr + rr; im[a] = pi + ri;
            re[b] = qr + tr; im[b] = qi + ti;
            re[c] = pr - rr; im[c] = pi - ri;
            re[d] = qr - tr; im[d] = qi - ti;
          }
        } else {
          for (let a = k; a < len; a += p * m) {
            for (let j = 0; j < p; j++) {
              const at = a + j * m, w = j * w1, c = cos[w], s = sign * sin[w];
              spare[2 * j] = re[at] * c - im[at] * s;
              spare[2 * j + 1] = re[at] * s + im[at] * c;
            }
            for (let q = 0; q < p; q++) {
              let x = 0, y = 0;
              for (let j = 0; j < p; j++) {
                const w = (j * q * m * turn) % len, c = cos[w], s = sign * sin[w];
                x += spare[2 * j] * c - spare[2 * j + 1] * s;
                y += spare[2 * j] * s + spare[2 * j + 1] * c;
              }
              re[a + q * m] = x;
              im[a + q * m] = y;
            }
          }
        }
      }
      m *= p;
    }
  };
  const transform = (re, im, sign) => dims.forEach((len, axis) => {
    if (len === 1) return;
    const plan = planned(len), { order } = plan, step = strides[axis], own = plan.re, other = plan.im;
    for (let block = 0; block < size; block += len * step) for (let cell = block; cell < block + step; cell++) {
      for (let at = 0; at < len; at++) {
        const from = cell + order[at] * step;
        own[at] = re[from];
        other[at] = im[from];
      }
      line(plan, sign);
      for (let at = 0, to = cell; at < len; at++, to += step) {
        re[to] = own[at];
        im[to] = other[at];
      }
    }
  });

  const spectra = new Map();
  const spectrum = (view) => {
    if (!spectra.has(view)) {
      const re = Float64Array.from(fields[view]), im = new Float64Array(size);
      const mean = re.reduce((sum, value) => sum + value, 0) / size;
      let square = 0;
      for (let cell = 0; cell < size; cell++) {
        square += re[cell] ** 2;
        re[cell] -= mean;
      }
      transform(re, im, -1);
      spectra.set(view, { re, im, square });
    }
    return spectra.get(view);
  };
  const weightsOf = (f) => {
    const weights = new Float64Array(size);
    for (let cell = 1; cell < size; cell++) {
      let sum = 0;
      for (let axis = 0; axis < dims.length; axis++) sum += f[axis] * signed(along(cell, axis), dims[axis]) ** 2;
      weights[cell] = sum / norms[cell];
    }
    return weights;
  };
  const powerOf = ({ re, im, square }, weights) => {
    let power = 0;
    for (let cell = 0; cell < size; cell++) power += weights[cell] * (re[cell] ** 2 + im[cell] ** 2);
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

  const rank = (reference, f) => {
    const weights = weightsOf(f), own = spectrum(reference), power = powerOf(own, weights);
    const found = [];
    const [re, im, r] = [new Float64Array(size), new Float64Array(size), new Float64Array(size)];
    const views = fields.map((_, at) => at).filter((view) => view !== reference);
    const take = (view, values, norm) => {
      for (let cell = 0; cell < size; cell++) r[cell] = Math.max(-1, Math.min(1, values[cell] / norm));
      const at = peak(r);
      found.push({ view, r: r[at], shift: dims.map((len, axis) => signed(along(at, axis), len)), unshifted: r[0] });
    };
    const varying = [];
    for (const view of views) {
      const norm = Math.sqrt(power * powerOf(spectrum(view), weights));
      if (norm > 0) varying.push([view, norm]);
      else found.push({ view, r: 0, shift: dims.map(() => 0), unshifted: 0 });
    }
    // Correlations are real, so two of them share a transform.
    for (let pair = 0; pair < varying.length; pair += 2) {
      const [[one, norm], other] = [varying[pair], varying[pair + 1]];
      const [b, c] = [spectrum(one), other ? spectrum(other[0]) : null];
      for (let cell = 0; cell < size; cell++) {
        const [x, y, w] = [own.re[cell], own.im[cell], weights[cell]];
        re[cell] = w * (x * b.re[cell] + y * b.im[cell]);
        im[cell] = w * (x * b.im[cell] - y * b.re[cell]);
        if (!c) continue;
        re[cell] -= w * (x * c.im[cell] - y * c.re[cell]);
        im[cell] += w * (x * c.re[cell] + y * c.im[cell]);
      }
      transform(re, im, 1);
      take(one, re, norm);
      if (other) take(other[0], im, other[1]);
    }
    return found.sort((one, other) => Math.abs(other.r) - Math.abs(one.r) || one.view - other.view);
  };

  const filtered = (view, f) => {
    const weights = weightsOf(f), own = spectrum(view);
    const [re, im] = [new Float64Array(size), new Float64Array(size)];
    if (!powerOf(own, weights)) return re;
    for (let cell = 0; cell < size; cell++) {
      const w = Math.sqrt(weights[cell]) / size;
      [re[cell], im[cell]] = [w * own.re[cell], w * own.im[cell]];
    }
    transform(re, im, 1);
    return re;
  };
  return { rank, filtered };
};
