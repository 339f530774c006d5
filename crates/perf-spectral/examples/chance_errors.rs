//! Measures how often independent views pass for related ones: the share of pairs with a p-value of
//! at most 0.05 from surrogates, and the number of sets of 300 views in which relations are found.
//!
//! ```text
//! cargo run --release -p perf-spectral --example chance_errors -- [pairs] [sets] [seed]
//! ```

#[path = "../tests/spectral/relations/independent_views.rs"]
mod independent_views;
#[path = "../tests/spectral/relations/smooth_views.rs"]
#[allow(dead_code, reason = "only the random numbers are used here")]
mod smooth_views;

use independent_views::{KINDS, false_relations, false_share};

/// Number of views of a set.
const VIEWS: usize = 300;

fn main() {
    let mut counts = std::env::args()
        .skip(1)
        .filter_map(|text| text.parse().ok());
    let (pairs, sets) = (counts.next().unwrap_or(1000), counts.next().unwrap_or(20));
    let first = counts.next().unwrap_or(5000) as u64;
    for dims in [&[4, 4, 4][..], &[16, 2], &[8, 8], &[64]] {
        for kind in KINDS {
            let share = false_share(kind, dims, pairs, first);
            let found =
                (0..sets as u64).map(|seed| false_relations(kind, dims, VIEWS, first + 100 + seed));
            let found: Vec<usize> = found.collect();
            let some = found.iter().filter(|found| **found > 0).count();
            println!(
                "{dims:?} {kind:?}: p <= 0.05 of {:.1} % of {pairs} pairs; relations in {some} of {sets} sets, {} in all",
                100.0 * share,
                found.iter().sum::<usize>()
            );
        }
    }
}
