//! [`Align`]: aligns the sequences of clusters of all threads in columns; [`AlignParams`]: its
//! parameters, with the [`AlignMethod`]: an improved consensus or the published method.

use super::optimal::consensus::{Consensus, Worth};
use super::optimal::{LONGEST, Place, Scratch, align};
use super::progressive;
use super::{Alignment, Sequences};
use crate::{ClusterId, Error, Result};
use perf_core::{Job, parallel};
use std::collections::HashMap;

/// Largest depth of alignments of the bursts between two columns within each other. Deeper bursts are
/// placed in columns in order, without an alignment.
const DEEPEST: usize = 32;

/// Method of alignment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AlignMethod {
    /// Star alignment around a consensus, which is improved as long as the SPMD score increases. This
    /// method aligns more bursts than the published method: for EPOCH with 16 tasks the score is 0.984
    /// instead of 0.739.
    #[default]
    Star,
    /// The published method of burst clustering. All pairs of different sequences are aligned
    /// (Needleman and Wunsch with affine gaps), the fractions of identical pairs determine a tree
    /// (UPGMA), and profiles are aligned along the tree. Early alignments are never corrected, so a
    /// shift by one step at the begin of a few threads may persist. Scores are equal to those of the
    /// established tool. Takes `(all bursts of different sequences)^2 / 2` time, and the memory of
    /// [`AlignParams::memory`] in addition to the bursts.
    Progressive,
}

perf_core::parameters! {
    /// Parameters of [`Align`]. Set them, then call [`check`](Self::check).
    ///
    /// ```
    /// use perf_track::{Align, AlignMethod};
    /// assert!(Align::params().method(AlignMethod::Progressive).rounds(2).check().is_ok());
    /// assert!(Align::params().rounds(0).check().is_err());
    /// ```
    #[derive(Clone, Copy, Debug)]
    pub struct AlignParams {
        /// Sets the method of alignment; default [`AlignMethod::Star`].
        method: AlignMethod = AlignMethod::default(),
        /// Sets the largest number of rounds, each with the consensus of the previous round; default 4,
        /// at least 1. The alignment stops earlier if the score does not increase.
        rounds: usize = 4,
        /// Sets the memory budget in bytes for the table of one alignment; default 2^26. Each CPU
        /// thread works on one alignment at a time. If an alignment needs more memory, it is halved until
        /// the parts fit, which takes up to twice the time and yields the same score.
        memory: usize = 1 << 26,
    }
}

impl AlignParams {
    /// Validates the parameters.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`] for 0 rounds.
    pub fn check(self) -> Result<Align> {
        if self.rounds == 0 {
            return Err(Error::Parameter {
                name: "rounds of alignment",
                value: "0".into(),
                range: "at least 1",
            });
        }
        Ok(Align(self))
    }
}

/// Aligns the sequences of all threads, with parameters validated by [`AlignParams::check`].
///
/// The default is a star alignment around a consensus. Each different sequence is aligned with the
/// consensus, which is initially the most frequent sequence. Bursts between two columns are aligned
/// separately in the same way, so that bursts shared by few threads are aligned too. The columns that
/// contain at least half of the threads form the next consensus, until the SPMD score no longer
/// increases. Each alignment is optimal for its consensus.
///
/// The published method, [`AlignMethod::Progressive`], aligns along a tree instead. It compares all
/// pairs of different sequences, which is infeasible for a thousand of them, and never corrects early
/// alignments.
///
/// Takes at most `different sequences x length x columns` time for each round, and much less if
/// sequences differ little. Memory is linear in the number of bursts, in addition to
/// [`AlignParams::memory`]. Sequences are aligned in parallel; the result does not depend on the
/// number of threads.
///
/// ```
/// use perf_core::Job;
/// use perf_track::{Align, ClusterId, Sequences};
/// let ids = |ids: &[u32]| ids.iter().map(|id| ClusterId(*id)).collect::<Vec<_>>();
/// // Only one thread computes cluster 3, in the middle.
/// let sequences = Sequences::new(vec![ids(&[1, 2, 1, 2]), ids(&[1, 2, 3, 1, 2])]);
/// let shares = [0.0, 0.5, 0.4, 0.1];
/// let align = Align::default();
/// let alignment = align.align(&sequences, &shares, &Job::default())?;
/// assert_eq!(alignment.columns(), 5);
/// assert_eq!(alignment.row(0).expect("a thread")[2], None);
/// assert!((alignment.score(&shares).global - 0.95).abs() < 1e-12);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Align(AlignParams);

/// Sequences in columns.
struct Layout {
    /// Number of columns.
    columns: usize,
    /// Column of each symbol of each sequence.
    places: Vec<Vec<u32>>,
}

