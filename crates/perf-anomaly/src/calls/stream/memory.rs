//! Calls, messages and counter values that a stream keeps after a step, and their queries.

use super::{Frame, Function, Note, Stream};
use crate::calls::params::CallsParams;
use crate::calls::{Batch, Call};

impl Stream {
    /// Keeps the last calls of the previous step, which is in `batch`, and drops everything that
    /// can no longer be queried.
    pub(in crate::calls) fn forget(&mut self, params: &CallsParams, batch: &Batch) {
        self.elders.clear();
        let known = self.kept.len() + self.entered.len();
        let old = known.saturating_sub(params.context);
        let of_kept = old.min(self.kept.len());
        self.kept.drain(..of_kept);
        let first = self.next - self.entered.len() as u64 + (old - of_kept) as u64;
        for number in first..self.next {
            self.kept.extend(self.call(number, batch));
        }
        self.entered.clear();
        let old = self.notes.len().saturating_sub(params.notes);
        self.notes.drain(..old);
        self.notes_base += old as u64;
    }

    /// Returns the number of the first call entered in this step.
    fn base(&self) -> u64 {
        self.next - self.entered.len() as u64
    }

    /// Returns the number of the first call that is kept.
    fn oldest(&self) -> u64 {
        self.base() - self.kept.len() as u64
    }

    /// Stores the row of a completed call in the batch, or the call itself if it was entered in an
    /// earlier step.
    #[inline]
    pub(in crate::calls) fn remember(&mut self, call: &Call, row: usize) {
        match call.number.checked_sub(self.base()) {
            Some(slot) => {
                if let Some(entered) = self.entered.get_mut(slot as usize) {
                    *entered = row;
                }
            }
            None => self.remember_older(call),
        }
    }

    #[cold]
    fn remember_older(&mut self, call: &Call) {
        let slot = call.number.checked_sub(self.oldest());
        match slot.and_then(|slot| self.kept.get_mut(slot as usize)) {
            Some(kept) => *kept = *call,
            None => self.elders.push(*call),
        }
    }

    /// Returns a call by its number if it is open, in the batch or kept.
    pub(in crate::calls) fn call(&self, number: u64, batch: &Batch) -> Option<Call> {
        let found = self
            .stack
            .binary_search_by_key(&number, |frame| frame.call.number);
        if let Some(frame) = found.ok().and_then(|depth| self.stack.get(depth)) {
            return Some(frame.call);
        }
        if let Some(slot) = number.checked_sub(self.base()) {
            let row = self.entered.get(usize::try_from(slot).ok()?)?;
            return batch.calls.get(*row).copied();
        }
        if let Some(slot) = number.checked_sub(self.oldest()) {
            return self.kept.get(usize::try_from(slot).ok()?).copied();
        }
        let mut elders = self.elders.iter();
        elders.find(|call| call.number == number).copied()
    }

    /// Returns at most `most` kept calls that were entered before a call, in order of entry.
    pub(in crate::calls) fn before(&self, number: u64, most: usize, batch: &Batch) -> Vec<Call> {
        let from = number.saturating_sub(most as u64).max(self.oldest());
        (from..number)
            .filter_map(|number| self.call(number, batch))
            .collect()
    }

    /// Returns at most `most` kept calls that were entered after a call, in order of entry; none if
    /// the call was entered before the oldest kept call.
    pub(in crate::calls) fn after(&self, number: u64, most: usize, batch: &Batch) -> Vec<Call> {
        if number < self.oldest() {
            return Vec::new();
        }
        let end = number.saturating_add(1).saturating_add(most as u64);
        (number.saturating_add(1)..end.min(self.next))
            .filter_map(|number| self.call(number, batch))
            .collect()
    }

    /// Returns the kept messages and counter values of a call, latest first.
    pub(in crate::calls) fn notes(&self, call: &Call) -> impl Iterator<Item = Note> + '_ {
        let mut at = call.last_note;
        std::iter::from_fn(move || {
            let slot = at.checked_sub(self.notes_base)?.checked_sub(1)?;
            let note = *self.notes.get(usize::try_from(slot).ok()?)?;
            at = note.previous;
            Some(note)
        })
    }

    /// Returns the number of events that are not yet converted to calls.
    pub(in crate::calls) fn pending(&self) -> usize {
        self.functions.len() + self.pending.len() + self.held()
    }

    /// Returns the open calls, outermost first.
    pub(in crate::calls) fn open(&self) -> impl Iterator<Item = &Call> {
        self.stack.iter().map(|frame| &frame.call)
    }

    /// Returns the memory of the stream in bytes.
    pub(in crate::calls) fn memory(&self) -> usize {
        self.functions.capacity() * size_of::<Function>()
            + (self.pending.capacity() + self.notes.capacity()) * size_of::<Note>()
            + self.stack.capacity() * size_of::<Frame>()
            + (self.kept.capacity() + self.elders.capacity()) * size_of::<Call>()
            + self.entered.capacity() * size_of::<usize>()
            + self.seen.capacity() * size_of::<u64>()
            + self.counter_values.memory()
    }
}
