//! [`Stream`]: state of one stream with its open calls; begins a call at each enter, and attaches
//! messages, counter values and correlation ids to calls.

mod memory;
mod order;
pub(in crate::calls) mod paths;
mod repair;

use super::call::{Call, CallFlags};
use super::counter_values::CounterValues;
use super::gpu::{Gpu, Launch};
use super::names::{CounterKind, Names};
use super::params::{CallsParams, Repair};
use super::{Batch, StreamHealth};
use crate::detect::CALLS_PER_CHECK;
use order::{Held, longest};
use paths::Paths;
use perf_core::{CallPathId, Job, Nanos, RegionId, StreamEvent, StreamId, StreamKey, Value};
use std::collections::HashMap;

/// Enter or exit, in 16 bytes.
#[derive(Clone, Copy, Debug)]
pub(in crate::calls) struct Function {
    /// Time.
    pub(in crate::calls) at: Nanos,
    /// Number of the region; the highest bit is set for an exit.
    pub(in crate::calls) word: u32,
    /// Index among the enters and exits of its rank in the step.
    pub(in crate::calls) index: u32,
}

const EXIT: u32 = 1 << 31;

/// Message or counter value.
#[derive(Clone, Copy, Debug)]
pub(in crate::calls) struct Note {
    /// Time.
    pub(in crate::calls) at: Nanos,
    /// Event.
    pub(in crate::calls) event: StreamEvent,
    /// Index plus 1 of the previous note of the same call; 0 for none.
    pub(in crate::calls) previous: u64,
    /// `true` for a correlation id.
    is_correlation: bool,
}

/// State that streams share while the events of a step are converted.
pub(in crate::calls) struct Shared<'a> {
    /// Parameters.
    pub(in crate::calls) params: &'a CallsParams,
    /// Call paths.
    pub(in crate::calls) paths: &'a mut Paths,
    /// Regions.
    pub(in crate::calls) names: &'a mut Names,
    /// `true` if calls are separated by the bytes that they transfer.
    pub(in crate::calls) by_size: bool,
    /// Launches and work of the rank.
    pub(in crate::calls) gpu: &'a mut Gpu,
    /// Completed calls.
    pub(in crate::calls) batch: &'a mut Batch,
    /// Defects that belong to no stream.
    pub(in crate::calls) lost: &'a mut StreamHealth,
    /// Step.
    pub(in crate::calls) step: u64,
    /// Job, for cancellation checks.
    pub(in crate::calls) job: &'a Job,
}

/// Stream with the arena of its calls.
///
/// Open calls form a stack. Completed calls are in the batch; `entered` finds those that were
/// entered in this step, in order of entry. The last calls of earlier steps are in `kept`. All
/// buffers are reused in the next step.
#[derive(Clone, Debug)]
pub(in crate::calls) struct Stream {
    /// Id of the stream.
    id: StreamId,
    /// Program, rank and thread.
    pub(in crate::calls) key: StreamKey,
    /// Index of the rank.
    pub(in crate::calls) rank: usize,
    /// `true` for an accelerator stream.
    pub(in crate::calls) is_gpu: bool,
    /// `true` if calls may overlap and do not call each other.
    pub(in crate::calls) overlaps: bool,
    /// Properties.
    pub(in crate::calls) metadata: Vec<(String, String)>,
    /// Counts of events and defects.
    pub(in crate::calls) health: StreamHealth,
    /// Enters and exits of the step.
    pub(in crate::calls) functions: Vec<Function>,
    /// `true` if these events are in order of time.
    pub(in crate::calls) functions_sorted: bool,
    /// Enters and exits that wait for the next step.
    pub(in crate::calls) held: Held,
    /// Correlation ids of calls that are not yet entered, by the index of the enter.
    pub(in crate::calls) correlations: HashMap<u32, u64>,
    /// Messages and counter values that are not assigned to a call yet.
    pub(in crate::calls) pending: Vec<Note>,
    /// `true` if these events are in order of time.
    pending_sorted: bool,
    /// Statistics of counters.
    pub(in crate::calls) counter_values: CounterValues,
    /// Times of the last message and the last counter value in this step.
    last_notes: (Nanos, Nanos),
    /// Open calls.
    pub(in crate::calls) stack: Vec<Frame>,
    /// Largest allowed number of open calls.
    deepest: usize,
    /// Row in the batch of each call that was entered in this step, in order of entry;
    /// [`OPEN`](Self::OPEN) until it is completed. Empty if no calls are kept.
    pub(in crate::calls) entered: Vec<usize>,
    /// Number of the next call.
    pub(in crate::calls) next: u64,
    /// Last calls entered in earlier steps, in order of entry.
    pub(in crate::calls) kept: Vec<Call>,
    /// Calls completed in this step that were entered before those in `kept`.
    pub(in crate::calls) elders: Vec<Call>,
    /// Messages and counter values that can be queried.
    pub(in crate::calls) notes: Vec<Note>,
    /// Index of the first of `notes` among all notes of the stream.
    pub(in crate::calls) notes_base: u64,
    /// Bit set of the models that have had a complete call.
    pub(in crate::calls) seen: Vec<u64>,
    /// Number of open calls of each region. Built at the first exit that does not match, so that an
    /// intact stream does not pay for it and a damaged one does not search its stack at each exit.
    pub(in crate::calls) open: Option<HashMap<u32, u32>>,
    /// Time of the last converted enter or exit.
    pub(in crate::calls) last: Nanos,
    /// Longest interval between two enters or exits in this step, in nanoseconds.
    pub(in crate::calls) longest: i64,
    /// Longest interval of the earlier steps in nanoseconds; it decays by an eighth in each step.
    pub(in crate::calls) usual: i64,
    /// Time of the last event of any kind.
    pub(in crate::calls) end: Nanos,
}

