"use strict";
// Folds the states that a small page holds, with the rules by which the program folds them: a page
// that has them answers its own requests.
perfkit.local = (data) => {
  const { rate, begin, length, classes, streams, members, accelerators, ops, roots, ownSpans } = data.local;
  const ABSENT = 0, IDLE = 1, FIRST = 2, PAGE = { idle: 0, absent: 1, uniform: 2, number: data.number[0] };
  const perSecond = BigInt(rate), offset = BigInt(begin), GIGA = 1000000000n;
  const down = (a, b) => (a >= 0n ? a / b : -((-a + b - 1n) / b));

  // Times are ticks since the begin of the page.
  const nanos = (tick) => down((BigInt(tick) + offset) * GIGA, perSecond);
  const start = nanos(0);
  const tick = (at) => {
    const found = down(at * perSecond, GIGA) - offset;
    return Math.min(length, Math.max(0, Number(nanos(found) < at ? found + 1n : found)));
  };
  const lasting = (ticks) => Number((BigInt(Math.round(ticks)) * GIGA) / perSecond);

  const numbers = (text) => {
    const from = perfkit.bytes(text), out = [];
    for (let at = 0; at < from.length; at++) {
      let value = 0, scale = 1;
      for (; from[at] > 127; at++, scale *= 128) value += (from[at] & 127) * scale;
      out.push(value + from[at] * scale);
    }
    return out;
  };
  // Pairs of times, as differences, and codes.
  const columns = (text) => {
    const found = numbers(text), times = new Float64Array(found.length / 2), codes = new Uint32Array(found.length / 2);
    for (let at = 0, time = 0; at < times.length; at++) {
      times[at] = time += found[2 * at];
      codes[at] = found[2 * at + 1];
    }
    return { times, codes };
  };
  const decoded = new Map();
  const stream = (number) => {
    if (!decoded.has(number)) decoded.set(number, { changes: columns(streams[number][0]), instants: columns(streams[number][1]) });
    return decoded.get(number);
  };
  // Streams without states, such as threads that only carry metrics, are in no share.
  const hasStates = (number) => stream(number).changes.times.length > 0 || stream(number).instants.times.length > 0;
  // Number of times at or before a time.
  const passed = (times, at) => {
    let low = 0, high = times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] <= at) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  const children = data.groups.map(() => []);
  data.groups.forEach(({ parent }, group) => { if (parent !== null) children[parent].push(group); });
  const known = new Map();
  const streamsOf = (group) => {
    if (!known.has(group)) {
      let at = 0;
      const own = members[group] === null
        ? [...new Set(children[group].flatMap(streamsOf))].sort((a, b) => a - b)
        : numbers(members[group]).map((step) => (at += step));
      known.set(group, own);
    }
    return known.get(group);
  };

  // The codes of a stream at the centres of pixels; work without a length shows in pixels of a tick.
  const sample = (number, centres, edges, out) => {
    const { changes: { times, codes }, instants } = stream(number);
    let cursor = passed(times, centres[0]);
    for (let pixel = 0; pixel < centres.length; pixel++) {
      while (cursor < times.length && times[cursor] <= centres[pixel]) cursor++;
      out[pixel] = cursor ? codes[cursor - 1] : ABSENT;
    }
    for (let at = passed(instants.times, centres[0] - 1); at < instants.times.length && instants.times[at] <= centres[centres.length - 1]; at++)
      for (let pixel = passed(centres, instants.times[at] - 1); centres[pixel] === instants.times[at]; pixel++)
        if (edges[pixel + 1] - edges[pixel] <= 1) out[pixel] = instants.codes[at];
  };

  // Weights of the states of a pixel, in the order in which they first occur; absent streams count as idle.
  const weights = new Uint32Array(FIRST + classes.length);
  const select = (order, isBetter, fits) => {
    let best = null;
    for (const code of order) if (fits(code) && (best === null || isBetter(weights[code], weights[best]))) best = code;
    return best;
  };
  const all = () => true, busy = (code) => code !== IDLE, more = (a, b) => a > b, fewer = (a, b) => a < b;
  const choose = (kind, argument, order, total) => {
    const state = (code) => [code, code === null ? 0 : weights[code]];
    switch (kind) {
      case "max": return state(select(order, more, all));
      case "min": return state(select(order, fewer, all));
      case "idle": return state(select(order, more, busy) ?? select(order, more, all));
      case "diff": return order.length < 2 ? ["uniform", total] : state(select(order, fewer, all));
      case "any": return weights[argument] ? [argument, weights[argument]] : [IDLE, total];
      case "count": return [{ number: weights[argument] }, weights[argument]];
      default: {
        const sum = order.length < 2 ? 0 : order.reduce((sum, code) => sum - (weights[code] / total) * Math.log(weights[code] / total), 0);
        return [{ number: Math.fround(sum) }, weights[select(order, more, all)]];
      }
    }
  };
  const cells = (group, op, centres, edges) => {
    const own = streamsOf(group), width = centres.length, total = own.length;
    const kind = ops[op][0] === "usual" ? (accelerators.includes(group) ? "idle" : "max") : ops[op][0];
    const samples = own.map((number) => {
      const row = new Uint32Array(width);
      sample(number, centres, edges, row);
      return row;
    });
    const [, , , of] = data.ops[op], most = of && of[0] ? of[0] : Math.max(total, Number.MIN_VALUE);
    const codes = new Uint8Array(width), agreement = new Uint8Array(width);
    for (let pixel = 0; pixel < width; pixel++) {
      const order = [];
      let absent = 0;
      for (const row of samples) {
        absent += row[pixel] === ABSENT;
        const code = Math.max(IDLE, row[pixel]);
        if (!weights[code]++) order.push(code);
      }
      const [found, winning] = choose(kind, ops[op][1], order, total), isAbsent = absent === total;
      const isNumber = found !== null && typeof found === "object";
      codes[pixel] = isNumber && !isAbsent ? PAGE.number : found === "uniform" ? PAGE.uniform : found >= FIRST ? classes[found - FIRST][2] : isAbsent ? PAGE.absent : PAGE.idle;
      agreement[pixel] = Math.round(255 * (isNumber && !isAbsent ? Math.min(1, found.number / most) : total ? winning / total : 0));
      for (const code of order) weights[code] = 0;
    }
    return [codes, agreement];
  };

  // Busy share of a row and the time of all its streams in each state.
  const usage = (group, from, to) => {
    const times = new Float64Array(FIRST + classes.length), starts = [], ends = [];
    let first = Infinity, last = -Infinity;
    const work = (begin, end) => {
      [first, last] = [Math.min(first, begin), Math.max(last, end)];
      if (begin < end) { starts.push(begin); ends.push(end); }
    };
    const own = streamsOf(group).filter(hasStates);
    for (const number of own) {
      const { changes, instants } = stream(number);
      let open = null, sum = 0;
      for (let at = Math.max(1, passed(changes.times, from)); at <= changes.times.length && changes.times[at - 1] < to; at++) {
        const begin = Math.max(from, changes.times[at - 1]), end = at < changes.times.length ? Math.min(to, changes.times[at]) : to, code = changes.codes[at - 1];
        times[code] += end - begin;
        sum += end - begin;
        if (code < FIRST) continue;
        if (open && open[1] === begin) open[1] = end;
        else {
          if (open) work(...open);
          open = [begin, end];
        }
      }
      if (open) work(...open);
      for (let at = passed(instants.times, from - 1); at < instants.times.length && instants.times[at] <= to; at++) work(instants.times[at], instants.times[at]);
      times[ABSENT] += to - from - sum;
    }
    const [a, b] = [Float64Array.from(starts).sort(), Float64Array.from(ends).sort()];
    let union = 0;
    for (let at = 0, ended = 0, since = 0; ended < b.length;) {
      if (at < a.length && a[at] <= b[ended]) {
        if (at === ended) since = a[at];
        at++;
      } else if (++ended === at) union += b[ended - 1] - since;
    }
    const span = ownSpans ? (last > first ? last - first : 0) : to - from;
    // A device is busy while any of its streams is; threads are counted one by one.
    const counted = accelerators.includes(group) ? 1 : own.length;
    const busy = accelerators.includes(group) ? union : times.reduce((sum, time, code) => sum + (code < FIRST ? 0 : time), 0);
    return { times, busy: span && counted ? busy / (counted * span) : 0 };
  };
  const rank = (code) => (code >= FIRST ? classes[code - FIRST][4] : Infinity);
  const named = ({ times }) => {
    const found = [...times.keys()].filter((code) => times[code] > 0).sort((a, b) => times[b] - times[a] || rank(a) - rank(b) || b - a);
    const whole = times.reduce((sum, time) => sum + time, 0);
    return found.map((code) => [code, times[code] / whole]);
  };
  const mpi = ({ times }) => times.reduce((sum, time, code) => sum + (code >= FIRST && classes[code - FIRST][5] ? time : 0), 0) / (times.reduce((sum, time) => sum + time, 0) || 1);
  const rounded = (share) => Math.round(share * 10000) / 10000;

  // States of the rows of one kind: `found` are those rows.
  const legend = (found) => {
    const sum = { times: new Float64Array(FIRST + classes.length) };
    for (const { times } of found) times.forEach((time, code) => (sum.times[code] += time));
    const time = (code) => lasting(sum.times[code]), all = named(sum), out = [], rest = new Map();
    for (const [code, share] of all.filter(([code]) => code >= FIRST)) {
      const [name, colour, , others] = classes[code - FIRST];
      if (others === null) { out.push([name, colour, [share, time(code)]]); continue; }
      const [count, shares, ticks, , first] = rest.get(colour) || [0, 0, 0, others, name];
      rest.set(colour, [count + 1, shares + share, ticks + sum.times[code], others, first]);
    }
    for (const [colour, [count, share, ticks, others, first]] of rest) out.push([count === 1 ? first : `${count} ${others}`, colour, [share, lasting(ticks)]]);
    const themed = Object.fromEntries(Object.entries(data.themed).map(([colour, name]) => [name, colour]));
    for (const [code, share] of all.filter(([code]) => code < FIRST))
      out.push(code === IDLE ? ["in no region", themed.idle, [share, time(code)]] : ["not recorded", themed.absent, [share, time(code)]]);
    return out;
  };

  // Times are those of the server: nanoseconds of the clock of the recording.
  return (from, to, width, op, wanted) => {
    const first = tick(from), end = Math.max(first + 1, tick(to)), span = end - first;
    // floor(k span / n) without products beyond the exact integers.
    const share = (k, n) => first + k * Math.floor(span / n) + Math.floor((k * (span % n)) / n);
    const centres = new Float64Array(width), edges = new Float64Array(width + 1);
    for (let pixel = 0; pixel < width; pixel++) centres[pixel] = share(2 * pixel + 1, 2 * width);
    for (let pixel = 0; pixel <= width; pixel++) edges[pixel] = share(pixel, width);
    const rows = {}, shares = {}, found = new Map();
    for (const group of wanted) rows[group] = cells(group, op, centres, edges);
    const names = ["not recorded", "in no region"];
    for (const group of new Set([...Array(roots).keys(), ...wanted])) {
      const used = usage(group, first, end);
      if (group < roots) found.set(group, used);
      shares[group] = [rounded(used.busy), named(used).slice(0, 4).map(([code, share]) => [names[code] || classes[code - FIRST][0], rounded(share)]), rounded(mpi(used))];
    }
    return { from: Number(nanos(first) - start), span: lasting(span), columns: width, op, rows, shares, legend: data.parts.map(([heading, rows]) => [heading, legend(rows.map((row) => found.get(row)))]) };
  };
};
