//! [`Background`]: rounds by a thread, while the program goes on.

use super::Post;
use super::replica::{Replica, parcel};
use crate::blocks::{PIECE, partition};
use crate::{Error, Result};
use mpi::Threading;
use mpi::collective::CommunicatorCollectives;
use mpi::datatype::PartitionMut;
use mpi::request::{Request, Scope, scope};
use mpi::topology::{Color, Communicator, SimpleCommunicator};
use perf_anomaly::server::{Server, ServerParams};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often ranks exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    period: Duration,
    poll: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Pace {
            period: Duration::from_millis(200),
            poll: Duration::from_millis(1),
        }
    }
}

impl Pace {
    /// Time from one round to the next. Default: 200 ms. A round begins on the slowest rank's time: the
    /// others' threads wait for it, the others' programs do not.
    pub fn period(mut self, period: Duration) -> Self {
        self.period = period;
        self
    }

    /// How long the thread sleeps between two looks at a message that is on its way. Default: 1 ms. Each
    /// look takes about a microsecond of a processor.
    pub fn poll(mut self, poll: Duration) -> Self {
        self.poll = poll;
        self
    }
}

/// Exchanges what ranks learned while they compute.
///
/// A thread takes part in a round each [`Pace::period`] by non-blocking collectives on a communicator of its
/// own. What a client sends waits for the next round in memory, and the view of the last one waits for the
/// client: neither touches MPI, and no rank waits for another before [`finish`](Self::finish). A rank that
/// has nothing to tell takes part all the same.
///
/// ```no_run
/// use perf_anomaly::calls::Calls;
/// use perf_anomaly::server::{Client, Server};
/// use perf_anomaly::{Monitor, Tail, Watch};
/// use perf_mpi::{Background, Pace, mpi};
/// use mpi::traits::Communicator;
/// let (universe, _) = mpi::initialize_with_threading(mpi::Threading::Multiple).ok_or("twice")?;
/// let rank = universe.world().rank();
/// let background = Background::start(Server::params(), Pace::default())?;
/// let calls = Calls::new(Calls::params().check()?);
/// let client = Client::new(rank as u64, background.post());
/// let monitor = Monitor::new(calls, Box::new(Tail::new(Tail::params().check()?))).share(client);
/// let mut watch = Watch::new(monitor, 0, rank as u32);
/// // The program runs and calls watch.enter and watch.exit; then
/// let report = watch.into_sink().finish()?;
/// let finished = background.finish()?;
/// println!("{} functions on all ranks", finished.server.names().len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Background {
    post: Post,
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Finished>>>,
}

/// What an exchange in the background came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Finished {
    /// What all ranks know, the same on each of them.
    pub server: Server,
    /// Rounds, those without a delta among them.
    pub rounds: u64,
    /// Deltas of all ranks.
    pub deltas: u64,
    /// Bytes of deltas of this rank.
    pub sent: u64,
    /// Bytes of deltas of all ranks.
    pub received: u64,
    /// Time in which deltas were merged.
    pub merging: Duration,
}

impl Background {
    /// Starts the exchange among all ranks of the world. Collective: it duplicates the communicator of
    /// the world, and so must not be called while another thread communicates by it.
    ///
    /// # Errors
    /// [`Error::Threads`] unless MPI was initialised with `Threading::Multiple`, those of
    /// [`ServerParams::check`], [`Error::Background`] if there is no thread to be had.
    pub fn start(params: ServerParams, pace: Pace) -> Result<Self> {
        Self::start_in(0, params, pace)
    }

    /// As [`start`](Self::start), among the ranks that give the same group: for several programs of one job
    /// that have nothing to tell each other. All ranks of the world call it.
    ///
    /// # Errors
    /// As [`start`](Self::start), and [`Error::Parameter`] for a group of 2^31 or more.
    pub fn start_in(group: u32, params: ServerParams, pace: Pace) -> Result<Self> {
        let colour = i32::try_from(group).map_err(|_| Error::Parameter {
            name: "group",
            value: group.to_string(),
            range: "less than 2^31",
        })?;
        if mpi::environment::threading_support() < Threading::Multiple {
            return Err(Error::Threads);
        }
        let replica = Replica::new(params)?;
        let post = Post::new();
        let done = Arc::new(AtomicBool::new(false));
        let (ready, is_ready) = sync_channel(1);
        let work = {
            let (post, done) = (post.clone(), Arc::clone(&done));
            move || {
                let result = rounds(colour, replica, &post, &done, pace, &ready);
                if let Err(error) = &result {
                    post.office().closed = Some(error.to_string());
                }
                result
            }
        };
        let thread = std::thread::Builder::new().name("perf-mpi".into());
        let thread = thread
            .spawn(work)
            .map_err(|error| Error::Background(error.to_string()))?;
        // Until it has a communicator of its own, the thread uses that of the world.
        let is_ready = is_ready.recv();
        let background = Background {
            post,
            done,
            thread: Some(thread),
        };
        match is_ready {
            Ok(()) => Ok(background),
            Err(_) => Err(Error::Background("it has no communicator".into())),
        }
    }

