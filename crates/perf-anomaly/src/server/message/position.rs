//! [`Position`]: run and last step of a rank that the server merged, so that a client that restarts
//! does not send these steps again; [`Resumed`]: state of such a client.

use crate::calls::Calls;
use crate::format_version::{Reader, Writer};
use crate::server::StepStats;
use crate::{Model, Result};
use perf_core::Nanos;
use std::collections::BTreeSet;
use std::ops::Range;

/// Steps of a rank that a server merged from a client.
///
/// A client that was stopped, and reads the same stream again, gets the positions from the server
/// and does not send these steps again; see [`Client::resume`](crate::server::Client::resume).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Position {
    /// Program.
    pub program: u32,
    /// Rank in the program.
    pub rank: u32,
    /// First entry of a call that was completed in the first step, which identifies the run.
    pub first: Nanos,
    /// Number of the last merged step.
    pub last: u64,
}

impl Position {
    /// Adds the steps of a delta. A step before the last merged step of its rank begins another
    /// run. Returns the ranks with such a step.
    pub(in crate::server) fn add(all: &mut Vec<Position>, steps: &[StepStats]) -> Vec<(u32, u32)> {
        let mut restarted = Vec::new();
        for step in steps {
            let new = Position {
                program: step.program,
                rank: step.rank,
                first: step.start,
                last: step.step,
            };
            let is_same = |one: &&mut Position| (one.program, one.rank) == (new.program, new.rank);
            match all.iter_mut().find(is_same) {
                Some(known) if new.last >= known.last => known.last = new.last,
                Some(known) => {
                    *known = new;
                    restarted.push((new.program, new.rank));
                }
                None => all.push(new),
            }
        }
        restarted
    }

    pub(in crate::server) fn write(all: &[Position], to: &mut Writer) {
        to.u32(all.len() as u32);
        for one in all {
            to.varint(one.program.into());
            to.varint(one.rank.into());
            to.signed(one.first.0);
            to.varint(one.last);
        }
    }

    pub(in crate::server) fn read(from: &mut Reader<'_>) -> Result<Vec<Position>> {
        let count = from.count(4, "a number of positions that fits the remaining bytes")?;
        let position = |from: &mut Reader<'_>| {
            Ok(Position {
                program: from.varint32("a program")?,
                rank: from.varint32("a rank")?,
                first: Nanos(from.signed("a time")?),
                last: from.varint("a step")?,
            })
        };
        (0..count).map(|_| position(from)).collect()
    }
}

/// Steps of ranks that the server merged before this client started.
#[derive(Debug, Default)]
pub(in crate::server) struct Resumed {
    /// Positions of ranks, each with `true` if the first step of the rank begins at the same time,
    /// and `None` before that step.
    pub(in crate::server) positions: Vec<(Position, Option<bool>)>,
    /// Ranks of which the server has the modes of this client, and not only of the earlier one.
    pub(in crate::server) with_modes: BTreeSet<(u32, u32)>,
    /// Ranks of the batch whose calls are already merged.
    pub(in crate::server) ranks: Vec<(u32, u32)>,
    /// Rows of these calls in the batch.
    pub(in crate::server) rows: Vec<Range<usize>>,
    /// `true` if a view must be requested.
    pub(in crate::server) wants_view: bool,
    /// Unsent knowledge that is set aside while merged calls are learned again.
    pub(in crate::server) aside: Option<Model>,
}

impl Resumed {
    /// Finds the ranks and rows of the batch that the server has already merged. Returns the rows as ranges in ascending
    /// order, each of one stream.
    pub(in crate::server) fn find(&mut self, calls: &Calls) -> Vec<Range<usize>> {
        self.ranks.clear();
        self.rows.clear();
        if self.positions.is_empty() {
            return Vec::new();
        }
        let batch = calls.batch();
        let streams = batch.streams().iter();
        let of_rank = streams.map(|(stream, rows)| {
            let key = calls.stream_key(*stream).unwrap_or_default();
            ((key.program, key.rank), rows.clone())
        });
        let of_rank: Vec<_> = of_rank.filter(|(_, rows)| !rows.is_empty()).collect();
        for (position, is_same) in &mut self.positions {
            let rank = (position.program, position.rank);
            let own = || of_rank.iter().filter(|(one, _)| *one == rank);
            let rows = own().filter_map(|(_, rows)| batch.calls().get(rows.clone()));
            let first = rows.flatten().map(|call| call.entry).min();
            let Some(first) = first else {
                continue;
            };
            let is_same = *is_same.get_or_insert(first == position.first);
            if is_same && batch.step() <= position.last {
                self.ranks.push(rank);
                self.rows.extend(own().map(|(_, rows)| rows.clone()));
            }
        }
        self.rows.sort_by_key(|rows| rows.start);
        self.rows.clone()
    }
}
