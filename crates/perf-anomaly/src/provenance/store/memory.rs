//! [`Memory`]: store of entries in memory, which is discarded when the program ends.

use super::{Revision, Store};
use crate::Result;
use crate::provenance::json;
use crate::provenance::record::{Entry, Record};
use perf_core::Cancelled;

/// Store in memory, for programs that display the worst anomalies and store none. It reports as
/// many bytes for an entry as [`Lines`](super::Lines) would write, so that budgets have the same
/// meaning.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Entries.
    entries: Vec<Entry>,
    /// Buffer for a line.
    line: String,
}

impl Memory {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Store for Memory {
    fn put(&mut self, entry: &Entry) -> Result<u64> {
        self.line.clear();
        json::write(entry, &mut self.line);
        self.entries.push(entry.clone());
        Ok(self.line.len() as u64 + 1)
    }

    fn commit(&mut self) -> Result<()> {
        Ok(())
    }

    fn each(&mut self, take: &mut dyn FnMut(Entry) -> Result<()>) -> Result<()> {
        self.entries
            .iter()
            .try_for_each(|entry| take(entry.clone()))
    }

    fn revise(&mut self, judge: &mut dyn FnMut(&Record) -> Revision) -> Result<u64> {
        let mut revisions = Vec::with_capacity(self.entries.len());
        for entry in &self.entries {
            let revision = match entry {
                Entry::Call(record) => judge(record),
                _ => Revision::Keep,
            };
            if revision == Revision::Stop {
                return Err(Cancelled.into());
            }
            revisions.push(revision);
        }
        let before = self.entries.len();
        let mut revisions = revisions.into_iter();
        self.entries.retain_mut(|entry| match revisions.next() {
            Some(Revision::Remove) => false,
            Some(Revision::Replace(other)) => {
                *entry = Entry::Call(other);
                true
            }
            _ => true,
        });
        Ok((before - self.entries.len()) as u64)
    }
}
