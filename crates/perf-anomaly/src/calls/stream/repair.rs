//! Exits on a stream: completion of the innermost call with its times and sample, and repair of
//! exits that do not match it.

use super::paths::Paths;
use super::{Frame, Shared, Stream};
use crate::calls::StreamHealth;
use crate::calls::call::{Call, CallFlags};
use crate::calls::params::{CallsParams, ModelBy, Repair, Runtime};
use crate::{FunctionId, Sample};
use perf_core::Nanos;
use std::collections::HashMap;

impl Stream {
    pub(in crate::calls) fn exit(&mut self, at: Nanos, region: u32, shared: &mut Shared<'_>) {
        let Some((top, entry)) = self
            .stack
            .last()
            .map(|top| (top.call.region.0, top.call.entry))
        else {
            self.advance(at, shared.params);
            self.health.empty_stack += 1;
            return;
        };
        let is_backwards = at < entry;
        let is_strict = shared.params.repair == Repair::Strict;
        let at = self.advance(at, shared.params);
        if self.is_gpu && !is_strict && (self.overlaps || top != region) {
            return self.exit_work(at, region, shared);
        }
        if top != region {
            if is_strict {
                self.health.wrong_exit += 1;
            } else {
                self.mend(at, region, shared);
            }
            return;
        }
        self.health.backwards += u64::from(is_backwards);
        if !(is_backwards && is_strict) {
            self.close(at, 0, shared);
        }
    }

    /// Handles an exit on an accelerator stream, whose calls may overlap. The exit ends only the
    /// open call of its region that was entered first.
    #[cold]
    fn exit_work(&mut self, at: Nanos, region: u32, shared: &mut Shared<'_>) {
        let mut open = self.stack.iter();
        let Some(place) = open.position(|frame| frame.call.region.0 == region) else {
            self.health.wrong_exit += 1;
            return;
        };
        let mut frame = self.stack.remove(place);
        self.health.backwards += u64::from(at < frame.call.entry);
        let own = Own {
            seen: &mut self.seen,
            health: &mut self.health,
        };
        let call = own.complete(&mut frame, self.stack.last_mut(), (at, 0), shared);
        shared.batch.calls.push(*call);
        self.ended(shared);
    }

    /// Advances the time of the stream to `at`. A time before the last enter or exit is replaced by
    /// that of the latter, unless repair is strict.
    #[inline]
    pub(in crate::calls) fn advance(&mut self, at: Nanos, params: &CallsParams) -> Nanos {
        if at < self.last {
            self.health.late += 1;
            return match params.repair {
                Repair::Mend => self.last,
                Repair::Strict => at,
            };
        }
        // The time was set before the first event, so this wraps only for absurd times.
        self.longest = self.longest.max(at.0.wrapping_sub(self.last.0));
        self.last = at;
        self.end = self.end.max(at);
        at
    }

    /// Handles an exit of a region other than that of the innermost call.
    #[cold]
    fn mend(&mut self, at: Nanos, region: u32, shared: &mut Shared<'_>) {
        let open = self.open.get_or_insert_with(|| {
            let mut open = HashMap::new();
            for frame in &self.stack {
                *open.entry(frame.call.region.0).or_default() += 1;
            }
            open
        });
        // A region that was never entered is not open.
        if open.get(&region).copied().unwrap_or_default() == 0 {
            self.health.wrong_exit += 1;
            if let Some(top) = self.stack.last_mut()
                && top.foreign == Frame::NEVER
            {
                top.foreign = at;
            }
            return;
        }
        self.health.nearest += 1;
        while let Some(top) = self.stack.last() {
            if top.call.region.0 == region {
                self.close(at, 0, shared);
                return;
            }
            self.health.implicit += 1;
            self.close(at, CallFlags::IMPLICIT, shared);
        }
    }

    /// Decides about an earlier exit of a region without an open call, when `region` is entered.
    /// That exit was superfluous, or it ended the innermost call under a wrong name. The innermost
    /// call had ended if it never called `region` before, and `region` is either its own region or
    /// is known to be called by its caller.
    #[cold]
    pub(in crate::calls) fn settle(&mut self, region: u32, shared: &mut Shared<'_>) {
        let Some(top) = self.stack.last_mut() else {
            return;
        };
        let at = std::mem::replace(&mut top.foreign, Frame::NEVER);
        let (path, own) = (top.call.path.0, top.call.region.0);
        if shared.paths.knows(path, region) {
            return;
        }
        let caller = shared
            .paths
            .get(path)
            .map_or(Paths::ROOT, |(_, parent)| parent);
        if own == region || shared.paths.knows(caller, region) {
            self.health.renamed += 1;
            self.close(at, CallFlags::RENAMED, shared);
        }
    }

