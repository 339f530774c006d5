//! [`Rounds`]: copy of the server on a rank, to which each round adds the merged deltas of all
//! ranks, and from which clients get views.

use super::{Finished, Mailbox};
use crate::tree::{Family, Outcome, Part, Plan, Round, Status, Way};
use crate::{Error, Reader, Result, Wire};
use mpi::topology::SimpleCommunicator;
use perf_anomaly::server::{Delta, Server, ServerParams, Sum};
use perf_core::Merge;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

/// Totals over the rounds so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Figures {
    rounds: u64,
    deltas: u64,
    refused: u64,
    sent: u64,
    received: u64,
    merging: Duration,
}

impl Figures {
    fn of(self, server: Server) -> Finished {
        Finished {
            server,
            rounds: self.rounds,
            deltas: self.deltas,
            refused: self.refused,
            sent: self.sent,
            received: self.received,
            merging: self.merging,
        }
    }
}

/// Result of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    /// Number of deltas of all ranks.
    pub(super) deltas: u64,
    /// `true` if there were new clients. Their deltas are merged in the next round, which is due
    /// immediately.
    pub(super) is_due: bool,
    /// `true` if all ranks are done.
    pub(super) all_done: bool,
    /// Lowest rank that is done.
    pub(super) first_done: Option<usize>,
}

/// Consecutive rounds of one rank.
#[derive(Debug)]
pub(super) struct Rounds {
    /// Rank, and number of ranks.
    place: (usize, usize),
    /// Maximum message size, and the kind of messages.
    way: (u64, Way),
    /// Copy of the server.
    server: Server,
    /// Mailbox of the clients.
    mailbox: Mailbox,
    /// Positions of the clients in the tree.
    clients: Clients,
    /// Deltas that wait until all ranks know their clients.
    held: Vec<Delta>,
    /// Deltas of this rank in the current round.
    flying: Vec<Delta>,
    /// Current round, if there is one.
    round: Option<Round<Parcel>>,
    /// Data of single ranks of the round, which are added after its functions.
    of_ranks: Option<Sum>,
    /// Totals so far.
    figures: Figures,
}

impl Rounds {
    /// Creates the state of a rank before the first round.
    pub(super) fn new(
        place: (usize, usize),
        way: (u64, Way),
        (params, mailbox): (ServerParams, Mailbox),
    ) -> Result<Self> {
        // A view is published once in a round, regardless of the parameters.
        let server = Server::new(params.publish(1 << 30).check()?);
        Ok(Rounds {
            place,
            way,
            server,
            mailbox,
            clients: Clients::new(Family::new(place.0, place.1)),
            held: Vec::new(),
            flying: Vec::new(),
            round: None,
            of_ranks: None,
            figures: Figures::default(),
        })
    }

    pub(super) fn server(&self) -> &Server {
        &self.server
    }

    pub(super) fn mailbox(&self) -> &Mailbox {
        &self.mailbox
    }

    pub(super) fn finish(self) -> Finished {
        self.figures.of(self.server)
    }

    pub(super) fn finished(&self) -> Finished {
        self.figures.of(self.server.clone())
    }

    /// Returns `true` if a round is in progress.
    pub(super) fn is_on_its_way(&self) -> bool {
        self.round.is_some()
    }

    /// Begins a round with all deltas of the clients.
    pub(super) fn begin(&mut self, is_done: bool) {
        let begin = Instant::now();
        let mut deltas = std::mem::take(&mut self.held);
        deltas.append(&mut self.mailbox.contents().outgoing);
        // The positions of clients must be the same on all ranks, so new clients are announced
        // before their deltas are merged.
        let (known, new): (Vec<Delta>, Vec<Delta>) = deltas
            .into_iter()
            .partition(|delta| self.clients.places.contains_key(&delta.client));
        let mut news: Vec<u64> = new.iter().map(|delta| delta.client).collect();
        news.sort_unstable();
        news.dedup();
        let is_done = is_done && new.is_empty();
        self.held = new;
        let parts = self.parts(&known);
        self.flying = known;
        let status = Status::new(self.place.0, is_done, news);
        self.round = Some(Round::new(self.place, status, Ok(parts), self.way));
        self.figures.merging += begin.elapsed();
    }

