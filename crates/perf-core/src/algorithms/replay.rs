//! [`replay()`]: converts the enter and leave events of a location to nested frames for a
//! [`Visitor`]; [`FrameStack`]: the open frames, with rules that repair leaves, counted as
//! [`ReplayCounts`].

use crate::{Cancelled, Event, Events, Job, LocationView, Merge, RegionId, Ticks};

/// Reason why a frame was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Close {
    /// A leave matched the innermost region.
    Top,
    /// A leave matched an outer region, and this frame belongs to that region.
    Nearest,
    /// A leave matched an outer region, and this frame lies inside it.
    Implicit,
    /// A leave referred to a region that is not open, and was applied to the innermost frame.
    Renamed,
    /// The recording or the window ended while the frame was open.
    End,
}

/// Number of repairs made by [`replay()`], and of leaves that needed no repair.
///
/// Each leave counts as one of `top`, `nearest`, `renamed` or `orphan`; the rules are tried in this
/// order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ReplayCounts {
    /// Number of leaves that matched the innermost region.
    pub top: u64,
    /// Number of leaves that matched an outer region, which was closed with all frames inside it.
    pub nearest: u64,
    /// Number of inner frames that `nearest` leaves closed.
    pub implicit_closes: u64,
    /// Number of leaves of a region that was not open, applied to the innermost frame.
    pub renamed: u64,
    /// Number of leaves without an open frame, which were ignored.
    pub orphan: u64,
    /// Number of frames still open at the last event.
    pub open_at_end: u64,
}

impl ReplayCounts {
    /// Returns the number of repaired leaves and frames.
    pub fn repairs(&self) -> u64 {
        self.nearest + self.renamed + self.orphan + self.open_at_end
    }
}

impl Merge for ReplayCounts {
    fn merge(&mut self, other: &Self) {
        self.top += other.top;
        self.nearest += other.nearest;
        self.implicit_closes += other.implicit_closes;
        self.renamed += other.renamed;
        self.orphan += other.orphan;
        self.open_at_end += other.open_at_end;
    }
}

/// Receiver of the frames of a replay.
///
/// Frames nest: each `enter` is followed by one `leave`, in order of time. If the view has a
/// window, frames that are open at its start are entered at its start, and frames that are open at
/// its end are left at its end.
pub trait Visitor {
    /// Receives a frame opened at `depth` (0 for the outermost).
    fn enter(&mut self, at: Ticks, region: RegionId, depth: usize);

    /// Receives the end of the innermost frame, which belongs to `region` and has depth `depth`.
    fn leave(&mut self, at: Ticks, region: RegionId, depth: usize, why: Close);

