"use strict";
// Upper bounds of the probability that views correlate by chance, by the rules of `perf_spectral` (`ChanceBound`). `occupied` is the
// number of cells with a location.
perfkit.chances = (waves, occupied) => {
  const { dims, size, strides, along, half, isPair, weightsOf, powerOf, forward } = waves;
  const polynomial = (x, coefficients) => coefficients.reduceRight((sum, c) => sum * x + c, 0);
  const logI0 = (x) => {
    if (x < 3.75) return Math.log(polynomial((x / 3.75) ** 2, [1, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813]));
    const scaled = polynomial(3.75 / x, [0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281, -0.02057706, 0.02635537, -0.01647633, 0.00392377]);
    return x + Math.log(scaled) - 0.5 * Math.log(x);
  };
  const logCosh = (x) => x + Math.log1p(Math.exp(-2 * x)) - Math.LN2;

  // Correlation of two spectra without a shift, and its terms for random phases: amplitudes of pairs of opposite frequencies, the
  // largest first, and of frequencies that are their own opposites.
  const correlated = (own, other, f) => {
    const weights = weightsOf(f), norm = Math.sqrt(powerOf(own, f) * powerOf(other, f)), [pairs, signs] = [[], []];
    let [r, variance] = [0, 0];
    for (let at = 0; at < half.length && norm > 0; at++) {
      const weight = ((1 + isPair[at]) * weights[at]) / norm, c = weight * Math.hypot(own.re[at], own.im[at]) * Math.hypot(other.re[at], other.im[at]);
      r += weight * (own.re[at] * other.re[at] + own.im[at] * other.im[at]);
      variance += (c * c) / (1 + isPair[at]);
      if (c > 0) (isPair[at] ? pairs : signs).push(c);
    }
    return { r, variance, pairs: pairs.sort((one, two) => two - one), signs };
  };
  // The Chernoff bound of the probability that random phases reach |r|.
  const TERMS = 32;
  // Tails above this excess kurtosis are long; those of smooth pairs, whose variance exceeds that of independent cells by this
  // factor, are long above 0.
  const LONG_TAIL = 3, SMOOTH = 2;
  const isSmooth = ({ variance }) => variance * size >= SMOOTH;
  // Terms of smooth pairs on one axis that are below this share of the largest may be harmonics of the others, and are no evidence.
  const HARMONIC = 0.05, isLine = 2 * Math.max(...dims) >= size;
  const chance = (terms, value) => {
    const least = isLine && isSmooth(terms) ? HARMONIC * Math.max(0, ...terms.pairs, ...terms.signs) : 0;
    const [pairs, signs] = [terms.pairs, terms.signs].map((all) => all.filter((c) => c >= least));
    const weak = [...terms.pairs, ...terms.signs].reduce((sum, c) => sum + (c < least ? c : 0), 0), r = Math.max(0, Math.abs(value) - weak);
    // Smaller terms are replaced by equal ones, which keeps the bound.
    const large = pairs.slice(0, TERMS), rest = pairs.slice(TERMS), mean = Math.sqrt(rest.reduce((sum, c) => sum + c * c, 0) / Math.max(1, rest.length));
    const logarithm = (t) => large.reduce((sum, c) => sum + logI0(c * t), rest.length * logI0(mean * t)) + signs.reduce((sum, c) => sum + logCosh(c * t), 0);
    // The exponent is convex in t: its minimum by the golden section over powers.
    const exponent = (power) => logarithm(Math.exp(power)) - r * Math.exp(power);
    const GOLDEN = (Math.sqrt(5) - 1) / 2;
    let [low, high] = [-5, 28], [a, b] = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)], [atA, atB] = [exponent(a), exponent(b)];
    for (let step = 0; step < 48; step++) {
      if (atA < atB) {
        [high, b, atB] = [b, a, atA];
        a = high - GOLDEN * (high - low);
        atA = exponent(a);
      } else {
        [low, a, atA] = [a, b, atB];
        b = low + GOLDEN * (high - low);
        atB = exponent(b);
      }
    }
    return Math.min(1, 2 * Math.exp(exponent((low + high) / 2)));
  };

  // The cells of a field that deviate most from the mean of the others, the largest first. The mean of the field is 0.
  const MOST_OUTLIERS = 4;
  const outliers = (values) => {
    const cells = [];
    let [sum, mean] = [0, 0];
    for (let taken = 1; taken <= Math.min(MOST_OUTLIERS, occupied - 3); taken++) {
      let best = -1;
      for (let cell = 0; cell < size; cell++) {
        if ((best < 0 || Math.abs(values[cell] - mean) > Math.abs(values[best] - mean)) && !cells.includes(cell)) best = cell;
      }
      cells.push(best);
      sum -= values[best];
      mean = sum / (occupied - taken);
    }
    return cells;
  };

  // Values of a normal distribution in the order of a field whose mean is 0, and its excess kurtosis; null for tails that are not
  // longer than those of a normal distribution. Equal values differ by rounding errors.
  const TIE = 1e-9;
  const normal = (p) => {
    const t = Math.sqrt(-2 * Math.log(Math.min(p, 1 - p)));
    const score = Math.abs(t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
    return p < 0.5 ? -score : score;
  };
  const normalScores = (values) => {
    let [two, four, most] = [0, 0, 0];
    for (const value of values) {
      two += value ** 2;
      four += value ** 4;
      most = Math.max(most, Math.abs(value));
    }
    const kurtosis = (size * four) / two ** 2 - 3;
    if (!(kurtosis > 0)) return null;
    const order = Uint32Array.from(values, (_, cell) => cell).sort((a, b) => values[a] - values[b]), scores = new Float64Array(size);
    for (let from = 0, to = 1; from < size; from = to++) {
      while (to < size && values[order[to]] - values[order[to - 1]] < TIE * most) to++;
      scores.fill(normal((from + to) / 2 / size), from, to);
    }
    const field = new Float64Array(size);
    order.forEach((cell, at) => (field[cell] = scores[at]));
    return { kurtosis, field };
  };

  // A field without its mean, with what does not depend on the other view.
  const described = (values) => {
    const mean = values.reduce((sum, value) => sum + value, 0) / size, field = Float64Array.from(values, (value) => value - mean);
    return { values, field, cells: outliers(field), scores: normalScores(field) };
  };
  // The reference is the same for all views of a list.
  let last = null;
  const reference = (values) => (last?.values === values ? last : (last = described(values)));

  // The bound of a correlation r at a shift, and at any shift. Views are spectra with the values of their cells.
  return (own, other, f, r, shift) => {
    const isMoved = shift.some(Boolean), place = (cell, axis) => (along(cell, axis) + shift[axis] + dims[axis]) % dims[axis];
    const from = isMoved && Uint32Array.from({ length: size }, (_, cell) => dims.reduce((to, _, axis) => to + place(cell, axis) * strides[axis], 0));
    const moved = (field) => (isMoved ? field.map((_, cell) => field[from[cell]]) : field);
    const one = reference(own.values), two = described(moved(other.values)), whole = (field) => forward(field, Float64Array);
    // Magnitudes do not depend on the shift.
    let single = chance(correlated(own.spectrum, other.spectrum, f), r), sets = 1;
    // If the same few cells deviate most in both views, at least the probability that they coincide, times that of the others.
    for (let count = 1; count <= one.cells.length; count++) {
      sets *= (occupied - count + 1) / count;
      const cells = one.cells.slice(0, count);
      if (!two.cells.slice(0, count).every((cell) => cells.includes(cell))) continue;
      const [x, y] = [one, two].map(({ field }) => {
        const mean = -cells.reduce((sum, cell) => sum + field[cell], 0) / (occupied - count);
        return whole(field.map((value, cell) => (cells.includes(cell) ? mean : value)));
      });
      const rest = correlated(x, y, f);
      single = Math.max(single, (rest.r * r > 0 ? chance(rest, rest.r) : 1) / sets);
    }
    // If both have long tails, at least the probability of their normal scores.
    if (one.scores && two.scores) {
      one.scores.spectrum ??= whole(one.scores.field);
      const found = correlated(one.scores.spectrum, whole(two.scores.field), f);
      const isLong = Math.min(one.scores.kurtosis, two.scores.kurtosis) > LONG_TAIL || isSmooth(found);
      if (isLong) single = Math.max(single, found.r * r > 0 ? chance(found, found.r) : 1);
    }
    return { single, any: Math.min(1, size * single) };
  };
};
