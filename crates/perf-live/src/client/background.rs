//! [`Background`]: nobody waits for the network.

use perf_anomaly::server::{Delta, Exchange, View};
use perf_anomaly::{Error, Result};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// An exchange in a thread of its own: deltas are handed over, views are picked up when they come, and
/// the program goes on.
///
/// A delta that does not get through is sent again until it does, and is the error of the next
/// [`send`](Exchange::send), which takes nothing then. [`finish`](Self::finish) waits for what is on its way.
///
/// ```
/// use perf_anomaly::calls::Calls;
/// use perf_anomaly::server::{Client, Local, Server};
/// use perf_anomaly::{Detector, Tail};
/// use perf_live::client::Background;
/// // Any exchange: here with a server in this process, elsewhere that of a `Link`.
/// let local = Local::new(Server::default());
/// let mut client = Client::new(7, Background::new(local.clone())?);
/// let calls = Calls::default();
/// let mut detector = Tail::default();
/// client.step(&calls, &[], &mut detector)?;
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Debug)]
pub struct Background {
    shared: Arc<(Mutex<Inner>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Inner {
    /// What is to be sent; the first is on its way.
    waiting: VecDeque<Delta>,
    view: Option<View>,
    error: Option<Error>,
    is_closed: bool,
}

/// Between two attempts, beside those that the exchange makes by itself.
const PAUSE: Duration = Duration::from_millis(500);

/// Deltas that may wait: a client has no more on their way.
const MOST: usize = 64;

fn lock(inner: &Mutex<Inner>) -> MutexGuard<'_, Inner> {
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Background {
    /// Runs an exchange in a thread of its own.
    ///
    /// # Errors
    /// [`Error::Exchange`] if there can be no such thread.
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

    /// Waits until nothing is on its way.
    ///
    /// # Errors
    /// The error of a delta that did not get through.
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

/// Sends what waits, in order. What did not get through stays in front; only what the server does not
/// understand any more is given back, for the client to say it anew.
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
        if inner.waiting.len() >= MOST {
            return Err(Error::Exchange("too much waits for it".into()));
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
            // What waits is still sent; a failure would have nobody to tell.
            let _ = thread.join();
        }
    }
}
