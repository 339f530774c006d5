//! Clock offsets and drifts: [`ClockEstimate`] from messages and collectives by a [`ClockModel`],
//! and correction of a trace, with [`Repair`] of remaining violations.
//!
//! A message cannot be received before it is sent, and no member leaves an N-to-N operation with data before all members
//! have begun. Each of them bounds the difference of two clocks from one side. With the correction `o_i(t)` that is added
//! to the times of process `i`:
//!
//! ```text
//! message from a to b:      o_a - o_b <= receive end on b - send begin on a
//! N-to-N, members a and b:  o_a - o_b <= end on b - begin on a
//! ```
//!
//! | model | estimate |
//! |---|---|
//! | [`ClockModel::Offset`] | one constant for each process. The bounds are a system of differences, whose tightest solutions relative to the reference are shortest paths. The estimate is the centre between the upper and the lower solution. It satisfies all bounds if any constants do |
//! | [`ClockModel::Drift`] | one line for each process. For two processes it is the line with the largest distance to the bounds on both sides. Lines of pairs are added along the tree of smallest uncertainty from the reference |
//! | [`ClockModel::Auto`] | constants if they satisfy all bounds, lines otherwise |
//!
//! A rank that others always wait for is bounded closely from one side only. The durations of calls show which rank
//! waits, and calls that wait end as soon as they can: a receive shortly after its send, members of an N-to-N operation
//! together. If these likely bounds agree with the other bounds, the estimate is the centre of both. Without them, half
//! of a constant load imbalance would count as an offset.
//!
//! The uncertainty is the largest distance to another solution that the bounds, without the likely bounds, allow under
//! the assumption of the model. For [`ClockModel::Auto`] it is the uncertainty of clocks with drift, whichever model is
//! chosen. A process that is bounded from one side only has no uncertainty; it is corrected by no more than its bounds
//! require. Threads of a process share its clock. The reference is the first process.
//!
//! [`ClockEstimate::correct`] applies the estimate. Violations that remain are repaired by a controlled logical clock if
//! [`Repair::Logical`] is chosen: a receive that is too early moves to the time of its send, and later events of the
//! location move with it, by less and less.

mod apply;
mod band;
mod bounds;
mod drifts;
mod likely;
mod logical;
mod offsets;

use crate::Result;
use bounds::Bounds;
use perf_core::{ClockViolations, Job, LocationId, Table, Ticks, Trace, TraceView, match_messages};

/// Assumption about the clocks of processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum ClockModel {
    /// Constants if they satisfy all bounds, lines otherwise.
    #[default]
    Auto,
    /// Clocks differ by constants.
    Offset,
    /// Clocks differ by an offset and a constant drift.
    Drift,
}

/// Treatment of violations that remain after the correction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Repair {
    /// Moves events forward by a controlled logical clock.
    #[default]
    Logical,
    /// Keeps the violations.
    Keep,
}

/// Correction of the clock of one location.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ClockOffset {
    /// Location.
    pub location: LocationId,
    /// Ticks that are added to its times at [`ClockEstimate::origin`].
    pub offset: f64,
    /// Ticks that are added for each tick since then.
    pub drift: f64,
    /// Largest error in ticks between the first and the last bound; `None` if the location is not bounded from both sides.
    pub uncertainty: Option<f64>,
}

impl ClockOffset {
    /// Returns the ticks that are added at a time.
    pub fn at(&self, time: Ticks, origin: Ticks) -> f64 {
        self.offset + self.drift * (time.0 as f64 - origin.0 as f64)
    }
}

/// Estimated corrections of the clocks of a trace.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ClockEstimate {
    /// Model of the estimate: offset or drift.
    pub model: ClockModel,
    /// Time in ticks at which the offsets hold and from which drifts are counted.
    pub origin: Ticks,
    /// Corrections by location.
    pub locations: Vec<ClockOffset>,
    /// Violations of the recorded times.
    pub violations: ClockViolations,
}

/// A corrected trace.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Corrected {
    /// The trace with corrected times, which is not serialized.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub trace: Trace,
    /// Violations after the correction of offsets and drifts, before a repair.
    pub remaining: ClockViolations,
    /// Violations of the corrected trace.
    pub violations: ClockViolations,
    /// Events that the repair moved.
    pub moved: u64,
    /// Largest distance in ticks by which the repair moved an event.
    pub farthest: u64,
}