impl Align {
    /// Returns parameters with their default values.
    pub fn params() -> AlignParams {
        AlignParams::default()
    }

    /// Aligns sequences. `shares` is the fraction of the time of each cluster, noise first;
    /// clusters without an entry have the fraction 0.
    ///
    /// # Errors
    /// Returns [`Error::TooMany`] for more than 2^20 bursts on a thread, and for the progressive
    /// method also for more than 4,096 different sequences or 2^40 cells of their pairs. Returns
    /// [`Error::NotFinite`] for a share that is not finite, or [`Error::Cancelled`] if the job is
    /// cancelled.
    pub fn align(&self, sequences: &Sequences, shares: &[f64], job: &Job) -> Result<Alignment> {
        if let Some(at) = shares.iter().position(|share| !share.is_finite()) {
            return Err(Error::NotFinite {
                point: at,
                dimension: 0,
                value: shares[at],
            });
        }
        if sequences
            .all()
            .iter()
            .any(|sequence| sequence.len() > LONGEST)
        {
            return Err(Error::TooMany {
                what: "bursts of a thread",
                limit: LONGEST as u64,
            });
        }
        // Clusters are converted to dense symbols.
        let mut clusters: Vec<ClusterId> = sequences.all().iter().flatten().copied().collect();
        clusters.sort_unstable();
        clusters.dedup();
        let symbol = |id: &ClusterId| clusters.partition_point(|other| other < id) as u32;
        let all = sequences.all().iter();
        let all: Vec<Vec<u32>> = all.map(|ids| ids.iter().map(symbol).collect()).collect();
        let mut weights = vec![0_u64; all.len()];
        for which in sequences.which() {
            if let Some(weight) = weights.get_mut(*which as usize) {
                *weight += 1;
            }
        }
        let mut counts = vec![0_u64; clusters.len()];
        for (sequence, weight) in all.iter().zip(&weights) {
            for symbol in sequence {
                if let Some(count) = counts.get_mut(*symbol as usize) {
                    *count += weight;
                }
            }
        }
        if self.0.method == AlignMethod::Progressive {
            let worth = progressive::Worth::new(&clusters, shares);
            let memory = self.0.memory;
            let found = progressive::align(&all, &weights, &worth, memory, job);
            let (columns, places) = found?;
            return Ok(Alignment::new(sequences.clone(), places, columns));
        }
        // A cluster without a share has weight 0.
        let of = |id: &ClusterId| shares.get(id.0 as usize).copied().unwrap_or_default();
        let worth = Worth::new(&counts, &clusters.iter().map(of).collect::<Vec<_>>());
        let group = Group {
            sequences: all.iter().map(Vec::as_slice).collect(),
            weights,
            worth: &worth,
            symbols: clusters.len(),
            memory: self.0.memory,
        };
        let work = |consensus: &Consensus| {
            let total = (group.sequences.len() * self.0.rounds) as u64;
            let places = parallel::try_map(group.sequences.len(), |at| -> Result<_> {
                job.check()?;
                let sequence = group.sequences[at];
                let mut scratch = Scratch::default();
                let places = align(consensus, sequence, self.0.memory, &mut scratch, job)?;
                job.advance("alignment", 1, total);
                Ok(places)
            })?;
            let layout = group.assemble(consensus.len(), &places, 0, job)?;
            Ok::<_, Error>(Alignment::new(
                sequences.clone(),
                layout.places,
                layout.columns,
            ))
        };
        let Some(seed) = group.seed() else {
            return Ok(Alignment::new(sequences.clone(), Vec::new(), 0));
        };
        let mut best = work(&Consensus::of_sequence(seed, &worth, clusters.len()))?;
        let mut score = best.score(shares).global;
        for _ in 1..self.0.rounds {
            let columns =
                (0..best.columns()).filter(|column| 2 * best.gaps(*column) <= best.threads());
            let counted = columns.map(|column| {
                let found = best.column(column).iter();
                found
                    .map(|(id, count)| (symbol(id), u64::from(*count)))
                    .collect::<Vec<_>>()
            });
            let columns: Vec<_> = counted.take(LONGEST).collect();
            let threads = best.threads() as u64;
            let next = work(&Consensus::new(&columns, threads, &worth, clusters.len()))?;
            let next_score = next.score(shares).global;
            if next_score <= score {
                break;
            }
            (best, score) = (next, next_score);
        }
        Ok(best)
    }
}

/// Different sequences that are aligned together.
struct Group<'a> {
    /// Sequences of symbols.
    sequences: Vec<&'a [u32]>,
    /// Number of threads of each sequence.
    weights: Vec<u64>,
    /// Worth of each symbol.
    worth: &'a Worth,
    /// Number of symbols.
    symbols: usize,
    /// Memory budget in bytes.
    memory: usize,
}