    /// Ends the innermost call.
    #[inline]
    pub(in crate::calls) fn close(&mut self, at: Nanos, why: u8, shared: &mut Shared<'_>) {
        let Some((frame, callers)) = self.stack.split_last_mut() else {
            return;
        };
        let own = Own {
            seen: &mut self.seen,
            health: &mut self.health,
        };
        // Builds the call in its final place, so that it is copied only once.
        let call = own.complete(frame, callers.last_mut(), (at, why), shared);
        shared.batch.calls.push(*call);
        self.stack.truncate(self.stack.len() - 1);
        self.ended(shared);
    }

    /// Updates the kept calls and the counts of open calls for the last call of the batch.
    #[inline]
    fn ended(&mut self, shared: &mut Shared<'_>) {
        let Some(call) = shared.batch.calls.last() else {
            return;
        };
        if shared.params.context > 0 {
            self.remember(call, shared.batch.calls.len() - 1);
        }
        if let Some(open) = &mut self.open
            && let Some(count) = open.get_mut(&call.region.0)
        {
            *count -= 1;
        }
    }
}

/// Parts of a stream that the completion of a call modifies.
struct Own<'a> {
    /// Bit set of the models that have had a complete call.
    seen: &'a mut Vec<u64>,
    /// Counts of defects.
    health: &'a mut StreamHealth,
}

impl Own<'_> {
    /// Sets the exit, exclusive time and flags of a call, updates its caller, and adds its sample.
    #[inline(always)]
    fn complete<'a>(
        self,
        frame: &'a mut Frame,
        caller: Option<&mut Frame>,
        (at, why): (Nanos, u8),
        shared: &mut Shared<'_>,
    ) -> &'a Call {
        // The exit of this call is missing, so an exit under a wrong name is taken as the missing
        // one.
        let is_guess = why & (CallFlags::IMPLICIT | CallFlags::AT_END) != 0;
        let (at, why) = if is_guess && frame.foreign != Frame::NEVER {
            self.health.renamed += 1;
            (frame.foreign, CallFlags::RENAMED)
        } else {
            (at, why)
        };
        let call = &mut frame.call;
        call.exit = at;
        // A call of a damaged stream may end or begin at a wrong time, but takes at least as long as its callees.
        if call.inclusive().0 < frame.children {
            call.exit = Nanos(call.entry.0.saturating_add(frame.children));
        }
        let inclusive = call.inclusive();
        call.exclusive = Nanos(inclusive.0.saturating_sub(frame.children).max(0));
        if let Some(caller) = caller
            && caller.call.number == call.caller
        {
            caller.children = caller.children.saturating_add(inclusive.0);
            caller.call.children = caller.call.children.saturating_add(1);
        }
        let mut function = match shared.params.model {
            ModelBy::Function => FunctionId(call.region.0),
            ModelBy::CallPath => FunctionId(call.path.0),
        };
        let first = is_first(self.seen, function);
        if shared.by_size {
            let limit = shared.params.names;
            function = FunctionId(shared.names.sized(function.0, frame.bytes, limit));
        }
        let first_flag = if first { CallFlags::FIRST } else { 0 };
        call.flags = CallFlags((call.flags.0 & !CallFlags::OPEN) | first_flag | why);
        let runtime = match shared.params.runtime {
            Runtime::Exclusive => call.exclusive,
            Runtime::Inclusive => inclusive,
        };
        shared.batch.samples.push(Sample {
            function,
            runtime,
            first,
        });
        self.health.calls += 1;
        call
    }
}

/// Returns `true` if a model has had no complete call before, and marks it in the bit set.
#[inline]
fn is_first(seen: &mut Vec<u64>, function: FunctionId) -> bool {
    let (word, bit) = (function.0 as usize / 64, 1 << (function.0 % 64));
    if seen.len() <= word {
        seen.resize(word + 1, 0);
    }
    match seen.get_mut(word) {
        Some(seen) => {
            let is_first = *seen & bit == 0;
            *seen |= bit;
            is_first
        }
        None => false,
    }
}
