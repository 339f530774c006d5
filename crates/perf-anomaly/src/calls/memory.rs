//! What a stream remembers of its calls.

use super::Call;
use super::params::CallsParams;
use super::stream::{Frame, Function, Note, Stream};

impl Stream {
    /// Drops what nobody can ask for any more.
    pub(super) fn forget(&mut self, params: &CallsParams) {
        self.elders.clear();
        let old = self.entered.len().saturating_sub(params.context);
        self.entered.drain(..old);
        self.base += old as u64;
        let old = self.notes.len().saturating_sub(params.notes);
        self.notes.drain(..old);
        self.notes_base += old as u64;
    }

    /// Brings open calls among `entered` up to date.
    pub(super) fn refresh(&mut self) {
        for frame in self.stack.iter().rev() {
            let slot = frame.call.number.checked_sub(self.base);
            match slot.and_then(|slot| self.entered.get_mut(slot as usize)) {
                Some(call) => *call = frame.call,
                None => break,
            }
        }
    }

    /// A call that is open or still remembered, by its number.
    pub(super) fn call(&self, number: u64) -> Option<Call> {
        let found = self
            .stack
            .binary_search_by_key(&number, |frame| frame.call.number);
        if let Some(frame) = found.ok().and_then(|depth| self.stack.get(depth)) {
            return Some(frame.call);
        }
        match number.checked_sub(self.base) {
            Some(slot) => self.entered.get(usize::try_from(slot).ok()?).copied(),
            None => self
                .elders
                .iter()
                .find(|call| call.number == number)
                .copied(),
        }
    }

    /// The calls that were entered before and after one, at most `most` each, as far as they are
    /// remembered.
    pub(super) fn around(&self, number: u64, most: usize) -> (&[Call], &[Call]) {
        let slot = number.checked_sub(self.base).map(usize::try_from);
        let Some(Ok(slot)) = slot else {
            // Entered so long ago that nobody knows what came before and after.
            return Default::default();
        };
        let slot = slot.min(self.entered.len());
        let (before, rest) = self.entered.split_at(slot);
        let before = before
            .get(before.len().saturating_sub(most)..)
            .unwrap_or_default();
        let after = rest.get(1..).unwrap_or_default();
        (
            before,
            after.get(..most.min(after.len())).unwrap_or_default(),
        )
    }

    /// The messages and counter values of a call that are kept, the latest first.
    pub(super) fn notes(&self, call: &Call) -> impl Iterator<Item = Note> + '_ {
        let mut at = call.last_note;
        std::iter::from_fn(move || {
            let slot = at.checked_sub(self.notes_base)?.checked_sub(1)?;
            let note = *self.notes.get(usize::try_from(slot).ok()?)?;
            at = note.previous;
            Some(note)
        })
    }

    /// Events that are not yet calls.
    pub(super) fn pending(&self) -> usize {
        self.functions.len() + self.pending.len()
    }

    /// Open calls, the outermost first.
    pub(super) fn open(&self) -> impl Iterator<Item = &Call> {
        self.stack.iter().map(|frame| &frame.call)
    }

    /// Bytes of memory that the stream holds.
    pub(super) fn memory(&self) -> usize {
        self.functions.capacity() * size_of::<Function>()
            + (self.pending.capacity() + self.notes.capacity()) * size_of::<Note>()
            + self.stack.capacity() * size_of::<Frame>()
            + (self.entered.capacity() + self.elders.capacity()) * size_of::<Call>()
            + self.seen.capacity() * size_of::<u64>()
    }
}