impl ClockEstimate {
    /// Estimates the corrections of the clocks of a trace. All locations of the trace take part.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn of(view: TraceView<'_>, model: ClockModel, job: &Job) -> Result<Self> {
        let whole = view.trace().view();
        let matched = match_messages(whole, job)?;
        let violations = matched.clock_violations();
        let bounds = Bounds::of(whole, &matched, job)?;
        let constants = offsets::estimate(&bounds, job)?;
        let (model, corrections) = match model {
            ClockModel::Offset => (ClockModel::Offset, constants.corrections),
            ClockModel::Drift => (ClockModel::Drift, drifts::estimate(&bounds, job)?),
            ClockModel::Auto => {
                let lines = drifts::estimate(&bounds, job)?;
                if constants.is_feasible {
                    (
                        ClockModel::Offset,
                        widened(&constants.corrections, &lines, &bounds),
                    )
                } else {
                    (ClockModel::Drift, lines)
                }
            }
        };
        // Processes without an estimate are not corrected.
        let location = |(location, process): (LocationId, &usize)| ClockOffset {
            location,
            ..corrections.get(*process).copied().unwrap_or_default()
        };
        Ok(ClockEstimate {
            model,
            origin: bounds.origin,
            locations: (0..)
                .map(LocationId)
                .zip(&bounds.process_of)
                .map(location)
                .collect(),
            violations,
        })
    }

    /// Applies the corrections to a trace, and repairs violations that remain.
    ///
    /// A trace without violations is returned as it is. If a time would be negative, all times move by a constant, and the
    /// origin of the clock with them.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled, and an error of `perf-core` if the
    /// corrections are those of another trace and put events out of order.
    pub fn correct(&self, trace: &Trace, repair: Repair, job: &Job) -> Result<Corrected> {
        if !self.violations.is_any() {
            return Ok(Corrected {
                trace: trace.clone(),
                remaining: self.violations.clone(),
                violations: self.violations.clone(),
                moved: 0,
                farthest: 0,
            });
        }
        let shifted = apply::shifted(trace, self, job)?;
        let matched = match_messages(shifted.view(), job)?;
        let remaining = matched.clock_violations();
        if repair == Repair::Keep || !remaining.is_any() {
            return Ok(Corrected {
                trace: shifted,
                violations: remaining.clone(),
                remaining,
                moved: 0,
                farthest: 0,
            });
        }
        let repaired = logical::times(&shifted, &matched, job)?;
        let trace = apply::with_times(&shifted, &repaired.times, job)?;
        let violations = match_messages(trace.view(), job)?.clock_violations();
        Ok(Corrected {
            trace,
            remaining,
            violations,
            moved: repaired.moved,
            farthest: repaired.farthest,
        })
    }

    /// Returns the corrections as a table.
    pub fn table(&self, trace: &Trace) -> Table {
        let definitions = trace.definitions();
        let micros = 1e6 / definitions.clock.ticks_per_second() as f64;
        let rows = || self.locations.iter();
        Table::new("clocks", "Estimated corrections of the clocks.")
            .text(
                "location",
                rows().map(|it| definitions.system.label(it.location)),
            )
            .floats("offset", "us", rows().map(|it| it.offset * micros))
            .floats("drift", "ppm", rows().map(|it| it.drift * 1e6))
            .floats(
                "uncertainty",
                "us",
                rows().map(|it| it.uncertainty.map(|it| it * micros)),
            )
    }
}

/// Returns constants with an uncertainty that holds for clocks with drift as well: the largest distance to a line that the
/// bounds allow.
fn widened(constants: &[ClockOffset], lines: &[ClockOffset], bounds: &Bounds) -> Vec<ClockOffset> {
    let widen = |(constant, line): (&ClockOffset, &ClockOffset)| {
        let ends = [bounds.origin, bounds.end];
        let distance = ends.map(|time| (line.at(time, bounds.origin) - constant.offset).abs());
        let both = constant.uncertainty.zip(line.uncertainty);
        let wide = both.map(|(own, other)| own.max(distance[0].max(distance[1]) + other));
        ClockOffset {
            uncertainty: wide.or(constant.uncertainty),
            ..*constant
        }
    };
    constants.iter().zip(lines).map(widen).collect()
}