    /// Returns the parts of the clients of this rank, one for each client. Errors are only
    /// delivered to the client concerned.
    fn parts(&mut self, deltas: &[Delta]) -> Vec<Part<Parcel>> {
        let mut parts: BTreeMap<u32, Parcel> = BTreeMap::new();
        for delta in deltas {
            let Some(place) = self.clients.places.get(&delta.client) else {
                continue;
            };
            match self.server.sum(delta) {
                Ok(sum) => match parts.entry(*place) {
                    Entry::Vacant(slot) => {
                        slot.insert(Parcel::new(sum));
                    }
                    Entry::Occupied(mut slot) => slot.get_mut().merge(&Parcel::new(sum)),
                },
                Err(error) => self.mailbox.contents().deliver(delta.client, Err(error)),
            }
        }
        let parts = parts.into_iter();
        parts.map(|(place, part)| Part::new(place, part)).collect()
    }

    /// Advances the round, and returns its result when it is complete. Never waits.
    pub(super) fn poll(&mut self, comm: &SimpleCommunicator) -> Option<Result<Ended>> {
        let begin = Instant::now();
        let round = self.round.as_mut()?;
        let before = round.progress();
        // Only rank 0 keeps the statistics of single ranks. The rest goes down the tree, and is added
        // when it has reached all ranks.
        let of_ranks = &mut self.of_ranks;
        let mut at_top = |parcel: &mut Parcel| *of_ranks = Some(parcel.sum.take_ranks());
        let outcome = round.poll(comm, &self.clients.plan, &mut at_top);
        let is_in_vain = round.progress() == before;
        let Some(outcome) = outcome else {
            if !is_in_vain {
                self.figures.merging += begin.elapsed();
            }
            return None;
        };
        self.round = None;
        let ended = outcome.and_then(|outcome| self.take(outcome));
        self.figures.merging += begin.elapsed();
        Some(ended)
    }

    /// Adds the merged deltas to the server, and answers the clients.
    fn take(&mut self, outcome: Outcome<Parcel>) -> Result<Ended> {
        let whole = outcome.whole.unwrap_or_default();
        self.server.add(&whole.sum)?;
        // Run times of ranks use the names of functions in the whole sum.
        if let Some(of_ranks) = self.of_ranks.take() {
            self.server.add(&of_ranks)?;
        }
        let deltas = whole.sum.deltas();
        if deltas > 0 {
            self.server.publish();
        }
        self.answer();
        self.figures.rounds += 1;
        self.figures.deltas += deltas;
        self.figures.refused += whole.refused;
        self.figures.sent += outcome.sent;
        self.figures.received += outcome.received;
        let is_due = !outcome.news.is_empty();
        self.clients.add(&outcome.news);
        Ok(Ended {
            deltas,
            is_due,
            all_done: outcome.all_done,
            first_done: outcome.first_done,
        })
    }

    /// Delivers a view to each client that sent a delta.
    fn answer(&mut self) {
        let flying = std::mem::take(&mut self.flying);
        let last: HashMap<u64, &Delta> = flying.iter().map(|one| (one.client, one)).collect();
        for (client, delta) in last {
            let view = self.server.answer(delta);
            self.mailbox.contents().deliver(client, view);
        }
    }
}

/// Positions at which the parts of clients are merged; they are the same on all ranks.
#[derive(Debug)]
struct Clients {
    /// Neighbours of this rank in the tree.
    family: Family,
    /// Position of each client.
    places: HashMap<u64, u32>,
    /// Rank of the client at each position.
    owners: Vec<u32>,
    /// Order in which parts are merged.
    plan: Plan,
}

impl Clients {
    fn new(family: Family) -> Self {
        Clients {
            family,
            places: HashMap::new(),
            owners: Vec::new(),
            plan: Plan::default(),
        }
    }

    /// Adds new clients in order.
    fn add(&mut self, news: &[(u64, u32)]) {
        if news.is_empty() {
            return;
        }
        for (client, owner) in news {
            let place = self.owners.len() as u32;
            self.places.entry(*client).or_insert(place);
            self.owners.push(*owner);
        }
        let owners = self.owners.iter().map(|owner| *owner as usize);
        self.plan = Plan::new(owners, &self.family.all);
    }
}

