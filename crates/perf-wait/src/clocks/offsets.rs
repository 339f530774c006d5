//! [`Offsets`]: constant clock corrections of processes, estimated from bounds as shortest paths in
//! a system of differences.

use super::ClockOffset;
use super::bounds::Bounds;
use super::likely::SLACKS;
use crate::Result;
use perf_core::Job;

/// Constant corrections of all processes.
pub(super) struct Offsets {
    pub(super) corrections: Vec<ClockOffset>,
    /// `true` if constants satisfy all bounds.
    pub(super) is_feasible: bool,
}

/// Tightest bound of each pair of processes that exchange messages: the correction of the first process is at most
/// that of the second one plus the difference.
type Differences = Vec<(usize, usize, f64)>;

/// Side of the corrections that the bounds allow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// The largest corrections.
    Upper,
    /// The smallest corrections. The search negates them, so that it looks for the largest of the mirrored bounds.
    Lower,
}

/// Shortest paths from the reference, found so far.
struct Paths {
    /// Length of the path to each process.
    length: Vec<f64>,
    /// Process before each on its path.
    parent: Vec<Option<usize>>,
    is_changed: bool,
}

impl Paths {
    fn shorten(&mut self, process: usize, length: f64, parent: usize) {
        if length < self.length[process] {
            self.length[process] = length;
            self.parent[process] = Some(parent);
            self.is_changed = true;
        }
    }

    /// Returns `true` if the parents of a process lead back to it: bounds then contradict each other.
    fn has_cycle(&self) -> bool {
        let mut seen = vec![0; self.parent.len()];
        for start in 0..self.parent.len() {
            let mut at = Some(start);
            while let Some(process) = at.filter(|process| seen[*process] == 0) {
                seen[process] = start + 1;
                at = self.parent[process];
            }
            if at.is_some_and(|process| seen[process] == start + 1) {
                return true;
            }
        }
        false
    }
}

/// Returns the corrections on one side with that of the reference at 0, infinite where nothing bounds them; `None` if no
/// constants satisfy the bounds.
fn extreme(
    bounds: &Bounds,
    pairs: &Differences,
    side: Side,
    job: &Job,
) -> Result<Option<Vec<f64>>> {
    let mut paths = Paths {
        length: vec![f64::INFINITY; bounds.processes],
        parent: vec![None; bounds.processes],
        is_changed: true,
    };
    if let Some(reference) = paths.length.first_mut() {
        *reference = 0.0;
    }
    let mut checks = job.checks();
    while std::mem::take(&mut paths.is_changed) {
        for (early, late, difference) in pairs {
            checks.next(1)?;
            let (from, to) = match side {
                Side::Upper => (*late, *early),
                Side::Lower => (*early, *late),
            };
            paths.shorten(to, paths.length[from] + difference, from);
        }
        for meeting in &bounds.meetings {
            checks.next(meeting.begins.len() + meeting.ends.len())?;
            // Upper: o_a <= o_b + end_b - begin_a. Lower, negated: -o_b <= -o_a + end_b - begin_a.
            let (from, to, sign) = match side {
                Side::Upper => (&meeting.ends, &meeting.begins, 1.0),
                Side::Lower => (&meeting.begins, &meeting.ends, -1.0),
            };
            let at =
                |process: usize, time| paths.length[process] + sign * bounds.since_origin(time);
            let nearest = from
                .iter()
                .map(|(process, time)| (at(*process, *time), *process));
            let Some((length, parent)) = nearest.min_by(|a, b| a.0.total_cmp(&b.0)) else {
                continue;
            };
            for (process, time) in to {
                // The end of a member does not bound its own begin.
                if *process != parent {
                    let length = length - sign * bounds.since_origin(*time);
                    paths.shorten(*process, length, parent);
                }
            }
        }
        if paths.has_cycle() {
            return Ok(None);
        }
    }
    let sign = if side == Side::Upper { 1.0 } else { -1.0 };
    Ok(Some(
        paths
            .length
            .into_iter()
            .map(|length| length * sign)
            .collect(),
    ))
}

/// Largest and smallest corrections of all processes.
type Extremes = (Vec<f64>, Vec<f64>);

/// Returns the extremes that the likely bounds allow as well, with the least slack; `None` if the likely bounds
/// contradict the other bounds with any slack.
fn likely(bounds: &Bounds, pairs: &Differences, job: &Job) -> Result<Option<Extremes>> {
    for factor in SLACKS {
        let mut pairs = pairs.clone();
        // Of the windows of a pair the weakest bound, since none of them is certain.
        pairs.extend(bounds.likely.iter().map(|((early, late), list)| {
            let differences = list.iter().map(|bound| bound.difference(factor));
            (*early, *late, differences.fold(f64::NEG_INFINITY, f64::max))
        }));
        if let Some(upper) = extreme(bounds, &pairs, Side::Upper, job)? {
            let lower = extreme(bounds, &pairs, Side::Lower, job)?;
            return Ok(lower.map(|lower| (upper, lower)));
        }
    }
    Ok(None)
}

/// Estimates constant corrections. If no constants satisfy all bounds, all corrections are 0.
pub(super) fn estimate(bounds: &Bounds, job: &Job) -> Result<Offsets> {
    let tightest = bounds.pairs.iter().map(|((from, to), list)| {
        let differences = list.iter().map(|bound| bound.difference());
        (*from, *to, differences.fold(f64::INFINITY, f64::min))
    });
    let pairs: Differences = tightest.collect();
    let upper = extreme(bounds, &pairs, Side::Upper, job)?;
    let lower = match upper {
        Some(_) => extreme(bounds, &pairs, Side::Lower, job)?,
        None => None,
    };
    let (Some(upper), Some(lower)) = (upper, lower) else {
        return Ok(Offsets {
            corrections: vec![ClockOffset::default(); bounds.processes],
            is_feasible: false,
        });
    };
    let (above, below) = match likely(bounds, &pairs, job)? {
        Some(likely) => likely,
        None => (upper.clone(), lower.clone()),
    };
    let correction = |process: usize| {
        let (upper, lower) = (upper[process], lower[process]);
        let (offset, uncertainty) = match (upper.is_finite(), lower.is_finite()) {
            (true, true) => {
                let offset = (above[process] + below[process]) / 2.0;
                (offset, Some((upper - offset).max(offset - lower)))
            }
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
        corrections: (0..bounds.processes).map(correction).collect(),
        is_feasible: true,
    })
}
