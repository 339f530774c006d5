//! [`Round`]: one merge of the parts of all ranks, up the tree of messages and down again, advanced
//! by polling, with the progress and error of each rank as [`Status`].

use super::nonblocking::{DOWN, Incoming, Outgoing, UP, Way};
use super::{Family, Part, Plan};
use crate::{Error, Reader, Result, Wire};
use mpi::topology::SimpleCommunicator;
use perf_core::Merge;
use std::sync::Arc;

/// Data that a rank sends in addition to its parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Status {
    /// Lowest rank with an error, and its message.
    wrong: Option<(u64, String)>,
    /// `true` if all ranks so far are done.
    is_done: bool,
    /// Lowest rank that is done.
    first_done: Option<u64>,
    /// Numbers of new clients, with their ranks.
    pub(crate) news: Vec<(u64, u32)>,
}

impl Status {
    /// Creates the data of a rank without an error.
    pub(crate) fn new(rank: usize, is_done: bool, news: Vec<u64>) -> Self {
        let news = news.into_iter().map(|one| (one, rank as u32));
        Status {
            wrong: None,
            is_done,
            first_done: is_done.then_some(rank as u64),
            news: news.collect(),
        }
    }

    fn fail(&mut self, rank: usize, error: &Error) {
        let mine = (rank as u64, error.to_string());
        self.wrong = Some(match self.wrong.take() {
            Some(known) => known.min(mine),
            None => mine,
        });
    }

    fn add(&mut self, other: Status) {
        self.wrong = match (self.wrong.take(), other.wrong) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        self.is_done &= other.is_done;
        self.first_done = match (self.first_done, other.first_done) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        self.news.extend(other.news);
    }
}

impl Wire for Status {
    const LEAST: usize = 1 + 1 + 1 + 8;

    fn write(&self, to: &mut Vec<u8>) {
        self.wrong.write(to);
        self.is_done.write(to);
        self.first_done.write(to);
        self.news.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        Ok(Status {
            wrong: Wire::read(from)?,
            is_done: Wire::read(from)?,
            first_done: Wire::read(from)?,
            news: Wire::read(from)?,
        })
    }
}

/// Result of a round, the same on all ranks.
#[derive(Debug)]
pub(crate) struct Outcome<T> {
    /// Merged parts; `None` if no rank had any.
    pub(crate) whole: Option<T>,
    /// `true` if all ranks are done.
    pub(crate) all_done: bool,
    /// Lowest rank that is done.
    pub(crate) first_done: Option<usize>,
    /// Numbers of new clients with their ranks, in ascending order.
    pub(crate) news: Vec<(u64, u32)>,
    /// Bytes that this rank sent.
    pub(crate) sent: u64,
    /// Bytes that this rank received.
    pub(crate) received: u64,
}

/// Round in progress. It only advances when it is polled, and never waits.
#[derive(Debug)]
pub(crate) struct Round<T> {
    /// Number of this rank.
    rank: usize,
    /// Neighbours in the tree.
    family: Family,
    /// Data of this rank and of those below it in the tree.
    status: Status,
    /// Parts of this rank and of those below it in the tree.
    parts: Vec<Part<T>>,
    /// Error of this rank.
    error: Option<Error>,
    /// Maximum size of a message in bytes.
    limit: u64,
    /// Kind of messages.
    way: Way,
    /// Bytes sent so far.
    sent: u64,
    /// Bytes received so far.
    received: u64,
    /// Progress of the round.
    state: State<T>,
}

#[derive(Debug)]
enum State<T> {
    /// Receives from the children.
    Gathers(Vec<Incoming>),
    /// Sends to the parent, and receives its answer.
    Rises(Outgoing, Incoming),
    /// Sends to the children.
    Falls(Vec<Outgoing>, Result<(Status, Option<T>)>),
    Over,
}

