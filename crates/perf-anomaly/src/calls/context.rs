//! [`Context`]: surroundings of a call.

use super::{Call, CallKey, Calls, Launch};
use perf_core::{MetricId, Nanos, Peer, StreamEvent, Value};

/// Surroundings of a call, as far as they are kept.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Context {
    /// Callers, outermost first; open ones are marked.
    pub stack: Vec<Call>,
    /// Calls entered before it on its stream, in order of entry, at most
    /// [`CallsParams::context`](super::CallsParams::context). Its callers may be among them. The
    /// neighbours of a call that was entered steps ago, with many calls since, are no longer
    /// available.
    pub before: Vec<Call>,
    /// Calls entered after it, with the same limits. There are fewer at the end of a step: query
    /// them [later](Calls::after).
    pub after: Vec<Call>,
    /// Launch, for work on an accelerator.
    pub launch: Option<Launch>,
}

/// Queries on the calls in the batch, valid until the next step ends.
impl Calls {
    /// Returns the number of kept calls before and after a call, see
    /// [`CallsParams::context`](super::CallsParams::context).
    pub fn context_calls(&self) -> usize {
        self.params.context
    }

    /// Returns stack and neighbours of a call.
    pub fn context(&self, call: &Call) -> Context {
        Context {
            stack: self.stack(call),
            before: self.before(call),
            after: self.after(call.key()),
            launch: self.launch(call.key()).copied(),
        }
    }

    /// Returns the calls entered before a call, see [`Context::before`].
    pub(crate) fn before(&self, call: &Call) -> Vec<Call> {
        let stream = self.at(call.stream);
        let most = self.params.context;
        let before = stream.map(|stream| stream.before(call.number, most, self.batch()));
        before.unwrap_or_default()
    }

    /// Returns the callers of a call, outermost first.
    pub fn stack(&self, call: &Call) -> Vec<Call> {
        self.inner_stack(call, usize::MAX)
    }

    /// Returns at most `most` innermost callers of a call, outermost first.
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

    /// Returns the calls entered after a call on its stream, in order of entry.
    ///
    /// A call near the end of a step has fewer of them than
    /// [`CallsParams::context`](super::CallsParams::context), and gets the rest in later steps. A
    /// caller that queries after each step until there are enough misses none.
    pub fn after(&self, call: CallKey) -> Vec<Call> {
        let stream = self.at(call.stream);
        let after = stream.map(|one| one.after(call.number, self.params.context, self.batch()));
        after.unwrap_or_default()
    }

    /// Returns a call that is open, was completed in the last step, or was entered recently.
    pub fn call(&self, key: CallKey) -> Option<Call> {
        self.at(key.stream)?.call(key.number, self.batch())
    }

    /// Returns the open calls of a stream, outermost first.
    pub fn open(&self, stream: perf_core::StreamId) -> impl Iterator<Item = &Call> {
        self.at(stream).into_iter().flat_map(|stream| stream.open())
    }

    /// Returns the messages of a call itself in order of time: time, `true` if sent, and the other
    /// end. [`Call::messages`] is their number; for a call over many steps, the oldest are dropped.
    pub fn messages(&self, call: &Call) -> Vec<(Nanos, bool, Peer)> {
        self.last_messages(call, usize::MAX)
    }

    /// Returns at most `most` of the last messages of a call itself.
    pub(crate) fn last_messages(&self, call: &Call, most: usize) -> Vec<(Nanos, bool, Peer)> {
        self.notes(call, most, |at, event| match event {
            StreamEvent::Send(peer) => Some((at, true, peer)),
            StreamEvent::Receive(peer) => Some((at, false, peer)),
            _ => None,
        })
    }

    /// Returns time, counter and value of the counters in a call itself, with the limits of
    /// [`messages`](Self::messages).
    pub fn counters(&self, call: &Call) -> Vec<(Nanos, MetricId, Value)> {
        self.last_counters(call, usize::MAX)
    }

    /// Returns at most `most` of the last counter values in a call itself.
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

    /// Returns the launch of a call on an accelerator. The launch may be found in a later step. The
    /// pair is kept until [`CallsParams::pending`](super::CallsParams::pending) other pairs were
    /// found on the rank.
    pub fn launch(&self, work: CallKey) -> Option<&Launch> {
        self.gpu(work.stream)?.launch_of(work)
    }

    /// Returns `rank:step:index` of the enter of a call, with its index among the enters and exits
    /// of its rank in that step, from 0. For programs other than 0 it is `program:rank:step:index`.
    pub fn event_id(&self, call: &Call) -> String {
        self.id_of(call.stream, call.step, call.index)
    }

    /// Returns the same id of the call that launched work.
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
