//! Matching of collective operations: the n-th operations of all ranks of a communicator form one
//! [`CollectiveInstance`].

use super::ranks::{Process, Ranks};
use super::{Endpoint, Messages, Unmatched, UnmatchedCause};
use crate::trace::RecordCounts;
use crate::{Collective, CollectiveOp, CommId, Event, Job, LocationId, Result, parallel};
use std::collections::HashMap;

/// Part of one rank in a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CollectiveMember {
    /// Begin of a blocking operation, or start of a non-blocking one.
    pub begin: Endpoint,
    /// End.
    pub end: Endpoint,
    /// Bytes sent by this rank.
    pub sent: u64,
    /// Bytes received by this rank.
    pub received: u64,
}

/// One collective operation with all ranks that recorded it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectiveInstance {
    /// Operation. Ranks that recorded another operation are not members; see
    /// [`UnmatchedCause::OtherCollective`].
    pub op: CollectiveOp,
    /// Communicator.
    pub comm: CommId,
    /// Rank of the root as recorded by the first member, or `None` if there is no root.
    pub root: Option<u32>,
    /// Ranks that recorded the operation, ordered by location; one entry for each process.
    pub members: Vec<CollectiveMember>,
}

/// Collective operation on one rank, with its sort key.
#[derive(Clone, Copy, Debug)]
struct Ended {
    /// Communicator, and the location if each location has its own instance of the communicator.
    of: (CommId, Option<LocationId>),
    /// Process that took part.
    process: Process,
    /// Number among the collectives of the process.
    number: usize,
    /// Operation.
    op: CollectiveOp,
    /// Rank of the root.
    root: Option<u32>,
    /// Part of the rank.
    member: CollectiveMember,
}

/// Size in bytes of an [`Ended`] record.
pub(super) const ENDED: usize = size_of::<Ended>();

/// Collectives of one location, and of all locations once they are merged.
#[derive(Debug, Default)]
pub(super) struct Collectives {
    /// Completed operations.
    ended: Vec<Ended>,
    /// Ends without a partner.
    unmatched: Vec<Unmatched>,
    /// Begin of the current blocking operation.
    begun: Option<Endpoint>,
    /// Starts of non-blocking operations by request.
    posted: HashMap<u64, Endpoint>,
}

impl Collectives {
    /// Allocates space for all completed operations.
    pub(super) fn with_capacity(counts: RecordCounts) -> Self {
        Collectives {
            ended: Vec::with_capacity(counts.collectives),
            ..Collectives::default()
        }
    }

    /// Adds the collectives of another location.
    pub(super) fn append(&mut self, mut other: Collectives) {
        self.ended.append(&mut other.ended);
        self.unmatched.append(&mut other.unmatched);
    }

    pub(super) fn event(&mut self, at: Endpoint, event: Event<'_>, ranks: &Ranks<'_>) {
        match event {
            Event::CollectiveBegin => {
                if let Some(earlier) = self.begun.replace(at) {
                    self.lose(earlier);
                }
            }
            Event::CollectivePost { request } => {
                if let Some(earlier) = self.posted.insert(request, at) {
                    self.lose(earlier);
                }
            }
            Event::CollectiveEnd(collective) => {
                let begin = match collective.request {
                    Some(request) => self.posted.remove(&request),
                    None => self.begun.take(),
                };
                let Some(begin) = begin else {
                    self.lose(at);
                    return;
                };
                let Some(process) = ranks.process(at.location) else {
                    return;
                };
                let owner = ranks.is_own(collective.comm).then_some(at.location);
                let Collective {
                    op,
                    comm,
                    root,
                    sent,
                    received,
                    ..
                } = collective;
                self.ended.push(Ended {
                    of: (comm, owner),
                    process,
                    number: 0,
                    op,
                    root,
                    member: CollectiveMember {
                        begin,
                        end: at,
                        sent,
                        received,
                    },
                });
            }
            _ => {}
        }
    }

    pub(super) fn finish(&mut self) {
        let begun = self.begun.take();
        let posted = std::mem::take(&mut self.posted);
        for end in begun.into_iter().chain(posted.into_values()) {
            self.lose(end);
        }
    }

    fn lose(&mut self, end: Endpoint) {
        let cause = UnmatchedCause::HalfCollective;
        self.unmatched.push(Unmatched {
            end,
            cause,
            peer: None,
        });
    }

    pub(super) fn gather(mut self, found: &mut Messages, job: &Job) -> Result<()> {
        // The threads of a process share its rank, so they are counted together.
        let key = |ended: &Ended| (ended.of, ended.process, ended.member.begin);
        parallel::sort_by(&mut self.ended, |a, b| key(a).cmp(&key(b)), job)?;
        for rank in self
            .ended
            .chunk_by_mut(|a, b| (a.of, a.process) == (b.of, b.process))
        {
            for (number, ended) in rank.iter_mut().enumerate() {
                ended.number = number;
            }
        }
        let key = |ended: &Ended| (ended.of, ended.number, ended.member.begin.location);
        parallel::sort_by(&mut self.ended, |a, b| key(a).cmp(&key(b)), job)?;
        let mut unmatched = std::mem::take(&mut self.unmatched);
        let mut checks = job.checks();
        for same in self
            .ended
            .chunk_by(|a, b| (a.of, a.number) == (b.of, b.number))
        {
            checks.next(same.len())?;
            found.collectives.extend(instance(same, &mut unmatched));
        }
        found
            .collectives
            .sort_by_key(|instance| instance.members.iter().map(|member| member.begin).min());
        found.unmatched.append(&mut unmatched);
        Ok(())
    }
}

/// Builds one operation from the n-th operations of all ranks. Ranks with another operation than
/// the most common one are unmatched.
fn instance(ended: &[Ended], unmatched: &mut Vec<Unmatched>) -> Option<CollectiveInstance> {
    let op = most_common(ended)?;
    let (is, other): (Vec<&Ended>, Vec<&Ended>) = ended.iter().partition(|ended| ended.op == op);
    unmatched.extend(other.into_iter().map(|ended| Unmatched {
        end: ended.member.end,
        cause: UnmatchedCause::OtherCollective,
        peer: None,
    }));
    let first = is.first()?;
    Some(CollectiveInstance {
        op,
        comm: first.of.0,
        root: first.root,
        members: is.iter().map(|ended| ended.member).collect(),
    })
}

/// Returns the most common operation. In a tie, the operation that occurs first wins.
fn most_common(ended: &[Ended]) -> Option<CollectiveOp> {
    let first = ended.first()?.op;
    if ended.iter().all(|ended| ended.op == first) {
        return Some(first);
    }
    let mut counts: HashMap<CollectiveOp, usize> = HashMap::new();
    for ended in ended {
        *counts.entry(ended.op).or_default() += 1;
    }
    let most = counts.values().copied().max()?;
    let mut ops = ended.iter().map(|ended| ended.op);
    ops.find(|op| counts.get(op) == Some(&most))
}
