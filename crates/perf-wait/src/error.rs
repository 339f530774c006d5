//! [`Error`]: reasons for which an analysis of waiting fails; [`CallPlace`]: place of a call in a
//! recording, for messages.

use perf_core::{Cancelled, LocationId, Nanos, Ticks};

/// Reasons for which an analysis of waiting fails.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Activities wait for each other in a circle, so that none of them can begin.
    #[error(
        "activity {activity} waits for itself: {stuck} of {count} activities never begin{}",
        place.as_ref().map_or_else(String::new, |place| format!(" ({place})"))
    )]
    Cycle {
        /// First activity that never begins.
        activity: usize,
        /// Number of activities that never begin.
        stuck: usize,
        /// Number of activities.
        count: usize,
        /// Place of the activity in the recording, where known.
        place: Option<CallPlace>,
    },
    /// An activity that a dependency, group or duration refers to does not exist.
    #[error("activity {activity} does not exist: there are {count}")]
    UnknownActivity {
        /// The activity.
        activity: usize,
        /// Number of activities.
        count: usize,
    },
    /// An activity was put into a second group.
    #[error("activity {activity} is in a group already")]
    Grouped {
        /// The activity.
        activity: usize,
    },
    /// Two lists that belong together differ in length.
    #[error("{what}: expected {expected}, got {got}")]
    Length {
        /// The elements that were counted.
        what: &'static str,
        /// Expected number.
        expected: usize,
        /// Actual number.
        got: usize,
    },
    /// The view is a window of its trace. Calls and messages across its borders would be cut.
    #[error(
        "a window of the trace: waiting is analysed over the whole trace, and results are selected by their time"
    )]
    Window,
    /// The trace has nothing that the analysis works on.
    #[error("the trace has no {what}")]
    Nothing {
        /// The missing element, in the plural.
        what: &'static str,
    },
    /// An operation of a training job cannot be part of its dependencies.
    #[error("operation {operation} ({name}) of step {step}: {problem}")]
    Operation {
        /// Number of the operation in the list that was given.
        operation: usize,
        /// Its name.
        name: String,
        /// Its step.
        step: u64,
        /// The problem.
        problem: &'static str,
    },
    /// A parameter is outside of its range.
    #[error("{name} is {value}: expected {expected}")]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// Its value.
        value: String,
        /// The valid range.
        expected: &'static str,
    },
    /// More elements than an id can name.
    #[error("more than {limit} {what}")]
    TooMany {
        /// The elements, in the plural.
        what: &'static str,
        /// Largest possible number.
        limit: u64,
    },
    /// An error of `perf-core`.
    #[error(transparent)]
    Core(perf_core::Error),
    /// The job was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<perf_core::Error> for Error {
    fn from(error: perf_core::Error) -> Self {
        match error {
            perf_core::Error::Cancelled(cancelled) => Error::Cancelled(cancelled),
            other => Error::Core(other),
        }
    }
}

perf_core::debug_as_chain!(Error);

/// Place of a call in a recording, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPlace {
    /// Name of the region.
    pub region: String,
    /// Location of the call.
    pub location: LocationId,
    /// Time at which the call was entered.
    pub enter: Ticks,
    /// The same time in nanoseconds since the origin of the clock, where it fits.
    pub time: Option<Nanos>,
}

impl std::fmt::Display for CallPlace {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (region, location, enter) = (&self.region, self.location, self.enter);
        write!(
            out,
            "{region} on location {location}, entered at tick {enter}"
        )?;
        match self.time {
            Some(time) => write!(out, ", {time}"),
            None => Ok(()),
        }
    }
}

/// Results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
