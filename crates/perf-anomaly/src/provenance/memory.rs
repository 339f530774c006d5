//! [`Memory`]: entries of which nothing is left when the program ends.

use super::json;
use super::record::{Entry, Record};
use super::store::{Revision, Store};
use crate::Result;

/// A store in memory: for who shows the worst anomalies and keeps nothing. It tells as many bytes as
/// [`Lines`](super::Lines) would write, so that budgets mean the same.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    entries: Vec<Entry>,
    line: String,
}

impl Memory {
    /// An empty store.
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
        let before = self.entries.len();
        self.entries.retain_mut(|entry| {
            let Entry::Call(record) = entry else {
                return true;
            };
            match judge(record) {
                Revision::Keep => true,
                Revision::Remove => false,
                Revision::Replace(other) => {
                    *record = other;
                    true
                }
            }
        });
        Ok((before - self.entries.len()) as u64)
    }
}
