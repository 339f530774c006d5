//! [`Post`]: where clients leave deltas and find views.

use perf_anomaly::server::{Delta, Exchange, View};
use perf_anomaly::{Error, Result};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// The exchange of a client: what it sends goes with the next round, what it receives came with the last
/// one. Neither waits. Clones are for further clients of the rank.
#[derive(Debug)]
pub struct Post {
    office: Arc<Mutex<Office>>,
    /// Whose views these are: known once it sends.
    client: Option<u64>,
}

/// What waits on a rank.
#[derive(Debug, Default)]
pub(super) struct Office {
    /// Deltas that wait for a round.
    pub(super) outgoing: Vec<Delta>,
    /// The last delta that each client handed in.
    handed: HashMap<u64, u64>,
    /// The view that waits for each client, or what went wrong.
    incoming: HashMap<u64, Result<View>>,
    /// Why nothing goes out any more.
    pub(super) closed: Option<String>,
}

impl Post {
    pub(super) fn new() -> Self {
        Post {
            office: Arc::default(),
            client: None,
        }
    }

    /// One by which nothing goes any more.
    pub(super) fn closed(why: &str) -> Self {
        let post = Self::new();
        post.office().closed = Some(why.into());
        post
    }

    /// The office, whatever happened to a thread that had it: each change of it is whole.
    pub(super) fn office(&self) -> MutexGuard<'_, Office> {
        match self.office.lock() {
            Ok(office) => office,
            Err(poisoned) => poisoned.into_inner(),
        }
    }
}

impl Clone for Post {
    fn clone(&self) -> Self {
        Post {
            office: Arc::clone(&self.office),
            client: None,
        }
    }
}

impl Office {
    pub(super) fn deliver(&mut self, client: u64, view: Result<View>) {
        self.incoming.insert(client, view);
    }
}

impl Exchange for Post {
    fn send(&mut self, delta: &Delta) -> Result<()> {
        self.client = Some(delta.client);
        let mut office = self.office();
        if let Some(why) = &office.closed {
            return Err(Error::Exchange(why.clone()));
        }
        // Nothing is lost on the way, so that what was handed in need not go again.
        let last = office.handed.entry(delta.client).or_default();
        if delta.sequence > *last {
            *last = delta.sequence;
            office.outgoing.push(delta.clone());
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<View>> {
        let Some(client) = self.client else {
            return Ok(None);
        };
        self.office().incoming.remove(&client).transpose()
    }
}
