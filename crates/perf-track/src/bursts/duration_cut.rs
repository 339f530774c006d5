//! [`DurationCut`]: largest minimum duration of bursts that drops at most a given share of the
//! time, for one or several experiments.

use super::{Amount, Bursts};
use crate::{Error, Result};
use perf_core::Nanos;

/// Minimum duration of bursts, chosen so that shorter bursts take little of the time.
///
/// ```
/// use perf_core::Nanos;
/// use perf_track::{Burst, Bursts, DurationCut, Thread};
/// let mut bursts = Bursts::default();
/// let thread = bursts.add_thread(Thread::default())?;
/// // 90 bursts of 1 us and ten of 1 ms.
/// for at in 0..100 {
///     let length = if at < 90 { 1_000 } else { 1_000_000 };
///     let (begin, end) = (Nanos(at * 2_000_000), Nanos(at * 2_000_000 + length));
///     bursts.push(Burst { thread, begin, end, ..Burst::default() }, &[])?;
/// }
/// let cut = DurationCut::of(&bursts, 0.01)?;
/// assert_eq!((cut.min, cut.below.bursts), (Nanos(1_000_000), 90));
/// // The short ones take more than that share, so all are kept.
/// assert_eq!(DurationCut::of(&bursts, 0.001)?.below.bursts, 0);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct DurationCut {
    /// Shortest duration that is kept.
    pub min: Nanos,
    /// Shorter bursts.
    pub below: Amount,
    /// All bursts.
    pub total: Amount,
}

impl DurationCut {
    /// Computes the largest minimum duration that drops at most `share` (in `0.0..=1.0`, such as
    /// 0.01) of the time of all bursts of any kind. The minimum is 0 if no burst can be dropped.
    ///
    /// A fixed minimum, such as 1 ms, would drop most of the time of programs that communicate
    /// often.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`] for a share outside of `0.0..=1.0`.
    pub fn of(bursts: &Bursts, share: f64) -> Result<Self> {
        if !(0.0..=1.0).contains(&share) {
            return Err(Error::Parameter {
                name: "share of time",
                value: share.to_string(),
                range: "from 0 to 1",
            });
        }
        let rows = bursts.rows().iter();
        let durations = rows.map(|burst| burst.end.0.saturating_sub(burst.begin.0));
        let mut durations: Vec<i64> = durations.collect();
        durations.sort_unstable();
        let mut total = Amount::default();
        for &duration in &durations {
            total.add(Nanos(duration));
        }
        let most = (share * total.time.0 as f64) as i64;
        let mut cut = DurationCut {
            total,
            ..DurationCut::default()
        };
        let mut below = Amount::default();
        for equal in durations.chunk_by(|a, b| a == b) {
            let Some(&duration) = equal.first() else {
                continue;
            };
            cut.min = Nanos(duration);
            cut.below = below;
            for &duration in equal {
                below.add(Nanos(duration));
            }
            if below.time.0 > most {
                break;
            }
        }
        if cut.below.time.0 == 0 && cut.below.bursts == 0 {
            cut.min = Nanos(0);
        }
        Ok(cut)
    }

    /// Returns a common minimum duration for several experiments: the smallest of their minimum
    /// durations, so that no experiment loses more than the share. Returns 0 without experiments.
    pub fn shared<'c>(cuts: impl IntoIterator<Item = &'c DurationCut>) -> Nanos {
        cuts.into_iter()
            .map(|cut| cut.min)
            .min()
            .unwrap_or_default()
    }
}
