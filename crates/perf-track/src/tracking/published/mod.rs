//! The published heuristic: [`groups`] of clusters of two experiments, from links above a
//! threshold; [`chain`]: groups joined over all experiments. It is described by Llort et al. in
//! section III.D.
//!
//! Every evaluator yields links above a threshold. The transitive closure of the links yields groups
//! of clusters, which a round of sequences refines.

pub(super) mod regions;

use crate::tracking::evaluators::sequences;
use crate::tracking::matrix::Matrix;
use crate::tracking::params::Threshold;
use std::collections::BTreeSet;

pub(crate) type Set = BTreeSet<usize>;

/// Clusters of one experiment that are the same as clusters of the next. A side may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    /// Clusters of the earlier experiment.
    pub(crate) left: Set,
    /// Clusters of the later experiment.
    pub(crate) right: Set,
}

impl Group {
    fn is_one_to_one(&self) -> bool {
        self.left.len() == 1 && self.right.len() == 1
    }
}

/// Simultaneity within an experiment, with SPMD scores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Together<'m> {
    /// Simultaneity of each pair of clusters.
    pub(crate) matrix: &'m Matrix,
    /// SPMD score of noise, then of each cluster.
    pub(crate) scores: &'m [f64],
    /// SPMD score of the experiment.
    pub(crate) global: f64,
    /// Clusters of each column.
    pub(crate) steps: &'m [Vec<usize>],
}

/// Evaluators from one experiment into another; `None` for disabled evaluators.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Into<'m> {
    /// Nearest-neighbour classification.
    pub(crate) distance: Option<&'m Matrix>,
    /// Numbers of bursts.
    pub(crate) density: Option<&'m Matrix>,
    /// Callers.
    pub(crate) callers: Option<&'m Matrix>,
    /// Simultaneity within the target experiment.
    pub(crate) together: Option<Together<'m>>,
}

/// Returns a fraction in whole per cent, rounded down. The small addend compensates for rounding, so
/// that the quotient 29/100 yields 29 %.
fn percent(share: f64) -> u32 {
    (share * 100.0 + 1e-9).floor() as u32
}

/// Returns the columns of a row whose values reach the threshold.
fn select(row: &[f64], threshold: Threshold) -> Set {
    let values = row.iter().map(|&share| percent(share)).enumerate();
    let least = |least: u32| values.clone().filter(move |v| v.1 > 0 && v.1 >= least);
    match threshold {
        Threshold::Percent(percent) => least(percent).map(|v| v.0).collect(),
        Threshold::Any => least(1).map(|v| v.0).collect(),
        Threshold::First => {
            let first = values.fold(
                (0, 0),
                |best, next| if next.1 > best.1 { next } else { best },
            );
            (first.1 > 0).then_some(first.0).into_iter().collect()
        }
    }
}

/// Intersects `links` with `other`. If one of the sets is empty, the result is the other set.
fn meet(links: &mut Set, other: Set) {
    if links.is_empty() {
        *links = other;
    } else if !other.is_empty() {
        *links = &*links & &other;
    }
}

/// Computes L(i) for each cluster: the clusters of the other experiment to which it is linked.
fn links(into: &Into<'_>, clusters: usize, threshold: Threshold, min_score: f64) -> Vec<Set> {
    let row = |matrix: &Matrix, i| select(matrix.row(i).unwrap_or(&[]), threshold);
    let links = |i: usize| {
        let mut links = Set::new();
        for matrix in [into.density, into.distance].into_iter().flatten() {
            meet(&mut links, row(matrix, i));
        }
        if let Some(together) = into.together.filter(|t| t.global >= min_score) {
            for j in links.clone() {
                if together
                    .scores
                    .get(j + 1)
                    .is_some_and(|&score| score >= min_score)
                {
                    links.extend(row(together.matrix, j));
                }
            }
        }
        if let Some(matrix) = into.callers {
            let same = row(matrix, i);
            if !same.is_empty() {
                let only = same.len() == 1;
                meet(&mut links, same.clone());
                if links.is_empty() || only {
                    links = same;
                }
            }
        }
        links
    };
    (0..clusters).map(links).collect()
}

