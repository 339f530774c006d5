//! Sweep over the work of one device: the time in which work of each stream and kind is open, alone
//! and concurrently.

use super::{Piece, Work};
use crate::{Result, Utilisation};
use perf_core::{Job, TimeRange};

const KINDS: usize = Work::ALL.len();

/// Result of a sweep over the work of one device.
#[derive(Debug, Default)]
pub(super) struct Swept {
    /// Utilisation of the device.
    pub(super) utilisation: Utilisation,
    /// Busy time by [`Work`].
    pub(super) busy: [u64; KINDS],
    /// Time in which both kinds are open, by [`Work`]; the diagonal is `busy`.
    pub(super) both: [[u64; KINDS]; KINDS],
    /// Busy time by stream.
    pub(super) streams: Vec<u64>,
}

/// Begin or end of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    /// Time in ticks.
    at: u64,
    /// `true` for an end. Begins sort before ends, so that the union continues if one piece ends as
    /// another begins.
    is_end: bool,
    /// Kind of work.
    work: Work,
    /// Number of the stream.
    stream: u32,
}

/// Sweeps over pieces of work, cut to the window. Each instant counts once for each stream, kind
/// and pair of kinds with open work.
pub(super) fn sweep(
    pieces: &[Piece],
    streams: usize,
    window: TimeRange,
    job: &Job,
) -> Result<Swept> {
    let mut changes = Vec::with_capacity(2 * pieces.len());
    for piece in pieces {
        let (start, end) = (piece.start.max(window.start.0), piece.end.min(window.end.0));
        if start < end {
            let change = |at, is_end| Change {
                at,
                is_end,
                work: piece.work,
                stream: piece.stream,
            };
            changes.extend([change(start, false), change(end, true)]);
        }
    }
    job.sort_by(&mut changes, Ord::cmp)?;
    let mut swept = Swept {
        streams: vec![0; streams],
        ..Swept::default()
    };
    swept.utilisation.span = window.len();
    // Number of open pieces of each stream, and the time since which the stream has been busy.
    let mut open = vec![(0u32, 0u64); streams];
    let mut kinds = [0u32; KINDS];
    let (mut busy_streams, mut last) = (0u64, 0);
    let mut checks = job.checks();
    for change in changes {
        checks.next(1)?;
        let length = change.at - last;
        last = change.at;
        if length > 0 && busy_streams > 0 {
            let found = &mut swept.utilisation;
            found.busy += length;
            found.overlap += if busy_streams > 1 { length } else { 0 };
            let time = length.saturating_mul(busy_streams);
            found.stream_time = found.stream_time.saturating_add(time);
            share(&mut swept, &kinds, length);
        }
        let (Some(own), Some(busy)) = (
            open.get_mut(change.stream as usize),
            swept.streams.get_mut(change.stream as usize),
        ) else {
            continue;
        };
        let kind = &mut kinds[change.work as usize];
        if change.is_end {
            (own.0, *kind) = (own.0 - 1, *kind - 1);
            if own.0 == 0 {
                busy_streams -= 1;
                *busy += change.at - own.1;
            }
        } else {
            if own.0 == 0 {
                swept.utilisation.intervals += u64::from(busy_streams == 0);
                busy_streams += 1;
                own.1 = change.at;
            }
            (own.0, *kind) = (own.0 + 1, *kind + 1);
        }
    }
    Ok(swept)
}

fn share(swept: &mut Swept, kinds: &[u32; KINDS], length: u64) {
    for (one, count) in kinds.iter().enumerate() {
        if *count == 0 {
            continue;
        }
        swept.busy[one] += length;
        for (other, count) in kinds.iter().enumerate() {
            swept.both[one][other] += if *count > 0 { length } else { 0 };
        }
    }
}
