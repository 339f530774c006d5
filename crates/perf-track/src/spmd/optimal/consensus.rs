//! [`Consensus`]: columns with which sequences are aligned; [`Worth`]: worth of pairing each
//! symbol, from the time of its bursts.

use super::{GAP, MAX_WORTH, MIN_WORTH};

/// Worth of each symbol.
///
/// The total score is `sum p_k N_k / (T C_k)` for `T` threads, with `p_k` the fraction of the time of cluster `k`,
/// `N_k` the number of its bursts and `C_k` the number of columns that contain it. A column less for `k` increases the
/// score by about `p_k / N_k` times a factor that is similar for all clusters, and `p_k / N_k` is proportional to the
/// mean time of the bursts of `k`. The worth of a symbol is therefore between [`MIN_WORTH`] and [`MAX_WORTH`], in proportion to
/// the mean time of the cluster's bursts. Because of the minimum, short bursts are aligned too.
#[derive(Clone, Debug)]
pub(in crate::spmd) struct Worth(Vec<i32>);

impl Worth {
    /// Computes the worth. `counts` holds the number of bursts of each symbol on all threads, and
    /// `shares` the fraction of the time of each symbol.
    pub(in crate::spmd) fn new(counts: &[u64], shares: &[f64]) -> Self {
        let mean = |(count, share): (&u64, &f64)| match count {
            0 => 0.0,
            _ => share / *count as f64,
        };
        let means: Vec<f64> = counts.iter().zip(shares).map(mean).collect();
        let most = means.iter().copied().fold(0.0, f64::max);
        let scale = if most > 0.0 {
            f64::from(MAX_WORTH - MIN_WORTH) / most
        } else {
            0.0
        };
        Worth(
            means
                .iter()
                .map(|mean| MIN_WORTH + (mean * scale).round() as i32)
                .collect(),
        )
    }

    fn of(&self, symbol: u32) -> i32 {
        // A symbol without a mean time has the least worth.
        self.0.get(symbol as usize).copied().unwrap_or(MIN_WORTH)
    }
}

/// Columns with which sequences are aligned.
///
/// Pairing a symbol with a column that contains it is worth half of its [`Worth`], plus the other
/// half in proportion to the threads that have the symbol in the column. Pairing a symbol with another
/// column costs [`GAP`]. A symbol without a column costs [`GAP`], and skipping a column costs [`GAP`] in
/// proportion to the threads in the column. Pairing different symbols thus costs more than pairing
/// equal symbols and less than two gaps.
#[derive(Clone, Debug)]
pub(in crate::spmd) struct Consensus {
    /// Cost of skipping each column.
    pub(in crate::spmd) skip: Vec<i32>,
    /// For each symbol the columns that contain it, ascending, with the worth of the pair.
    pairs: Vec<Vec<(u32, i32)>>,
    /// Symbol of each column in which all threads have the same symbol.
    pub(in crate::spmd) all: Vec<Option<u32>>,
    /// Largest worth of each symbol.
    best: Vec<i32>,
}

impl Consensus {
    /// Creates the consensus of a single sequence, as if all threads had it.
    pub(in crate::spmd) fn of_sequence(sequence: &[u32], worth: &Worth, symbols: usize) -> Self {
        let columns = sequence.iter().map(|symbol| vec![(*symbol, 1)]);
        Self::new(&columns.collect::<Vec<_>>(), 1, worth, symbols)
    }

    /// Creates a consensus from columns of symbols with their numbers of threads, of `threads` in total.
    pub(in crate::spmd) fn new(
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

    pub(in crate::spmd) fn len(&self) -> usize {
        self.skip.len()
    }

    /// Returns the columns in `from..to` that contain a symbol, with the worth of the pair.
    pub(in crate::spmd) fn pairs(&self, symbol: u32, from: usize, to: usize) -> &[(u32, i32)] {
        let pairs = self
            .pairs
            .get(symbol as usize)
            .map_or(&[][..], Vec::as_slice);
        let start = pairs.partition_point(|(column, _)| (*column as usize) < from);
        let end = pairs.partition_point(|(column, _)| (*column as usize) < to);
        &pairs[start..end]
    }

    /// Returns the largest worth of a symbol in any column.
    pub(in crate::spmd) fn best(&self, symbol: u32) -> i32 {
        // A symbol that no column contains is worth no pair.
        self.best.get(symbol as usize).copied().unwrap_or(-GAP)
    }
}