/// Open call.
#[derive(Clone, Copy, Debug)]
pub(in crate::calls) struct Frame {
    /// The call.
    pub(in crate::calls) call: Call,
    /// Time in its callees in nanoseconds.
    pub(in crate::calls) children: i64,
    /// Bytes that it transfers and its callees do not.
    bytes: u64,
    /// Time of the first exit of a region without an open call that occurred while this call was
    /// innermost, or [`NEVER`](Self::NEVER).
    pub(in crate::calls) foreign: Nanos,
}

impl Frame {
    /// Marker that no valid event has as its time.
    pub(in crate::calls) const NEVER: Nanos = Nanos(i64::MIN);
}

impl Stream {
    /// Marker that is not a row of a batch.
    const OPEN: usize = usize::MAX;
    /// Marker that no valid event has as its time.
    pub(in crate::calls) const NEVER: Nanos = Nanos(i64::MIN);

    pub(in crate::calls) fn new(id: StreamId, key: StreamKey, rank: usize) -> Self {
        Stream {
            id,
            key,
            rank,
            is_gpu: false,
            overlaps: false,
            metadata: Vec::new(),
            health: StreamHealth::default(),
            functions: Vec::new(),
            functions_sorted: true,
            held: Held::default(),
            correlations: HashMap::new(),
            pending: Vec::new(),
            pending_sorted: true,
            counter_values: CounterValues::default(),
            last_notes: (Nanos(i64::MIN), Nanos(i64::MIN)),
            stack: Vec::new(),
            deepest: 0,
            entered: Vec::new(),
            next: 0,
            kept: Vec::new(),
            elders: Vec::new(),
            notes: Vec::new(),
            notes_base: 0,
            seen: Vec::new(),
            open: None,
            last: Self::NEVER,
            longest: 0,
            usual: 0,
            end: Nanos(i64::MIN),
        }
    }

    #[inline]
    pub(in crate::calls) fn push_function(
        &mut self,
        at: Nanos,
        region: u32,
        is_exit: bool,
        index: u32,
    ) {
        if let Some(before) = self.functions.last()
            && at < before.at
        {
            self.functions_sorted = false;
            self.health.out_of_order += 1;
        }
        let word = region | if is_exit { EXIT } else { 0 };
        self.functions.push(Function { at, word, index });
    }

    pub(in crate::calls) fn push_note(&mut self, at: Nanos, event: StreamEvent, kind: CounterKind) {
        // Messages and counters may be interleaved; the order is checked for each kind.
        let (count, last) = match event {
            StreamEvent::Counter(..) => (&mut self.health.counters, &mut self.last_notes.1),
            _ => (&mut self.health.messages, &mut self.last_notes.0),
        };
        *count += u64::from(!matches!(event, StreamEvent::Bytes(_)));
        self.health.out_of_order += u64::from(at < *last);
        *last = at;
        self.pending_sorted &= self.pending.last().is_none_or(|before| before.at <= at);
        self.pending.push(Note {
            at,
            event,
            previous: 0,
            is_correlation: kind == CounterKind::Correlation,
        });
    }

