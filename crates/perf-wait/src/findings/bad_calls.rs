//! [`BadCalls`]: detection of delays that consist of a few unusually long calls.

use super::collect::Sources;
use super::{Finding, FindingKind};
use crate::Result;
use crate::running_state::is_running;
use crate::stragglers::{FunctionKey, Straggler, StragglerKind};
use perf_core::{
    CallPathId, Close, Job, LocationId, Nanos, RegionId, Ticks, TimeRange, Unify, Visitor, replay,
};

/// Most calls that are not a slow location.
const MAX_CALLS: usize = 3;

/// Smallest share of the excess of a location that the calls make up.
const MIN_PART: f64 = 0.7;

/// Calls of a location that make up most of its excess over its peers, the one with the most time lost first.
pub(super) struct BadCalls<'a>(Vec<&'a Straggler>);

/// Returns the few calls that make up an excess in ticks; `None` if many do.
pub(super) fn of<'a>(
    sources: &Sources<'a>,
    location: LocationId,
    path: CallPathId,
    excess: f64,
) -> Option<BadCalls<'a>> {
    let function = sources.function_of_calls(path)?;
    let own = sources.stragglers.stragglers.iter().filter(|it| {
        (it.kind, it.function, it.rank) == (StragglerKind::Call, function.0, Some(location.0))
    });
    let calls: Vec<&Straggler> = own.take(MAX_CALLS).collect();
    let needed = sources.activities.clock().total(excess as u128).0 as f64 * MIN_PART;
    let mut lost = 0.0;
    let enough = calls.iter().position(|it| {
        lost += it.lost.0 as f64;
        lost >= needed
    });
    // A location with few calls more than these is slow in most of them.
    let functions = &sources.stragglers.functions;
    let steps = functions.iter().find(|it| it.function == function.0);
    let count = enough? + 1;
    let is_few = steps.is_some_and(|it| it.steps.len() > 2 * count);
    is_few.then(|| BadCalls(calls.into_iter().take(count).collect()))
}

impl BadCalls<'_> {
    /// Makes a finding about a location one about its calls.
    pub(super) fn describe(
        &self,
        finding: &mut Finding,
        path: CallPathId,
        sources: &Sources<'_>,
        job: &Job,
    ) -> Result<()> {
        let (Some(longest), [location]) = (self.0.first(), &finding.locations[..]) else {
            return Ok(());
        };
        // The time lost is `time * (1 - 1 / factor)`.
        let time = longest.lost.0 as f64 / (1.0 - 1.0 / longest.factor);
        finding.kind = FindingKind::BadCalls {
            location: *location,
            path,
            count: self.0.len(),
        };
        finding.factor = Some(longest.factor);
        finding.own = Some(Nanos(time as i64));
        finding.peers = Some(Nanos((time / longest.factor) as i64));
        if let Some(step) = longest.step {
            let window = window(sources, *location, longest.function, step, job)?;
            finding.window = window.or(finding.window);
        }
        Ok(())
    }
}

/// Returns the window of a call of a function by its number on a location.
pub(super) fn window(
    sources: &Sources<'_>,
    location: LocationId,
    function: FunctionKey,
    step: u64,
    job: &Job,
) -> Result<Option<TimeRange>> {
    let Some(location) = sources.view.location(location) else {
        return Ok(None);
    };
    let regions = &sources.view.definitions().regions;
    let mut search = Search {
        functions: &Unify::default().representatives(regions),
        function: RegionId(function),
        is_state: regions.get(function as usize).is_some_and(is_running),
        before: step,
        stack: Vec::new(),
        found: None,
    };
    replay(location, &mut search, job)?;
    let range = search.found;
    Ok(range.and_then(|(enter, leave)| TimeRange::new(enter, Ticks(leave.0.saturating_add(1)))))
}

/// Visitor that looks for the call of a function with a number, as [`PeerSums`](crate::stragglers::PeerSums) counts.
struct Search<'a> {
    functions: &'a [RegionId],
    function: RegionId,
    /// `true` if the function is a state, whose frames inside of functions are no calls.
    is_state: bool,
    /// Calls before the one that is searched.
    before: u64,
    /// Enter of each open frame.
    stack: Vec<Ticks>,
    found: Option<(Ticks, Ticks)>,
}

impl Visitor for Search<'_> {
    fn enter(&mut self, at: Ticks, _: RegionId, _: usize) {
        self.stack.push(at);
    }

    fn leave(&mut self, at: Ticks, region: RegionId, _: usize, _: Close) {
        let enter = self.stack.pop();
        let function = self.functions.get(region.index()).copied();
        let is_inside = self.is_state && !self.stack.is_empty();
        if function.unwrap_or(region) != self.function || is_inside || self.found.is_some() {
            return;
        }
        match self.before.checked_sub(1) {
            Some(before) => self.before = before,
            None => self.found = enter.map(|enter| (enter, at)),
        }
    }
}
