//! [`Mailbox`]: exchange of a client with the rounds on its rank; sent deltas wait for the next
//! round, and received views are from the last one.

use perf_anomaly::server::{Delta, Exchange, View};
use perf_anomaly::{Error, Result};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Exchange of a client. Sent deltas are merged in the next round, and received views are from the
/// last one. Neither call waits. Clone it for further clients of the rank.
#[derive(Debug)]
pub struct Mailbox {
    contents: Arc<Mutex<Contents>>,
    /// Number of the client, known once it has sent a delta.
    client: Option<u64>,
}

/// Deltas and views that wait on a rank.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// Deltas that wait for a round.
    pub(super) outgoing: Vec<Delta>,
    /// Sequence number of the last delta of each client.
    handed: HashMap<u64, u64>,
    /// View or error that waits for each client.
    incoming: HashMap<u64, Result<View>>,
    /// Reason why the exchange has ended; `None` while it runs.
    pub(super) closed: Option<String>,
}

impl Mailbox {
    pub(super) fn new() -> Self {
        Mailbox {
            contents: Arc::default(),
            client: None,
        }
    }

    /// Returns a mailbox of an exchange that has ended.
    pub(super) fn closed(why: &str) -> Self {
        let mailbox = Self::new();
        mailbox.contents().closed = Some(why.into());
        mailbox
    }

    /// Locks the mailbox. A panic of another thread is ignored, because each change leaves it
    /// consistent.
    pub(super) fn contents(&self) -> MutexGuard<'_, Contents> {
        match self.contents.lock() {
            Ok(contents) => contents,
            Err(poisoned) => poisoned.into_inner(),
        }
    }
}

impl Clone for Mailbox {
    fn clone(&self) -> Self {
        Mailbox {
            contents: Arc::clone(&self.contents),
            client: None,
        }
    }
}

impl Contents {
    pub(super) fn deliver(&mut self, client: u64, view: Result<View>) {
        self.incoming.insert(client, view);
    }
}

impl Exchange for Mailbox {
    fn send(&mut self, delta: &Delta) -> Result<()> {
        self.client = Some(delta.client);
        let mut contents = self.contents();
        if let Some(why) = &contents.closed {
            return Err(Error::Exchange(why.clone()));
        }
        // Nothing is lost on the way, so a delta is accepted once even if the client sends it
        // again.
        let last = contents.handed.entry(delta.client).or_default();
        if delta.sequence > *last {
            *last = delta.sequence;
            contents.outgoing.push(delta.clone());
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<View>> {
        let Some(client) = self.client else {
            return Ok(None);
        };
        self.contents().incoming.remove(&client).transpose()
    }
}
