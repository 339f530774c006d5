//! [`Slow`]: ranks and phases that are slower than their peers, listed from the statistics of the
//! parameter server with the names of their functions.

use perf_anomaly::FunctionId;
use perf_anomaly::lost_time::{PhaseStep, SlowPhase, SlowRank, Slowness};
use perf_anomaly::server::FunctionName;

/// Ranks and phases that are slower than their peers, each with its function. Both lists begin with
/// the most time lost.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Slow {
    /// Slow ranks, each with the function in which it lost the most time.
    pub ranks: Vec<(SlowRank, FunctionName)>,
    /// Slow phases of functions.
    pub phases: Vec<(SlowPhase, FunctionName)>,
    /// Time that they lost by step.
    pub phase_steps: Vec<PhaseStep>,
    /// Number of calls that arrived too late to be compared.
    pub late: u64,
}

impl Slow {
    /// Adds the names of functions, of which `names` are those with the lowest numbers.
    pub(super) fn of(found: Slowness, names: &[FunctionName]) -> Self {
        let name = |function: FunctionId| names.get(function.0 as usize).cloned();
        let (ranks, phases) = (found.ranks.into_iter(), found.phases.into_iter());
        Slow {
            ranks: ranks
                .filter_map(|slow| Some((slow, name(slow.function)?)))
                .collect(),
            phases: phases
                .filter_map(|slow| Some((slow, name(slow.function)?)))
                .collect(),
            phase_steps: found.phase_steps,
            late: found.late,
        }
    }
}
