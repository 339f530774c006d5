//! Sampling of timelines: centres and edges of pixels, states at given times, and intervals of
//! constant state.

use crate::states::class::code;
use crate::states::timelines::Columns;
use perf_core::{Ticks, TimeRange};

/// Computes the centre of each pixel, `t0 + floor((2p+1)(t1-t0) / (2W))`, in 128 bits so that no
/// window overflows. If W = 0 the result is empty.
pub(crate) fn centres(window: TimeRange, columns: usize, out: &mut Vec<Ticks>) {
    let (span, count) = (u128::from(window.len()), columns as u128);
    out.clear();
    out.extend((0..count).map(|p| {
        // Less than the span, so it fits.
        let offset = (2 * p + 1) * span / (2 * count);
        Ticks(window.start.0.saturating_add(offset as u64))
    }));
}

/// Computes the first tick of each pixel, `t0 + floor(p (t1-t0) / W)`, and the end of the last
/// pixel.
pub(crate) fn edges(window: TimeRange, columns: usize, out: &mut Vec<Ticks>) {
    let (span, count) = (u128::from(window.len()), columns as u128);
    out.clear();
    out.extend((0..=count).map(|p| {
        let offset = p * span / count.max(1);
        Ticks(window.start.0.saturating_add(offset as u64))
    }));
}

/// Number of single steps that a cursor takes before it gallops. The number balances a linear pass,
/// which is best for few transitions per pixel, against galloping search, which is best for many.
///
/// On one core, with 1,024 streams of 18,000 transitions each in one row, over 1920, 200 and 20
/// pixels (10, 90 and 900 transitions per pixel), galloping alone takes 65, 30 and 11 ms, the
/// linear pass alone 62, 28 and 21 ms, and 16 steps before galloping 59, 30 and 9 ms. A binary
/// search for each pixel takes 200 ms over 1920 pixels.
const STEPS: usize = 16;

/// Returns the number of transitions at or before `at`, or before `at` if `STRICT`. The number must
/// be at least `from`.
#[inline]
pub(crate) fn passed<const STRICT: bool>(times: &[Ticks], from: usize, at: Ticks) -> usize {
    let has = |time: &Ticks| if STRICT { *time < at } else { *time <= at };
    let end = times.len().min(from.saturating_add(STEPS));
    let near = &times[from..end];
    if let Some(steps) = near.iter().position(|time| !has(time)) {
        return from + steps;
    }
    let (mut cursor, mut step) = (end, STEPS);
    while times.get(cursor + step).is_some_and(has) {
        cursor += step;
        step *= 2;
    }
    let end = times.len().min(cursor + step);
    let rest = &times[cursor..end];
    cursor + rest.partition_point(has)
}

/// Samples the codes of a stream at ascending times, starting at the cursor. Returns the final
/// cursor.
#[inline]
pub(crate) fn sample<const STRICT: bool>(
    columns: &Columns,
    mut cursor: usize,
    at: &[Ticks],
    out: &mut [u32],
) -> usize {
    for (at, out) in at.iter().zip(out) {
        cursor = passed::<STRICT>(&columns.times, cursor, *at);
        // A stream without transitions is absent.
        *out = columns.codes.get(cursor).copied().unwrap_or(code::ABSENT);
    }
    cursor
}

/// Returns the intervals of constant code that touch `window`, cut to the window. The time before
/// the first and after the last transition is skipped.
pub(crate) fn pieces(
    columns: &Columns,
    window: TimeRange,
) -> impl Iterator<Item = (TimeRange, u32)> + '_ {
    let from = columns.times.partition_point(|time| *time <= window.start);
    pieces_from(columns, from, window)
}

/// Returns the same intervals as [`pieces`] if `passed` transitions lie at or before the start of
/// the window.
#[inline]
pub(crate) fn pieces_from(
    columns: &Columns,
    passed: usize,
    window: TimeRange,
) -> impl Iterator<Item = (TimeRange, u32)> + '_ {
    let last = columns.times.len();
    (passed.max(1)..last).map_while(move |index| {
        let start = columns.times[index - 1].max(window.start);
        let end = columns.times[index].min(window.end);
        let piece = TimeRange { start, end };
        (start < window.end).then(|| (piece, columns.codes[index]))
    })
}
