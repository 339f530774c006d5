//! [`BurstCounts`]: numbers of bursts of a region in the runs of two versions; [`Variation`]: their variation between
//! runs of one version, and the probability that equal versions differ as observed.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Numbers of bursts of a region in each run; 0 in a run without the region.
#[derive(Clone, Debug)]
pub(super) struct BurstCounts {
    /// Runs of the old version.
    old: Vec<usize>,
    /// Runs of the new version.
    new: Vec<usize>,
}

impl BurstCounts {
    pub(super) fn new(old: Vec<usize>, new: Vec<usize>) -> Self {
        BurstCounts { old, new }
    }

    /// Returns the mean number of the new version divided by that of the old version, over the runs with the region.
    pub(super) fn factor(&self) -> f64 {
        let mean = |runs: &[usize]| {
            let with = runs.iter().filter(|count| **count > 0).count();
            runs.iter().sum::<usize>() as f64 / with as f64
        };
        mean(&self.new) / mean(&self.old)
    }

    /// Returns `true` if all runs of a version have the same number, in both versions.
    fn is_fixed(&self) -> bool {
        [&self.old, &self.new].into_iter().all(|runs| {
            let first = runs.first().copied().unwrap_or_default();
            first > 0 && runs.iter().all(|count| *count == first)
        })
    }

    /// Returns the sum of squares of the logarithms about the mean of their version.
    fn squares(&self) -> f64 {
        let of = |runs: &[usize]| {
            // The logarithm of half a burst stands for that of none.
            let logs: Vec<f64> = runs
                .iter()
                .map(|count| (*count as f64).max(0.5).ln())
                .collect();
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>()
        };
        of(&self.old) + of(&self.new)
    }
}

/// Variation of the numbers of bursts of all tested regions between runs of one version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variation {
    /// Number of tested regions.
    regions: usize,
    /// Number of those whose numbers differ between runs of a version.
    varying: usize,
    /// Sum of squares of the logarithms of these numbers.
    squares: f64,
    /// Number of runs of the old and of the new version.
    runs: [usize; 2],
}

impl Variation {
    pub(super) fn of(all: &[&BurstCounts]) -> Self {
        let varying: Vec<f64> = all
            .iter()
            .filter(|of| !of.is_fixed())
            .map(|of| of.squares())
            .collect();
        Variation {
            regions: all.len(),
            varying: varying.len(),
            squares: varying.iter().sum(),
            runs: all
                .first()
                .map_or([0; 2], |of| [of.old.len(), of.new.len()]),
        }
    }

    /// Returns `true` if the numbers of every region are equal in all runs of a version.
    pub(super) fn is_none(&self) -> bool {
        self.varying == 0
    }

    /// Returns an upper bound of the probability that equal versions have numbers that are equal in all runs of a
    /// version and larger in the new version. `None` for other numbers, or if a version has a single run.
    ///
    /// If a number takes two values at random, its runs are divided by version with a probability of at most
    /// `2^-runs`, whatever the frequencies of the values. This is possible for the observed region and for as many as
    /// are seen to vary. The second bound is the probability that a number that varies like those differs as much.
    pub(super) fn probability(&self, of: &BurstCounts) -> Option<f64> {
        let [old, new] = self.runs.map(|runs| runs as f64);
        if old < 2.0 || new < 2.0 || !of.is_fixed() || of.factor() <= 1.0 {
            return None;
        }
        let divided = (self.varying + 1) as f64 * 0.5_f64.powf(old + new);
        let free = self.varying as f64 * (old + new - 2.0);
        let error = (self.squares / free * (1.0 / old + 1.0 / new)).sqrt();
        let usual = StudentsT::new(0.0, 1.0, free).ok().filter(|_| error > 0.0);
        let usual = usual.map_or(1.0, |student| student.cdf(-of.factor().ln() / error));
        Some(divided.min(self.regions as f64 * usual).min(1.0))
    }
}
