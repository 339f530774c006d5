//! [`Answers`]: what the keeper says, handed over a batch at a time.

use crate::Result;
use crate::hub::Told;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, oneshot};

/// Who waits for an answer.
pub(super) type Waiting = oneshot::Sender<Result<Told>>;

/// Answers on their way from the thread of the keeper to that of the connections. Each of them alone would
/// wake the other thread; so a batch of them does once.
#[derive(Debug, Default)]
pub(super) struct Answers {
    all: Mutex<Vec<(Waiting, Result<Told>)>>,
    news: Notify,
}

impl Answers {
    /// Nothing that holds it can fail half way.
    fn all(&self) -> MutexGuard<'_, Vec<(Waiting, Result<Told>)>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an answer.
    pub(super) fn put(&self, to: Waiting, told: Result<Told>) {
        self.all().push((to, told));
    }

    /// All of a batch are there.
    pub(super) fn give(&self) {
        if !self.all().is_empty() {
            self.news.notify_one();
        }
    }

    /// Gives answers to who waits, for ever.
    pub(super) async fn carry(&self) {
        loop {
            self.news.notified().await;
            let all = std::mem::take(&mut *self.all());
            for (to, told) in all {
                // Who asked may be gone by now.
                let _ = to.send(told);
            }
        }
    }
}
