//! [`Context`]: what is known around a call.

use super::{Call, CallKey, Calls, Launch};
use perf_core::{MetricId, Nanos, Peer, StreamEvent, Value};

/// The surroundings of a call, as far as they are remembered.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Context {
    /// The calls it ran in, the outermost first; those that are open are so marked.
    pub stack: Vec<Call>,
    /// The calls that were entered before it on its stream, in order of entry, at most as many as
    /// [`CallsParams::context`](super::CallsParams::context) says. Its callers may be among them.
    /// The neighbours of a call that was entered steps ago, and before many others, are forgotten.
    pub before: Vec<Call>,
    /// The calls that were entered after it, likewise. Fewer at the end of a step: ask for them
    /// [later](Calls::after).
    pub after: Vec<Call>,
    /// What launched it, where it is work on an accelerator.
    pub launch: Option<Launch>,
}

/// What can be asked of a call in the batch, until the next step ends.
impl Calls {
    /// How many calls before and after a call are remembered, see
    /// [`CallsParams::context`](super::CallsParams::context).
    pub fn context_calls(&self) -> usize {
        self.params.context
    }

    /// Stack and neighbours of a call.
    pub fn context(&self, call: &Call) -> Context {
        Context {
            stack: self.stack(call),
            before: self.before(call),
            after: self.after(call.key()),
            launch: self.launch(call.key()).copied(),
        }
    }

    /// The calls that were entered before a call, see [`Context::before`].
    pub(crate) fn before(&self, call: &Call) -> Vec<Call> {
        let stream = self.at(call.stream);
        let most = self.params.context;
        let before = stream.map(|stream| stream.before(call.number, most, self.batch()));
        before.unwrap_or_default()
    }

    /// The calls a call ran in, the outermost first.
    pub fn stack(&self, call: &Call) -> Vec<Call> {
        self.inner_stack(call, usize::MAX)
    }

    /// The innermost calls, at most `most`, that a call ran in, the outermost first.
    pub(crate) fn inner_stack(&self, call: &Call, most: usize) -> Vec<Call> {
        let mut stack = Vec::new();
        let mut at = call.caller();
        while let Some(caller) = at.and_then(|key| self.call(key)) {
            if stack.len() >= most {
                break;
            }
            stack.push(caller);
            at = caller.caller();
        }
        stack.reverse();
        stack
    }

    /// The calls that were entered after a call on its stream, in order of entry.
    ///
    /// A call near the end of a step has less of them than
    /// [`CallsParams::context`](super::CallsParams::context) says, and gets the others in later
    /// steps: as long as one asks after each step until there are as many, none is missed.
    pub fn after(&self, call: CallKey) -> Vec<Call> {
        let stream = self.at(call.stream);
        let after = stream.map(|one| one.after(call.number, self.params.context, self.batch()));
        after.unwrap_or_default()
    }

    /// A call that is open, was completed in the last step, or was entered lately.
    pub fn call(&self, key: CallKey) -> Option<Call> {
        self.at(key.stream)?.call(key.number, self.batch())
    }

    /// The calls that are open on a stream, the outermost first.
    pub fn open(&self, stream: perf_core::StreamId) -> impl Iterator<Item = &Call> {
        self.at(stream).into_iter().flat_map(|stream| stream.open())
    }

    /// Time, whether it was sent, and the other end of the messages of a call itself, in order of
    /// time. [`Call::messages`] tells how many there were; of a call that goes on for many steps,
    /// the oldest are forgotten.
    pub fn messages(&self, call: &Call) -> Vec<(Nanos, bool, Peer)> {
        self.last_messages(call, usize::MAX)
    }

    /// The last messages of a call itself, at most `most`.
    pub(crate) fn last_messages(&self, call: &Call, most: usize) -> Vec<(Nanos, bool, Peer)> {
        self.notes(call, most, |at, event| match event {
            StreamEvent::Send(peer) => Some((at, true, peer)),
            StreamEvent::Receive(peer) => Some((at, false, peer)),
            _ => None,
        })
    }

    /// Time, counter and value of the counters in a call itself, on the terms of
    /// [`messages`](Self::messages).
    pub fn counters(&self, call: &Call) -> Vec<(Nanos, MetricId, Value)> {
        self.last_counters(call, usize::MAX)
    }

    /// The last counter values in a call itself, at most `most`.
    pub(crate) fn last_counters(&self, call: &Call, most: usize) -> Vec<(Nanos, MetricId, Value)> {
        self.notes(call, most, |at, event| match event {
            StreamEvent::Counter(counter, value) => Some((at, counter, value)),
            _ => None,
        })
    }

    fn notes<T>(
        &self,
        call: &Call,
        most: usize,
        pick: impl Fn(Nanos, StreamEvent) -> Option<T>,
    ) -> Vec<T> {
        let notes = self.at(call.stream).into_iter();
        let mut picked: Vec<T> = notes
            .flat_map(|stream| stream.notes(call))
            .filter_map(|note| pick(note.at, note.event))
            .take(most)
            .collect();
        picked.reverse();
        picked
    }

    /// What launched a call on an accelerator. The launch may come in a later step; until as many
    /// other pairs as [`CallsParams::pending`](super::CallsParams::pending) says were found on the
    /// rank, the pair is remembered.
    pub fn launch(&self, work: CallKey) -> Option<&Launch> {
        self.gpu(work.stream)?.launch_of(work)
    }

    /// `rank:step:index` of the enter of a call: which of the enters and exits of its rank in that
    /// step it was, from 0. Ranks of programs other than 0 have theirs before it:
    /// `program:rank:step:index`.
    pub fn event_id(&self, call: &Call) -> String {
        self.id_of(call.stream, call.step, call.index)
    }

    /// The same of the call that launched work.
    pub fn launch_id(&self, launch: &Launch) -> String {
        self.id_of(launch.call.stream, launch.step, launch.index)
    }

    fn id_of(&self, stream: perf_core::StreamId, step: u64, index: u32) -> String {
        let key = self.stream_key(stream).unwrap_or_default();
        match key.program {
            0 => format!("{}:{step}:{index}", key.rank),
            program => format!("{program}:{}:{step}:{index}", key.rank),
        }
    }
}
