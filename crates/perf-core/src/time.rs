//! Types for time: [`Ticks`] of a clock, [`Nanos`], the [`Clock`] that converts between them, and
//! [`TimeRange`].
//!
//! A recording stores ticks of its own clock, because the times of a clock faster than 1 GHz lose
//! precision when they are converted to nanoseconds. Results of analyses are in [`Nanos`].

use std::cmp::Ordering;
use std::num::NonZeroU64;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};
use std::time::Duration;

/// Point in time, in ticks of the [`Clock`] of its recording.
///
/// ```
/// use perf_core::Ticks;
/// assert_eq!(Ticks(90).since(Ticks(20)), Some(70));
/// assert_eq!((Ticks(20).since(Ticks(90)), Ticks(20).saturating_since(Ticks(90))), (None, 0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(transparent)]
pub struct Ticks(pub u64);

impl Ticks {
    /// Returns the ticks from `earlier` to `self`, or `None` if `earlier` is after `self`.
    pub fn since(self, earlier: Ticks) -> Option<u64> {
        self.0.checked_sub(earlier.0)
    }

    /// Returns the ticks from `earlier` to `self`, or 0 if `earlier` is after `self`.
    pub fn saturating_since(self, earlier: Ticks) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl std::fmt::Display for Ticks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Nanoseconds: a duration, or a point in time relative to the origin of a [`Clock`].
///
/// Nanoseconds are signed, because a location with a corrected clock may have events before the
/// origin.
///
/// There are operators to add, subtract, scale and compare; comparison also works with
/// [`Duration`]. The operators panic on overflow, as for `Duration`. The methods `checked_*` and
/// `saturating_*` do not panic.
///
/// ```
/// use perf_core::Nanos;
/// use std::time::Duration;
/// let wait = Nanos::try_from(Duration::from_micros(3))?;
/// assert_eq!(wait + Nanos(500) - 2 * Nanos(250), Nanos(3_000));
/// assert!(wait > Duration::from_micros(2) && wait == Duration::from_micros(3));
/// assert_eq!([wait, wait].into_iter().sum::<Nanos>() / 3, Nanos(2_000));
/// assert_eq!(Duration::try_from(wait)?, Duration::from_micros(3));
/// # Ok::<(), std::num::TryFromIntError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(transparent)]
pub struct Nanos(pub i64);

impl Nanos {
    /// Zero duration.
    pub const ZERO: Nanos = Nanos(0);

    /// Returns the time in seconds as a rounded float, for display only.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the sum, or `None` beyond 292 years.
    pub fn checked_add(self, other: Nanos) -> Option<Nanos> {
        self.0.checked_add(other.0).map(Nanos)
    }

    /// Returns the difference, or `None` beyond 292 years.
    pub fn checked_sub(self, other: Nanos) -> Option<Nanos> {
        self.0.checked_sub(other.0).map(Nanos)
    }

    /// Returns the sum, limited to +-292 years.
    pub fn saturating_add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }

    /// Returns the difference, limited to +-292 years.
    pub fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }

    /// Returns the absolute value.
    pub fn abs(self) -> Nanos {
        Nanos(self.0.saturating_abs())
    }
}