    /// Receives any other event; `index` is its index on the location.
    fn event(&mut self, _at: Ticks, _event: Event<'_>, _index: usize) {}
}

/// Replays one location: converts its enter and leave events to nested frames.
///
/// A leave that does not match is repaired by the first rule that applies: the outer region is
/// closed with all frames inside it (`nearest`), the innermost frame is closed under another name
/// (`renamed`), or the leave is ignored (`orphan`). Repairs within the view are counted.
///
/// Regions of accelerator streams may overlap, which nested frames cannot represent. Read locations
/// that [overlap](LocationView::overlaps) with [`intervals()`](crate::intervals()).
///
/// The time is proportional to the number of events, even if no leave matches. If the view has a
/// window, the time includes the enters and leaves before the window, because they determine the
/// frames that are open at its start.
///
/// ```
/// use perf_core::{Close, Event, Job, RegionId, Ticks, Visitor, replay};
/// # use perf_core::{Definitions, Events, Location, LocationId, SystemTree, Trace};
/// # let mut definitions = Definitions::default();
/// # definitions.system = SystemTree::new(vec![], vec![], vec![Location::default()], &Default::default())?;
/// # let mut events = Events::default();
/// # events.push(Ticks(0), Event::Enter { region: RegionId(0) })?;
/// # events.push(Ticks(2), Event::Enter { region: RegionId(1) })?;
/// # events.push(Ticks(9), Event::Leave { region: RegionId(0) })?;
/// # let trace = Trace::new(definitions, vec![events])?;
/// # let location = trace.location(LocationId(0)).expect("there is one");
/// #[derive(Default)]
/// struct Deepest(usize);
/// impl Visitor for Deepest {
///     fn enter(&mut self, _: Ticks, _: RegionId, depth: usize) { self.0 = self.0.max(depth); }
///     fn leave(&mut self, _: Ticks, _: RegionId, _: usize, _: Close) {}
/// }
/// let mut deepest = Deepest::default();
/// // Enter 0, enter 1, leave 0: the leave closes both.
/// let counts = replay(location, &mut deepest, &Job::default())?;
/// assert_eq!((deepest.0, counts.nearest, counts.implicit_closes), (1, 1, 1));
/// # Ok::<(), perf_core::Error>(())
/// ```
pub fn replay<V: Visitor + ?Sized>(
    location: LocationView<'_>,
    visitor: &mut V,
    job: &Job,
) -> Result<ReplayCounts, Cancelled> {
    let events = location.all();
    let range = location.range();
    let (mut stack, mut checks) = (FrameStack::default(), job.checks());
    for piece in checks.pieces(0..range.start) {
        stack.pass(events, piece?);
    }
    let counts_before = stack.counts;
    let window = location.window();
    // A location without events has no frames, so its last time does not matter.
    let last = events.times().last().copied().unwrap_or_default();
    if last < window.start {
        // Frames that were still open were closed at the last event, before the window.
        stack.frames.clear();
    }
    for piece in checks.pieces(0..stack.frames.len()) {
        let piece = piece?;
        let frames = &stack.frames[piece.clone()];
        for (depth, region) in piece.zip(frames) {
            visitor.enter(window.start, *region, depth);
        }
    }
    // A shared function like `each_event` of `intervals` would take 10 % more instructions here if
    // the visitor does little.
    for piece in checks.pieces(range.clone()) {
        for index in piece? {
            let (Some(at), Some(event)) = (events.time(index), events.event(index)) else {
                continue;
            };
            match event {
                Event::Enter { region } => {
                    visitor.enter(at, region, stack.frames.len());
                    stack.enter(region);
                }
                Event::Leave { region } => {
                    stack.leave(region, |region, depth, why| {
                        visitor.leave(at, region, depth, why)
                    });
                }
                other => visitor.event(at, other, index),
            }
        }
    }
    let end = last.min(window.end);
    // Frames that an event after the window may close do not count as open at the end of the
    // recording.
    let is_end = range.end == events.len();
    while let Some(region) = stack.frames.pop() {
        checks.next(1)?;
        visitor.leave(end, region, stack.frames.len(), Close::End);
        stack.counts.open_at_end += u64::from(is_end);
    }
    Ok(stack.counts.without(counts_before))
}

/// Returns the frames that are open before event `index` of a location, outermost first, by the
/// rules of [`replay`].
///
/// ```
/// use perf_core::{Event, Events, RegionId, Ticks, open_frames};
/// let mut events = Events::default();
/// events.push(Ticks(0), Event::Enter { region: RegionId(4) })?;
/// events.push(Ticks(2), Event::Leave { region: RegionId(4) })?;
/// assert_eq!(open_frames(&events, 1), [RegionId(4)]);
/// assert!(open_frames(&events, 2).is_empty());
/// # Ok::<(), perf_core::Error>(())
/// ```
pub fn open_frames(events: &Events, index: usize) -> Vec<RegionId> {
    let mut stack = FrameStack::default();
    stack.pass(events, 0..index);
    stack.frames
}

impl ReplayCounts {
    fn without(self, before: ReplayCounts) -> ReplayCounts {
        ReplayCounts {
            top: self.top - before.top,
            nearest: self.nearest - before.nearest,
            implicit_closes: self.implicit_closes - before.implicit_closes,
            renamed: self.renamed - before.renamed,
            orphan: self.orphan - before.orphan,
            open_at_end: self.open_at_end,
        }
    }
}

/// Open frames with the rules for leaves. A stack processes one event at a time, for callers that
/// do not have all events of a location at once. Callers that do have them use [`replay`].
///
/// ```
/// use perf_core::{Close, FrameStack, RegionId};
/// let mut stack = FrameStack::default();
/// stack.enter(RegionId(0));
/// stack.enter(RegionId(1));
/// let mut closed = Vec::new();
/// stack.leave(RegionId(0), |region, depth, why| closed.push((region, depth, why)));
/// assert_eq!(closed, [(RegionId(1), 1, Close::Implicit), (RegionId(0), 0, Close::Nearest)]);
/// assert_eq!(stack.counts().nearest, 1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct FrameStack {
    /// Open frames, outermost first.
    frames: Vec<RegionId>,
    /// Counts of repairs.
    counts: ReplayCounts,
    /// Number of open frames of each region. Built at the first leave that does not match. An
    /// intact recording therefore does not need this table, and a damaged recording does not need a
    /// search of the stack at each leave.
    open: Option<std::collections::HashMap<RegionId, u32>>,
}

