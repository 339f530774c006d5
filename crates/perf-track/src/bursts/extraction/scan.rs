//! [`scan`]: finds the bursts of one thread, event by event, with their counters, communication
//! calls and containing functions.

use super::counters::Counters;
use super::plan::{Mode, Plan};
use crate::bursts::chains::too_many;
use crate::{Error, Result};
use perf_core::{
    CallPathId, CallTree, Event, Events, FrameStack, Job, LocationId, RegionId, ReplayCounts,
    RmaOp, Ticks, Value,
};

/// Number of events between two cancellation checks.
const BETWEEN_CHECKS: usize = 1 << 16;

/// Callers of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Callers {
    /// Sampled context.
    Sampled(CallPathId),
    /// Open regions, as the node of the innermost region in [`Scanned::paths`].
    Open(Option<CallPathId>),
}

/// Functions that contain a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Within {
    /// No function is known.
    Unknown,
    /// Open functions, as the node of the innermost one in [`Scanned::paths`].
    Open(CallPathId),
    /// No function is open on a thread that executes parallel functions: the last parallel function
    /// before the burst and the first one after it.
    Outside([Option<RegionId>; 2]),
}

/// Outermost communication call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    /// Time of the enter.
    pub(super) enter: Ticks,
    /// Time of the leave.
    pub(super) leave: Ticks,
    /// Callers.
    pub(super) callers: Callers,
    /// Called region.
    pub(super) region: RegionId,
    /// Bytes sent.
    pub(super) sent: u64,
    /// Bytes received.
    pub(super) received: u64,
}

/// Result of the scan of one thread.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    /// Begin and end of each burst.
    pub(super) bursts: Vec<(Ticks, Ticks)>,
    /// Functions that contain each burst.
    pub(super) within: Vec<Within>,
    /// Value of each slot, burst after burst.
    pub(super) slots: Vec<f64>,
    /// Communication calls.
    pub(super) calls: Vec<Call>,
    /// Tree of the open regions at the calls, with the outermost regions as roots.
    pub(super) paths: CallTree,
    /// Bursts with unknown begin or end.
    pub(super) cut: Vec<(Ticks, Ticks)>,
    /// Bursts during which recording was off or a buffer was flushed.
    pub(super) interrupted: Vec<(Ticks, Ticks)>,
    /// Number of calls with zero duration.
    pub(super) empty: u64,
    /// Number of accumulated counters that decreased within a burst.
    pub(super) resets: u64,
    /// Number of samples that do not describe this thread.
    pub(super) foreign: u64,
    /// Repairs made during the replay.
    pub(super) repairs: ReplayCounts,
}

/// Change at an instant. Changes are kept until all events of the instant are read, because samples
/// of counters belong to the burst that ends at the instant, regardless of the order of these
/// events.
#[derive(Clone, Copy, Debug)]
enum Mark {
    /// A region was entered.
    Enter(RegionId),
    /// A region was left.
    Leave(RegionId),
    /// A context was sampled.
    Sample(CallPathId),
    /// A message was sent or received.
    Bytes { sent: u64, received: u64 },
    /// Recording was switched on or off.
    Recording(bool),
    /// The delimiting metric was sampled; `true` if it is not 0.
    Value(bool),
}

#[derive(Clone, Copy, Debug)]
struct Open {
    /// Begin of the open burst.
    begin: Ticks,
    /// `true` if recording was off or a buffer was flushed since the begin.
    interrupted: bool,
    /// Functions that were open after all changes of the first instant; `None` until they are applied.
    within: Option<Within>,
}

