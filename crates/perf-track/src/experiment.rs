//! [`Experiment`]: bursts of an experiment, or of a time window of it, with the cluster of each
//! burst.

use crate::{Bursts, Error, Labels, Result};

/// Experiment, or time window of an experiment: its bursts and the cluster of each burst.
///
/// ```
/// use perf_core::Nanos;
/// use perf_track::{Burst, Bursts, ClusterId, Experiment, Labels, Thread};
/// let mut bursts = Bursts::new(["instructions"]);
/// let thread = bursts.add_thread(Thread::default())?;
/// for (begin, end) in [(0, 90), (100, 109), (200, 290)] {
///     let burst = Burst { thread, begin: Nanos(begin), end: Nanos(end), ..Burst::default() };
///     bursts.push(burst, &[1e6])?;
/// }
/// let labels = Labels::new(vec![ClusterId(1), ClusterId(2), ClusterId(1)]);
/// let experiment = Experiment::new("one task", bursts.clone(), labels)?;
/// assert_eq!((experiment.name(), experiment.tasks(), experiment.labels().clusters()), ("one task", 1, 2));
/// // One label for each burst.
/// assert!(Experiment::new("", bursts, Labels::new(vec![])).is_err());
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Experiment {
    /// Name.
    name: String,
    /// Number of processes.
    tasks: u32,
    /// Bursts.
    bursts: Bursts,
    /// Cluster of each burst.
    labels: Labels,
}

impl Experiment {
    /// Creates an experiment from bursts, with one label for each burst. Filtered bursts should have
    /// the label of noise. The number of tasks is the number of processes of the bursts.
    ///
    /// # Errors
    /// Returns [`Error::Length`](crate::Error::Length) if there is not one label for each burst.
    pub fn new(name: impl Into<String>, bursts: Bursts, labels: Labels) -> Result<Self> {
        if labels.len() != bursts.len() {
            return Err(Error::Length {
                what: "labels of bursts",
                expected: bursts.len(),
                got: labels.len(),
            });
        }
        Ok(Experiment {
            name: name.into(),
            tasks: bursts.processes() as u32,
            bursts,
            labels,
        })
    }

    /// Returns the name of the experiment, such as the name of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of processes that computed.
    pub fn tasks(&self) -> u32 {
        self.tasks
    }

    /// Returns the number of threads that computed, over all processes: tasks times threads.
    pub fn threads(&self) -> u32 {
        // There are fewer than 2^32 threads.
        self.bursts.threads().len() as u32
    }

    /// Returns the bursts.
    pub fn bursts(&self) -> &Bursts {
        &self.bursts
    }

    /// Returns the cluster of each burst.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }
}
