//! [`Arguments`]: additional numbers that only few calls have, such as the training step, stored as linked lists.

use super::row::Number;
use perf_core::Attribute;

/// Name of an additional number of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// Training step.
    Step,
    /// Sequence number of an operation among the operations of its kind in a step.
    Sequence,
    /// Model chunk; a pipeline stage has several.
    ModelChunk,
    /// Micro-batch.
    MicroBatch,
    /// Recorded duration in nanoseconds of a call that ends before it begins.
    Duration,
    /// Collective operation.
    Collective,
    /// Group of ranks, by its number in the file.
    Group,
    /// Sequence number of a collective operation in its group.
    Number,
    /// Bytes sent in a collective operation.
    Sent,
    /// Bytes received in a collective operation.
    Received,
    /// 1 for the root of a collective operation.
    Root,
}

impl Argument {
    /// Number of names.
    pub(in crate::timeline) const COUNT: usize = 11;

    /// Returns the definition of the attribute that stores the number.
    pub(in crate::timeline) fn attribute(self) -> Attribute {
        let (name, description) = match self {
            Argument::Step => ("step", "training step"),
            Argument::Sequence => ("seq_id", "index among the operations of a kind and step"),
            Argument::ModelChunk => ("model_chunk", "part of the model"),
            Argument::MicroBatch => ("mb_id", "micro-batch, -1 for none"),
            Argument::Duration => ("duration", "recorded duration in ns, if it is negative"),
            Argument::Collective => ("collective", "collective operation, by its number in OTF2"),
            Argument::Group => ("group", "communicator of a collective operation"),
            Argument::Number => (
                "sequence",
                "sequence number of a collective operation in its group",
            ),
            Argument::Sent => ("sent", "bytes sent in a collective operation"),
            Argument::Received => ("received", "bytes received in a collective operation"),
            Argument::Root => ("root", "1 for the root of a collective operation"),
        };
        Attribute {
            name: name.into(),
            description: description.into(),
        }
    }
}

/// Number in a linked list with a reference to the rest of the list.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Name of the number.
    name: Argument,
    /// Value of the number.
    number: Number,
    /// Index of the previous entry plus 1; 0 for the first entry.
    before: u32,
}

/// Numbers of calls, stored as linked lists.
#[derive(Debug, Default)]
pub(in crate::timeline) struct Arguments(Vec<Entry>);

impl Arguments {
    /// Adds a number to the list `before` and returns the new list. List 0 is empty. If there are too many entries,
    /// returns `before`.
    pub(in crate::timeline) fn add(&mut self, before: u32, name: Argument, number: Number) -> u32 {
        let Some(list) = u32::try_from(self.0.len())
            .ok()
            .and_then(|len| len.checked_add(1))
        else {
            return before;
        };
        self.0.push(Entry {
            name,
            number,
            before,
        });
        list
    }

    /// Iterates over the numbers of a list, last added first.
    pub(in crate::timeline) fn list(&self, list: u32) -> impl Iterator<Item = (Argument, Number)> {
        let entry = |list: u32| self.0.get((list as usize).checked_sub(1)?);
        std::iter::successors(entry(list), move |last| entry(last.before))
            .map(|entry| (entry.name, entry.number))
    }

    /// Returns the names that occur, in the order of their first use.
    pub(in crate::timeline) fn names(&self) -> Vec<Argument> {
        let mut names = Vec::new();
        for entry in &self.0 {
            if !names.contains(&entry.name) {
                names.push(entry.name);
                if names.len() == Argument::COUNT {
                    break;
                }
            }
        }
        names
    }

    /// Returns the memory of all lists in bytes.
    pub(in crate::timeline) fn memory(&self) -> usize {
        size_of_val(&*self.0)
    }
}
