//! [`Background`]: exchange of deltas and views with the server in a separate thread, so that the
//! program need not wait.

use perf_anomaly::server::{Delta, Exchange, View};
use perf_anomaly::{Error, Result};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Exchange in a separate thread, so that the program need not wait. Deltas are queued, and views
/// are collected when they arrive.
///
/// A delta that fails is sent again until it succeeds. The next [`send`](Exchange::send) returns
/// the error and does not accept its delta. [`finish`](Self::finish) waits until the queue is
/// empty.
///
/// ```
/// use perf_anomaly::calls::Calls;
/// use perf_anomaly::server::{Client, Local, Server};
/// use perf_anomaly::{Detector, Tail};
/// use perf_live::client::Background;
/// // Any exchange: here with a server in this process, usually that of a `Link`.
/// let local = Local::new(Server::default());
/// let mut client = Client::new(7, Background::new(local.clone())?);
/// let calls = Calls::default();
/// let mut detector = Tail::default();
/// client.step(&calls, &[], &mut detector)?;
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Debug)]
pub struct Background {
    /// State shared with the thread.
    shared: Arc<(Mutex<Inner>, Condvar)>,
    /// The thread.
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Deltas to be sent; the first is in flight.
    waiting: VecDeque<Delta>,
    /// Latest view, if it has not been collected yet.
    view: Option<View>,
    /// Last error, if it has not been reported yet.
    error: Option<Error>,
    /// `true` once the exchange is closed.
    is_closed: bool,
}

/// Pause between two attempts, in addition to the pauses of the exchange itself.
const PAUSE: Duration = Duration::from_millis(500);

/// Largest number of waiting deltas. A client never has more deltas in flight.
const MAX_WAITING: usize = 64;

fn lock(inner: &Mutex<Inner>) -> MutexGuard<'_, Inner> {
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Background {
    /// Runs an exchange in a separate thread.
    ///
    /// # Errors
    /// Returns [`Error::Exchange`] if the thread cannot be created.
    pub fn new<E: Exchange + 'static>(exchange: E) -> Result<Self> {
        let shared = Arc::new((Mutex::new(Inner::default()), Condvar::new()));
        let own = Arc::clone(&shared);
        let name = std::thread::Builder::new().name("exchange".into());
        let thread = name.spawn(move || run(exchange, &own));
        let thread = thread.map_err(|error| Error::Exchange(error.to_string()))?;
        Ok(Background {
            shared,
            thread: Some(thread),
        })
    }

    /// Waits until the queue is empty.
    ///
    /// # Errors
    /// Returns the error of a delta that failed.
    pub fn finish(&mut self) -> Result<()> {
        let (inner, news) = &*self.shared;
        let mut inner = lock(inner);
        loop {
            if let Some(error) = inner.error.take() {
                return Err(error);
            }
            if inner.waiting.is_empty() {
                return Ok(());
            }
            inner = news.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Sends waiting deltas in order. A failed delta stays in front. If it belongs to another session,
/// the queue is cleared instead, because the client must rebuild its deltas.
fn run(mut exchange: impl Exchange, shared: &(Mutex<Inner>, Condvar)) {
    let (inner, news) = shared;
    let mut inner = lock(inner);
    loop {
        let Some(delta) = inner.waiting.front().cloned() else {
            if inner.is_closed {
                return;
            }
            inner = news.wait(inner).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        drop(inner);
        let outcome = exchange.send(&delta).and_then(|()| exchange.receive());
        inner = lock(&shared.0);
        match outcome {
            Ok(view) => {
                inner.waiting.pop_front();
                inner.view = view.or_else(|| inner.view.take());
                inner.error = None;
            }
            Err(error @ Error::OtherSession { .. }) => {
                inner.waiting.clear();
                inner.error = Some(error);
            }
            Err(error) => {
                inner.error = Some(error);
                if inner.is_closed {
                    return;
                }
                news.notify_all();
                let paused = news.wait_timeout(inner, PAUSE);
                inner = paused.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        news.notify_all();
    }
}

impl Exchange for Background {
    fn send(&mut self, delta: &Delta) -> Result<()> {
        let mut inner = lock(&self.shared.0);
        if let Some(error) = inner.error.take() {
            return Err(error);
        }
        if inner.waiting.len() >= MAX_WAITING {
            return Err(Error::Exchange(
                "the queue of messages to the server is full".into(),
            ));
        }
        inner.waiting.push_back(delta.clone());
        self.shared.1.notify_all();
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<View>> {
        Ok(lock(&self.shared.0).view.take())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        lock(&self.shared.0).is_closed = true;
        self.shared.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // Waiting deltas are still sent. A failure can no longer be reported.
            let _ = thread.join();
        }
    }
}
