//! [`Hub`]: the parameter server without HTTP, which receives messages, stores their data in a
//! database, and returns answers and the current state.
//!
//! A separate thread, the state thread, takes all waiting messages, applies them to the state,
//! stores them in one transaction and then answers them. Acknowledged data is therefore on the
//! disk. Meanwhile the next messages accumulate. If a batch had several messages, the thread waits
//! 2 ms for more before the next batch, because a transaction with many messages takes little
//! longer than a transaction with a single message. After a batch with a single message it does not
//! wait. If storing fails, no message of the batch is acknowledged, and the state is reloaded from
//! the database.

mod finished;
mod lost_time;
mod message;
mod overview;
mod params;
mod queue;
mod slow;
mod state;
mod state_thread;

pub use finished::Finished;
pub(crate) use lost_time::{LostCell, LostTime};
pub use message::{Counts, HubAnswer, Message};
pub use overview::{Overview, ProgramSummary};
pub use params::{CheckedHubParams, HubParams};
pub use slow::Slow;

use crate::store::{DatabaseReader, Writer};
use crate::{Error, Result};
use overview::Cached;
use perf_anomaly::server::{FunctionName, FunctionStats, StepStats};
use perf_anomaly::{CounterSummary, FunctionId, Model};
use queue::Queue;
use state::State;
use state_thread::StateThread;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Receiver of the result of a message.
type Reply = Box<dyn FnOnce(Result<HubAnswer>) + Send>;

/// Waiting message.
struct Request {
    /// Message.
    message: Message,
    /// Receiver of the result.
    reply: Reply,
}

/// Parameter server. Clones share the server. It ends when it is [closed](Self::close) or when the
/// last clone is dropped.
///
/// ```
/// use perf_live::hub::{Hub, Message};
/// use perf_live::wire::Hello;
/// # let file = std::env::temp_dir().join(format!("perf-live-hub-{}.sqlite", std::process::id()));
/// # std::fs::remove_file(&file).ok();
/// let hub = Hub::open(&file, Default::default())?;
/// let hello = Hello { client: 7, program: 0, rank: 3, name: "lammps".into(), host: "n12".into() };
/// let answer = hub.say(Message::Hello(hello), 64)?;
/// assert_eq!((answer.delta, answer.records), (0, 0));
/// assert_eq!(hub.overview().clients, 1);
/// hub.close();
/// # std::fs::remove_file(&file).ok();
/// # Ok::<(), perf_live::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Hub(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Waiting messages.
    queue: Arc<Queue<Request>>,
    /// State of the server.
    state: Arc<Mutex<State>>,
    /// Cached overview.
    overview: Cached<Overview>,
    /// Cached statistics of functions.
    functions: Cached<Vec<(FunctionName, FunctionStats)>>,
    /// Cached statistics of counters, and number of values that are in none.
    counters: Cached<(Vec<CounterSummary>, u64)>,
    /// Cached causes of lost time, and time lost by rank and step.
    compared: Cached<(Arc<Slow>, Arc<LostTime>)>,
    /// Connection for these, opened when it is first needed.
    reader: Mutex<Option<DatabaseReader>>,
    /// Path of the database.
    path: PathBuf,
    /// Callbacks after each batch.
    stored: Hooks,
    /// State thread.
    state_thread: Mutex<Option<JoinHandle<()>>>,
}

/// Callbacks after all messages of a batch were answered.
type Hooks = Arc<Mutex<Vec<Hook>>>;

