//! Constant corrections: shortest paths in the system of differences.

use super::ClockOffset;
use super::bounds::Bounds;
use crate::Result;
use perf_core::Job;

/// Constant corrections of all processes.
pub(super) struct Offsets {
    pub(super) corrections: Vec<ClockOffset>,
    /// Whether constants satisfy all bounds.
    pub(super) is_feasible: bool,
}

/// Tightest bound of each pair of processes that exchange messages: the correction of the first process is at most
/// that of the second one plus the difference.
type Differences = Vec<(usize, usize, f64)>;

/// Largest corrections that the bounds allow with that of the reference at 0.
///
/// Returns `None` if no constants satisfy the bounds.
fn largest(bounds: &Bounds, pairs: &Differences, job: &Job) -> Result<Option<Vec<f64>>> {
    let mut upper = vec![f64::INFINITY; bounds.processes];
    if let Some(reference) = upper.first_mut() {
        *reference = 0.0;
    }
    // A path without cycles visits each process once.
    for _ in 0..=bounds.processes {
        let mut is_changed = false;
        let mut checks = job.checks();
        let mut lower_to = |upper: &mut Vec<f64>, process: usize, value: f64| {
            if value < upper[process] {
                upper[process] = value;
                is_changed = true;
            }
        };
        for (early, late, difference) in pairs {
            checks.next(1)?;
            let value = upper[*late] + difference;
            lower_to(&mut upper, *early, value);
        }
        for meeting in &bounds.meetings {
            checks.next(meeting.begins.len() + meeting.ends.len())?;
            let ends = meeting
                .ends
                .iter()
                .map(|(process, end)| upper[*process] + bounds.since_origin(*end));
            let first = ends.fold(f64::INFINITY, f64::min);
            for (process, begin) in &meeting.begins {
                lower_to(&mut upper, *process, first - bounds.since_origin(*begin));
            }
        }
        if !is_changed {
            return Ok(Some(upper));
        }
    }
    Ok(None)
}

/// Smallest corrections that the bounds allow with that of the reference at 0.
fn smallest(bounds: &Bounds, pairs: &Differences, job: &Job) -> Result<Option<Vec<f64>>> {
    let mut lower = vec![f64::NEG_INFINITY; bounds.processes];
    if let Some(reference) = lower.first_mut() {
        *reference = 0.0;
    }
    for _ in 0..=bounds.processes {
        let mut is_changed = false;
        let mut checks = job.checks();
        let mut raise_to = |lower: &mut Vec<f64>, process: usize, value: f64| {
            if value > lower[process] {
                lower[process] = value;
                is_changed = true;
            }
        };
        for (early, late, difference) in pairs {
            checks.next(1)?;
            let value = lower[*early] - difference;
            raise_to(&mut lower, *late, value);
        }
        for meeting in &bounds.meetings {
            checks.next(meeting.begins.len() + meeting.ends.len())?;
            let begins = meeting.begins.iter();
            let begins =
                begins.map(|(process, begin)| lower[*process] + bounds.since_origin(*begin));
            let last = begins.fold(f64::NEG_INFINITY, f64::max);
            for (process, end) in &meeting.ends {
                raise_to(&mut lower, *process, last - bounds.since_origin(*end));
            }
        }
        if !is_changed {
            return Ok(Some(lower));
        }
    }
    Ok(None)
}

/// Estimates constant corrections. Where no constants satisfy all bounds, they are 0.
pub(super) fn estimate(bounds: &Bounds, job: &Job) -> Result<Offsets> {
    let tightest = bounds.pairs.iter().map(|((from, to), list)| {
        let differences = list.iter().map(|bound| bound.difference());
        (*from, *to, differences.fold(f64::INFINITY, f64::min))
    });
    let pairs: Differences = tightest.collect();
    let both = (
        largest(bounds, &pairs, job)?,
        smallest(bounds, &pairs, job)?,
    );
    let (Some(upper), Some(lower)) = both else {
        return Ok(Offsets {
            corrections: vec![ClockOffset::default(); bounds.processes],
            is_feasible: false,
        });
    };
    let correction = |(upper, lower): (&f64, &f64)| {
        let (offset, uncertainty) = match (upper.is_finite(), lower.is_finite()) {
            (true, true) => ((upper + lower) / 2.0, Some((upper - lower) / 2.0)),
            (true, false) => (upper.min(0.0), None),
            (false, true) => (lower.max(0.0), None),
            (false, false) => (0.0, None),
        };
        ClockOffset {
            offset,
            uncertainty,
            ..ClockOffset::default()
        }
    };
    Ok(Offsets {
        corrections: upper.iter().zip(&lower).map(correction).collect(),
        is_feasible: true,
    })
}
