//! Why a device is idle: its gaps, split by what it waits for.

use super::{Piece, Work};
use crate::Result;
use perf_core::{CancelToken, Looks, Ticks, TimeRange};

/// What an idle device waits for. See [`Devices`](super::Devices) for the exact definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// The host is late: the device ran dry before the call that launches the next work began.
    HostLate,
    /// The launch came after the device ran dry, and work does not begin at once.
    Launch,
    /// The next work was launched in time; it or what ended last is a copy or a set.
    Copy,
    /// The next work was launched in time; it or what ended last is communication.
    Communication,
    /// The next work was launched in time, and kernels that compute are on both sides.
    Kernel,
    /// Nothing has been launched yet, or nothing comes any more.
    QueueEmpty,
    /// The recording does not tell when the next work was launched.
    Unknown,
}

impl Cause {
    /// All, in order.
    pub const ALL: [Cause; 7] = [
        Cause::HostLate,
        Cause::Launch,
        Cause::Copy,
        Cause::Communication,
        Cause::Kernel,
        Cause::QueueEmpty,
        Cause::Unknown,
    ];

    /// A name of lower-case words joined by `_`.
    pub fn name(self) -> &'static str {
        match self {
            Cause::HostLate => "host_late",
            Cause::Launch => "launch",
            Cause::Copy => "copy",
            Cause::Communication => "communication",
            Cause::Kernel => "kernel",
            Cause::QueueEmpty => "queue_empty",
            Cause::Unknown => "unknown",
        }
    }
}

/// A stretch of time in which a device is idle for one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gap {
    /// When; not empty.
    pub range: TimeRange,
    /// Why.
    pub cause: Cause,
}

/// Tells the gaps of one device within the window, in order of time and without seam: two that
/// follow on each other differ in cause, or work of no length lies between them.
///
/// `pieces` are sorted by start.
pub(super) fn gaps(
    pieces: &[Piece],
    window: TimeRange,
    cancel: &CancelToken,
    mut tell: impl FnMut(Gap),
) -> Result<()> {
    let mut tell = |start: u64, end: u64, cause| {
        let range = TimeRange {
            start: Ticks(start.max(window.start.0)),
            end: Ticks(end.min(window.end.0)),
        };
        if range.start < range.end {
            tell(Gap { range, cause });
        }
    };
    let mut before = Before::default();
    let mut looks = Looks::new(cancel);
    for group in pieces.chunk_by(|a, b| a.start == b.start) {
        looks.next(group.len())?;
        let Some(first) = group.first() else {
            continue;
        };
        let start = first.start;
        match before.until {
            Some(until) if until < start => {
                let next = next(group);
                for (start, end, cause) in split(until, start, &before, next) {
                    tell(start, end, cause);
                }
            }
            Some(_) => {}
            None => {
                let launch = next(group).launch.map_or(start, |launch| launch.min(start));
                tell(0, launch, Cause::QueueEmpty);
                tell(launch, start, Cause::Launch);
            }
        }
        group.iter().for_each(|piece| before.add(piece));
    }
    tell(before.until.unwrap_or(0), u64::MAX, Cause::QueueEmpty);
    Ok(())
}

/// Of several that begin at one time, the one that was launched first ends the gap.
fn next(group: &[Piece]) -> Piece {
    let launched = |piece: &&Piece| (piece.launch.is_none(), piece.launch, piece.work);
    group
        .iter()
        .min_by_key(launched)
        .copied()
        .unwrap_or_default()
}

fn split(start: u64, end: u64, before: &Before, next: Piece) -> [(u64, u64, Cause); 2] {
    let Some(launch) = next.launch else {
        return [(start, end, Cause::Unknown), (end, end, Cause::Unknown)];
    };
    if launch > start {
        let launch = launch.min(end);
        return [
            (start, launch, Cause::HostLate),
            (launch, end, Cause::Launch),
        ];
    }
    let has = |work: Work| next.work == work || before.ended[work as usize];
    let cause = match () {
        () if has(Work::Copy) || has(Work::Set) => Cause::Copy,
        () if has(Work::Communication) => Cause::Communication,
        () => Cause::Kernel,
    };
    [(start, end, cause), (end, end, cause)]
}

/// Until when work was open, and of which kinds that was which ended then.
#[derive(Debug, Default)]
struct Before {
    until: Option<u64>,
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