impl<T: Merge + Wire> Round<T> {
    /// Begins a round with the parts of this rank, or with its error.
    pub(crate) fn new(
        (rank, size): (usize, usize),
        status: Status,
        parts: Result<Vec<Part<T>>>,
        (limit, way): (u64, Way),
    ) -> Self {
        let family = Family::new(rank, size);
        let children = family.children.iter();
        let children = children.map(|child| Incoming::new(*child, UP, limit));
        let state = State::Gathers(children.collect());
        let mut round = Round {
            rank,
            family,
            status,
            parts: Vec::new(),
            error: None,
            limit,
            way,
            sent: 0,
            received: 0,
            state,
        };
        match parts {
            Ok(parts) => round.parts = parts,
            Err(error) => round.fail(error),
        }
        round
    }

    /// Records an error. From here on all ranks only exchange errors.
    fn fail(&mut self, error: Error) {
        self.status.fail(self.rank, &error);
        self.parts = Vec::new();
        self.error.get_or_insert(error);
    }

    /// Returns the progress so far. It changes with every poll that had an effect.
    pub(crate) fn progress(&self) -> (u8, u64, u64) {
        let state = match self.state {
            State::Gathers(_) => 0,
            State::Rises(..) => 1,
            State::Falls(..) => 2,
            State::Over => 3,
        };
        (state, self.sent, self.received)
    }

    /// Advances the round as far as the received messages allow, and returns the result once it is
    /// complete. Rank 0 calls `at_top` on the merged value, which may take out data that need not
    /// be sent down.
    pub(crate) fn poll(
        &mut self,
        comm: &SimpleCommunicator,
        plan: &Plan,
        at_top: &mut dyn FnMut(&mut T),
    ) -> Option<Result<Outcome<T>>> {
        if let State::Gathers(children) = &mut self.state {
            let way = self.way;
            let is_there: Vec<bool> = children
                .iter_mut()
                .map(|child| child.poll(comm, way))
                .collect();
            if is_there.contains(&false) {
                return None;
            }
            self.gathered();
            self.rise(plan, at_top);
        }
        if let State::Rises(out, back) = &mut self.state {
            if !out.poll(comm, self.way) || !back.poll(comm, self.way) {
                return None;
            }
            self.turn();
        }
        if let State::Falls(out, _) = &mut self.state {
            let way = self.way;
            let is_out: Vec<bool> = out.iter_mut().map(|out| out.poll(comm, way)).collect();
            if is_out.contains(&false) {
                return None;
            }
        }
        match std::mem::replace(&mut self.state, State::Over) {
            State::Falls(_, outcome) => Some(outcome.and_then(|outcome| self.outcome(outcome))),
            // Polled again after its end.
            _ => Some(Err(Error::Background("the round is over".into()))),
        }
    }

    /// Reads the messages of the children.
    fn gathered(&mut self) {
        let State::Gathers(children) = std::mem::replace(&mut self.state, State::Over) else {
            return;
        };
        for child in children {
            let from = child.from();
            match self.read::<(Status, Vec<Part<T>>)>(child) {
                Ok((status, parts)) => {
                    self.status.add(status);
                    self.parts.extend(parts);
                }
                Err(error) => self.fail(error.sent_by(from)),
            }
        }
    }

    fn read<V: Wire>(&mut self, message: Incoming) -> Result<V> {
        let limit = self.limit;
        let bytes = message.into_bytes().map_err(|got| too_long(got, limit))?;
        self.received += bytes.len() as u64;
        V::from_bytes(&bytes)
    }