/// Computes the transitive closure of links in both directions. Each cluster i yields a group whose
/// left side is {i} with the back-links of L(i) and whose right side is {j : i in L(j)}. Groups that
/// share a member are united.
fn closure(there: &[Set], back: &[Set]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (i, linked) in there.iter().enumerate() {
        let mut group = Group::default();
        group.left.insert(i);
        for &j in linked {
            group.left.extend(back.get(j).into_iter().flatten());
        }
        let sees = back
            .iter()
            .enumerate()
            .filter(|(_, links)| links.contains(&i));
        group.right.extend(sees.map(|(j, _)| j));
        groups.push(group);
    }
    united(
        groups,
        |a, b| !a.left.is_disjoint(&b.left) || !a.right.is_disjoint(&b.right),
        |a, b| {
            a.left.extend(b.left);
            a.right.extend(b.right);
        },
    )
}

/// Unites matching elements until no two elements match. A united element takes the position of its
/// first element.
fn united<T>(all: Vec<T>, is_one: impl Fn(&T, &T) -> bool, unite: impl Fn(&mut T, T)) -> Vec<T> {
    let mut done: Vec<T> = Vec::new();
    for mut next in all {
        let mut place = None;
        let mut at = 0;
        while at < done.len() {
            if is_one(&done[at], &next) {
                // The later element is removed, so that the earliest position remains.
                let other = done.remove(at);
                place = Some(place.map_or(at, |first: usize| first.min(at)));
                let newer = std::mem::replace(&mut next, other);
                unite(&mut next, newer);
                at = 0;
            } else {
                at += 1;
            }
        }
        done.insert(place.unwrap_or(done.len()).min(done.len()), next);
    }
    done
}

/// Returns the groups of two experiments and, if sequences were used, the counts of simultaneous
/// positions.
pub(crate) fn groups(
    there: &Into<'_>,
    back: &Into<'_>,
    (from, to): (usize, usize),
    threshold: Threshold,
    min_score: f64,
) -> (Vec<Group>, Option<Matrix>) {
    let first = links(there, from, threshold, min_score);
    let second = links(back, to, threshold, min_score);
    let mut coarse = closure(&first, &second);
    // The steps of the second experiment are stored with the links that lead into it.
    let (Some(b), Some(a)) = (there.together, back.together) else {
        return (coarse, None);
    };
    let scored = a.global >= min_score && b.global >= min_score;
    if !scored || coarse.iter().all(Group::is_one_to_one) {
        return (coarse, None);
    }
    let mut partner = vec![None; from];
    for group in coarse.iter().filter(|group| group.is_one_to_one()) {
        if let (Some(&i), Some(&j)) = (group.left.first(), group.right.first()) {
            partner[i] = Some(j);
        }
    }
    let counts = sequences((a.steps, from), (b.steps, to), &partner);
    let rows = |matrix: &Matrix, count| -> Vec<Set> {
        let shares = matrix.shares();
        (0..count)
            .map(|i| select(shares.row(i).unwrap_or(&[]), threshold))
            .collect()
    };
    for fine in closure(&rows(&counts, from), &rows(&counts.transposed(), to)) {
        carve(&mut coarse, fine);
    }
    (coarse, Some(counts))
}

/// Computes the votes of simultaneity. If cluster i of `from` is linked to cluster j of `to`, and
/// cluster k shares columns with j, the value for i and k is the minimum of the link and the fraction
/// of shared columns. `None` if distance or the alignment is not used.
pub(crate) fn simultaneous(
    into: &Into<'_>,
    (from, to): (usize, usize),
    threshold: Threshold,
    min_score: f64,
) -> Option<Matrix> {
    let together = into.together.filter(|of| of.global >= min_score)?;
    let mut found = Matrix::filled(from, to, 0.0);
    let near = into.distance?;
    for i in 0..from {
        let row = near.row(i).unwrap_or(&[]);
        for j in select(row, threshold) {
            let score = together.scores.get(j + 1);
            if score.is_none_or(|&score| score < min_score) {
                continue;
            }
            let beside = together.matrix.row(j).unwrap_or(&[]);
            for k in select(beside, threshold).into_iter().filter(|&k| k != j) {
                let value = row[j].min(beside[k]);
                found.raise(i, k, value);
            }
        }
    }
    Some(found)
}