    /// Adds a correlation id to the call that was entered last, which launches work on an
    /// accelerator or is such work. Without such a call the id is counted as a defect.
    pub(in crate::calls) fn push_correlation(&mut self, id: u64) {
        match self.functions.last() {
            Some(last) if last.word & EXIT == 0 => {
                self.correlations.insert(last.index, id);
            }
            _ => self.health.extra_correlation += 1,
        }
    }

    /// Converts the pending events to calls. Messages and counter values after the last enter or
    /// exit wait for the next step, whose first events may be earlier. At the end of the stream, or
    /// if too many wait, they are assigned too.
    pub(in crate::calls) fn replay(&mut self, shared: &mut Shared<'_>, is_end: bool) {
        self.last_notes = (Nanos(i64::MIN), Nanos(i64::MIN));
        if self.functions.is_empty() && self.pending.is_empty() && self.held() == 0 {
            return;
        }
        self.order(shared.params, shared.step, is_end);
        if !self.pending_sorted {
            self.pending.sort_by_key(|note| note.at);
            self.pending_sorted = true;
        }
        self.deepest = if self.overlaps {
            shared.params.depth.min(OVERLAPPING)
        } else {
            shared.params.depth
        };
        let is_first = self.last == Self::NEVER;
        let mut functions = std::mem::take(&mut self.functions);
        if is_first {
            self.usual = longest(&functions);
        }
        let mut pending = std::mem::take(&mut self.pending);
        let mut attached = 0;
        for (index, event) in functions.iter().enumerate() {
            // A cancelled step ends with an error, so the rest of its events may be dropped.
            if index.is_multiple_of(CALLS_PER_CHECK) && shared.job.is_cancelled() {
                break;
            }
            let is_exit = event.word & EXIT != 0;
            while let Some(note) = pending.get(attached) {
                // Both ends of a call are inclusive: an enter precedes messages and counters at its
                // time, an exit follows them.
                if note.at > event.at || (!is_exit && note.at == event.at) {
                    break;
                }
                if note.at == event.at && self.is_of_next(note, functions.get(index + 1)) {
                    break;
                }
                self.attach(*note, shared);
                attached += 1;
            }
            if is_exit {
                self.exit(event.at, event.word & !EXIT, shared);
            } else {
                self.enter(event, shared);
            }
        }
        let waiting = pending.len() - attached;
        if is_end || waiting > shared.params.pending {
            pending.drain(..attached);
            self.mend_notes(&mut pending, shared.params);
            for note in pending.drain(..) {
                self.attach(note, shared);
            }
        } else {
            pending.drain(..attached);
        }
        self.health.functions += functions.len() as u64;
        functions.clear();
        self.functions = functions;
        self.pending = pending;
        if !is_first {
            self.usual = self.longest.max(self.usual - self.usual / 8);
        }
        self.longest = 0;
        self.forget_held();
    }

    /// Returns `true` if a correlation id belongs to the next call. Work on an accelerator has one
    /// id. A second id at the time of its exit belongs to the work that is entered at the same
    /// time.
    fn is_of_next(&self, note: &Note, next: Option<&Function>) -> bool {
        let top = self.stack.last();
        note.is_correlation
            && self.is_gpu
            && top.is_some_and(|top| top.call.flags.is_correlated())
            && next.is_some_and(|next| next.at == note.at && next.word & EXIT == 0)
    }

    /// Counts the calls that are open after the last event, and closes them unless repair is
    /// strict.
    pub(in crate::calls) fn finish(&mut self, shared: &mut Shared<'_>) {
        self.health.open_at_end += self.stack.len() as u64;
        if shared.params.repair == Repair::Mend {
            let end = self.end;
            while !self.stack.is_empty() {
                self.close(end, CallFlags::AT_END, shared);
            }
        }
    }

