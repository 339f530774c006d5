//! Idle time of a device: each [`Gap`] between pieces of work, split by [`Cause`], which is what
//! the device waits for.

use super::{Piece, Work};
use crate::Result;
use perf_core::{Job, Ticks, TimeRange};

/// Cause of idle time. See [`Devices`](super::Devices) for the exact definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum Cause {
    /// Late host: the device ran out of work before the call that launches the next work began.
    HostLate,
    /// Launch latency: the call that launches the next work has begun, but the work has not.
    Launch,
    /// The next work was launched in time. The next work or the work that ended last is a copy.
    Copy,
    /// The next work was launched in time. The next work or the work that ended last is a set, and
    /// neither is a copy.
    Set,
    /// The next work was launched in time. The next work or the work that ended last is
    /// communication, and neither is a copy or a set.
    Communication,
    /// The next work was launched in time, and there are computing kernels on both sides of the
    /// gap.
    Kernel,
    /// No work has been launched yet, or no more work follows.
    QueueEmpty,
    /// The recording does not contain the launch of the next work.
    Unknown,
}

impl Cause {
    /// All causes in order.
    pub const ALL: [Cause; 8] = [
        Cause::HostLate,
        Cause::Launch,
        Cause::Copy,
        Cause::Set,
        Cause::Communication,
        Cause::Kernel,
        Cause::QueueEmpty,
        Cause::Unknown,
    ];

    /// Returns the name, in lower-case words joined by `_`.
    pub fn name(self) -> &'static str {
        match self {
            Cause::HostLate => "host_late",
            Cause::Launch => "launch",
            Cause::Copy => "copy",
            Cause::Set => "set",
            Cause::Communication => "communication",
            Cause::Kernel => "kernel",
            Cause::QueueEmpty => "queue_empty",
            Cause::Unknown => "unknown",
        }
    }
}

/// Interval without work, from the end of the last work to the begin of the next.
///
/// Gaps are cut to the [`Span`](super::Span). The gap before the first work of a device begins with
/// the span, and the gap after the last work ends with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Gap {
    /// Interval without work; not empty.
    pub range: TimeRange,
    /// End of the first cause. Equal to the end of the gap if there is only one cause.
    #[cfg_attr(feature = "serde", serde(rename = "end_of_first_cause"))]
    turn: Ticks,
    /// Causes before and after `turn`.
    causes: [Cause; 2],
}

impl Gap {
    /// Returns the parts of the gap in order, each with its cause. They cover the gap without
    /// overlap, none is empty, and their causes differ.
    ///
    /// A gap has two parts in three cases: the host was late and the launch then took time, the gap
    /// begins during the launch call and ends after it, or the gap is before the first work and
    /// contains its launch. All other gaps have one part.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_fold::{Cause, DeviceParams, Devices};
    /// let trace = perf_core::samples::device::trace();
    /// let devices = Devices::new(trace.view(), &DeviceParams::new().keep_gaps(true), &Job::default())?;
    /// let gap = devices.devices()[0].gaps[1];
    /// let parts: Vec<_> = gap.parts().map(|(cause, range)| (cause, range.len())).collect();
    /// assert_eq!(parts, [(Cause::HostLate, 15), (Cause::Launch, 5)]);
    /// assert_eq!(gap.range.len(), 20);
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    pub fn parts(&self) -> impl Iterator<Item = (Cause, TimeRange)> {
        let [first, second] = self.causes;
        let (start, end) = (self.range.start, self.turn);
        let before = (first, TimeRange { start, end });
        let (start, end) = (self.turn, self.range.end);
        let after = (second, TimeRange { start, end });
        let both = [before, after].into_iter();
        both.filter(|(_, range)| range.start < range.end)
    }

    /// Cuts a gap to the window. Returns `None` if the remaining gap is empty.
    fn cut(
        (start, turn, end): (u64, u64, u64),
        causes: [Cause; 2],
        window: TimeRange,
    ) -> Option<Self> {
        let (start, end) = (start.max(window.start.0), end.min(window.end.0));
        let (range, turn) = (super::range(start, end), turn.clamp(start, end.max(start)));
        (start < end).then_some(Gap {
            range,
            turn: Ticks(turn),
            causes,
        })
    }
}

/// Calls `add` for each gap of one device within the window, in order of time. Zero-length work
/// ends a gap too, so two gaps may touch.
///
/// `pieces` must be sorted by start.
pub(super) fn gaps(
    pieces: &[Piece],
    window: TimeRange,
    job: &Job,
    mut add: impl FnMut(Gap),
) -> Result<()> {
    let mut before = Before::default();
    let mut checks = job.checks();
    for group in pieces.chunk_by(|a, b| a.start == b.start) {
        checks.next(group.len())?;
        let Some(first) = group.first() else {
            continue;
        };
        let start = first.start;
        let (times, causes) = match before.until {
            Some(until) if until < start => split(until, start, &before, next(group)),
            Some(_) => ((start, start, start), [Cause::Unknown; 2]),
            None => {
                let launch = next(group).launch.map_or(start, |launch| launch.min(start));
                ((0, launch, start), [Cause::QueueEmpty, Cause::Launch])
            }
        };
        Gap::cut(times, causes, window)
            .into_iter()
            .for_each(&mut add);
        group.iter().for_each(|piece| before.add(piece));
    }
    let last = (before.until.unwrap_or(0), u64::MAX, u64::MAX);
    let rest = Gap::cut(last, [Cause::QueueEmpty; 2], window);
    rest.into_iter().for_each(add);
    Ok(())
}

/// Returns the piece that ends the gap. If several pieces begin at the same time, it is the piece
/// that was launched first.
fn next(group: &[Piece]) -> Piece {
    let launched = |piece: &&Piece| {
        let is_unknown = piece.launch.is_none();
        (is_unknown, piece.launch, piece.work, piece.launch_end)
    };
    group
        .iter()
        .min_by_key(launched)
        .copied()
        .unwrap_or_default()
}

/// Returns the begin of a gap, the end of its first cause and its end, with its causes.
fn split(start: u64, end: u64, before: &Before, next: Piece) -> ((u64, u64, u64), [Cause; 2]) {
    let Some(launch) = next.launch else {
        return ((start, end, end), [Cause::Unknown; 2]);
    };
    if launch > start {
        let times = (start, launch.min(end), end);
        return (times, [Cause::HostLate, Cause::Launch]);
    }
    let has = |work: Work| next.work == work || before.ended[work as usize];
    let cause = if has(Work::Copy) {
        Cause::Copy
    } else if has(Work::Set) {
        Cause::Set
    } else if has(Work::Communication) {
        Cause::Communication
    } else {
        Cause::Kernel
    };
    let is_kernel = matches!(next.work, Work::Compute | Work::Communication);
    match next.launch_end {
        launched if is_kernel && launched > start => {
            let times = (start, launched.min(end), end);
            (times, [Cause::Launch, cause])
        }
        _ => ((start, end, end), [cause; 2]),
    }
}

/// Work before a gap.
#[derive(Debug, Default)]
struct Before {
    /// End of the last work.
    until: Option<u64>,
    /// Kinds of work that ended at `until`.
    ended: [bool; Work::ALL.len()],
}

impl Before {
    fn add(&mut self, piece: &Piece) {
        if self.until.is_none_or(|until| piece.end > until) {
            self.until = Some(piece.end);
            self.ended = Default::default();
        }
        if self.until == Some(piece.end) {
            self.ended[piece.work as usize] = true;
        }
    }
}
