//! [`Lane`]: recorded span events of a thread that wait to be judged; [`Shared`]: state of a layer with all lanes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tracing_core::Metadata;

/// Span event or counter value of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) enum Note {
    /// Region that was entered.
    Enter(u32),
    /// Region that was exited.
    Exit(u32),
    /// Counter, and its value.
    Count(u32, f64),
}

/// Notes of a thread that wait to be judged.
#[derive(Debug)]
pub(super) struct Lane {
    /// Number of the thread.
    pub(super) thread: u32,
    /// Name of the thread; `None` once it was passed to the monitor.
    pub(super) name: Mutex<Option<String>>,
    /// Notes, each with its time in nanoseconds since the origin.
    pub(super) notes: Mutex<Vec<(i64, Note)>>,
}

/// State shared by the layer, the threads of the program and the judging thread.
#[derive(Debug)]
pub(super) struct Shared {
    /// Number of the layer within the process.
    pub(super) id: u64,
    /// Origin of times.
    pub(super) origin: Instant,
    /// Largest number of waiting notes for each thread.
    pub(super) limit: usize,
    /// `true` while spans are recorded.
    pub(super) is_on: AtomicBool,
    /// Number of dropped spans and counters.
    pub(super) left_out: AtomicU64,
    /// Lanes and names.
    pub(super) state: Mutex<State>,
    /// Wakes the judging thread if many notes wait, or at the end.
    pub(super) bell: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// Lanes of the threads.
    pub(super) lanes: Vec<Arc<Lane>>,
    /// Names of regions by number.
    pub(super) regions: Vec<String>,
    /// Names of counters by number.
    pub(super) counters: Vec<String>,
    /// Region of each callsite.
    by_metadata: HashMap<usize, u32>,
    /// Region of each name.
    by_name: HashMap<String, u32>,
    /// `true` if notes must be processed before the end of the step.
    pub(super) is_urgent: bool,
    /// `true` once monitoring ends.
    pub(super) is_over: bool,
}

/// Locks a mutex. A poisoned lock means that a thread panicked while it held the lock; this is
/// ignored, because the guarded data is consistent after each statement.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(super) fn new(limit: usize) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Shared {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            origin: Instant::now(),
            limit,
            is_on: AtomicBool::new(true),
            left_out: AtomicU64::new(0),
            state: Mutex::new(State::default()),
            bell: Condvar::new(),
        }
    }

    /// Returns the number of the region of a callsite. Callsites live as long as the process, so
    /// their address identifies them.
    fn region(&self, metadata: &'static Metadata<'static>) -> u32 {
        let mut state = lock(&self.state);
        let state = &mut *state;
        let next = state.regions.len() as u32;
        *state
            .by_metadata
            .entry(address(metadata))
            .or_insert_with(|| {
                let name = format!("{}::{}", metadata.target(), metadata.name());
                state.regions.push(name);
                next
            })
    }

    fn counter(&self, name: &str) -> u32 {
        let mut state = lock(&self.state);
        if let Some(known) = state.by_name.get(name) {
            return *known;
        }
        let next = state.counters.len() as u32;
        state.counters.push(name.into());
        state.by_name.insert(name.into(), next);
        next
    }

    /// Returns a lane for this thread; numbers of ended threads are reused.
    fn lane(&self) -> Arc<Lane> {
        let mut state = lock(&self.state);
        let is_free = |thread: &u32| state.lanes.iter().all(|lane| lane.thread != *thread);
        let thread = (0..).find(is_free).unwrap_or(u32::MAX);
        let name = std::thread::current().name().map(String::from);
        let lane = Arc::new(Lane {
            thread,
            name: Mutex::new(name),
            notes: Mutex::new(Vec::new()),
        });
        state.lanes.push(Arc::clone(&lane));
        lane
    }

    /// Wakes the judging thread before the end of the step.
    fn ring(&self) {
        lock(&self.state).is_urgent = true;
        self.bell.notify_one();
    }
}

fn address(metadata: &'static Metadata<'static>) -> usize {
    std::ptr::from_ref(metadata).addr()
}