/// Unwraps the result of an operator. Panics with the name of the operator if the result is beyond
/// 292 years.
fn in_range(result: Option<i64>, operation: &str) -> Nanos {
    match result {
        Some(result) => Nanos(result),
        None => panic!("overflow when {operation} times"),
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        in_range(self.0.checked_add(other.0), "adding")
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        in_range(self.0.checked_sub(other.0), "subtracting")
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl SubAssign for Nanos {
    fn sub_assign(&mut self, other: Nanos) {
        *self = *self - other;
    }
}

impl Neg for Nanos {
    type Output = Nanos;
    fn neg(self) -> Nanos {
        in_range(self.0.checked_neg(), "negating")
    }
}

impl Mul<i64> for Nanos {
    type Output = Nanos;
    fn mul(self, factor: i64) -> Nanos {
        in_range(self.0.checked_mul(factor), "multiplying")
    }
}

impl Mul<Nanos> for i64 {
    type Output = Nanos;
    fn mul(self, time: Nanos) -> Nanos {
        time * self
    }
}

/// Rounds towards zero.
impl Div<i64> for Nanos {
    type Output = Nanos;
    fn div(self, divisor: i64) -> Nanos {
        in_range(self.0.checked_div(divisor), "dividing")
    }
}

impl std::iter::Sum for Nanos {
    fn sum<I: Iterator<Item = Nanos>>(times: I) -> Nanos {
        times.fold(Nanos::ZERO, Add::add)
    }
}

/// Returns an error beyond 292 years.
impl TryFrom<Duration> for Nanos {
    type Error = std::num::TryFromIntError;
    fn try_from(duration: Duration) -> Result<Self, Self::Error> {
        i64::try_from(duration.as_nanos()).map(Nanos)
    }
}

/// Returns an error for negative times.
impl TryFrom<Nanos> for Duration {
    type Error = std::num::TryFromIntError;
    fn try_from(time: Nanos) -> Result<Self, Self::Error> {
        u64::try_from(time.0).map(Duration::from_nanos)
    }
}

impl PartialEq<Duration> for Nanos {
    fn eq(&self, other: &Duration) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd<Duration> for Nanos {
    fn partial_cmp(&self, other: &Duration) -> Option<Ordering> {
        Some(match Duration::try_from(*self) {
            Ok(own) => own.cmp(other),
            // The other time is negative.
            Err(_) => Ordering::Less,
        })
    }
}

/// Formats the time with the unit that leaves one to three digits before the decimal point, such as
/// `12.43 ms`. The largest unit is seconds.
///
/// ```
/// use perf_core::Nanos;
/// assert_eq!(Nanos(12_430_000).to_string(), "12.43 ms");
/// assert_eq!(Nanos(-7).to_string(), "-7 ns");
/// ```
impl std::fmt::Display for Nanos {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let size = self.0.unsigned_abs();
        let value = self.0 as f64;
        // Values that would round up to 1000 of a unit are printed in the next unit.
        match size {
            0..1_000 => write!(f, "{} ns", self.0),
            1_000..999_995 => write!(f, "{:.2} us", value / 1e3),
            999_995..999_995_000 => write!(f, "{:.2} ms", value / 1e6),
            _ => write!(f, "{:.3} s", value / 1e9),
        }
    }
}

/// Conversion between the ticks of a recording and nanoseconds.
///
/// ```
/// use perf_core::{Clock, Nanos, Ticks};
/// let clock = Clock::new(2_000_000_000, Ticks(1_000)).expect("a resolution above 0");
/// assert_eq!(clock.nanos(Ticks(1_007)), Some(Nanos(3)));
/// assert_eq!(clock.nanos(Ticks(0)), Some(Nanos(-500)));
/// assert_eq!(clock.ticks(Nanos(3)), Some(Ticks(1_006)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Clock {
    /// Resolution in ticks per second.
    ticks_per_second: NonZeroU64,
    /// Tick that corresponds to nanosecond 0.
    origin: Ticks,
    /// Time of the origin in nanoseconds since 1970-01-01 00:00 UTC, if recorded.
    pub realtime: Option<u64>,
}

impl Default for Clock {
    /// Returns a clock with one tick per nanosecond and origin 0.
    fn default() -> Self {
        Clock {
            ticks_per_second: GIGA,
            origin: Ticks(0),
            realtime: None,
        }
    }
}

const GIGA: NonZeroU64 = match NonZeroU64::new(1_000_000_000) {
    Some(giga) => giga,
    None => NonZeroU64::MIN,
};

impl Clock {
    /// Creates a clock of `ticks_per_second` with nanosecond 0 at `origin`. Returns `None` for a
    /// resolution of 0.
    pub fn new(ticks_per_second: u64, origin: Ticks) -> Option<Self> {
        Some(Clock {
            ticks_per_second: NonZeroU64::new(ticks_per_second)?,
            origin,
            realtime: None,
        })
    }

    /// Returns the resolution in ticks per second.
    pub fn ticks_per_second(&self) -> u64 {
        self.ticks_per_second.get()
    }

    /// Returns the tick that corresponds to nanosecond 0.
    pub fn origin(&self) -> Ticks {
        self.origin
    }

    /// Returns the nanoseconds from the origin to `at`, rounded down, or `None` beyond +-292 years.
    pub fn nanos(&self, at: Ticks) -> Option<Nanos> {
        let ticks = i128::from(at.0) - i128::from(self.origin.0);
        self.scale(ticks).map(Nanos)
    }

    /// Returns the last tick at or before `at`, or `None` if it is negative or does not fit in a
    /// `u64`.
    pub fn ticks(&self, at: Nanos) -> Option<Ticks> {
        let ticks = (i128::from(at.0) * i128::from(self.ticks_per_second.get()))
            .div_euclid(i128::from(GIGA.get()));
        u64::try_from(ticks + i128::from(self.origin.0))
            .ok()
            .map(Ticks)
    }

    /// Converts a number of ticks to nanoseconds, rounded down. Returns `None` beyond 292 years.
    pub fn duration(&self, ticks: u64) -> Option<Nanos> {
        self.scale(i128::from(ticks)).map(Nanos)
    }

    /// Converts a sum of ticks to nanoseconds, rounded down. Saturates at 292 years.
    pub fn total(&self, ticks: u128) -> Nanos {
        i128::try_from(ticks)
            .ok()
            .and_then(|ticks| self.scale(ticks))
            .map_or(Nanos(i64::MAX), Nanos)
    }

    fn scale(&self, ticks: i128) -> Option<i64> {
        if self.ticks_per_second == GIGA {
            return i64::try_from(ticks).ok();
        }
        let nanos = ticks.checked_mul(i128::from(GIGA.get()))?;
        i64::try_from(nanos.div_euclid(i128::from(self.ticks_per_second.get()))).ok()
    }
}

/// Half-open interval of time, `[start, end)`.
///
/// ```
/// use perf_core::{Ticks, TimeRange};
/// let range = TimeRange::new(Ticks(10), Ticks(20)).expect("it does not end before it begins");
/// assert!(range.contains(Ticks(10)) && !range.contains(Ticks(20)));
/// let rest = TimeRange { start: Ticks(15), end: Ticks(90) };
/// assert_eq!(range.intersect(rest).map(|both| both.len()), Some(5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TimeRange {
    /// First tick inside the range.
    pub start: Ticks,
    /// First tick after the range.
    pub end: Ticks,
}

