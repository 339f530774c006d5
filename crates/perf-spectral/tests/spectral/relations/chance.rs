//! Rates at which independent views pass for related ones.

use super::independent_views::{KINDS, false_relations, false_share};

#[test]
fn p_values_from_surrogates_are_true_for_views_of_any_kind() {
    const PAIRS: usize = 100;
    // At most 1.5 times the level, and three standard errors of the count.
    let most = 0.075 + 3.0 * (0.075 * 0.925 / PAIRS as f64).sqrt();
    for dims in [&[4, 4, 4][..], &[16, 2]] {
        for kind in KINDS {
            let share = false_share(kind, dims, PAIRS, 3);
            assert!(share <= most, "{dims:?} {kind:?}: {share}");
        }
    }
}

#[test]
fn no_relations_are_found_among_independent_views() {
    for dims in [&[4, 4, 4][..], &[16, 2], &[64]] {
        for kind in KINDS {
            let some = (0..10).filter(|seed| false_relations(kind, dims, 60, *seed) > 0);
            assert!(some.count() <= 1, "{dims:?} {kind:?}");
        }
    }
}