impl<'a> Group<'a> {
    /// Returns the most frequent sequence; in a tie the longest, then the first.
    fn seed(&self) -> Option<&'a [u32]> {
        let all = self.sequences.iter().zip(&self.weights).rev();
        all.max_by_key(|(sequence, weight)| (**weight, sequence.len()))
            .map(|(sequence, _)| *sequence)
    }

    /// Aligns sequences that lie between two columns.
    fn arrange(&self, depth: usize, job: &Job) -> Result<Layout> {
        let longest = self.sequences.iter().map(|sequence| sequence.len()).max();
        let Some(seed) = self
            .seed()
            .filter(|_| self.sequences.len() > 1 && depth < DEEPEST)
        else {
            let side_by_side = |sequence: &&[u32]| (0..sequence.len() as u32).collect();
            return Ok(Layout {
                columns: longest.unwrap_or_default(),
                places: self.sequences.iter().map(side_by_side).collect(),
            });
        };
        let consensus = Consensus::of_sequence(seed, self.worth, self.symbols);
        let mut scratch = Scratch::default();
        let mut places = Vec::with_capacity(self.sequences.len());
        for sequence in &self.sequences {
            job.check()?;
            let found = align(&consensus, sequence, self.memory, &mut scratch, job)?;
            places.push(found);
        }
        self.assemble(consensus.len(), &places, depth, job)
    }

    /// Builds the columns of the consensus with the columns inserted between them.
    fn assemble(
        &self,
        columns: usize,
        places: &[Vec<Place>],
        depth: usize,
        job: &Job,
    ) -> Result<Layout> {
        // Runs of symbols between two columns: slot, sequence, first symbol, end.
        let mut runs: Vec<(u32, usize, usize, usize)> = Vec::new();
        for (sequence, places) in places.iter().enumerate() {
            let mut last = None;
            for (at, place) in places.iter().enumerate() {
                let Place::Before(slot) = *place else {
                    last = None;
                    continue;
                };
                match runs.last_mut() {
                    Some(run) if last == Some(slot) => run.3 = at + 1,
                    _ => runs.push((slot, sequence, at, at + 1)),
                }
                last = Some(slot);
            }
        }
        runs.sort_unstable();
        let mut widths = vec![0_usize; columns + 1];
        // Column of each run's symbols, counted from the begin of its slot.
        let mut inner: Vec<(usize, usize, Vec<u32>)> = Vec::with_capacity(runs.len());
        for of_slot in runs.chunk_by(|a, b| a.0 == b.0) {
            let mut known: HashMap<&[u32], usize> = HashMap::new();
            let mut group = Group {
                sequences: Vec::new(),
                weights: Vec::new(),
                ..*self
            };
            let mut which = Vec::with_capacity(of_slot.len());
            for (_, sequence, from, to) in of_slot {
                let symbols = &self.sequences[*sequence][*from..*to];
                let weight = self.weights[*sequence];
                let index = *known.entry(symbols).or_insert(group.sequences.len());
                if index == group.sequences.len() {
                    group.sequences.push(symbols);
                    group.weights.push(0);
                }
                group.weights[index] += weight;
                which.push(index);
            }
            let layout = group.arrange(depth + 1, job)?;
            if let Some((slot, ..)) = of_slot.first()
                && let Some(width) = widths.get_mut(*slot as usize)
            {
                *width = layout.columns;
            }
            for ((_, sequence, from, _), index) in of_slot.iter().zip(which) {
                let places = layout.places[index].clone();
                inner.push((*sequence, *from, places));
            }
        }
        // Slot s begins after s columns and all earlier slots.
        let mut starts = Vec::with_capacity(columns + 1);
        let mut wide = 0;
        for (slot, width) in widths.iter().enumerate() {
            starts.push((wide + slot) as u32);
            wide += width;
        }
        let start = |slot: u32| starts[slot as usize];
        let width = |slot: u32| widths[slot as usize] as u32;
        let of_place = |place: &Place| match *place {
            Place::Column(column) => start(column) + width(column),
            Place::Before(slot) => start(slot),
        };
        let of_sequence = |places: &Vec<Place>| places.iter().map(of_place).collect::<Vec<u32>>();
        let mut places: Vec<Vec<u32>> = places.iter().map(of_sequence).collect();
        for (sequence, from, run) in inner {
            let slots = places
                .get_mut(sequence)
                .and_then(|p| p.get_mut(from..from + run.len()));
            for (slot, place) in slots.unwrap_or_default().iter_mut().zip(run) {
                *slot += place;
            }
        }
        Ok(Layout {
            columns: columns + wide,
            places,
        })
    }
}
