//! Statistics of counters: [`CounterStats`] of the values of one counter, and [`Counters`], a bounded table of them by
//! program, rank and counter.

mod pending;
mod summary;
mod table;

pub(crate) use pending::PendingCounters;
pub use summary::CounterSummary;
pub use table::Counters;
pub(crate) use table::MAX_COUNTERS;

use crate::format_version::{Reader, Writer};
use crate::moments::{is_short, number, take};
use crate::{Moments, Result};
use perf_core::{Merge, Value};

/// Largest absolute value that is counted. The fourth powers of such values can be summed without overflow.
const MAX_VALUE: f64 = 1e60;
/// Smallest integer that no counter reaches in a run: the sign bit of a signed number.
const FAILED: u64 = 1 << 63;
/// Smallest number of values of a counter that [accumulates](CounterStats::accumulates). Levels, such as the memory of a
/// process, may rise as often by chance or at the begin of a run.
const MIN_ACCUMULATED: u64 = 64;

/// Values of a counter on a rank, or on all ranks. The values of all threads of a rank count together.
///
/// ```
/// use perf_anomaly::{Monitor, Watch};
/// use perf_core::{Nanos, Value};
/// let mut watch = Watch::new(Monitor::default(), 0, 0);
/// let (bytes, cycles) = (watch.counter("Message size"), watch.counter("PAPI_TOT_CYC"));
/// for at in 0..100 {
///     watch.count(0, bytes, Value::U64(100 + 700 * (at % 2)), Nanos(at as i64));
///     watch.count(0, cycles, Value::U64(5_000 + 1_000 * at), Nanos(at as i64));
/// }
/// watch.end_step();
/// let report = watch.into_sink().finish()?;
/// let counters = report.counters();
/// let [bytes, cycles] = &counters[..] else { panic!("two counters") };
/// assert_eq!((&*bytes.name.name, bytes.stats.values.mean()), ("Message size", 450.0));
/// assert!(!bytes.stats.accumulates());
/// // Only the increase of an accumulating counter means something.
/// assert!(cycles.stats.accumulates());
/// assert_eq!(cycles.stats.growth, 99_000.0);
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct CounterStats {
    /// Values, in the unit of the counter.
    pub values: Moments,
    /// Number of values above the previous value of the same thread.
    pub rises: u64,
    /// Number of values below the previous value of the same thread.
    pub falls: u64,
    /// Last value minus the first one, summed over the threads.
    pub growth: f64,
    /// `true` if the recording declares that the counter accumulates, `false` if it declares absolute values; `None`
    /// without a declaration.
    pub declared: Option<bool>,
}

impl CounterStats {
    /// Smallest encoded size in bytes of statistics with values.
    const LEAST: usize = 4;

    /// Returns `true` if a value can be counted: it is a number, not so large that sums overflow, and no sign of a counter
    /// that failed, which are all bits and the sign bit alone.
    #[inline]
    pub(crate) fn can_count(value: Value) -> bool {
        match value {
            Value::U64(value) => value < FAILED,
            Value::I64(value) => value != i64::MIN && value != i64::MAX,
            // Readers of text convert integers to numbers.
            Value::F64(value) => {
                value.abs() <= MAX_VALUE && ![FAILED as f64, u64::MAX as f64].contains(&value.abs())
            }
        }
    }

    /// Counts a value after the previous value of its thread.
    #[inline]
    pub(crate) fn push(&mut self, value: f64, previous: f64) {
        self.values.push(value);
        self.rises += u64::from(value > previous);
        self.falls += u64::from(value < previous);
        self.growth += value - previous;
    }

    /// Returns `true` for a counter that accumulates, such as one of cycles since the start: it never fell, and is
    /// [declared](Self::declared) to accumulate and rose. Without a declaration, at least half of its values, of which there
    /// are at least 64, are above the previous one. The mean of such values depends on the time of the run, and only
    /// their increase means something.
    pub fn accumulates(&self) -> bool {
        let count = self.values.count();
        let rises = match self.declared {
            Some(is_accumulated) => is_accumulated && self.rises > 0,
            None => count >= MIN_ACCUMULATED && self.rises >= count / 2,
        };
        self.falls == 0 && rises
    }

    fn write(&self, to: &mut Writer) {
        self.values.encode(to);
        let is_constant = self.rises == 0 && self.falls == 0 && self.growth == 0.0;
        let declared = match self.declared {
            Some(true) => ACCUMULATED,
            Some(false) => ABSOLUTE,
            None => 0,
        };
        if is_constant {
            return to.u8(declared | CONSTANT);
        }
        let short = is_short(self.growth);
        to.u8(declared | if short { SHORT_GROWTH } else { 0 });
        to.varint(self.rises);
        to.varint(self.falls);
        number(self.growth, short, to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        const EXPECTED: &str = "values of a counter";
        let mut stats = CounterStats {
            values: Moments::decode(from)?,
            ..CounterStats::default()
        };
        let flags = from.u8(EXPECTED)?;
        let declared = flags & (ACCUMULATED | ABSOLUTE);
        stats.declared = (declared != 0).then_some(declared == ACCUMULATED);
        if flags & CONSTANT == 0 {
            stats.rises = from.varint(EXPECTED)?;
            stats.falls = from.varint(EXPECTED)?;
            stats.growth = take(from, flags & SHORT_GROWTH != 0)?;
        }
        let count = stats.values.count();
        let is_sound = matches!(flags ^ declared, 0 | CONSTANT | SHORT_GROWTH)
            && declared != ACCUMULATED | ABSOLUTE
            && count > 0
            && stats.rises.saturating_add(stats.falls) <= count
            && stats.growth.abs() <= MAX_VALUE * count as f64 * 2.0
            && stats.values.is_within(MAX_VALUE);
        if is_sound {
            Ok(stats)
        } else {
            Err(from.error(1, EXPECTED).into())
        }
    }
}

/// Flags of the encoding: values that never changed, a growth that is a varint, and the declared mode.
const CONSTANT: u8 = 1;
const SHORT_GROWTH: u8 = 2;
const ACCUMULATED: u8 = 4;
const ABSOLUTE: u8 = 8;

impl Merge for CounterStats {
    fn merge(&mut self, other: &Self) {
        self.values.merge(&other.values);
        self.rises = self.rises.saturating_add(other.rises);
        self.falls = self.falls.saturating_add(other.falls);
        self.growth += other.growth;
        self.declared = self.declared.or(other.declared);
    }
}
