//! [`Sequences`]: clusters of each thread in order of time.

use crate::{Bursts, ClusterId, Error, Kind, Labels, Result};
use std::collections::HashMap;

/// Clusters of each thread's bursts in order of time. Equal sequences are stored once, because most
/// threads of a parallel program behave alike.
///
/// ```
/// use perf_track::{ClusterId, Sequences};
/// let same = vec![ClusterId(1), ClusterId(2)];
/// let sequences = Sequences::new(vec![same.clone(), vec![ClusterId(1)], same]);
/// assert_eq!((sequences.len(), sequences.distinct()), (3, 2));
/// assert_eq!(sequences.get(2), Some(&[ClusterId(1), ClusterId(2)][..]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Sequences {
    /// Distinct sequences, in the order of the first thread that has them.
    distinct: Vec<Vec<ClusterId>>,
    /// Index of the sequence of each thread.
    of: Vec<u32>,
}

impl Sequences {
    /// Creates sequences from the sequence of each thread.
    pub fn new(threads: Vec<Vec<ClusterId>>) -> Self {
        let mut known: HashMap<Vec<ClusterId>, u32> = HashMap::new();
        let mut sequences = Sequences::default();
        for sequence in threads {
            let next = sequences.distinct.len() as u32;
            let index = match known.get(&sequence) {
                Some(index) => *index,
                None => {
                    sequences.distinct.push(sequence.clone());
                    known.insert(sequence, next);
                    next
                }
            };
            sequences.of.push(index);
        }
        sequences
    }

    /// Returns the sequences of all threads of `bursts`. Only complete bursts count, including noise.
    ///
    /// # Errors
    /// Returns an error if there is not one label for each burst.
    pub fn of(bursts: &Bursts, labels: &Labels) -> Result<Self> {
        if labels.len() != bursts.len() {
            return Err(Error::Length {
                what: "labels of bursts",
                expected: bursts.len(),
                got: labels.len(),
            });
        }
        let mut threads = vec![Vec::new(); bursts.threads().len()];
        let each = bursts
            .rows()
            .iter()
            .zip(bursts.kinds())
            .zip(labels.as_slice());
        for ((burst, kind), label) in each {
            if *kind == Kind::Complete
                && let Some(thread) = threads.get_mut(burst.thread as usize)
            {
                thread.push((burst.begin, *label));
            }
        }
        let in_order = |mut thread: Vec<(_, ClusterId)>| {
            // Bursts are already in order of time, so sorting takes one pass.
            thread.sort_by_key(|(begin, _)| *begin);
            thread.into_iter().map(|(_, label)| label).collect()
        };
        Ok(Self::new(threads.into_iter().map(in_order).collect()))
    }

    /// Returns the number of threads.
    pub fn len(&self) -> usize {
        self.of.len()
    }

    /// Returns `true` if there are no threads.
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Returns the number of distinct sequences.
    pub fn distinct(&self) -> usize {
        self.distinct.len()
    }

    /// Returns the sequence of a thread; `None` if the thread does not exist.
    pub fn get(&self, thread: usize) -> Option<&[ClusterId]> {
        let index = *self.of.get(thread)?;
        self.distinct.get(index as usize).map(Vec::as_slice)
    }

    /// Creates sequences and stores a sequence for each thread, even if sequences are equal.
    pub(super) fn apart(threads: Vec<Vec<ClusterId>>) -> Self {
        Sequences {
            of: (0..threads.len() as u32).collect(),
            distinct: threads,
        }
    }

    pub(super) fn all(&self) -> &[Vec<ClusterId>] {
        &self.distinct
    }

    pub(super) fn which(&self) -> &[u32] {
        &self.of
    }
}