    /// Assigns a message or counter value to the innermost open call that was entered by its time.
    fn attach(&mut self, mut note: Note, shared: &mut Shared<'_>) {
        self.end = self.end.max(note.at);
        self.health.late_notes += u64::from(note.at < self.last);
        let was_open = |frame: &Frame| frame.call.entry <= note.at;
        let Some(depth) = self.stack.iter().rposition(was_open) else {
            self.health.outside += 1;
            return;
        };
        let Some(frame) = self.stack.get_mut(depth) else {
            return;
        };
        let call = &mut frame.call;
        match note.event {
            StreamEvent::Counter(..) => call.counters = call.counters.saturating_add(1),
            StreamEvent::Bytes(bytes) => {
                frame.bytes = frame.bytes.saturating_add(bytes);
                return;
            }
            StreamEvent::Send(peer) | StreamEvent::Receive(peer) => {
                frame.bytes = frame.bytes.saturating_add(peer.bytes);
                call.messages = call.messages.saturating_add(1);
            }
            _ => {}
        }
        if shared.params.context > 0 {
            note.previous = call.last_note;
            self.notes.push(note);
            call.last_note = self.notes_base + self.notes.len() as u64;
        }
        if let (true, StreamEvent::Counter(_, value)) = (note.is_correlation, note.event) {
            let id = match value {
                Value::F64(value) => value as u64,
                exact => exact.to_bits(),
            };
            correlate(call, id, self.is_gpu, &mut self.health, shared);
        }
    }

    fn enter(&mut self, event: &Function, shared: &mut Shared<'_>) {
        let region = event.word;
        let at = self.advance(event.at, shared.params);
        let (step, index) = self.id_of(event, shared.step);
        if self
            .stack
            .last()
            .is_some_and(|top| top.foreign != Frame::NEVER)
        {
            self.settle(region, shared);
        }
        if self.stack.len() >= self.deepest {
            self.health.too_deep += self.stack.len() as u64;
            while !self.stack.is_empty() {
                self.close(at, CallFlags::IMPLICIT, shared);
            }
        }
        let caller = self.stack.last().filter(|_| !self.overlaps);
        let parent = caller.map(|top| &top.call);
        let path = shared
            .paths
            .child(parent.map_or(Paths::ROOT, |parent| parent.path.0), region);
        self.health.path_limit += u64::from(path == Paths::OTHER);
        let call = Call {
            stream: self.id,
            region: RegionId(region),
            path: CallPathId(path),
            depth: if self.overlaps {
                0
            } else {
                self.stack.len() as u32
            },
            entry: at,
            exit: at,
            exclusive: Nanos(0),
            number: self.next,
            caller: parent.map_or(Call::NOBODY, |parent| parent.number),
            step,
            index,
            children: 0,
            messages: 0,
            counters: 0,
            flags: CallFlags(CallFlags::OPEN),
            last_note: 0,
        };
        self.next += 1;
        if shared.params.context > 0 {
            self.entered.push(Self::OPEN);
        }
        self.stack.push(Frame {
            call,
            children: 0,
            bytes: 0,
            foreign: Frame::NEVER,
        });
        if let Some(open) = &mut self.open {
            *open.entry(region).or_default() += 1;
        }
        if !self.correlations.is_empty() {
            self.correlate_entry(event.index, shared);
        }
    }

    #[cold]
    fn correlate_entry(&mut self, index: u32, shared: &mut Shared<'_>) {
        let id = self.correlations.remove(&index);
        if let (Some(id), Some(top)) = (id, self.stack.last_mut()) {
            correlate(&mut top.call, id, self.is_gpu, &mut self.health, shared);
        }
    }
}

/// Largest number of open calls of an accelerator stream; hardware executes some dozens at a time.
const OVERLAPPING: usize = 1024;

/// Stores the correlation id of a call, which is work if its stream is an accelerator, and
/// otherwise a launch.
#[cold]
fn correlate(
    call: &mut Call,
    id: u64,
    is_gpu: bool,
    health: &mut StreamHealth,
    shared: &mut Shared<'_>,
) {
    let links = &mut shared.batch.links;
    if is_gpu && call.flags.is_correlated() {
        health.extra_correlation += 1;
    } else if is_gpu {
        shared.gpu.work(call.key(), id, links);
    } else {
        let launch = Launch {
            call: call.key(),
            region: call.region,
            path: call.path,
            entry: call.entry,
            step: call.step,
            index: call.index,
            correlation: id,
        };
        shared.gpu.launch(launch, links, shared.lost);
    }
    call.flags.0 |= CallFlags::CORRELATED;
}
