//! Collective operations.

use super::ranks::{Process, Ranks};
use super::{Endpoint, Messages, Unmatched, UnmatchedCause};
use crate::trace::RecordCounts;
use crate::{Collective, CollectiveOp, CommId, Event, Job, LocationId, Result};
use std::collections::HashMap;

/// What one rank did in a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CollectiveMember {
    /// Where it began, or was started.
    pub begin: Endpoint,
    /// Where it ended.
    pub end: Endpoint,
    /// Bytes this rank sent.
    pub sent: u64,
    /// Bytes this rank received.
    pub received: u64,
}

/// One collective operation with all ranks that recorded it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectiveInstance {
    /// What was done. Ranks that did something else are no members; see
    /// [`UnmatchedCause::OtherCollective`].
    pub op: CollectiveOp,
    /// The communicator.
    pub comm: CommId,
    /// The root's rank, where there is one, as the first member has it.
    pub root: Option<u32>,
    /// The ranks that recorded it, by location; one a process.
    pub members: Vec<CollectiveMember>,
}

/// What one rank did, and its place among all.
#[derive(Clone, Copy, Debug)]
struct Ended {
    /// The communicator, and the location that has it to itself where each has.
    of: (CommId, Option<LocationId>),
    process: Process,
    /// Number of this one among those of the process.
    number: usize,
    op: CollectiveOp,
    root: Option<u32>,
    member: CollectiveMember,
}

/// Bytes of what one rank did.
pub(super) const ENDED: usize = size_of::<Ended>();

#[derive(Debug, Default)]
pub(super) struct Collectives {
    ended: Vec<Ended>,
    unmatched: Vec<Unmatched>,
    begun: Option<Endpoint>,
    posted: HashMap<u64, Endpoint>,
}

impl Collectives {
    /// Room for all that end.
    pub(super) fn with_room(counts: RecordCounts) -> Self {
        Collectives {
            ended: Vec::with_capacity(counts.collectives),
            ..Collectives::default()
        }
    }

    pub(super) fn start(&mut self) {
        self.begun = None;
        self.posted.clear();
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
                    process: ranks.process(at.location),
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
        // The threads of a process share its rank, so they count together.
        let key = |ended: &Ended| (ended.of, ended.process, ended.member.begin);
        job.sort_by(&mut self.ended, |a, b| key(a).cmp(&key(b)))?;
        for rank in self
            .ended
            .chunk_by_mut(|a, b| (a.of, a.process) == (b.of, b.process))
        {
            for (number, ended) in rank.iter_mut().enumerate() {
                ended.number = number;
            }
        }
        let key = |ended: &Ended| (ended.of, ended.number, ended.member.begin.location);
        job.sort_by(&mut self.ended, |a, b| key(a).cmp(&key(b)))?;
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

/// One operation of what each rank did as its n-th. Who did what most did not is unmatched.
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

/// What most ranks did; among equals what the first of them did.
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
