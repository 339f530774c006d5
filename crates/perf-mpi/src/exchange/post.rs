//! [`Post`]: mailbox in which clients leave deltas and find views.

use perf_anomaly::server::{Delta, Exchange, View};
use perf_anomaly::{Error, Result};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Exchange of a client. Sent deltas are merged in the next round, and received views are from the
/// last one. Neither call waits. Clone it for further clients of the rank.
#[derive(Debug)]
pub struct Post {
    office: Arc<Mutex<Office>>,
    /// Number of the client, known once it has sent a delta.
    client: Option<u64>,
}

/// Deltas and views that wait on a rank.
#[derive(Debug, Default)]
pub(super) struct Office {
    /// Deltas that wait for a round.
    pub(super) outgoing: Vec<Delta>,
    /// Sequence number of the last delta of each client.
    handed: HashMap<u64, u64>,
    /// View or error that waits for each client.
    incoming: HashMap<u64, Result<View>>,
    /// Reason why the exchange has ended; `None` while it runs.
    pub(super) closed: Option<String>,
}

impl Post {
    pub(super) fn new() -> Self {
        Post {
            office: Arc::default(),
            client: None,
        }
    }

    /// Returns a mailbox of an exchange that has ended.
    pub(super) fn closed(why: &str) -> Self {
        let post = Self::new();
        post.office().closed = Some(why.into());
        post
    }

    /// Locks the mailbox. A panic of another thread is ignored, because each change leaves it
    /// consistent.
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
        // Nothing is lost on the way, so a delta is accepted once even if the client sends it
        // again.
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
