//! [`remove`]: removes the events of a [`Part`] whose times are implausible, because they were
//! never set or are damaged.
//!
//! Events of these files are not ordered, so that the neighbours of an event in the file do not reveal a damaged time.
//! A single damaged time, however, would determine the span of the whole recording. A recording may begin at time 0 of
//! its clock, and may be idle for days. Therefore only the following events are outliers:
//!
//! * an event that ends after [`LAST`], 146 years after the origin of the clock, if the median begin is not after it;
//! * an event that begins at time 0 or earlier, if the median begin is more than an hour after time 0 and the origin of
//!   the clock, such as 1970 or the boot time, is outside of the recording;
//! * among at least [`FEW`] events, an event whose distance from the middle 90 % is more than [`FAR`] and more than
//!   [`EXTENTS`] times their extent;
//! * one of at most [`LONE`] events before or after all others, if its distance from the others is more than [`DAY`]
//!   and more than [`LENGTHS`] times the length of the recording without outliers.
//!
//! A recording of at most an hour has no outliers.

use super::part::Part;
use crate::timeline::ranks_and_clocks::YEAR_2001;
use crate::timeline::rules;
use perf_core::Place;
use std::sync::Arc;

/// Latest plausible time in nanoseconds. It is 2116 on a clock that counts from 1970.
const LAST: i64 = 1 << 62;

/// Shortest distance from time 0 to the median begin at which a begin at 0 is implausible: an hour in nanoseconds.
const HOUR: i64 = 3_600_000_000_000;

/// Minimum distance of a lone outlier from all others: a day in nanoseconds.
const DAY: i128 = 24 * HOUR as i128;

/// Minimum distance of an outlier from the middle events: 30 days in nanoseconds.
const FAR: i128 = 30 * DAY;

/// Minimum distance of an outlier from the middle events, as a multiple of their extent.
const EXTENTS: i128 = 1_000;

/// Minimum number of events for the test on distance from the middle events.
const FEW: usize = 20;

/// Maximum number of lone outliers before all other events, and after them.
const LONE: usize = 2;

/// Minimum number of events of a part for the test for lone outliers.
const OTHERS: usize = 16;

/// Minimum distance of a lone outlier from all others, as a multiple of the length of the recording without the most
/// extreme events.
const LENGTHS: i128 = 16;

/// Returns `true` if the times of a call are suspicious by themselves.
pub(in crate::timeline) fn is_suspect(start: i64, end: i64) -> bool {
    start <= 0 || end > LAST
}

/// Range of plausible times, inclusive.
#[derive(Clone, Copy, Debug)]
struct Plausible {
    /// Earliest plausible time.
    first: i128,
    /// Latest plausible time.
    last: i128,
}

impl Plausible {
    /// Computes the range from all begins. `is_absolute` means that the origin of the clock is
    /// outside of the recording.
    fn new(mut begins: Vec<i64>, is_absolute: bool) -> Option<Self> {
        begins.sort_unstable();
        let at = |percent: usize| begins.get((begins.len().checked_sub(1)? * percent) / 100);
        let median = *begins.get(begins.len() / 2)?;
        let mut found = Plausible {
            first: i64::MIN.into(),
            last: i64::MAX.into(),
        };
        if median <= LAST {
            found.last = LAST.into();
            if median > HOUR && (is_absolute || i128::from(median) > YEAR_2001) {
                found.first = 1;
            }
        }
        if begins.len() >= FEW {
            let (low, high) = (i128::from(*at(5)?), i128::from(*at(95)?));
            let far = FAR.max((high - low) * EXTENTS);
            found.first = found.first.max(low - far);
            found.last = found.last.min(high + far);
        }
        Some(found)
    }

    fn holds(self, start: i64, end: i64) -> bool {
        self.first <= start.into() && i128::from(end) <= self.last
    }
}

/// The earliest starts and the latest ends of a part.
#[derive(Debug, Default)]
struct Extremes {
    /// The earliest starts, ascending, at most one more than [`LONE`].
    first: Vec<i64>,
    /// The latest ends, descending, at most one more than [`LONE`].
    last: Vec<i64>,
    /// Number of events.
    count: usize,
}

impl Extremes {
    fn add(&mut self, start: i64, end: i64) {
        self.count += 1;
        let at = self.first.partition_point(|first| *first <= start);
        if at <= LONE {
            self.first.insert(at, start);
            self.first.truncate(LONE + 1);
        }
        let at = self.last.partition_point(|last| *last >= end);
        if at <= LONE {
            self.last.insert(at, end);
            self.last.truncate(LONE + 1);
        }
    }

    /// Returns the range of all events but the most extreme ones; `None` if there are too few events.
    fn others(&self) -> Option<Others> {
        let (first, last) = (*self.first.get(LONE)?, *self.last.get(LONE)?);
        let (first, last) = (i128::from(first), i128::from(last));
        let far = DAY.max((last - first) * LENGTHS);
        (self.count >= OTHERS && first <= last).then_some(Others { first, last, far })
    }
}

/// The range of all events but the most extreme ones.
#[derive(Clone, Copy, Debug)]
struct Others {
    /// Begin of the range.
    first: i128,
    /// End of the range.
    last: i128,
    /// Distance from the range, in nanoseconds, beyond which an event is a lone outlier.
    far: i128,
}