/// Merged deltas of some clients.
#[derive(Clone, Debug, Default)]
struct Parcel {
    /// Merged deltas.
    sum: Sum,
    /// Number of deltas whose detector differs from that of the first one.
    refused: u64,
}

impl Parcel {
    fn new(sum: Sum) -> Self {
        Parcel { sum, refused: 0 }
    }
}

impl Merge for Parcel {
    fn merge(&mut self, other: &Self) {
        self.refused += other.refused;
        if self.sum.merge(&other.sum).is_err() {
            self.refused += other.sum.deltas();
        }
    }
}

impl Wire for Parcel {
    const LEAST: usize = 16;

    fn write(&self, to: &mut Vec<u8>) {
        let bytes = self.sum.encode();
        (self.refused, bytes.len()).write(to);
        to.extend_from_slice(&bytes);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let refused = u64::read(from)?;
        let count = from.count64(1, "the length of a sum in bytes")?;
        let start = from.at();
        let sum = Sum::decode(from.bytes(count, "a sum")?);
        let sum = sum.map_err(|error| match error {
            perf_anomaly::Error::Decode { at, expected } => Error::Decode {
                at: start + at,
                expected,
            },
            other => other.into(),
        })?;
        Ok(Parcel { sum, refused })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_anomaly::calls::Calls;
    use perf_anomaly::server::Client;
    use perf_anomaly::{Detector, Tail, Watch};
    use perf_core::{Job, Nanos};

    /// Returns the deltas of a client that has learned from some calls.
    fn learned_deltas(mailbox: &Mailbox, steps: u64) -> Vec<Delta> {
        let calls = Calls::default();
        let mut watch = Watch::new(calls, 0, 0).period(Nanos(0));
        let mut detector = Tail::default();
        let mut client = Client::new(5, mailbox.clone()).in_flight(1);
        let region = watch.region("solve");
        for step in 0..steps as i64 {
            for call in 0..20 {
                let begin = 1_000_000 * step + 10_000 * call;
                watch.enter(0, region, Nanos(begin));
                watch.exit(0, region, Nanos(begin + 5_000 + call));
            }
            watch.end_step();
            let calls = watch.sink();
            let mut judgements = Vec::new();
            detector
                .detect(calls.batch().samples(), &mut judgements, &Job::default())
                .unwrap();
            client.step(calls, &judgements, &mut detector).unwrap();
        }
        mailbox.contents().outgoing.clone()
    }

    #[test]
    fn a_delta_waits_once_however_often_it_is_sent() {
        // One delta may be in flight; the client sends it again in each step.
        assert_eq!(learned_deltas(&Mailbox::new(), 4).len(), 1);
    }

    #[test]
    fn what_is_no_sum_is_an_error_with_its_place() {
        let delta = &learned_deltas(&Mailbox::new(), 1)[0];
        let server = Server::default();
        let parcel = Parcel::new(server.sum(delta).unwrap());
        let bytes = parcel.to_bytes();
        assert_eq!(Parcel::from_bytes(&bytes).unwrap().sum, parcel.sum);
        for end in 0..bytes.len() {
            let error = Parcel::from_bytes(&bytes[..end]).unwrap_err();
            assert!(
                matches!(error, Error::Decode { at, .. } if at <= end),
                "{error}"
            );
        }
        for at in 0..bytes.len() {
            // The damaged bytes give a sum or an error, and a server accepts or refuses the sum
            // without a panic.
            let mut odd = bytes.clone();
            odd[at] ^= 0x55;
            if let Ok(odd) = Parcel::from_bytes(&odd) {
                let _ = server.clone().add(&odd.sum);
            }
        }
    }

    #[test]
    fn detectors_that_differ_are_counted() {
        let server = Server::default();
        let delta = &learned_deltas(&Mailbox::new(), 1)[0];
        let mut other = delta.clone();
        other.model = perf_anomaly::Model::Sstd(Default::default());
        let mut first = Parcel::new(server.sum(delta).unwrap());
        first.merge(&Parcel::new(server.sum(&other).unwrap()));
        assert_eq!((first.sum.deltas(), first.refused), (1, 1));
    }
}
