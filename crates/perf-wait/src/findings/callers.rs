//! [`Sources::add_caller`]: adds to a [`Finding`] about computation outside of functions the
//! function that makes the next call, for recordings without frames of functions.

use super::collect::Sources;
use super::{Finding, FindingKind};
use crate::activity::{Call, CallId};
use crate::running_state::{self, is_running};
use perf_core::{CallPathId, Event, RegionId, Ticks};

impl Sources<'_> {
    /// Adds to a finding about computation outside of functions the function that makes the call after it.
    pub(super) fn add_caller(&self, finding: &mut Finding) {
        let path = match finding.kind {
            FindingKind::SlowStep { function, .. } => {
                let regions = &self.activities.definitions().regions;
                let is_state = regions.get(function.index()).is_some_and(is_running);
                let start = finding.window.filter(|_| is_state).map(|it| it.start);
                let after = start.and_then(|at| self.activities.around(at)?.1);
                finding.caller = after.and_then(|call| self.caller(call));
                return;
            }
            FindingKind::Delay { path, .. } | FindingKind::Serial { path, .. } => path,
            FindingKind::BadCalls { path, .. }
            | FindingKind::Imbalance { path }
            | FindingKind::MovingImbalance { path } => Some(path),
            _ => None,
        };
        let cause = finding.longest.and_then(|it| it.cause);
        if path.is_some_and(|path| self.is_outside(path)) {
            finding.caller = cause.and_then(|call| self.caller(call));
        }
    }

    /// Returns `true` for the state in which a thread computes, outside of all functions.
    pub(super) fn is_outside(&self, path: CallPathId) -> bool {
        let (paths, definitions) = (self.activities.paths(), self.activities.definitions());
        running_state::function(paths, definitions, path).is_none()
    }

    /// Returns the innermost caller of a call, which recordings of Extrae have as a sample at its enter.
    fn caller(&self, id: CallId) -> Option<RegionId> {
        let Call { enter, .. } = *self.activities.call(id)?;
        let location = self.view.location(id.location)?;
        let contexts = &self.activities.definitions().contexts;
        let all = location.all();
        let first = all.times().partition_point(|at| *at < enter);
        let is_at = |index: &usize| all.time(*index) == Some(Ticks(enter.0));
        let mut samples =
            (first..all.len())
                .take_while(is_at)
                .filter_map(|index| match all.event(index)? {
                    Event::Sample { context } => Some(contexts.get(context)?.region),
                    _ => None,
                });
        samples.next()
    }
}
