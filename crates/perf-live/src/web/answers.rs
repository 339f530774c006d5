//! [`Answers`]: transfer of answers from the state thread to the connections, one batch at a time.

use crate::Result;
use crate::hub::HubAnswer;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, oneshot};

/// Task that waits for an answer.
pub(super) type Waiting = oneshot::Sender<Result<HubAnswer>>;

/// Answers on their way from the state thread to the connections. Sending each answer separately
/// would wake the other thread each time, so answers are sent in batches.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Answers of the current batch.
    all: Mutex<Vec<(Waiting, Result<HubAnswer>)>>,
    /// Signals a complete batch.
    news: Notify,
}

impl Answers {
    /// Locks the answers. A poisoned lock is harmless, because no holder of the lock can panic.
    fn all(&self) -> MutexGuard<'_, Vec<(Waiting, Result<HubAnswer>)>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an answer.
    pub(super) fn put(&self, to: Waiting, reply: Result<HubAnswer>) {
        self.all().push((to, reply));
    }

    /// Signals that the batch is complete.
    pub(super) fn give(&self) {
        if !self.all().is_empty() {
            self.news.notify_one();
        }
    }

    /// Delivers answers to the waiting tasks. This function never returns.
    pub(super) async fn carry(&self) {
        loop {
            self.news.notified().await;
            let all = std::mem::take(&mut *self.all());
            for (to, reply) in all {
                // The requesting task may have ended.
                let _ = to.send(reply);
            }
        }
    }
}