struct Scan<'p> {
    /// Plan of the extraction.
    plan: &'p Plan<'p>,
    /// Location of the thread.
    location: LocationId,
    /// Counters of the open burst.
    counters: Counters,
    /// Changes at the current instant.
    marks: Vec<Mark>,
    /// Current instant.
    now: Ticks,
    /// Open stack frames.
    stack: FrameStack,
    /// Number of open calls that are bursts.
    inside: u64,
    /// Number of open calls that divide bursts.
    dividing: u64,
    /// Number of open calls that communicate.
    talking: u64,
    /// `true` while recording is on.
    is_recording: bool,
    /// End of the last buffer flush.
    flushed_until: Option<Ticks>,
    /// `true` while the delimiting metric is not 0.
    value: bool,
    /// `true` if the thread communicates.
    communicates: bool,
    /// The open burst.
    open: Option<Open>,
    /// `true` while the open burst continues through the current instant without being divided.
    goes_on: bool,
    /// Last sampled context and its time.
    sampled: Option<(Ticks, CallPathId)>,
    /// Last parallel function that was entered.
    parallel: Option<RegionId>,
    /// Number of bursts that began before the last parallel function was entered.
    before_parallel: usize,
    /// Bytes outside of any call: time, bytes sent and bytes received.
    loose: (Ticks, u64, u64),
    /// Paths of the open regions, outermost first, computed only as far as needed.
    open_paths: Vec<CallPathId>,
    /// First error, returned at the end of the scan.
    failed: Option<Error>,
    /// Job, for cancellation checks.
    job: &'p Job,
    /// Result so far.
    found: Scanned,
}

pub(super) fn scan(
    plan: &Plan<'_>,
    location: LocationId,
    events: &Events,
    job: &Job,
) -> Result<Scanned> {
    let mut communicates = false;
    for index in 0..events.len() {
        if plan.mode != Mode::Between || communicates {
            break;
        }
        if index % BETWEEN_CHECKS == 0 {
            job.check()?;
        }
        if let Some(Event::Enter { region }) = events.event(index) {
            communicates = plan.class(region).talks;
        }
    }
    let mut scan = Scan {
        plan,
        location,
        counters: Counters::new(&plan.folds),
        marks: Vec::new(),
        now: events.times().first().copied().unwrap_or_default(),
        stack: FrameStack::default(),
        inside: 0,
        dividing: 0,
        talking: 0,
        is_recording: true,
        flushed_until: None,
        value: false,
        communicates,
        open: None,
        goes_on: false,
        sampled: None,
        parallel: None,
        before_parallel: 0,
        loose: (Ticks(0), 0, 0),
        open_paths: Vec::new(),
        failed: None,
        job,
        found: Scanned::default(),
    };
    for (index, at) in events.times().iter().enumerate() {
        if index % BETWEEN_CHECKS == 0 {
            job.check()?;
        }
        if *at > scan.now {
            scan.advance(*at);
        }
        if let Some(event) = events.event(index) {
            scan.event(event);
        }
    }
    scan.finish();
    job.check()?;
    match scan.failed {
        Some(error) => Err(error),
        None => Ok(scan.found),
    }
}