/// Separates a group of the sequence round from the coarse group that contains it. Does so only if
/// both keep clusters in both experiments, because otherwise a cluster would lose its tracked region.
fn carve(coarse: &mut Vec<Group>, fine: Group) {
    if fine.left.is_empty() || fine.right.is_empty() {
        return;
    }
    let holds =
        |group: &&mut Group| fine.left.is_subset(&group.left) && fine.right.is_subset(&group.right);
    let Some(group) = coarse.iter_mut().find(holds) else {
        return;
    };
    let (left, right) = (&group.left - &fine.left, &group.right - &fine.right);
    if !left.is_empty() && !right.is_empty() {
        *group = Group { left, right };
        coarse.push(fine);
    }
}

/// Chains the groups of consecutive experiments. Each chain is a tracked region that all experiments
/// have, with one set of clusters for each experiment. Chains are sorted by their lowest cluster of
/// the first experiment.
pub(crate) fn chain(pairs: &[Vec<Group>]) -> Vec<Vec<Set>> {
    let Some((first, rest)) = pairs.split_first() else {
        return Vec::new();
    };
    let whole = first
        .iter()
        .filter(|g| !g.left.is_empty() && !g.right.is_empty());
    let mut chains: Vec<Vec<Set>> = whole
        .map(|group| vec![group.left.clone(), group.right.clone()])
        .collect();
    for groups in rest {
        for chain in &mut chains {
            let mut next = Set::new();
            if let Some(last) = chain.last() {
                for group in groups.iter().filter(|group| !group.left.is_disjoint(last)) {
                    next.extend(&group.right);
                }
            }
            chain.push(next);
        }
        // Drops chains that do not continue in this experiment.
        chains.retain(|chain| chain.last().is_some_and(|last| !last.is_empty()));
    }
    let share = |a: &Vec<Set>, b: &Vec<Set>| a.iter().zip(b).any(|(a, b)| !a.is_disjoint(b));
    let mut chains = united(chains, share, |a, b| {
        for (a, b) in a.iter_mut().zip(b) {
            a.extend(b);
        }
    });
    chains.sort_by_key(|chain| chain.first().and_then(|set| set.first().copied()));
    chains
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(cells: &[(usize, usize, f64)]) -> Matrix {
        let find = |row: usize, column: usize| {
            let cell = cells
                .iter()
                .find(|cell| (cell.0, cell.1) == (row + 1, column + 1));
            cell.map_or(0.0, |cell| cell.2 / 100.0)
        };
        Matrix::from_fn(6, 6, find)
    }

    fn run(threshold: Threshold) -> Vec<(Vec<usize>, Vec<usize>)> {
        // WRF on 128 and 256 tasks: Fig. 3 of the paper.
        let there = matrix(&[
            (1, 1, 100.0),
            (2, 2, 78.08),
            (3, 1, 67.58),
            (3, 3, 32.42),
            (4, 3, 0.2),
            (4, 6, 99.8),
            (5, 5, 100.0),
            (6, 3, 100.0),
        ]);
        let back = matrix(&[
            (1, 1, 0.78),
            (1, 3, 99.22),
            (2, 2, 45.93),
            (3, 3, 47.27),
            (3, 6, 52.73),
            (4, 4, 100.0),
            (5, 5, 100.0),
            (6, 4, 100.0),
        ]);
        let into = |matrix| Into {
            distance: Some(matrix),
            ..Into::default()
        };
        let (mut groups, _) = groups(&into(&there), &into(&back), (6, 6), threshold, 0.9);
        groups.sort_by_key(|group| group.left.first().copied());
        let named = |set: &Set| set.iter().map(|index| index + 1).collect();
        groups
            .iter()
            .map(|group| (named(&group.left), named(&group.right)))
            .collect()
    }

    #[test]
    fn figure_3_of_the_paper() {
        // At 15 % cluster 3 of 128 tasks joins 1 and 6.
        let expected = [
            (vec![1, 3, 6], vec![1, 3]),
            (vec![2], vec![2]),
            (vec![4], vec![4, 6]),
            (vec![5], vec![5]),
        ];
        assert_eq!(run(Threshold::Percent(15)), expected);
        // With only the largest link of each row, 6 -> 3 is separate.
        let expected = [
            (vec![1, 3], vec![1]),
            (vec![2], vec![2]),
            (vec![4], vec![4, 6]),
            (vec![5], vec![5]),
            (vec![6], vec![3]),
        ];
        assert_eq!(run(Threshold::First), expected);
        // With any link, 0.2 % and 0.78 % are truncated to 0, so that no more clusters are joined.
        assert_eq!(run(Threshold::Any), run(Threshold::Percent(15)));
    }

    #[test]
    fn callers_decide_where_they_are_sure() {
        let near = Matrix::from_fn(2, 2, |i, j| f64::from(u8::from(i == j)));
        let swapped = Matrix::from_fn(2, 2, |i, j| f64::from(u8::from(i != j)));
        let into = Into {
            distance: Some(&near),
            callers: Some(&swapped),
            ..Into::default()
        };
        let (found, _) = groups(&into, &into, (2, 2), Threshold::Percent(15), 0.9);
        let one = |i| Set::from([i]);
        assert_eq!(
            found[0],
            Group {
                left: one(0),
                right: one(1)
            }
        );
        assert_eq!(
            found[1],
            Group {
                left: one(1),
                right: one(0)
            }
        );
    }

    #[test]
    fn sequences_separate_clusters_joined_by_distance() {
        // Clusters 1 and 2 exchange their positions, so that each is near both; cluster 0 is
        // certain.
        let near = Matrix::from_fn(3, 3, |i, j| match (i, j) {
            (0, 0) => 1.0,
            (0, _) | (_, 0) => 0.0,
            _ => 0.5,
        });
        let steps: Vec<Vec<usize>> = [0, 1, 2, 0, 1, 2, 0].map(|c| vec![c]).to_vec();
        let simultaneous = Matrix::from_fn(3, 3, |i, j| f64::from(u8::from(i == j)));
        let into = |steps| Into {
            distance: Some(&near),
            together: Some(Together {
                matrix: &simultaneous,
                scores: &[0.0, 1.0, 1.0, 1.0],
                global: 1.0,
                steps,
            }),
            ..Into::default()
        };
        let (found, _) = groups(
            &into(&steps),
            &into(&steps),
            (3, 3),
            Threshold::Percent(15),
            0.9,
        );
        assert_eq!(found.len(), 3);
        assert!(found.iter().all(|group| group.left == group.right));
        // Below the required score, sequences are not used.
        let (found, _) = groups(
            &into(&steps),
            &into(&steps),
            (3, 3),
            Threshold::Percent(15),
            1.1,
        );
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn chains_unite_and_lose() {
        let group = |left: &[usize], right: &[usize]| Group {
            left: left.iter().copied().collect(),
            right: right.iter().copied().collect(),
        };
        let first = vec![
            group(&[0], &[0]),
            group(&[1], &[1]),
            group(&[2], &[2]),
            group(&[3], &[]),
        ];
        // 0 and 1 merge; 2 has no successor.
        let second = vec![group(&[0, 1], &[5]), group(&[2], &[])];
        let set = |ids: &[usize]| ids.iter().copied().collect::<Set>();
        assert_eq!(
            chain(&[first, second]),
            [vec![set(&[0, 1]), set(&[0, 1]), set(&[5])]]
        );
        assert!(chain(&[]).is_empty());
    }
}