impl TimeRange {
    /// Range of all ticks.
    pub const ALL: TimeRange = TimeRange {
        start: Ticks(0),
        end: Ticks(u64::MAX),
    };

    /// Creates the range `[start, end)`. Returns `None` if `end` lies before `start`.
    pub fn new(start: Ticks, end: Ticks) -> Option<Self> {
        (start <= end).then_some(TimeRange { start, end })
    }

    /// Returns the length in ticks.
    pub fn len(&self) -> u64 {
        self.end.saturating_since(self.start)
    }

    /// Returns `true` if no tick lies inside.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns `true` if `at` lies inside.
    pub fn contains(&self, at: Ticks) -> bool {
        self.start <= at && at < self.end
    }

    /// Returns the intersection, or `None` if the ranges neither overlap nor touch.
    pub fn intersect(&self, other: TimeRange) -> Option<TimeRange> {
        TimeRange::new(self.start.max(other.start), self.end.min(other.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nanos_and_back_lands_at_or_just_before(rate in 1u64..5_000_000_000, origin: u32, at: u32) {
            let clock = Clock::new(rate, Ticks(origin.into())).unwrap();
            let at = Ticks(u64::from(at));
            let nanos = clock.nanos(at).unwrap();
            if let Some(back) = clock.ticks(nanos) {
                prop_assert!(back <= at);
                // One nanosecond is `rate / 1e9` ticks; the round trip loses no more than that.
                prop_assert!(at.0 - back.0 <= rate.div_ceil(GIGA.get()));
            }
        }

        #[test]
        fn nanos_print_with_at_most_three_digits_before_the_point(size in 0u64..1_000_000_000_000) {
            let size = size >> (size % 40);
            prop_assume!(size < 999_999_500_000);
            let text = Nanos(i64::try_from(size).unwrap()).to_string();
            let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap();
            prop_assert!((1..=3).contains(&digits), "{}", text);
        }
    }

    #[test]
    fn nanos_compare_with_durations_beyond_their_range() {
        let longest = Duration::MAX;
        assert!(Nanos(i64::MAX) < longest && Nanos(-1) < Duration::ZERO);
        assert!(Nanos::try_from(longest).is_err() && Duration::try_from(Nanos(-1)).is_err());
        assert_eq!(Nanos(i64::MAX).checked_add(Nanos(1)), None);
        assert_eq!(Nanos(i64::MIN).saturating_sub(Nanos(1)), Nanos(i64::MIN));
        assert_eq!((-Nanos(7)).abs(), Nanos(7));
    }

    #[test]
    #[should_panic(expected = "overflow when adding times")]
    fn sums_of_nanos_do_not_wrap() {
        let _ = Nanos(i64::MAX) + Nanos(1);
    }

    #[test]
    fn nanos_print_at_the_edges_of_units() {
        let print = |nanos| Nanos(nanos).to_string();
        assert_eq!(print(999), "999 ns");
        assert_eq!(print(1_000), "1.00 us");
        assert_eq!(print(999_994), "999.99 us");
        assert_eq!(print(999_995), "1.00 ms");
        assert_eq!(print(-999_999), "-1.00 ms");
        assert_eq!(print(1_000_000), "1.00 ms");
        assert_eq!(print(999_994_999), "999.99 ms");
        assert_eq!(print(999_995_000), "1.000 s");
        assert_eq!(print(999_999_999), "1.000 s");
        assert_eq!(print(1_000_000_000), "1.000 s");
    }

    #[test]
    fn conversion_that_does_not_fit_fails() {
        let slow = Clock::new(1, Ticks(0)).unwrap();
        assert_eq!(slow.nanos(Ticks(u64::MAX)), None);
        assert_eq!(slow.ticks(Nanos(-1_000_000_000)), None);
        assert_eq!(slow.total(u128::MAX), Nanos(i64::MAX));
        assert_eq!(Clock::new(0, Ticks(0)), None);
    }
}
