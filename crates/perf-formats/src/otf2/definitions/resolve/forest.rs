//! Repair of trees whose parents come from a file: cycles are cut, parents sorted first.

/// Removes the parents that close a cycle or lie deeper than `limit`. The affected elements become
/// roots and are returned. Afterwards every walk to the root ends.
///
/// Each element is visited once, so that the total cost is linear.
pub(super) fn cut_cycles(parents: &mut [Option<usize>], limit: u32) -> Vec<usize> {
    const NEW: u32 = u32::MAX;
    const ON_PATH: u32 = u32::MAX - 1;
    let mut depths = vec![NEW; parents.len()];
    let mut cut = Vec::new();
    let mut path = Vec::new();
    for start in 0..parents.len() {
        let mut at = Some(start);
        let mut depth = 0;
        while let Some(id) = at {
            match depths.get(id).copied() {
                Some(NEW) => {
                    if let Some(slot) = depths.get_mut(id) {
                        *slot = ON_PATH;
                    }
                    path.push(id);
                    at = parents.get(id).copied().flatten();
                }
                Some(ON_PATH) | None => {
                    // The last visited element closes the cycle, or its parent is outside the
                    // table.
                    if let Some(last) = path.last().copied() {
                        make_root(parents, last, &mut cut);
                    }
                    break;
                }
                Some(known) => {
                    depth = known + 1;
                    break;
                }
            }
        }
        while let Some(id) = path.pop() {
            if depth > limit {
                make_root(parents, id, &mut cut);
                depth = 0;
            }
            if let Some(slot) = depths.get_mut(id) {
                *slot = depth;
            }
            depth += 1;
        }
    }
    cut
}

fn make_root(parents: &mut [Option<usize>], id: usize, cut: &mut Vec<usize>) {
    if let Some(parent) = parents.get_mut(id) {
        *parent = None;
        cut.push(id);
    }
}

/// Returns an order in which parents precede their children; `parents` must not have a cycle.
pub(super) fn parents_first(parents: &[Option<usize>]) -> Vec<usize> {
    let mut order = Vec::with_capacity(parents.len());
    let mut done = vec![false; parents.len()];
    let mut path = Vec::new();
    for start in 0..parents.len() {
        let mut at = Some(start);
        while let Some(id) = at.filter(|id| done.get(*id) == Some(&false)) {
            if let Some(done) = done.get_mut(id) {
                *done = true;
            }
            path.push(id);
            at = parents.get(id).copied().flatten();
        }
        order.extend(path.drain(..).rev());
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_cut_once_and_the_rest_stays() {
        let mut parents = vec![Some(1), Some(2), Some(0), Some(2), None, Some(4), Some(6)];
        let cut = cut_cycles(&mut parents, 100);
        assert_eq!(cut, [2, 6]);
        assert_eq!(
            parents,
            [Some(1), Some(2), None, Some(2), None, Some(4), None]
        );
        assert_eq!(parents_first(&parents), [2, 1, 0, 3, 4, 5, 6]);
    }

    #[test]
    fn chains_are_cut_at_the_limit() {
        let mut parents: Vec<_> = (0..10_usize).map(|id| id.checked_sub(1)).collect();
        assert_eq!(cut_cycles(&mut parents, 3), [4, 8]);
        let mut reversed: Vec<_> = (1..=10).map(|id| Some(id).filter(|id| *id < 10)).collect();
        assert_eq!(cut_cycles(&mut reversed, 3).len(), 2);
    }
}
