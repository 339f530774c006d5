//! [`Slow`]: ranks and phases that are slower than their peers, listed from the statistics of the
//! parameter server with the names of their functions.

use perf_anomaly::FunctionId;
use perf_anomaly::lost_time::{SlowPhase, SlowRank};
use perf_anomaly::server::{FunctionName, Server};

/// Ranks and phases that are slower than their peers, each with its function. Both lists begin with
/// the most time lost.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Slow {
    /// Slow ranks, each with the function in which it lost the most time.
    pub ranks: Vec<(SlowRank, FunctionName)>,
    /// Slow phases of functions.
    pub phases: Vec<(SlowPhase, FunctionName)>,
}

impl Slow {
    pub(super) fn of(server: &Server) -> Self {
        let name = |function: FunctionId| server.names().get(function.0 as usize).cloned();
        let ranks = server.slow_ranks().into_iter();
        let phases = server.slow_phases().into_iter();
        Slow {
            ranks: ranks
                .filter_map(|slow| Some((slow, name(slow.function)?)))
                .collect(),
            phases: phases
                .filter_map(|slow| Some((slow, name(slow.function)?)))
                .collect(),
        }
    }
}
