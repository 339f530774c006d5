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
