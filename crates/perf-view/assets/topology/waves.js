"use strict";
// Fourier transforms of fields on a grid, and half spectra: each pair of opposite frequencies once.
perfkit.waves = (dims) => {
  const size = dims.reduce((product, len) => product * len, 1);
  const strides = dims.map((_, at) => dims.slice(at + 1).reduce((product, len) => product * len, 1));
  const along = (cell, axis) => Math.floor(cell / strides[axis]) % dims[axis];
  const signed = (k, len) => (2 * k > len ? k - len : k);
  // Squared torus norm of each cell, as a shift or as a frequency.
  const norms = new Float64Array(size);
  const opposite = new Int32Array(size);
  for (let cell = 0; cell < size; cell++) {
    norms[cell] = dims.reduce((sum, len, axis) => sum + signed(along(cell, axis), len) ** 2, 0);
    opposite[cell] = dims.reduce((sum, len, axis) => sum + ((len - along(cell, axis)) % len) * strides[axis], 0);
  }
  // Frequencies of a half spectrum in ascending order; the constant is not among them.
  const half = Int32Array.from({ length: size }, (_, cell) => cell).filter((cell) => cell > 0 && cell <= opposite[cell]);
  // Share of each axis in each frequency.
  const shares = dims.map((len, axis) => Float64Array.from(half, (cell) => signed(along(cell, axis), len) ** 2 / norms[cell]));

  const radix = (len) => {
    if (len % 4 === 0) return 4;
    for (let prime = 2; prime * prime <= len; prime++) if (len % prime === 0) return prime;
    return len;
  };
  const tables = new Map();
  const table = (len) => {
    if (!tables.has(len)) {
      const of = (turn) => Float64Array.from({ length: len }, (_, at) => turn((2 * Math.PI * at) / len));
      tables.set(len, { cos: of(Math.cos), sin: of(Math.sin) });
    }
    return tables.get(len);
  };
  // One pass of a transform along the first axis, without reordering (Stockham): `n` points remain, lines of `s` numbers lie beside
  // one another.
  const four = (n, s, xr, xi, yr, yi, sign, cos, sin) => {
    const m = n / 4, step = cos.length / n, line = s * m;
    for (let p = 0; p < m; p++) {
      const at = p * step, c1 = cos[at], s1 = sign * sin[at], c2 = cos[2 * at], s2 = sign * sin[2 * at], c3 = cos[3 * at], s3 = sign * sin[3 * at];
      let a = s * p, out = 4 * s * p;
      const end = a + s;
      for (; a < end; a++, out++) {
        const b = a + line, c = b + line, d = c + line;
        const pr = xr[a] + xr[c], pi = xi[a] + xi[c], qr = xr[a] - xr[c], qi = xi[a] - xi[c];
        const rr = xr[b] + xr[d], ri = xi[b] + xi[d], tr = -sign * (xi[b] - xi[d]), ti = sign * (xr[b] - xr[d]);
        const o1 = out + s, o2 = o1 + s, o3 = o2 + s;
        yr[out] = pr + rr; yi[out] = pi + ri;
        const ur = qr + tr, ui = qi + ti, vr = pr - rr, vi = pi - ri, wr = qr - tr, wi = qi - ti;
        yr[o1] = ur * c1 - ui * s1; yi[o1] = ur * s1 + ui * c1;
        yr[o2] = vr * c2 - vi * s2; yi[o2] = vr * s2 + vi * c2;
        yr[o3] = wr * c3 - wi * s3; yi[o3] = wr * s3 + wi * c3;
      }
    }
  };
  // The last pass of four points, which has no twiddles, with the axis becoming the last one.
  const lastFour = (len, rest, xr, xi, yr, yi, sign) => {
    const m = len / 4, line = rest * m;
    for (let row = 0, a = 0; row < m; row++) for (let at = 0, o = row; at < rest; at++, a++, o += len) {
      const b = a + line, c = b + line, d = c + line;
      const pr = xr[a] + xr[c], pi = xi[a] + xi[c], qr = xr[a] - xr[c], qi = xi[a] - xi[c];
      const rr = xr[b] + xr[d], ri = xi[b] + xi[d], tr = -sign * (xi[b] - xi[d]), ti = sign * (xr[b] - xr[d]);
      yr[o] = pr + rr; yi[o] = pi + ri;
      yr[o + m] = qr + tr; yi[o + m] = qi + ti;
      yr[o + 2 * m] = pr - rr; yi[o + 2 * m] = pi - ri;
      yr[o + 3 * m] = qr - tr; yi[o + 3 * m] = qi - ti;
    }
  };
  const any = (r, n, s, xr, xi, yr, yi, sign, cos, sin) => {
    const m = n / r, len = cos.length, step = len / n;
    for (let p = 0; p < m; p++) for (let q = 0; q < r; q++) {
      // Output q of a butterfly with its twiddle: exp(i turn p q) sum of x_j exp(2 pi i j q / r).
      const out = s * (r * p + q);
      for (let at = 0; at < s; at++) yr[out + at] = yi[out + at] = 0;
      for (let j = 0; j < r; j++) {
        const turn = (p * q * step + (j * q * len) / r) % len, c = cos[turn], w = sign * sin[turn], from = s * (p + j * m);
        for (let at = 0; at < s; at++) {
          const x = xr[from + at], y = xi[from + at];
          yr[out + at] += x * c - y * w;
          yi[out + at] += x * w + y * c;
        }
      }
    }
  };
  const spare = [new Float64Array(size), new Float64Array(size)];
  // In place: each axis in turn is the first one, and becomes the last.
  const transform = (re, im, sign) => {
    let [xr, xi] = [re, im], [yr, yi] = spare;
    for (const len of dims) {
      if (len === 1) continue;
      const rest = size / len, { cos, sin } = table(len);
      let n = len;
      for (let s = rest; n > 1 && n !== 4; [xr, xi, yr, yi] = [yr, yi, xr, xi]) {
        const r = radix(n);
        if (r === 4) four(n, s, xr, xi, yr, yi, sign, cos, sin);
        else any(r, n, s, xr, xi, yr, yi, sign, cos, sin);
        n /= r;
        s *= r;
      }
      if (n === 4) lastFour(len, rest, xr, xi, yr, yi, sign);
      else for (let row = 0; row < len; row++) for (let at = 0, from = row * rest, to = row; at < rest; at++, from++, to += len) {
        yr[to] = xr[from];
        yi[to] = xi[from];
      }
      [xr, xi, yr, yi] = [yr, yi, xr, xi];
    }
    if (xr !== re) {
      re.set(xr);
      im.set(xi);
    }
  };

  // The half spectrum of a field, its mean, and the sum of its squares.
  const forward = (values, Numbers = Float32Array) => {
    const re = Float64Array.from(values), im = new Float64Array(size);
    let [mean, square] = [0, 0];
    for (let cell = 0; cell < size; cell++) mean += re[cell] / size;
    for (let cell = 0; cell < size; cell++) {
      square += re[cell] ** 2;
      re[cell] -= mean;
    }
    transform(re, im, -1);
    return spectrum(Numbers.from(half, (cell) => re[cell]), Numbers.from(half, (cell) => im[cell]), { mean, square });
  };
  // The field of a half spectrum whose frequencies are multiplied by weights.
  const inverse = ({ re, im }, weights) => {
    const [x, y] = [new Float64Array(size), new Float64Array(size)];
    half.forEach((cell, at) => {
      const w = (weights ? weights[at] : 1) / size, other = opposite[cell];
      [x[cell], y[cell]] = [w * re[at], w * im[at]];
      if (other !== cell) [x[other], y[other]] = [x[cell], -y[cell]];
    });
    transform(x, y, 1);
    return x;
  };
  // A half spectrum with its magnitudes and its energies along each axis, which are those of both opposite frequencies.
  const isPair = Uint8Array.from(half, (cell) => (opposite[cell] === cell ? 0 : 1));
  const spectrum = (re, im, rest) => {
    const magnitude = new Float32Array(half.length), energies = new Float64Array(dims.length);
    for (let at = 0; at < half.length; at++) {
      const power = re[at] * re[at] + im[at] * im[at];
      magnitude[at] = Math.sqrt(power);
      for (let axis = 0; axis < dims.length; axis++) energies[axis] += (1 + isPair[at]) * shares[axis][at] * power;
    }
    return { re, im, magnitude, energies, ...rest };
  };
  // Weights of the frequencies for weights of the axes.
  const weightsOf = (f) => {
    const weights = new Float64Array(half.length);
    dims.forEach((_, axis) => shares[axis].forEach((share, at) => (weights[at] += f[axis] * share)));
    return weights;
  };
  // Power that a filter passes; 0 if it is rounding error.
  const NOTHING = 1e-12;
  const powerOf = ({ energies, square }, f) => {
    const power = energies.reduce((sum, energy, axis) => sum + f[axis] * energy, 0);
    return power / size <= NOTHING * square ? 0 : power;
  };
  return { isPair, spectrum, dims, size, strides, along, signed, norms, opposite, half, shares, weightsOf, powerOf, transform, forward, inverse };
};
