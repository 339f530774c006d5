//! [`grouped`]: tracked region from a chain of groups of the published heuristic, with the
//! strongest links ([`tree`]) and its confidence.

use crate::ClusterId;
use crate::tracking::optimal::{Draft, confidence};
use crate::tracking::published::Set;
use crate::tracking::result::{Evaluator, Link, LinkKind, Pair};

/// Creates the tracked region of a chain of groups. Its links are the maximum spanning tree by
/// confidence over its clusters, and the weakest of them determines the confidence of the region.
/// The transitive closure joins clusters through any link above the threshold; the tree shows the
/// links that matter.
pub(in crate::tracking) fn grouped(chain: &[Set], pairs: &[Pair]) -> Draft {
    let mut links: Vec<Link> = pairs.iter().flat_map(|pair| links(chain, pair)).collect();
    links.sort_by_key(|link| (link.from, link.to));
    surest_first(&mut links);
    let experiments = chain.iter().enumerate();
    let nodes: Vec<(usize, ClusterId)> = experiments
        .flat_map(|(experiment, set)| set.iter().map(move |&class| (experiment, id(class))))
        .collect();
    tree(&mut links, &nodes);
    let weakest = links.iter().map(|link| link.confidence);
    let weakest = weakest.fold(1.0, f64::min);
    links.sort_by_key(|link| (link.from, link.to));
    Draft {
        members: chain
            .iter()
            .map(|set| set.iter().copied().collect())
            .collect(),
        // Without a spanning tree, some clusters are joined by the closure alone.
        confidence: if links.len() + 1 >= nodes.len() {
            weakest
        } else {
            0.0
        },
        links,
        ..Draft::default()
    }
}

/// Sorts by descending confidence; ties keep their order.
pub(in crate::tracking) fn surest_first(links: &mut [Link]) {
    links.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
}

/// Keeps the links of the spanning tree over the clusters `nodes`, taking links in the given order.
/// `nodes` must be in ascending order. If links are in descending order of confidence, the weakest
/// link of the tree is as strong as possible.
pub(in crate::tracking) fn tree(links: &mut Vec<Link>, nodes: &[(usize, ClusterId)]) {
    let mut parts: Vec<usize> = (0..nodes.len()).collect();
    let find = |node: &(usize, ClusterId)| nodes.binary_search(node).ok();
    links.retain(|link| {
        let (Some(from), Some(to)) = (find(&link.from), find(&link.to)) else {
            return false;
        };
        let (a, b) = (root(&mut parts, from), root(&mut parts, to));
        parts[a] = b;
        a != b
    });
}

fn id(class: usize) -> ClusterId {
    ClusterId(class as u32 + 1)
}

fn root(parts: &mut [usize], mut node: usize) -> usize {
    while parts[node] != node {
        parts[node] = parts[parts[node]];
        node = parts[node];
    }
    node
}

/// Returns the links between the clusters of a tracked region in two experiments that have at least
/// one vote above 0.
fn links(chain: &[Set], pair: &Pair) -> Vec<Link> {
    let (Some(left), Some(right)) = (chain.get(pair.from), chain.get(pair.to)) else {
        return Vec::new();
    };
    let evidence = |i: usize, j: usize| {
        let (mut sum, mut count, mut beside) = (0.0, 0.0_f64, 0.0_f64);
        for vote in &pair.votes {
            let value = vote.matrix.at(i, j);
            match vote.evaluator {
                _ if value.is_nan() => {}
                // These evaluators vote for few pairs only and have no votes against other pairs.
                Evaluator::Simultaneity | Evaluator::Sequence => beside = beside.max(value),
                _ => (sum, count) = (sum + value, count + 1.0),
            }
        }
        beside.max(sum / count.max(1.0))
    };
    // Finds the best evidence of each cluster for a cluster of another tracked region.
    let [there, back] = &pair.cross;
    let rivals = |own: &Set, other: &Set, all: usize, value: &dyn Fn(usize, usize) -> f64| {
        let best = |&i: &usize| {
            let outside = (0..all).filter(|j| !other.contains(j));
            (i, outside.map(|j| value(i, j)).fold(0.0, f64::max))
        };
        own.iter().map(best).collect::<Vec<(usize, f64)>>()
    };
    let onward = rivals(left, right, back.rows(), &evidence);
    let backward = rivals(right, left, there.rows(), &|j, i| evidence(i, j));
    let mut links = Vec::new();
    for &(i, away) in &onward {
        for &(j, from_away) in &backward {
            let votes = pair.votes.iter();
            let votes = votes.map(|vote| (vote.evaluator, vote.matrix.at(i, j)));
            let votes: Vec<(Evaluator, f64)> = votes.filter(|vote| vote.1 > 0.0).collect();
            if votes.is_empty() {
                continue;
            }
            let evidence = evidence(i, j);
            links.push(Link {
                from: (pair.from, id(i)),
                to: (pair.to, id(j)),
                kind: LinkKind::Groups,
                evidence,
                confidence: confidence(evidence, away.max(from_away)),
                votes,
            });
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracking::matrix::Matrix;
    use crate::tracking::result::Vote;

    #[test]
    fn the_weakest_link_decides_the_confidence() {
        // 1 -> 1 and 2 -> 2 are certain; a sixth of 2 goes to 1, which joins all of them.
        let there = Matrix::from_fn(2, 2, |i, j| match (i, j) {
            (0, 0) => 1.0,
            (1, 0) => 0.16,
            (1, 1) => 0.84,
            _ => 0.0,
        });
        let back = Matrix::from_fn(2, 2, |i, j| f64::from(u8::from(i == j)));
        let vote = |evaluator, matrix| Vote { evaluator, matrix };
        let pair = Pair {
            from: 0,
            to: 1,
            votes: vec![
                vote(Evaluator::Forward, there.clone()),
                vote(Evaluator::Backward, back.transposed()),
            ],
            cross: [there, back],
            ..Pair::default()
        };
        let both = [Set::from([0, 1]), Set::from([0, 1])];
        let draft = grouped(&both, std::slice::from_ref(&pair));
        assert_eq!(draft.links.len(), 3);
        assert!((draft.confidence - 0.08).abs() < 1e-12);
        // Separately, each is certain except for its link to the other.
        let one = [Set::from([0]), Set::from([0])];
        let draft = grouped(&one, std::slice::from_ref(&pair));
        assert!((draft.confidence - (2.0 - 0.08) / 2.0).abs() < 1e-12);
        // Without a vote the closure alone joins them.
        let strange = [Set::from([0]), Set::from([1])];
        assert_eq!(grouped(&strange, &[pair]).confidence, 0.0);
    }
}
