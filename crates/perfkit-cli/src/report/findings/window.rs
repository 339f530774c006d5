//! [`Window`]: part of a run that holds most of its load imbalance.

use super::spread::Spread;
use crate::failure::{Failure, input};
use crate::progress::Bar;
use crate::report::exclusive_times::Times;
use perfkit::core::{Profile, Ticks, TimeRange, TraceView};

/// Number of windows in which the imbalance is compared.
const WINDOWS: u64 = 10;
/// Smallest share of the imbalance that the reported window must hold.
const MIN_WINDOW_SHARE: f64 = 0.5;
/// Largest part of the run that is searched for.
const MAX_WINDOW_PART: f64 = 0.6;

/// Part of the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Share of the imbalance in this window.
    pub(super) share: f64,
    /// Start in nanoseconds of the clock.
    pub(super) from: i64,
    /// End in nanoseconds of the clock.
    pub(super) to: i64,
}

impl Window {
    /// Returns the shortest window that holds at least half of the imbalance. `None` if the imbalance is spread over
    /// the run.
    pub(super) fn of(view: Option<TraceView<'_>>, times: &Times) -> Result<Option<Self>, Failure> {
        let (Some(view), Some(range)) = (view, view.and_then(|view| view.range())) else {
            return Ok(None);
        };
        let length = range.len() / WINDOWS;
        if length == 0 {
            return Ok(None);
        }
        let clock = view.definitions().clock;
        let tick = |at: u64| match at {
            WINDOWS => range.end,
            at => Ticks(range.start.0 + at * length),
        };
        let mut savings = Vec::new();
        for at in 0..WINDOWS {
            let Some(window) = TimeRange::new(tick(at), tick(at + 1)) else {
                return Ok(None);
            };
            let made = Profile::from_trace(view.between(window), &Bar::job());
            let (profile, _) = made.map_err(input)?;
            let length = clock.total(u128::from(window.len())).0 as f64;
            let computing = times.computing_in(&profile, length)?;
            savings.push(Spread::of(&computing, times).map_or(0.0, |spread| spread.saving));
        }
        let total: f64 = savings.iter().sum();
        let most = (MAX_WINDOW_PART * WINDOWS as f64) as usize;
        let held = |from: usize, count: usize| savings[from..from + count].iter().sum::<f64>();
        let mut shortest = None;
        for count in 1..=most {
            let starts = 0..=savings.len() - count;
            let best =
                starts.max_by(|one, other| held(*one, count).total_cmp(&held(*other, count)));
            if let Some(from) = best.filter(|from| held(*from, count) >= MIN_WINDOW_SHARE * total) {
                shortest = Some((from, count));
                break;
            }
        }
        // A window of more than 40 % of the run is not informative, because it would hold nearly as much
        // of an imbalance that is spread evenly.
        let even = |count: usize| count as f64 / WINDOWS as f64 > 0.8 * MIN_WINDOW_SHARE;
        Ok(shortest
            .filter(|(_, count)| total > 0.0 && !even(*count))
            .and_then(|(from, count)| {
                Some(Window {
                    share: held(from, count) / total,
                    from: clock.nanos(tick(from as u64))?.0,
                    to: clock.nanos(tick((from + count) as u64))?.0,
                })
            }))
    }
}
