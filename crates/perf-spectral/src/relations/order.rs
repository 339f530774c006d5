//! [`arrange`]: sorts relations by strength and marks those that follow from earlier ones.

use super::{Kinship, Relation};
use std::collections::BTreeSet;

/// Sorts relations by `r^2` times the share, and marks those between views that earlier relations
/// connect, directly, over other views, or over kin.
pub(super) fn arrange(found: &mut [Relation], kin: &Kinship) {
    /// Upper bound on the relations that are compared with later ones.
    const MAX_FIRSTS: usize = 1000;
    let weight = |it: &Relation| it.r * it.r * it.share;
    found.sort_by(|a, b| {
        let by_weight = weight(b).total_cmp(&weight(a));
        by_weight.then((a.one, a.other).cmp(&(b.one, b.other)))
    });
    // Views of earlier relations, with the first relation of the group that connects them.
    let mut known: Vec<(usize, usize)> = Vec::new();
    for (at, relation) in found.iter_mut().enumerate() {
        let groups = |view: usize, known: &[(usize, usize)]| -> BTreeSet<usize> {
            let near = known.iter();
            let near = near.filter(|(other, _)| view == *other || kin.are_kin(view, *other));
            near.map(|(_, group)| *group).collect()
        };
        let (one, other) = (relation.one, relation.other);
        let (of_one, of_other) = (groups(one, &known), groups(other, &known));
        relation.repeats = of_one.intersection(&of_other).next().copied();
        if relation.repeats.is_none() && known.len() < 2 * MAX_FIRSTS {
            let joined: BTreeSet<usize> = of_one.union(&of_other).copied().collect();
            let first = joined.first().copied().unwrap_or(at);
            for (_, group) in &mut known {
                if joined.contains(group) {
                    *group = first;
                }
            }
            known.extend([(one, first), (other, first)]);
        }
    }
}