struct Hook(Box<dyn Fn() -> bool + Send>);

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hook")
    }
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Request").field(&self.message).finish()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A poisoned lock is harmless: after a panic the state equals the database or is reloaded from
    // it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    /// Returns the default parameters.
    pub fn params() -> HubParams {
        HubParams::default()
    }

    /// Opens a server with a database, which is created if it does not exist. The server continues
    /// with the state of an earlier run.
    ///
    /// # Errors
    /// Returns [`Error::Store`] if another server uses the database or if it belongs to another
    /// application, and the errors of decoding its contents.
    pub fn open(path: impl AsRef<Path>, params: CheckedHubParams) -> Result<Self> {
        let mut writer = Writer::open(path.as_ref())?;
        let (state, logged) = State::load(&params.0, &mut writer)?;
        let path = writer.path().to_path_buf();
        let queue = Arc::new(Queue::new(params.0.queue, params.0.bytes));
        let state = Arc::new(Mutex::new(state));
        let stored = Arc::new(Mutex::new(Vec::new()));
        let state_thread = StateThread::new(
            (Arc::clone(&queue), Arc::clone(&state)),
            Arc::clone(&stored),
            params.0,
            (writer, logged),
        );
        let name = std::thread::Builder::new().name("state".into());
        let thread = name.spawn(move || state_thread.run());
        let thread = thread.map_err(|error| Error::Store {
            file: path.display().to_string(),
            what: format!("no thread to write it: {error}"),
        })?;
        Ok(Hub(Arc::new(Shared {
            queue,
            state,
            overview: Cached::default(),
            functions: Cached::default(),
            counters: Cached::default(),
            compared: Cached::default(),
            reader: Mutex::default(),
            path,
            stored,
            state_thread: Mutex::new(Some(thread)),
        })))
    }

    /// Queues a message of `bytes` bytes. `reply` is called once the message is stored or rejected,
    /// and should return quickly.
    ///
    /// # Errors
    /// Returns [`Error::Busy`] if the queue is full, or [`Error::Closed`] if the server is closed.
    pub fn offer(
        &self,
        message: Message,
        bytes: usize,
        reply: impl FnOnce(Result<HubAnswer>) + Send + 'static,
    ) -> Result<()> {
        let reply = Box::new(reply);
        self.0.queue.push(Request { message, reply }, bytes)
    }

    /// Registers a callback that is called after each batch was answered, to wake all waiting tasks
    /// at once. The callback returns `true` to be called again.
    pub(crate) fn after_batch(&self, hook: impl Fn() -> bool + Send + 'static) {
        lock(&self.0.stored).push(Hook(Box::new(hook)));
    }

    /// [Queues](Self::offer) a message, and waits until it is stored.
    ///
    /// # Errors
    /// Returns the errors of `offer`, or the reason why the message was rejected.
    pub fn say(&self, message: Message, bytes: usize) -> Result<HubAnswer> {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        let reply = move |answer| drop(sender.send(answer));
        self.offer(message, bytes, reply)?;
        receiver.recv().map_err(|_| Error::Closed)?
    }

    /// Returns the overview of all ranks, at most 200 ms old.
    pub fn overview(&self) -> Arc<Overview> {
        let make = || Overview::of(&lock(&self.0.state));
        self.0.overview.get(make)
    }

    /// Returns the statistics of each function on all ranks, in descending order of time lost, at
    /// most 200 ms old.
    pub fn functions(&self) -> Arc<Vec<(FunctionName, FunctionStats)>> {
        let make = || lock(&self.0.state).functions();
        self.0.functions.get(make)
    }

    /// Returns the statistics of each counter on all ranks, and the number of values that are in none, at most 200 ms
    /// old, or ten times as old as they take to compute.
    pub fn counters(&self) -> Arc<(Vec<CounterSummary>, u64)> {
        let make = || lock(&self.0.state).counters();
        self.0.counters.get(make)
    }

    /// Returns the ranks, phases and modes that are slow, and the causes of lost time, at most 200 ms old, or ten times as old as
    /// they take to compute.
    pub fn slow(&self) -> Arc<Slow> {
        Arc::clone(&self.compared().0)
    }

    /// Returns the time lost by rank and step, as old as [`slow`](Self::slow).
    pub(crate) fn lost_time(&self) -> Arc<LostTime> {
        Arc::clone(&self.compared().1)
    }

    fn compared(&self) -> Arc<(Arc<Slow>, Arc<LostTime>)> {
        // The lock is released before the comparison, during which messages are handled.
        let snapshot = || lock(&self.0.state).snapshot();
        self.0.compared.get(|| {
            let mut reader = lock(&self.0.reader);
            if reader.is_none() {
                *reader = DatabaseReader::open(&self.0.path).ok();
            }
            snapshot().compare(reader.as_ref())
        })
    }

    /// Returns the number of a function, and the model of all ranks with this function alone.
    pub(crate) fn model_of(&self, name: &FunctionName) -> Option<(FunctionId, Model)> {
        State::model_of(&lock(&self.0.state).server, name)
    }

    /// Returns the steps of a rank that are in memory, starting at step `from`.
    pub fn steps(&self, program: u32, rank: u32, from: u64) -> Vec<StepStats> {
        let state = lock(&self.0.state);
        let steps = state.server.steps(program, rank);
        steps.filter(|one| one.step >= from).copied().collect()
    }

    /// Returns a number that changes with every change of the state.
    pub fn revision(&self) -> u64 {
        lock(&self.0.state).revision
    }

    /// Returns the counters.
    pub fn counts(&self) -> Counts {
        lock(&self.0.state).counts
    }

    /// Returns the number of waiting messages and their total size in bytes.
    pub fn waiting(&self) -> (usize, usize) {
        self.0.queue.size()
    }

    /// Returns the path of the database.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Rejects further messages, and returns when the waiting messages are stored.
    pub fn close(&self) {
        self.0.queue.close();
        if let Some(state_thread) = lock(&self.0.state_thread).take() {
            // Errors of the thread were already part of the answers.
            let _ = state_thread.join();
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.queue.close();
    }
}