    /// Sends the merged parts up; rank 0 turns to the way down.
    fn rise(&mut self, plan: &Plan, at_top: &mut dyn FnMut(&mut T)) {
        let parts = plan.settle(std::mem::take(&mut self.parts));
        let Some(parent) = self.family.parent else {
            return self.top(parts, at_top);
        };
        let mut bytes = (std::mem::take(&mut self.status), parts).to_bytes();
        if bytes.len() as u64 > self.limit {
            let error = too_long(bytes.len() as u64, self.limit);
            self.status.fail(self.rank, &error);
            self.error.get_or_insert(error);
            bytes = (std::mem::take(&mut self.status), Vec::<Part<T>>::new()).to_bytes();
        }
        self.sent += bytes.len() as u64;
        self.state = State::Rises(
            Outgoing::new(parent, UP, Arc::new(bytes)),
            Incoming::new(parent, DOWN, self.limit),
        );
    }

    fn top(&mut self, mut parts: Vec<Part<T>>, at_top: &mut dyn FnMut(&mut T)) {
        let mut status = std::mem::take(&mut self.status);
        status.news.sort_unstable();
        let twice = status.news.windows(2).find_map(|two| match two {
            [(one, first), (other, second)] if one == other => Some((*one, *first, *second)),
            _ => None,
        });
        if let Some((client, first, second)) = twice {
            let ranks = format!("ranks {first} and {second}");
            status.fail(
                second as usize,
                &Error::Parameter {
                    name: "the number of a client",
                    value: format!("{client} on {ranks}"),
                    range: "unique among all ranks",
                },
            );
        }
        if parts.len() > 1 {
            // Parts with invalid places, or with places that occur twice.
            status.fail(
                self.rank,
                &Error::Decode {
                    at: 0,
                    expected: "disjoint parts of existing places",
                },
            );
        }
        let mut whole = parts.pop().map(|part| part.value);
        whole = whole.filter(|_| status.wrong.is_none());
        if let Some(whole) = &mut whole {
            at_top(whole);
        }
        if self.family.children.is_empty() {
            self.state = State::Falls(Vec::new(), Ok((status, whole)));
            return;
        }
        let mut down = (status, whole);
        let mut bytes = down.to_bytes();
        if bytes.len() as u64 > self.limit {
            down.0
                .fail(self.rank, &too_long(bytes.len() as u64, self.limit));
            down.1 = None;
            bytes = down.to_bytes();
        }
        self.fall(Arc::new(bytes), Ok(down));
    }

    /// Forwards the message from the parent unchanged, even if it is malformed.
    fn turn(&mut self) {
        let State::Rises(_, back) = std::mem::replace(&mut self.state, State::Over) else {
            return;
        };
        let limit = self.limit;
        let (bytes, down) = match back.into_bytes() {
            Ok(bytes) => {
                self.received += bytes.len() as u64;
                let down = <(Status, Option<T>)>::from_bytes(&bytes);
                (bytes, down)
            }
            Err(got) => (Vec::new(), Err(too_long(got, limit))),
        };
        let parent = self.family.parent.unwrap_or_default();
        self.fall(Arc::new(bytes), down.map_err(|error| error.sent_by(parent)));
    }

    fn fall(&mut self, bytes: Arc<Vec<u8>>, outcome: Result<(Status, Option<T>)>) {
        self.sent += (bytes.len() * self.family.children.len()) as u64;
        let children = self.family.children.iter();
        let out = children.map(|child| Outgoing::new(*child, DOWN, Arc::clone(&bytes)));
        self.state = State::Falls(out.collect(), outcome);
    }

    fn outcome(&mut self, (status, whole): (Status, Option<T>)) -> Result<Outcome<T>> {
        match (self.error.take(), status.wrong) {
            (Some(error), _) => Err(error),
            (None, Some((rank, what))) => Err(Error::Elsewhere {
                rank: rank as usize,
                what,
            }),
            (None, None) => Ok(Outcome {
                whole,
                all_done: status.is_done,
                first_done: status.first_done.map(|rank| rank as usize),
                news: status.news,
                sent: self.sent,
                received: self.received,
            }),
        }
    }
}

fn too_long(got: u64, limit: u64) -> Error {
    Error::TooLong {
        what: "merged parts",
        got,
        limit,
    }
}
