//! [`Hub`]: the server without its web. Messages in, answers out, a database behind.
//!
//! A thread of its own, the keeper, takes all messages that wait, applies them to the state, stores them
//! in one transaction and answers them then: what was answered is on the disk. While it stores, the next
//! messages gather, and where several came at once it waits 2 ms for more: a transaction of many costs little
//! more than one of one, and who is alone waits for nobody. Where
//! storing fails, nothing of the batch is answered, and the state is read again from the database.

mod finished;
mod keeper;
mod message;
mod overview;
mod params;
mod queue;
mod state;

pub use finished::Finished;
pub use message::{Counts, Message, Told};
pub use overview::{Overview, ProgramSummary};
pub use params::{CheckedHubParams, HubParams};

use crate::store::Writer;
use crate::{Error, Result};
use keeper::Keeper;
use overview::Cached;
use perf_anomaly::server::{FunctionName, FunctionStats, StepStats};
use queue::Queue;
use state::State;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Who is told what became of a message.
type Reply = Box<dyn FnOnce(Result<Told>) + Send>;

/// A message that waits.
struct Request {
    message: Message,
    reply: Reply,
}

/// A server. Clones are of the same one; it ends with [`close`](Self::close) or the last of them.
///
/// ```
/// use perf_live::hub::{Hub, Message};
/// use perf_live::wire::Hello;
/// # let file = std::env::temp_dir().join(format!("perf-live-hub-{}.sqlite", std::process::id()));
/// # std::fs::remove_file(&file).ok();
/// let hub = Hub::open(&file, Default::default())?;
/// let hello = Hello { client: 7, program: 0, rank: 3, name: "lammps".into(), host: "n12".into() };
/// let told = hub.say(Message::Hello(hello), 64)?;
/// assert_eq!((told.delta, told.records), (0, 0));
/// assert_eq!(hub.overview().clients, 1);
/// hub.close();
/// # std::fs::remove_file(&file).ok();
/// # Ok::<(), perf_live::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Hub(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    queue: Arc<Queue<Request>>,
    state: Arc<Mutex<State>>,
    overview: Cached<Overview>,
    functions: Cached<Vec<(FunctionName, FunctionStats)>>,
    path: PathBuf,
    stored: Hooks,
    keeper: Mutex<Option<JoinHandle<()>>>,
}

/// What is done once all messages of a batch were answered.
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
    // What a thread that failed left is what the database has, or is read anew from it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    /// What a server keeps and lets wait, to be set up and checked.
    pub fn params() -> HubParams {
        HubParams::default()
    }

    /// A server with a database, which is made if it is not there. What the database holds of an earlier
    /// run is gone on with.
    ///
    /// # Errors
    /// [`Error::Store`] if another server writes it, or it is somebody else's; those of what it holds.
    pub fn open(path: impl AsRef<Path>, params: CheckedHubParams) -> Result<Self> {
        let mut writer = Writer::open(path.as_ref())?;
        let (state, logged) = State::load(&params.0, &mut writer)?;
        let path = writer.path().to_path_buf();
        let queue = Arc::new(Queue::new(params.0.queue, params.0.bytes));
        let state = Arc::new(Mutex::new(state));
        let stored = Arc::new(Mutex::new(Vec::new()));
        let keeper = Keeper::new(
            (Arc::clone(&queue), Arc::clone(&state)),
            Arc::clone(&stored),
            params.0,
            (writer, logged),
        );
        let name = std::thread::Builder::new().name("keeper".into());
        let thread = name.spawn(move || keeper.run());
        let thread = thread.map_err(|error| Error::Store {
            file: path.display().to_string(),
            what: format!("no thread to write it: {error}"),
        })?;
        Ok(Hub(Arc::new(Shared {
            queue,
            state,
            overview: Cached::default(),
            functions: Cached::default(),
            path,
            stored,
            keeper: Mutex::new(Some(thread)),
        })))
    }

    /// Lets a message wait, which takes so many `bytes`; `reply` is called once it is stored, or was
    /// refused, and should not take long.
    ///
    /// # Errors
    /// [`Error::Busy`] if too much waits, [`Error::Closed`].
    pub fn offer(
        &self,
        message: Message,
        bytes: usize,
        reply: impl FnOnce(Result<Told>) + Send + 'static,
    ) -> Result<()> {
        let reply = Box::new(reply);
        self.0.queue.push(Request { message, reply }, bytes)
    }

    /// Has something done each time when all messages of a batch were answered: to tell all who wait at once. It says
    /// whether it wants to be called again.
    pub(crate) fn after_batch(&self, hook: impl Fn() -> bool + Send + 'static) {
        lock(&self.0.stored).push(Hook(Box::new(hook)));
    }

    /// [`offer`](Self::offer)s a message, and waits until it is stored.
    ///
    /// # Errors
    /// Those of `offer`, and why the message was refused.
    pub fn say(&self, message: Message, bytes: usize) -> Result<Told> {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        let reply = move |told| drop(sender.send(told));
        self.offer(message, bytes, reply)?;
        receiver.recv().map_err(|_| Error::Closed)?
    }

    /// What all ranks are. It is at most a fifth of a second old.
    pub fn overview(&self) -> Arc<Overview> {
        let make = || Overview::of(&lock(&self.0.state));
        self.0.overview.get(make)
    }

    /// What the calls of each function were on all ranks, most time lost first. As old as that.
    pub fn functions(&self) -> Arc<Vec<(FunctionName, FunctionStats)>> {
        let make = || lock(&self.0.state).functions();
        self.0.functions.get(make)
    }

    /// Steps of a rank that are in memory, from one on.
    pub fn steps(&self, program: u32, rank: u32, from: u64) -> Vec<StepStats> {
        let state = lock(&self.0.state);
        let steps = state.server.steps(program, rank);
        steps.filter(|one| one.step >= from).copied().collect()
    }

    /// A number that changes whenever something else does.
    pub fn revision(&self) -> u64 {
        lock(&self.0.state).revision
    }

    /// What was counted.
    pub fn counts(&self) -> Counts {
        lock(&self.0.state).counts
    }

    /// How many messages wait, and their bytes.
    pub fn waiting(&self) -> (usize, usize) {
        self.0.queue.size()
    }

    /// The database.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Takes no more messages, and returns when those that wait are stored.
    pub fn close(&self) {
        self.0.queue.close();
        if let Some(keeper) = lock(&self.0.keeper).take() {
            // It has nothing to say that an answer did not.
            let _ = keeper.join();
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.queue.close();
    }
}