impl FrameStack {
    /// Processes some events without reporting frames.
    fn pass(&mut self, events: &Events, range: std::ops::Range<usize>) {
        for index in range {
            match events.event(index) {
                Some(Event::Enter { region }) => self.enter(region),
                Some(Event::Leave { region }) => self.leave(region, |_, _, _| ()),
                _ => {}
            }
        }
    }

    /// Returns the open frames, outermost first.
    pub fn frames(&self) -> &[RegionId] {
        &self.frames
    }

    /// Returns the repairs so far.
    pub fn counts(&self) -> ReplayCounts {
        self.counts
    }

    /// Opens a frame.
    #[inline]
    pub fn enter(&mut self, region: RegionId) {
        self.frames.push(region);
        if let Some(open) = &mut self.open {
            *open.entry(region).or_default() += 1;
        }
    }

    /// Closes frames by the rules of [`replay`], and calls `closed` with the region, depth and
    /// reason of each frame, innermost first.
    #[inline]
    pub fn leave(&mut self, region: RegionId, mut closed: impl FnMut(RegionId, usize, Close)) {
        let Some(top) = self.frames.last().copied() else {
            self.counts.orphan += 1;
            return;
        };
        if top == region {
            self.counts.top += 1;
            self.pop();
            closed(region, self.frames.len(), Close::Top);
        } else {
            self.mend(top, region, &mut closed);
        }
    }

    #[cold]
    fn mend(
        &mut self,
        top: RegionId,
        region: RegionId,
        closed: &mut impl FnMut(RegionId, usize, Close),
    ) {
        let open = self.open.get_or_insert_with(|| {
            let mut open = std::collections::HashMap::new();
            for frame in &self.frames {
                *open.entry(*frame).or_default() += 1;
            }
            open
        });
        // A region that is not in the map is open zero times.
        if open.get(&region).copied().unwrap_or_default() == 0 {
            self.counts.renamed += 1;
            self.pop();
            closed(top, self.frames.len(), Close::Renamed);
            return;
        }
        self.counts.nearest += 1;
        while let Some(frame) = self.pop() {
            if frame == region {
                closed(frame, self.frames.len(), Close::Nearest);
                return;
            }
            self.counts.implicit_closes += 1;
            closed(frame, self.frames.len(), Close::Implicit);
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<RegionId> {
        let frame = self.frames.pop()?;
        if let Some(open) = &mut self.open
            && let Some(count) = open.get_mut(&frame)
        {
            *count -= 1;
        }
        Some(frame)
    }
}
