//! [`arrange`]: sorts relations by interest and marks those that repeat earlier ones.

use super::{Kinship, Relation};
use std::collections::BTreeMap;

/// Magnitude of R from which two views show the same or the opposite.
pub(super) const NEAR: f64 = 0.9;

/// Upper bound on the relations that are compared with later ones.
const MAX_FIRSTS: usize = 1000;

/// Sorts relations by `r^2` times the share and the interest of their metrics, and marks those that
/// repeat an earlier one: of the same sign between views that show the same as its views or their
/// opposites, or between other views of the same two functions. `near` has the views of each view that
/// show the same or its opposite.
pub(super) fn arrange(found: &mut [Relation], kin: &Kinship, near: &BTreeMap<usize, Vec<usize>>) {
    let weight = |it: &Relation| it.r * it.r * it.share * kin.interest(it.one, it.other, it.r);
    found.sort_by(|a, b| {
        let by_weight = weight(b).total_cmp(&weight(a));
        by_weight.then((a.one, a.other).cmp(&(b.one, b.other)))
    });
    let mut firsts = Firsts::default();
    for (at, relation) in found.iter_mut().enumerate() {
        let functions = kin.functions(relation.one, relation.other);
        relation.repeats = firsts.repeated(relation, functions);
        if relation.repeats.is_none() && firsts.count < MAX_FIRSTS {
            firsts.add(at, relation, functions, near);
        }
    }
}

/// Relations that repeat no earlier one.
#[derive(Default)]
struct Firsts {
    /// Number of the relations.
    count: usize,
    /// For each view, the relations with a view that shows the same, ascending, each with the sides
    /// of the relation where that is, as bits. Relations of both signs are apart: what is long where other
    /// work is short must not vanish among work that is long together.
    sides: [BTreeMap<usize, Vec<(usize, u8)>>; 2],
    /// Relations by their functions.
    functions: BTreeMap<(usize, usize), usize>,
}

impl Firsts {
    /// Returns the first relation that a later one repeats.
    fn repeated(&self, relation: &Relation, functions: (usize, usize)) -> Option<usize> {
        let empty = Vec::new();
        let of_sign = &self.sides[usize::from(relation.r < 0.0)];
        let sides = |view: usize| of_sign.get(&view).unwrap_or(&empty);
        let (one, other) = (sides(relation.one), sides(relation.other));
        let common = one.iter().find_map(|(at, own)| {
            let place = other.binary_search_by_key(at, |(at, _)| *at).ok()?;
            // One view on each side; a view may be on both.
            let their = other.get(place)?.1;
            (own | their == 0b11).then_some(*at)
        });
        let same = self.functions.get(&functions).copied();
        [common, same].into_iter().flatten().min()
    }

    /// Adds the relation with the index `at`.
    fn add(
        &mut self,
        at: usize,
        relation: &Relation,
        functions: (usize, usize),
        near: &BTreeMap<usize, Vec<usize>>,
    ) {
        self.count += 1;
        self.functions.insert(functions, at);
        // Views that show the same as each other are one group.
        let is_one = relation.r.abs() >= NEAR;
        let of_sign = &mut self.sides[usize::from(relation.r < 0.0)];
        for (view, side) in [(relation.one, 0b01), (relation.other, 0b10)] {
            let side = if is_one { 0b11 } else { side };
            let others = near.get(&view).into_iter().flatten();
            for view in others.chain([&view]) {
                let sides = of_sign.entry(*view).or_default();
                match sides.last_mut() {
                    Some((last, bits)) if *last == at => *bits |= side,
                    _ => sides.push((at, side)),
                }
            }
        }
    }
}
