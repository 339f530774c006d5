//! [`DelayCosts`]: the delays that cause wait states, and their costs.
//!
//! A wait state is caused by the location that is waited for. Between the last synchronisation of the two locations and
//! the wait state, the causing location spent more time in some call paths than the waiting location: these excesses
//! are the delays. Or the causing location was waiting itself, and the cause lies with a third location. With the
//! waiting time `w`, the exclusive times `d_p` and `t_p` of call path `p` on the causing and on the waiting location,
//! and the waiting time `v` of the causing location, all since the last synchronisation:
//!
//! ```text
//! D_p     = max(0, d_p - t_p)
//! short_p = w D_p / (sum D + sum v)      short-term cost of the delay in p
//! long_p  = c D_p / (sum D + sum v)      long-term cost: c is the cost that w itself has propagated to
//! c_v    += (w + c) v / (sum D + sum v)  cost that propagates to the earlier wait state v
//! ```
//!
//! Time outside of all frames has no call path and is no delay. The sum of all costs is the sum of all waiting times.
//! If a causing location neither spent more time nor waited, as with clocks that disagree, the call that was waited for
//! has the cost. (Böhme et al., Identifying the root causes of wait states in large-scale parallel applications, 2010.)
//!
//! | synchronisation of two locations | time |
//! |---|---|
//! | late sender or receiver between them, late post, early wait or lock of a window | enter of the late call |
//! | barrier or N-to-N operation with both as members | latest begin |
//! | 1-to-N operation, one of them is the root and the other one waited for it | begin of the root |
//! | N-to-1 operation, one of them is the root and waited for the other one | begin of that one |
//! | threads of a team in a barrier or at a lock | fork of the team |
//! | none of these | latest enter of `MPI_Init`; without one, the begin of the recording |

mod costs;
mod profile;
mod synchronisation;

use crate::Result;
use crate::activity::Activities;
use crate::timeline::Timelines;
use crate::waits::{Pattern, WaitStates};
use perf_core::{CallPathId, Job, LocationId, Profile, Table, TraceView};

/// Cost of the delays of one call path on one location.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DelayCost {
    /// Kind of the wait states that the delay causes.
    pub pattern: Pattern,
    /// Location of the delay.
    pub location: LocationId,
    /// Call path of the delay; `None` if the call that was waited for is outside of all frames.
    pub path: Option<CallPathId>,
    /// Waiting time in ticks that the delay causes directly.
    pub short: f64,
    /// Waiting time in ticks that it causes through other wait states.
    pub long: f64,
}

/// The delays that cause the wait states of a trace, and their costs.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct DelayCosts {
    costs: Vec<DelayCost>,
    #[cfg_attr(feature = "serde", serde(skip))]
    profile: Profile,
}

impl DelayCosts {
    /// Finds the delays of a trace whose wait states are known.
    ///
    /// Progress is reported by location in the phase `timelines`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn of(
        view: TraceView<'_>,
        activities: &Activities,
        waits: &WaitStates,
        job: &Job,
    ) -> Result<Self> {
        let waits = crate::waits::waiting_states(waits.states(), job)?;
        let timelines = Timelines::of(view, activities, &waits, job)?;
        let costs = costs::costs(activities, &waits, &timelines, job)?;
        let profile = profile::profile(activities, &costs, job)?;
        Ok(DelayCosts { costs, profile })
    }

    /// Costs in order of kind, location and call path.
    pub fn costs(&self) -> &[DelayCost] {
        &self.costs
    }

    /// Severities by kind, call path and location in nanoseconds, exclusive.
    ///
    /// The metric `delay` is the sum of all costs; `late sender delay` and `late sender delay, long-term` are those of a
    /// kind.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Returns the short-term and long-term costs of a kind in ticks.
    pub fn total(&self, pattern: Pattern) -> (f64, f64) {
        let own = self.costs.iter().filter(|cost| cost.pattern == pattern);
        own.fold((0.0, 0.0), |sum, it| (sum.0 + it.short, sum.1 + it.long))
    }

    /// Returns the costs of each call path and location as a table, the largest first.
    pub fn table(&self, activities: &Activities) -> Table {
        let (definitions, labels) = (activities.definitions(), activities.labels());
        let mut rows: Vec<&DelayCost> = self.costs.iter().collect();
        rows.sort_by(|a, b| (b.short + b.long).total_cmp(&(a.short + a.long)));
        let path = |cost: &DelayCost| {
            cost.path
                .map(|path| activities.paths().name(path, &definitions.regions))
        };
        let time = |ticks: f64| definitions.clock.total(ticks.max(0.0) as u128);
        let rows = || rows.iter().copied();
        Table::new(
            "delays",
            "Delays in descending order of the waiting time that they cause.",
        )
        .text(
            "location",
            rows().map(|it| labels.get(it.location.index()).map(String::as_str)),
        )
        .text("call path", rows().map(path))
        .text("causes", rows().map(|it| it.pattern.name()))
        .times("short-term", rows().map(|it| time(it.short)))
        .times("long-term", rows().map(|it| time(it.long)))
    }
}