impl Others {
    /// Returns `true` if an event ends far before the range begins or far after the range ends. A call that begins long
    /// before the range and encloses other events is not an outlier.
    fn is_far_from(self, end: i64) -> bool {
        let end = i128::from(end);
        self.first - end > self.far || end - self.last > self.far
    }
}

/// Removes and counts the events with implausible times.
pub(in crate::timeline) fn remove(part: &mut Part) {
    let mut extremes = Extremes::default();
    for row in &part.rows {
        row.calls
            .iter()
            .for_each(|call| extremes.add(call.start, call.end));
        row.instants
            .iter()
            .for_each(|it| extremes.add(it.at, it.at));
    }
    part.counters.times().for_each(|at| extremes.add(at, at));
    let extent = extremes.first.first().zip(extremes.last.first());
    // A recording of at most an hour has no outliers.
    if extent.is_none_or(|(first, last)| i128::from(*last) - i128::from(*first) <= HOUR.into()) {
        return;
    }
    let is_absolute = part.base.is_some() || part.counts_from_boot;
    let rows = || part.rows.iter();
    let begins = rows().flat_map(|row| row.calls.iter().map(|call| call.start));
    let begins = begins.chain(rows().flat_map(|row| row.instants.iter().map(|it| it.at)));
    let begins = begins.chain(part.counters.times());
    let Some(plausible) = Plausible::new(begins.collect(), is_absolute) else {
        return;
    };
    let others = extremes.others();
    let is_kept = |start, end| {
        plausible.holds(start, end) && others.is_none_or(|others| !others.is_far_from(end))
    };
    let (mut count, mut first) = (0, None);
    for row in &mut part.rows {
        row.calls.retain(|call| {
            let is_plausible = is_kept(call.start, call.end);
            if !is_plausible {
                count += 1;
                let text = part.names.text_of(call.region);
                first.get_or_insert((text, call.start, call.end));
            }
            is_plausible
        });
        row.instants.retain(|instant| {
            let is_plausible = is_kept(instant.at, instant.at);
            if !is_plausible {
                count += 1;
                first.get_or_insert((instant.name, instant.at, instant.at));
            }
            is_plausible
        });
    }
    let samples = part.counters.retain(|at| is_kept(at, at));
    if count + samples == 0 {
        return;
    }
    let mut place = Place::file(Arc::clone(&part.file));
    let mut record = match first {
        Some((text, start, end)) => {
            format!("`{}` from {start} ns to {end} ns", part.names.get(text))
        }
        None => "a sample of a counter".to_owned(),
    };
    if let Some((offset, index)) = part.suspect {
        place = place.at(offset);
        record = format!("event {index}, {record}");
    }
    part.found
        .add_many(rules::OUTLIER, count + samples, place.record(record));
    part.first = begins_of(part);
}

/// Returns the earliest time of the remaining events.
fn begins_of(part: &Part) -> Option<i64> {
    let calls = part.rows.iter().flat_map(|row| &row.calls);
    let instants = part.rows.iter().flat_map(|row| &row.instants);
    let times = calls.map(|call| call.start);
    let times = times.chain(instants.map(|instant| instant.at));
    times.chain(part.counters.first()).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;
    const NOW: i64 = 1_700_000_000 * SECOND;

    fn outliers(begins: &[i64], is_absolute: bool) -> Vec<i64> {
        let found = Plausible::new(begins.to_vec(), is_absolute);
        let is_outlier = |at: &&i64| found.is_some_and(|found| !found.holds(**at, **at));
        begins.iter().filter(is_outlier).copied().collect()
    }

    #[test]
    fn times_that_were_never_set() {
        assert_eq!(outliers(&[0, NOW, NOW + 5], false), [0]);
        assert_eq!(outliers(&[NOW, 0], false), [0]);
        assert_eq!(
            outliers(&[i64::MIN, i64::MAX], false),
            [0; 0],
            "no majority"
        );
        assert_eq!(outliers(&[0, 7, i64::MAX], false), [i64::MAX]);
        assert_eq!(outliers(&[0, 90 * HOUR, 91 * HOUR], true), [0]);
    }

    #[test]
    fn idle_time_and_clocks_that_begin_at_zero_are_plausible() {
        let day = 24 * HOUR;
        assert_eq!(outliers(&[0, 5, 9], false), [0; 0]);
        assert_eq!(outliers(&[0, 90 * HOUR, 91 * HOUR], false), [0; 0]);
        assert_eq!(outliers(&[0, 60 * day], false), [0; 0]);
        assert_eq!(outliers(&[0, SECOND, 2 * SECOND], true), [0; 0]);
        assert_eq!(
            outliers(&[NOW, NOW + 90 * day, NOW + 91 * day], false),
            [0; 0]
        );
        let mut weeks: Vec<i64> = (0..100).map(|at| NOW + at).collect();
        weeks.push(NOW + 14 * day);
        assert_eq!(outliers(&weeks, false), [0; 0]);
    }

    #[test]
    fn few_of_many_far_from_the_others() {
        let mut many: Vec<i64> = (0..100).map(|at| NOW + at * SECOND / 10).collect();
        many.extend([12_345, NOW + 400 * 24 * HOUR]);
        assert_eq!(outliers(&many, false), [12_345, NOW + 400 * 24 * HOUR]);
    }
}