    /// The exchange of a client of this rank. No two clients of a job may have one number.
    pub fn post(&self) -> Post {
        self.post.clone()
    }

    /// After the last delta was sent: waits until all ranks are here and know all.
    ///
    /// # Errors
    /// What ended the exchange before, on all ranks alike.
    pub fn finish(mut self) -> Result<Finished> {
        self.join()
    }

    fn join(&mut self) -> Result<Finished> {
        let ended = || Error::Background("it ended before".into());
        let thread = self.thread.take().ok_or_else(ended)?;
        self.done.store(true, Ordering::Release);
        thread.thread().unpark();
        thread.join().map_err(|_| ended())?
    }
}

impl Drop for Background {
    /// As [`finish`](Background::finish), whose result nobody wants: MPI must not end before the thread.
    fn drop(&mut self) {
        if self.thread.is_some() {
            // Whoever drops it has another error to tell.
            let _ = self.join();
        }
    }
}

/// The thread: rounds until all ranks are done.
fn rounds(
    colour: i32,
    mut replica: Replica,
    post: &Post,
    done: &AtomicBool,
    pace: Pace,
    ready: &SyncSender<()>,
) -> Result<Finished> {
    let world = SimpleCommunicator::world();
    let none = || Error::Background("it has no communicator".into());
    let comm = world
        .split_by_color(Color::with_value(colour))
        .ok_or_else(none)?;
    ready.send(()).map_err(|_| none())?;
    let rank = usize::try_from(comm.rank()).unwrap_or_default();
    let (mut rounds, mut deltas, mut sent, mut received) = (0, 0, 0, 0);
    let mut merging = Duration::ZERO;
    let mut next = Instant::now();
    loop {
        next += pace.period;
        // Whoever is done wants the end, not the next period.
        while !done.load(Ordering::Acquire)
            && let Some(left) = next.checked_duration_since(Instant::now())
        {
            std::thread::park_timeout(left);
        }
        // Late rounds are not made up for.
        next = next.max(Instant::now());
        // Asked first: whoever says so has sent all before.
        let is_done = done.load(Ordering::Acquire);
        let mine = parcel(std::mem::take(&mut post.office().outgoing));
        let (all, all_done) = gather(&comm, &mine, is_done, pace.poll);
        let begin = Instant::now();
        rounds += 1;
        sent += mine.len() as u64;
        received += all.iter().map(|bytes| bytes.len() as u64).sum::<u64>();
        deltas += replica.round(&all, rank, post)?;
        merging += begin.elapsed();
        if all_done {
            break;
        }
    }
    post.office().closed = Some("all ranks are done".into());
    Ok(Finished {
        server: replica.into_server(),
        rounds,
        deltas,
        sent,
        received,
        merging,
    })
}

/// The bytes of all ranks, and whether all of them are done.
fn gather(
    comm: &SimpleCommunicator,
    mine: &[u8],
    is_done: bool,
    poll: Duration,
) -> (Vec<Vec<u8>>, bool) {
    let size = usize::try_from(comm.size()).unwrap_or_default().max(1);
    let told = [mine.len() as u64, u64::from(is_done)];
    let mut heard = vec![0_u64; 2 * size];
    scope(|scope| {
        let request = comm.immediate_all_gather_into(scope, &told[..], &mut heard[..]);
        complete(request, poll);
    });
    let lens: Vec<usize> = heard.iter().step_by(2).map(|len| *len as usize).collect();
    let all_done = heard.iter().skip(1).step_by(2).all(|done| *done == 1);
    let most = lens.iter().copied().max().unwrap_or_default();
    let piece = (PIECE / size).max(1);
    let mut all = vec![Vec::new(); size];
    for round in 0..most.div_ceil(piece) {
        let from = (round * piece).min(mine.len());
        let part = mine.get(from..(from + piece).min(mine.len()));
        let parts: Vec<usize> = lens
            .iter()
            .map(|len| len.saturating_sub(round * piece).min(piece))
            .collect();
        let (counts, displs) = partition(&parts);
        let mut space = vec![0_u8; parts.iter().sum()];
        let mut to = PartitionMut::new(&mut space[..], counts, displs);
        scope(|scope| {
            let out = part.unwrap_or_default();
            let request = comm.immediate_all_gather_varcount_into(scope, out, &mut to);
            complete(request, poll);
        });
        let mut rest = &space[..];
        for (all, len) in all.iter_mut().zip(parts) {
            let (own, others) = rest.split_at(len.min(rest.len()));
            all.extend_from_slice(own);
            rest = others;
        }
    }
    (all, all_done)
}

/// Looks at a request until it is there, and sleeps between.
fn complete<'a, D: ?Sized, S: Scope<'a>>(mut request: Request<'a, D, S>, poll: Duration) {
    while let Err(again) = request.test() {
        request = again;
        std::thread::sleep(poll);
    }
}
