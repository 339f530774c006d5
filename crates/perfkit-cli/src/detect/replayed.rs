//! [`Replayed`]: a recording as source of events of `detect`, in steps that are its iterations or equal parts.

use super::{COMPARED_STEPS, Options, RECORDED_STEPS};
use crate::failure::{Failure, input};
use crate::progress::Bar;
use crate::suggest::hint;
use crate::table::shortened;
use perfkit::anomaly::{Iterations, Monitor, Replay};
use perfkit::core::{Nanos, Ticks, TimeRange, Trace, TraceView};

/// Number of steps after which iterations are compared in groups.
const UNITS: usize = 20;

/// Replayed recording with its steps.
#[derive(Clone, Debug)]
pub(crate) struct Replayed<'a> {
    pub(super) trace: &'a Trace,
    /// Events that are replayed.
    view: TraceView<'a>,
    steps: Steps,
}

/// Returns the events of a trace. At the end of a window, calls that cross it are left out: they are open there, so
/// that their shortened times are not compared.
fn uncut(trace: &Trace, has_end: bool) -> TraceView<'_> {
    let view = trace.view();
    let last = view
        .range()
        .map(|range| Ticks(range.end.0.saturating_sub(1)));
    match (has_end, view.range(), last) {
        (true, Some(range), Some(last)) if last > range.start => view.between(TimeRange {
            start: range.start,
            end: last,
        }),
        _ => view,
    }
}

/// Steps of a recording.
#[derive(Clone, Debug)]
enum Steps {
    /// Steps of a given length.
    Period(Nanos),
    /// Iterations of the program.
    Iterations(Iterations),
    /// Equal parts.
    Parts,
}

impl<'a> Replayed<'a> {
    /// Finds the steps: those that the options state, otherwise iterations, otherwise equal parts.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] if the options state a function that is never called.
    pub(crate) fn new(trace: &'a Trace, options: &Options) -> Result<Self, Failure> {
        let view = uncut(trace, options.window.to.is_some());
        let (job, parts) = (Bar::job(), Replay::in_steps(view, RECORDED_STEPS));
        let steps = match (options.period, &options.step_at) {
            (Some(period), _) => Steps::Period(period),
            (None, Some(pattern)) => {
                let found = parts.iterations_at(pattern, &job).map_err(input)?;
                let absent = || {
                    let regions = trace.definitions().regions.iter();
                    let hint = hint(pattern, regions.map(|region| region.name.as_str()));
                    Failure::Usage(format!(
                        "--step-at {pattern}: no call of the recording matches{hint}"
                    ))
                };
                Steps::Iterations(found.ok_or_else(absent)?)
            }
            (None, None) => match parts.iterations(&job).map_err(input)? {
                Some(found) => Steps::Iterations(found),
                None => Steps::Parts,
            },
        };
        Ok(Replayed { trace, view, steps })
    }

    /// Returns the source of events for the detection, and the monitor with the number of steps in which it compares
    /// ranks.
    pub(crate) fn source(&self, monitor: Monitor) -> (Replay<'a>, Monitor) {
        let monitor = match &self.steps {
            Steps::Period(_) => monitor,
            Steps::Iterations(found) => {
                let steps = (found.count() / UNITS).max(1);
                let monitor = monitor.compare_between(1..=found.count() as u64);
                monitor.compare_steps(steps as u64)
            }
            Steps::Parts => monitor.compare_steps(COMPARED_STEPS),
        };
        (self.replay(), monitor)
    }

    /// Returns the length of a step; `None` for iterations.
    pub(crate) fn step_length(&self) -> Option<Nanos> {
        let view = self.view;
        match self.steps {
            Steps::Period(period) => Some(period),
            Steps::Iterations(_) => None,
            Steps::Parts => {
                let ticks = view.range()?.len().div_ceil(RECORDED_STEPS);
                view.definitions().clock.duration(ticks)
            }
        }
    }

    /// Returns the iterations that are steps.
    pub(crate) fn iterations(&self) -> Option<&Iterations> {
        match &self.steps {
            Steps::Iterations(found) => Some(found),
            _ => None,
        }
    }

    /// Returns a sentence about the steps; `None` for an empty recording.
    pub(crate) fn sentence(&self) -> Option<String> {
        match &self.steps {
            Steps::Iterations(found) => {
                let calls = match found.every() {
                    1 => "each call".into(),
                    more => format!("every {more} calls"),
                };
                let name = shortened(found.name(), 60);
                let last = self.replay().steps().saturating_sub(1);
                let others = if last > found.count() as u64 {
                    format!("steps 0 and {last} are the times before the first and after the last one")
                } else {
                    "step 0 is the time before the first one".into()
                };
                Some(format!(
                    "a step begins at {calls} of {name} on a rank, and {others} (--step-at, --period)"
                ))
            }
            Steps::Period(_) | Steps::Parts => self.step_length().map(|length| {
                format!(
                    "steps are equal parts of the recording, not iterations: step N begins N x {length} after its begin"
                )
            }),
        }
    }

    /// Returns the number of pipeline stages of a process, each of which is a rank.
    pub(crate) fn stages(&self) -> Option<u32> {
        self.replay().stages()
    }

    /// Returns the begin of each step on the first rank, and the end of the last one.
    pub(crate) fn begins(&self) -> Vec<Nanos> {
        let replay = self.replay();
        let rank = replay.streams().next();
        let rank = rank
            .map(|(key, _)| (key.program, key.rank))
            .unwrap_or_default();
        let end = |step| Some(replay.times(rank, step, step)?.1);
        let start = replay.times(rank, 0, 0).map(|(start, _)| start);
        let ends = (0..replay.steps()).map_while(end);
        start.into_iter().chain(ends).collect()
    }

    pub(super) fn replay(&self) -> Replay<'a> {
        let view = self.view;
        match &self.steps {
            Steps::Period(period) => Replay::new(view, *period),
            Steps::Iterations(found) => {
                Replay::in_steps(view, RECORDED_STEPS).with_iterations(found)
            }
            Steps::Parts => Replay::in_steps(view, RECORDED_STEPS),
        }
    }
}