/// State of a thread for one layer.
struct Own {
    /// Number of the layer.
    id: u64,
    /// Lane of the thread.
    lane: Arc<Lane>,
    /// Cache of callsites and their regions, indexed by a few bits of their address.
    seen: [(usize, u32); SEEN],
    /// Open spans: number and region, which is [`LEFT_OUT`] for a dropped span.
    open: Vec<(u64, u32)>,
}

const SEEN: usize = 64;
const LEFT_OUT: u32 = u32::MAX;

thread_local! {
    /// State of the thread for each layer; programs have one.
    static OWN: RefCell<Vec<Own>> = const { RefCell::new(Vec::new()) };
    /// `true` if spans of this thread are not recorded, because it does not belong to the program.
    static IS_QUIET: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Excludes the spans of this thread from recording.
pub(super) fn be_quiet() {
    IS_QUIET.with(|quiet| quiet.set(true));
}

impl Shared {
    fn now(&self) -> i64 {
        // Sufficient for 292 years.
        self.origin.elapsed().as_nanos() as i64
    }

    /// Runs `work` with the state of this thread, unless it is inaccessible, such as while the
    /// thread ends.
    #[inline]
    fn own(&self, work: impl FnOnce(&mut Own)) {
        if !self.is_on.load(Ordering::Relaxed)
            || IS_QUIET.try_with(|quiet| quiet.get()) != Ok(false)
        {
            return;
        }
        // Both fail only while a thread ends, or if a span is created within `work`.
        let _ = OWN.try_with(|all| {
            let Ok(mut all) = all.try_borrow_mut() else {
                return;
            };
            if all.first().is_none_or(|own| own.id != self.id) {
                let known = all.iter().position(|own| own.id == self.id);
                let at = known.unwrap_or_else(|| {
                    all.push(Own {
                        id: self.id,
                        lane: self.lane(),
                        seen: [(0, 0); SEEN],
                        open: Vec::new(),
                    });
                    all.len() - 1
                });
                all.swap(0, at);
            }
            if let Some(own) = all.first_mut() {
                work(own);
            }
        });
    }

    /// Adds a note. Returns `false` if fewer than `room` places, which are reserved for the exits
    /// of open spans, would remain.
    #[inline]
    fn note(&self, lane: &Lane, at: i64, note: Note, room: usize) -> bool {
        let mut notes = lock(&lane.notes);
        let count = notes.len();
        if count + room >= self.limit {
            return false;
        }
        notes.push((at, note));
        drop(notes);
        // The judging thread is woken early enough, when the buffer is half full.
        if count == self.limit / 2 {
            self.ring();
        }
        true
    }

    #[inline]
    pub(super) fn enter(&self, span: u64, metadata: &'static Metadata<'static>) {
        self.own(|own| {
            let place = address(metadata);
            // Metadata are larger than 64 bytes, so the bits above the lowest 6 distinguish them.
            let slot = &mut own.seen[(place >> 6) % SEEN];
            if slot.0 != place {
                *slot = (place, self.region(metadata));
            }
            let mut region = slot.1;
            let room = own.open.len() + 1;
            if !self.note(&own.lane, self.now(), Note::Enter(region), room) {
                self.left_out.fetch_add(1, Ordering::Relaxed);
                region = LEFT_OUT;
            }
            own.open.push((span, region));
        });
    }

    #[inline]
    pub(super) fn exit(&self, span: u64) {
        self.own(|own| {
            // Mostly the innermost span ends. If guards are dropped in another order, an outer span
            // ends first.
            let at = own.open.iter().rposition(|(open, _)| *open == span);
            let Some(at) = at else { return };
            let (_, region) = own.open.remove(at);
            if region != LEFT_OUT {
                self.note(&own.lane, self.now(), Note::Exit(region), 0);
            }
        });
    }

    pub(super) fn count(&self, name: &str, value: f64) {
        self.own(|own| {
            let counter = self.counter(name);
            let room = own.open.len() + 1;
            if !self.note(&own.lane, self.now(), Note::Count(counter, value), room) {
                self.left_out.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
}