impl Scan<'_> {
    /// Applies the changes of the current instant in order, and advances to the time `to`.
    fn advance(&mut self, to: Ticks) {
        self.settle();
        if self.open.is_some_and(|open| open.within.is_none()) {
            let within = self.functions();
            if let Some(open) = &mut self.open {
                open.within = Some(within);
            }
        }
        if let Some(until) = self.flushed_until.filter(|until| *until <= to) {
            self.flushed_until = None;
            // A call recorded before the flush ends no earlier than it began.
            self.now = until.max(self.now);
            self.apply(Mark::Recording(true));
        }
        self.now = to;
    }

    fn settle(&mut self) {
        // A burst may begin at the first instant; the samples of that instant precede it.
        self.toggle();
        let mut marks = std::mem::take(&mut self.marks);
        self.goes_on = self.open.is_some() && self.is_divided(&marks);
        for mark in marks.drain(..) {
            self.apply(mark);
        }
        self.marks = marks;
        if std::mem::take(&mut self.goes_on) {
            self.toggle();
        }
    }

    /// Returns `true` if an instant interrupts a state only because a function of the program
    /// begins or ends within it. The state is then left and entered again but counts as one burst.
    /// Two consecutive states remain two bursts.
    fn is_divided(&self, marks: &[Mark]) -> bool {
        let mut code = false;
        self.plan.is_states
            && marks.iter().all(|mark| match mark {
                Mark::Enter(region) | Mark::Leave(region) => {
                    let class = self.plan.class(*region);
                    code |= class.is_code;
                    class.is_code || class.is_burst
                }
                _ => true,
            })
            && code
    }

    fn event(&mut self, event: Event<'_>) {
        let mark = match event {
            Event::Enter { region } => Mark::Enter(region),
            Event::Leave { region } => Mark::Leave(region),
            Event::Metric { set, values } => {
                if !self.plan.is_own(set.index(), self.location) {
                    self.found.foreign += u64::from(!self.plan.feeds(set.index()).is_empty());
                    return;
                }
                self.counters.sample(self.plan.feeds(set.index()), values);
                for (member, kind) in self.plan.marks(set.index()) {
                    if let Some(bits) = values.get(*member) {
                        let value = Value::from_bits(*kind, *bits).as_f64();
                        self.marks.push(Mark::Value(value != 0.0));
                    }
                }
                return;
            }
            Event::Sample { context } => Mark::Sample(context),
            Event::Send(transfer) => Mark::Bytes {
                sent: transfer.bytes,
                received: 0,
            },
            Event::Recv(transfer) => Mark::Bytes {
                sent: 0,
                received: transfer.bytes,
            },
            Event::CollectiveEnd(collective) => Mark::Bytes {
                sent: collective.sent,
                received: collective.received,
            },
            Event::Rma { op, bytes, .. } => match op {
                RmaOp::Get => Mark::Bytes {
                    sent: 0,
                    received: bytes,
                },
                RmaOp::Atomic { received, .. } => Mark::Bytes {
                    sent: bytes,
                    received,
                },
                _ => Mark::Bytes {
                    sent: bytes,
                    received: 0,
                },
            },
            Event::Measuring { on } => Mark::Recording(on),
            Event::Flush { until } => {
                self.flushed_until = Some(until);
                Mark::Recording(false)
            }
            Event::Other { kind, args } if self.plan.mark_kind == Some(kind) => {
                Mark::Value(args.first().is_some_and(|value| *value != 0))
            }
            _ => return,
        };
        self.marks.push(mark);
    }

    fn apply(&mut self, mark: Mark) {
        match mark {
            Mark::Enter(region) => self.enter(region),
            Mark::Leave(region) => self.leave(region),
            Mark::Sample(context) => self.sampled = Some((self.now, context)),
            Mark::Bytes { sent, received } => self.bytes(sent, received),
            Mark::Recording(on) => {
                self.is_recording = on;
                if self.plan.mode != Mode::Between
                    && let Some(open) = &mut self.open
                {
                    open.interrupted = true;
                }
            }
            Mark::Value(value) => {
                // Each sample ends the burst that the previous one began.
                self.value = false;
                self.toggle();
                self.value = value;
            }
        }
        self.toggle();
    }

    fn enter(&mut self, region: RegionId) {
        let class = self.plan.class(region);
        self.stack.enter(region);
        self.inside += u64::from(class.is_burst);
        self.dividing += u64::from(class.divides);
        if class.is_parallel {
            self.parallel_function(region);
        }
        if class.talks {
            self.talking += 1;
            if self.talking == 1 {
                self.call(region);
            }
        }
    }

    /// Notes that a parallel function begins, which ends the part between two parallel functions.
    fn parallel_function(&mut self, region: RegionId) {
        self.parallel = Some(region);
        let open = self.open.as_mut().and_then(|open| open.within.as_mut());
        let closed = self.found.within.iter_mut().skip(self.before_parallel);
        for within in closed.chain(open) {
            if let Within::Outside([_, next]) = within {
                next.get_or_insert(region);
            }
        }
        self.before_parallel = self.found.within.len();
    }

    fn leave(&mut self, region: RegionId) {
        let (mut inside, mut dividing, mut talking) = (0, 0, 0);
        let plan = self.plan;
        self.stack.leave(region, |region, _, _| {
            let class = plan.class(region);
            inside += u64::from(class.is_burst);
            dividing += u64::from(class.divides);
            talking += u64::from(class.talks);
        });
        self.open_paths.truncate(self.stack.frames().len());
        self.inside -= inside;
        self.dividing -= dividing;
        self.talking -= talking;
        if talking > 0
            && self.talking == 0
            && let Some(call) = self.found.calls.last_mut()
        {
            call.leave = self.now;
        }
    }

    /// Begins a communication call.
    fn call(&mut self, region: RegionId) {
        let callers = match self.sampled {
            Some((at, context)) if at == self.now => Callers::Sampled(context),
            _ => Callers::Open(self.path()),
        };
        let (at, sent, received) = std::mem::take(&mut self.loose);
        let is_own = at == self.now;
        self.found.calls.push(Call {
            enter: self.now,
            // Replaced when the call is left; the recording may end before.
            leave: Ticks(u64::MAX),
            callers,
            region,
            sent: if is_own { sent } else { 0 },
            received: if is_own { received } else { 0 },
        });
    }

    /// Returns the path of the open regions, or `None` if no region is open or the scan has failed
    /// or was cancelled.
    fn path(&mut self) -> Option<CallPathId> {
        let known = self.open_paths.len();
        let rest = self.stack.frames().get(known..).unwrap_or_default();
        for (number, region) in rest.iter().enumerate() {
            // Ends the scan soon after the job is cancelled.
            if number % BETWEEN_CHECKS == BETWEEN_CHECKS - 1 && self.job.is_cancelled() {
                return None;
            }
            let parent = self.open_paths.last().copied();
            match self.found.paths.child(parent, *region) {
                Ok(path) => self.open_paths.push(path),
                Err(error) => {
                    self.failed.get_or_insert(too_many(error));
                    return None;
                }
            }
        }
        self.open_paths.last().copied()
    }

    /// Adds bytes to the open communication call. Without one, keeps the bytes for a call that
    /// begins at this instant.
    fn bytes(&mut self, sent: u64, received: u64) {
        match self.found.calls.last_mut() {
            Some(call) if self.talking > 0 => {
                call.sent = call.sent.saturating_add(sent);
                call.received = call.received.saturating_add(received);
            }
            _ => {
                if self.loose.0 != self.now {
                    self.loose = (self.now, 0, 0);
                }
                self.loose.1 = self.loose.1.saturating_add(sent);
                self.loose.2 = self.loose.2.saturating_add(received);
            }
        }
    }

    fn computes(&self) -> bool {
        match self.plan.mode {
            Mode::Calls => self.inside > 0,
            Mode::Value => self.value,
            Mode::Between => {
                self.is_recording
                    && self.dividing == 0
                    && (self.communicates || !self.stack.frames().is_empty())
            }
        }
    }

    /// Begins or ends a burst if required.
    fn toggle(&mut self) {
        if self.goes_on {
            return;
        }
        match (self.open, self.computes()) {
            (None, true) => {
                self.counters.begin();
                self.open = Some(Open {
                    begin: self.now,
                    interrupted: !self.is_recording,
                    within: None,
                });
            }
            (Some(open), false) => {
                self.open = None;
                self.close(open);
            }
            _ => {}
        }
    }

    fn close(&mut self, open: Open) {
        let burst = (open.begin, self.now);
        if open.begin == self.now {
            // Two calls without time in between have no burst in between. A call of zero duration
            // counts as empty.
            self.found.empty += u64::from(self.plan.mode != Mode::Between);
        } else if open.interrupted {
            self.found.interrupted.push(burst);
        } else {
            self.counters.end(&mut self.found.slots);
            self.found.bursts.push(burst);
            self.found
                .within
                .push(open.within.unwrap_or(Within::Unknown));
        }
    }

    /// Returns the open functions, without communication calls and states. They are unknown for a
    /// burst between calls, because the callers of these calls say more.
    fn functions(&mut self) -> Within {
        if self.plan.mode == Mode::Between {
            return Within::Unknown;
        }
        let mut path = None;
        for frame in self.stack.frames() {
            if self.plan.class(*frame).is_code {
                match self.found.paths.child(path, *frame) {
                    Ok(child) => path = Some(child),
                    Err(error) => {
                        self.failed.get_or_insert(too_many(error));
                        return Within::Unknown;
                    }
                }
            }
        }
        path.map_or(Within::Outside([self.parallel, None]), Within::Open)
    }

    fn finish(&mut self) {
        self.settle();
        if let Some(open) = self.open.take() {
            match self.plan.mode {
                Mode::Between => self.close(open),
                Mode::Calls | Mode::Value if open.begin < self.now => {
                    self.found.cut.push((open.begin, self.now));
                }
                // A burst that begins with the last event has no recorded time.
                Mode::Calls | Mode::Value => {}
            }
        }
        self.found.resets = self.counters.resets;
        self.found.repairs = self.stack.counts();
        self.found.repairs.open_at_end = self.stack.frames().len() as u64;
    }
}
