//! [`overlapping`] and [`nested`]: collect the calls of a location, each a [`Call`] with its begin
//! and end, and the indices of its other events, for the writer of Chrome traces.

use perf_core::{
    Cancelled, Close, Event, Job, LocationView, RegionId, Ticks, Visitor, intervals, replay,
};

/// Calls, and the indices of the other events.
type Calls = Result<(Vec<Call>, Vec<usize>), Cancelled>;

/// A completed call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    /// Region of the call.
    pub(super) region: RegionId,
    /// Begin of the call.
    pub(super) start: Ticks,
    /// End of the call.
    pub(super) end: Ticks,
    /// Index of its enter; [`usize::MAX`] for a call that was open before the window.
    pub(super) enter: usize,
    /// Index of the end of the last collective operation in it, outside of calls below.
    pub(super) collective: Option<usize>,
}

/// Returns the calls of a location with overlapping activities, in the order of their enters, and
/// the indices of the other events.
pub(super) fn overlapping(location: LocationView<'_>, job: &Job) -> Calls {
    let mut calls = Vec::new();
    intervals(
        location,
        |call| {
            calls.push(Call {
                region: call.region,
                start: call.start,
                end: call.end,
                enter: call.enter,
                collective: None,
            });
        },
        job,
    )?;
    job.sort_by(&mut calls, |a, b| a.enter.cmp(&b.enter))?;
    let is_call = |event| matches!(event, Some(Event::Enter { .. } | Event::Leave { .. }));
    let others = location.range();
    let others = others.filter(|index| !is_call(location.all().event(*index)));
    Ok((calls, others.collect()))
}

/// Like [`overlapping`], for nested calls: the outer ones first.
pub(super) fn nested(location: LocationView<'_>, job: &Job) -> Calls {
    let mut frames = Frames::default();
    replay(location, &mut frames, job)?;
    let mut calls = frames.calls;
    let all = location.all();
    let is_enter = |index: &usize| matches!(all.event(*index), Some(Event::Enter { .. }));
    let enters: Vec<usize> = location.range().filter(is_enter).collect();
    let before = calls.len().saturating_sub(enters.len());
    for (call, enter) in calls.iter_mut().skip(before).zip(enters) {
        call.enter = enter;
    }
    Ok((calls, frames.others))
}

#[derive(Default)]
struct Frames {
    /// Calls found so far.
    calls: Vec<Call>,
    /// Indices of the open calls.
    open: Vec<usize>,
    /// Indices of the other events.
    others: Vec<usize>,
}

impl Visitor for Frames {
    fn enter(&mut self, at: Ticks, region: RegionId, _depth: usize) {
        self.open.push(self.calls.len());
        self.calls.push(Call {
            region,
            start: at,
            end: at,
            enter: usize::MAX,
            collective: None,
        });
    }

    fn leave(&mut self, at: Ticks, _region: RegionId, _depth: usize, _why: Close) {
        let call = self.open.pop().and_then(|call| self.calls.get_mut(call));
        if let Some(call) = call {
            call.end = at;
        }
    }

    fn event(&mut self, _at: Ticks, event: Event<'_>, index: usize) {
        let call = self.open.last().and_then(|call| self.calls.get_mut(*call));
        if let (Event::CollectiveEnd(_), Some(call)) = (event, call) {
            call.collective = Some(index);
        }
        self.others.push(index);
    }
}
