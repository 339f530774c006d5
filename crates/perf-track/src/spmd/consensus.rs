//! [`Consensus`]: the columns that sequences are aligned with, and what each pairing is worth.

use super::kernel::{GAP, LEAST, MOST};

/// What is worth how much, by symbol.
///
/// The score of the whole is `sum p_k N_k / (T C_k)`, with `N_k` the bursts of cluster `k` and `C_k`
/// the columns it is in: one column less for `k` is worth about `p_k / N_k` times what the others
/// share, that is the time of a mean burst of it. So a pair of equal symbols is worth between
/// [`LEAST`] and [`MOST`], in proportion to the mean time of the cluster's bursts. The least keeps
/// short bursts in step as well.
#[derive(Clone, Debug)]
pub(super) struct Worth(Vec<i32>);

impl Worth {
    /// `counts` has the bursts of each symbol on all threads, `shares` its share of the time.
    pub(super) fn new(counts: &[u64], shares: &[f64]) -> Self {
        let mean = |(count, share): (&u64, &f64)| match count {
            0 => 0.0,
            _ => share / *count as f64,
        };
        let means: Vec<f64> = counts.iter().zip(shares).map(mean).collect();
        let most = means.iter().copied().fold(0.0, f64::max);
        let scale = if most > 0.0 {
            f64::from(MOST - LEAST) / most
        } else {
            0.0
        };
        Worth(
            means
                .iter()
                .map(|mean| LEAST + (mean * scale).round() as i32)
                .collect(),
        )
    }

    fn of(&self, symbol: u32) -> i32 {
        self.0.get(symbol as usize).copied().unwrap_or(LEAST)
    }
}

/// The columns that sequences are aligned with.
///
/// A symbol paired with a column that has it is worth half of its [`Worth`] and the other half in
/// proportion to the threads that have it there; with a column that does not, it costs [`GAP`]. A
/// symbol without a column costs [`GAP`], a column left out [`GAP`] in proportion to the threads
/// that are in it: pairing two that differ is dearer than pairing equals and cheaper than two gaps.
#[derive(Clone, Debug)]
pub(super) struct Consensus {
    /// What leaving out each column costs.
    pub(super) skip: Vec<i32>,
    /// By symbol: the columns that have it, ascending, with the worth of the pair.
    pairs: Vec<Vec<(u32, i32)>>,
    /// The symbol of columns in which all threads have the same one.
    pub(super) all: Vec<Option<u32>>,
    /// The most a symbol can be worth.
    best: Vec<i32>,
}

impl Consensus {
    /// A sequence as if all threads had it.
    pub(super) fn of_sequence(sequence: &[u32], worth: &Worth, symbols: usize) -> Self {
        let columns = sequence.iter().map(|symbol| vec![(*symbol, 1)]);
        Self::new(&columns.collect::<Vec<_>>(), 1, worth, symbols)
    }

    /// Columns as symbols with the number of threads that have them, of `threads` in all.
    pub(super) fn new(
        columns: &[Vec<(u32, u64)>],
        threads: u64,
        worth: &Worth,
        symbols: usize,
    ) -> Self {
        let mut consensus = Consensus {
            skip: Vec::with_capacity(columns.len()),
            pairs: vec![Vec::new(); symbols],
            all: Vec::with_capacity(columns.len()),
            best: vec![-GAP; symbols],
        };
        let share =
            |of: i32, part: u64| (i64::from(of) * part as i64 / threads.max(1) as i64) as i32;
        for (index, column) in columns.iter().enumerate() {
            let there: u64 = column.iter().map(|(_, count)| count).sum();
            consensus.skip.push(share(GAP, there).max(1));
            for (symbol, count) in column {
                let worth = worth.of(*symbol);
                let pair = worth - worth / 2 + share(worth / 2, *count);
                let slot = *symbol as usize;
                if let (Some(pairs), Some(best)) =
                    (consensus.pairs.get_mut(slot), consensus.best.get_mut(slot))
                {
                    pairs.push((index as u32, pair));
                    *best = pair.max(*best);
                }
            }
            consensus.all.push(match column.as_slice() {
                [(symbol, count)] if *count == threads => Some(*symbol),
                _ => None,
            });
        }
        consensus
    }

    pub(super) fn len(&self) -> usize {
        self.skip.len()
    }

    /// The columns from `from` on up to `to` that have a symbol, with the worth of the pair.
    pub(super) fn pairs(&self, symbol: u32, from: usize, to: usize) -> &[(u32, i32)] {
        let pairs = self
            .pairs
            .get(symbol as usize)
            .map_or(&[][..], Vec::as_slice);
        let start = pairs.partition_point(|(column, _)| (*column as usize) < from);
        let end = pairs.partition_point(|(column, _)| (*column as usize) < to);
        pairs.get(start..end).unwrap_or_default()
    }

    /// The most a symbol can be worth, wherever it stands.
    pub(super) fn best(&self, symbol: u32) -> i32 {
        self.best.get(symbol as usize).copied().unwrap_or(-GAP)
    }
}
