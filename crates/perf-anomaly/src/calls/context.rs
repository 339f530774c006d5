//! [`Context`]: callers, neighbouring calls and launch of a call; queries of [`Calls`] for these,
//! for the messages and counter values in a call, and for its id as text.

use super::{Call, CallKey, Calls, Launch};
use perf_core::{MetricId, Nanos, Peer, StreamEvent, Value};

/// Callers, neighbouring calls and launch of a call, as far as they are kept.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Context {
    /// Callers, outermost first; open callers are [marked](super::CallFlags::is_open).
    pub stack: Vec<Call>,
    /// Calls entered before it on its stream, in order of entry, at most
    /// [`CallsParams::context`](super::CallsParams::context). Its callers may be among them.
    /// Neighbours are no longer available if the call was entered in an earlier step and many calls
    /// followed.
    pub before: Vec<Call>,
    /// Calls entered after it on its stream, with the same limits. At the end of a step there are
    /// fewer of them; the rest can be queried [later](Calls::after).
    pub after: Vec<Call>,
    /// Call that launched the call, if the call is work on an accelerator and its launch is known.
    pub launch: Option<Launch>,
}

/// Queries for the calls in the batch, valid until the next step ends.
impl Calls {
    /// Returns `true` if streams belong to several programs.
    ///
    /// ```
    /// assert!(!perf_anomaly::calls::Calls::default().has_programs());
    /// ```
    pub fn has_programs(&self) -> bool {
        // Streams are in order of their programs.
        let of = |stream: Option<&perf_core::StreamId>| Some(self.stream_key(*stream?)?.program);
        of(self.streams().first()) != of(self.streams().last())
    }

    /// Returns the number of kept calls before and after a call, see
    /// [`CallsParams::context`](super::CallsParams::context).
    pub fn context_calls(&self) -> usize {
        self.params.context
    }

    /// Returns the callers, neighbouring calls and launch of a call.
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
    /// Near the end of a step fewer than [`CallsParams::context`](super::CallsParams::context)
    /// calls follow; the rest are available after later steps. Query after each step until there
    /// are enough, to miss none.
    pub fn after(&self, call: CallKey) -> Vec<Call> {
        let stream = self.at(call.stream);
        let after = stream.map(|one| one.after(call.number, self.params.context, self.batch()));
        after.unwrap_or_default()
    }

    /// Returns a call that is open, was completed in the last step, or was entered recently; `None`
    /// for other calls.
    pub fn call(&self, key: CallKey) -> Option<Call> {
        self.at(key.stream)?.call(key.number, self.batch())
    }

    /// Returns the open calls of a stream, outermost first.
    pub fn open(&self, stream: perf_core::StreamId) -> impl Iterator<Item = &Call> {
        self.at(stream).into_iter().flat_map(|stream| stream.open())
    }

    /// Returns the messages in a call and not in its callees, in order of time: the time, `true`
    /// for a sent message, and the peer. [`Call::messages`] is their number. For a call that lasts
    /// many steps, the oldest messages are dropped.
    pub fn messages(&self, call: &Call) -> Vec<(Nanos, bool, Peer)> {
        self.last_messages(call, usize::MAX)
    }

    /// Returns the last messages of a call, at most `most`.
    pub(crate) fn last_messages(&self, call: &Call, most: usize) -> Vec<(Nanos, bool, Peer)> {
        self.notes(call, most, |at, event| match event {
            StreamEvent::Send(peer) => Some((at, true, peer)),
            StreamEvent::Receive(peer) => Some((at, false, peer)),
            _ => None,
        })
    }

    /// Returns time, counter and value of the counter values in a call and not in its callees, with
    /// the limits of [`messages`](Self::messages).
    pub fn counters(&self, call: &Call) -> Vec<(Nanos, MetricId, Value)> {
        self.last_counters(call, usize::MAX)
    }

    /// Returns the last counter values in a call, at most `most`.
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

    /// Returns the launch of a call on an accelerator; `None` if it is not known. It may become
    /// known in a later step. It is kept until
    /// [`CallsParams::pending`](super::CallsParams::pending) further launches of calls were found
    /// on the rank.
    pub fn launch(&self, work: CallKey) -> Option<&Launch> {
        self.gpu(work.stream)?.launch_of(work)
    }

    /// Returns the id of a call, `rank:step:index`. The index is that of its enter among the enters
    /// and exits of its rank in that step, from 0. For programs other than 0 the id is
    /// `program:rank:step:index`.
    pub fn event_id(&self, call: &Call) -> String {
        self.id_of(call.stream, call.step, call.index)
    }

    /// Returns the id of the call that launched work, in the form of [`event_id`](Self::event_id).
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
