//! Completes the tracked regions of the optimal mode: computes the confidence of links and regions,
//! adds links that skip an experiment, and births and deaths of regions.

use super::{BRIDGE, Draft, Graph, Node};
use crate::ClusterId;
use crate::tracking::published::regions::{surest_first, tree};
use crate::tracking::result::{Event, Link, LinkKind};
use crate::tracking::side::Side;

/// Smallest increase of the confidence of a tracked region for a bridge to become one of its links.
const MATTERS: f64 = 0.05;

impl Graph<'_> {
    /// Computes the confidence of the region and of its links, and adds its birth and death.
    pub(super) fn finish(&self, draft: &mut Draft) {
        let rival = |link: &Link| self.rival(draft, node(link.from), node(link.to));
        let rivals: Vec<f64> = draft.links.iter().map(rival).collect();
        for (link, rival) in draft.links.iter_mut().zip(rivals) {
            link.confidence = confidence(link.evidence, rival);
        }
        draft.confidence = if !draft.links.is_empty() {
            self.hold(draft)
        } else {
            let best = nodes(draft).map(|node| self.best_link(node));
            let known = nodes(draft).map(|(experiment, _)| 1.0 - self.unclustered(experiment));
            (1.0 - best.fold(0.0, f64::max)) * known.fold(1.0, f64::min)
        };
        let seen = |members: &Vec<usize>| !members.is_empty();
        let first = draft.members.iter().position(seen).unwrap_or(0);
        let last = draft.members.iter().rposition(seen).unwrap_or(0);
        if first > 0 {
            draft.events.push(Event::Birth { experiment: first });
        }
        if last + 1 < self.experiments.len() {
            draft.events.push(Event::Death { experiment: last });
        }
        draft.events.sort_by_key(|event| match event {
            Event::Birth { experiment } => (*experiment, 0),
            Event::Merge { experiment, .. } => (*experiment, 1),
            Event::Split { experiment, .. } => (*experiment, 2),
            Event::Gap { experiment, .. } => (*experiment, 3),
            Event::Unclustered { experiment, .. } => (*experiment, 4),
            Event::Death { experiment } => (*experiment, 5),
        });
    }

    /// Returns the best evidence that links one of the two clusters to another tracked region,
    /// within the two experiments of the link.
    fn rival(&self, draft: &Draft, from: Node, to: Node) -> f64 {
        let is_own = |(experiment, class): Node| draft.members[experiment].contains(&class);
        let onward = (0..self.experiments[to.0].side.clusters).map(|j| (from, (to.0, j)));
        let back = (0..self.experiments[from.0].side.clusters).map(|i| ((from.0, i), to));
        let others = onward
            .chain(back)
            .filter(|&(a, b)| !(is_own(a) && is_own(b)));
        others.map(|(a, b)| self.evidence(a, b)).fold(0.0, f64::max)
    }

    /// Returns the confidence of the weakest required link of a tracked region of several clusters.
    /// The required links are those of the maximum spanning tree by confidence. A bridge holds a
    /// region together if a cluster in between is linked weakly to one side; such bridges become
    /// links of the region.
    fn hold(&self, draft: &mut Draft) -> f64 {
        let mut ids: Vec<(usize, ClusterId)> = nodes(draft).map(id).collect();
        ids.sort_unstable();
        let weakest = |links: &[Link]| {
            let all = links.iter().map(|link| link.confidence);
            all.fold(1.0, f64::min)
        };
        let own = weakest(&draft.links);
        let mut all = draft.links.clone();
        let bridges = self.bridges(draft).into_iter();
        all.extend(bridges.filter(|link| link.confidence > own));
        surest_first(&mut all);
        tree(&mut all, &ids);
        let sure = weakest(&all);
        if sure < own + MATTERS {
            return own;
        }
        // Uses as few bridges as possible by trying them after the existing links.
        let is_own = |link: &Link| draft.links.contains(link);
        let mut held: Vec<Link> = draft.links.clone();
        held.retain(|link| link.confidence >= sure);
        held.extend(all.into_iter().filter(|link| !is_own(link)));
        tree(&mut held, &ids);
        held.retain(|link| !is_own(link));
        draft.links.extend(held);
        draft.links.sort_by_key(|link| (link.from, link.to));
        sure
    }

    /// Returns every bridge between clusters of a tracked region that is not yet a link.
    fn bridges(&self, draft: &Draft) -> Vec<Link> {
        let mut found = Vec::new();
        for from in nodes(draft) {
            let over = draft.members.get(from.0 + 2);
            for &class in over.into_iter().flatten() {
                let to = (from.0 + 2, class);
                let (a, b) = (id(from), id(to));
                if draft
                    .links
                    .iter()
                    .any(|link| (link.from, link.to) == (a, b))
                {
                    continue;
                }
                let evidence = self.evidence(from, to);
                let mut link = self.link(from, to, LinkKind::Bridges, evidence);
                link.confidence = confidence(evidence, self.rival(draft, from, to));
                found.push(link);
            }
        }
        found
    }

    /// Returns the largest share of noise in the time of an adjacent experiment. A region without a link may be
    /// in this noise.
    fn unclustered(&self, experiment: usize) -> f64 {
        let next = [experiment.checked_sub(1), Some(experiment + 1)];
        let sides = next
            .into_iter()
            .flatten()
            .filter_map(|at| Some(&self.experiments.get(at)?.side));
        let share = |side: &Side| {
            let all = side.noise_time + side.time.iter().sum::<f64>();
            side.noise_time / all.max(f64::MIN_POSITIVE)
        };
        sides.map(share).fold(0.0, f64::max)
    }

    /// Returns the best evidence that links a cluster to a cluster of an adjacent experiment. Links
    /// to the experiments at distance 2 count with the factor [`BRIDGE`].
    fn best_link(&self, node: Node) -> f64 {
        let mut best = 0.0_f64;
        for (far, worth) in [(1, 1.0), (2, BRIDGE)] {
            let onward = self.experiments.get(node.0 + far);
            for j in 0..onward.map_or(0, |experiment| experiment.side.clusters) {
                best = best.max(worth * self.evidence(node, (node.0 + far, j)));
            }
            let Some(before) = node.0.checked_sub(far) else {
                continue;
            };
            for i in 0..self.experiments[before].side.clusters {
                best = best.max(worth * self.evidence((before, i), node));
            }
        }
        best
    }
}

fn nodes(draft: &Draft) -> impl Iterator<Item = Node> {
    let experiments = draft.members.iter().enumerate();
    experiments
        .flat_map(|(experiment, members)| members.iter().map(move |&class| (experiment, class)))
}

fn id((experiment, class): Node) -> (usize, ClusterId) {
    (experiment, ClusterId(class as u32 + 1))
}

fn node((experiment, id): (usize, ClusterId)) -> Node {
    (experiment, id.index().unwrap_or(usize::MAX))
}

/// Returns `evidence * (1 + margin) / 2`, where the margin is `1 - rival / evidence`, at least 0.
pub(crate) fn confidence(evidence: f64, rival: f64) -> f64 {
    if evidence <= 0.0 {
        return 0.0;
    }
    let margin = (1.0 - rival / evidence).clamp(0.0, 1.0);
    (evidence * (1.0 + margin) / 2.0).clamp(0.0, 1.0)
}
