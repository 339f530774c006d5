//! [`Replica`]: the copy of the server that a rank has.

use super::Post;
use crate::{Result, Wire};
use perf_anomaly::server::{Delta, Server, ServerParams};

/// The copy of the server on this rank.
#[derive(Debug)]
pub(super) struct Replica(Server);

impl Replica {
    pub(super) fn new(params: ServerParams) -> Result<Self> {
        // A view is made once a round, whatever the parameters say.
        Ok(Replica(Server::new(params.publish(1 << 30).check()?)))
    }

    pub(super) fn server(&self) -> &Server {
        &self.0
    }

    pub(super) fn into_server(self) -> Server {
        self.0
    }

    /// Merges the deltas of all ranks, and gives the clients of this one their views. All ranks get the
    /// same bytes, and so all of them fail or none.
    pub(super) fn round(&mut self, all: &[Vec<u8>], rank: usize, post: &Post) -> Result<u64> {
        let mut deltas: Vec<(usize, Delta)> = Vec::new();
        for (from, bytes) in all.iter().enumerate() {
            if bytes.is_empty() {
                continue;
            }
            for bytes in <Vec<Vec<u8>>>::from_bytes(bytes)? {
                deltas.push((from, Delta::decode(&bytes)?));
            }
        }
        // By client: the result does not depend on which rank a client is on.
        deltas.sort_by_key(|(_, delta)| (delta.client, delta.sequence));
        let taken = deltas.len() as u64;
        let mut refused = Vec::new();
        for (from, delta) in &deltas {
            if let Err(error) = self.0.take(delta)
                && *from == rank
            {
                refused.push((delta.client, error));
            }
        }
        if taken > 0 {
            self.0.publish();
        }
        let mut views = Vec::new();
        for (at, (from, delta)) in deltas.iter().enumerate() {
            let next = deltas.get(at + 1).map(|(_, next)| next.client);
            if *from == rank && next != Some(delta.client) {
                // A delta that comes again is not taken again, but answered.
                views.push((delta.client, self.0.take(delta)));
            }
        }
        let mut office = post.office();
        for (client, view) in views {
            office.deliver(client, view);
        }
        for (client, error) in refused {
            office.deliver(client, Err(error));
        }
        Ok(taken)
    }
}

/// What a rank gives to a round: nothing if nothing waits.
pub(super) fn parcel(outgoing: Vec<Vec<u8>>) -> Vec<u8> {
    match outgoing.is_empty() {
        true => Vec::new(),
        false => outgoing.to_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_anomaly::calls::Calls;
    use perf_anomaly::server::Client;
    use perf_anomaly::{Detector, Tail, Watch};
    use perf_core::Nanos;

    /// A rank: its copy of the server, and a client that tells it of some calls.
    struct Rank {
        replica: Replica,
        post: Post,
        client: Client<Post>,
        watch: Watch<Calls>,
        detector: Tail,
    }

    impl Rank {
        fn new(number: u64) -> Self {
            let post = Post::new();
            let calls = Calls::new(Calls::params().check().unwrap());
            Rank {
                replica: Replica::new(Server::params()).unwrap(),
                client: Client::new(number, post.clone()).in_flight(1),
                post,
                watch: Watch::new(calls, 0, number as u32).period(Nanos(0)),
                detector: Tail::new(Tail::params().check().unwrap()),
            }
        }

        fn step(&mut self, step: i64) {
            let region = self.watch.region("solve");
            for call in 0..20 {
                let begin = 1_000_000 * step + 10_000 * call;
                self.watch.enter(0, region, Nanos(begin));
                self.watch.exit(0, region, Nanos(begin + 5_000 + call));
            }
            self.watch.end_step();
            let calls = self.watch.sink();
            let mut judgements = Vec::new();
            self.detector
                .detect(calls.batch().samples(), &mut judgements);
            let synced = self.client.step(calls, &judgements, &mut self.detector);
            synced.unwrap();
        }

        fn parcel(&self) -> Vec<u8> {
            parcel(std::mem::take(&mut self.post.office().outgoing))
        }
    }

    #[test]
    fn copies_are_the_same_and_clients_hear_of_all() {
        let mut ranks = [Rank::new(1), Rank::new(0)];
        for step in 0..3 {
            for rank in &mut ranks {
                rank.step(step);
            }
            let all: Vec<Vec<u8>> = ranks.iter().map(Rank::parcel).collect();
            for (at, rank) in ranks.iter_mut().enumerate() {
                assert_eq!(rank.replica.round(&all, at, &rank.post).unwrap(), 2);
            }
            let [one, two] = &ranks;
            let bytes = |rank: &Rank| rank.replica.server().encode();
            assert_eq!(bytes(one), bytes(two), "step {step}");
        }
        // Calls of both, but for the first of each and what comes with the next view.
        let [one, _] = &mut ranks;
        one.step(3);
        let known = one.detector.sketch(perf_anomaly::FunctionId(0));
        assert!(known.is_some_and(|sketch| sketch.count() >= 2 * 59));
    }

    #[test]
    fn a_delta_waits_once_however_often_it_is_sent() {
        let mut rank = Rank::new(0);
        for step in 0..4 {
            // One delta may be on its way; it is sent again in each step.
            rank.step(step);
        }
        assert_eq!(rank.post.office().outgoing.len(), 1);
    }

    #[test]
    fn what_is_no_delta_is_an_error_on_all() {
        let mut rank = Rank::new(0);
        rank.step(0);
        let sound = rank.parcel();
        for end in 1..sound.len() {
            let all = [sound[..end].to_vec(), Vec::new()];
            assert!(rank.replica.round(&all, 0, &rank.post).is_err(), "{end}");
        }
        assert_eq!(
            rank.replica
                .round(&[sound, Vec::new()], 0, &rank.post)
                .unwrap(),
            1
        );
    }
}
