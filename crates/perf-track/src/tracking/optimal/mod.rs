//! [`regions`]: tracked regions of the optimal mode, from one assignment of clusters over all
//! experiments, then splits, merges and gaps.
//!
//! Chains of clusters through the experiments are the paths of largest total evidence in which each
//! cluster has at most one successor and one predecessor. The weight of a link is its evidence minus
//! the evidence below which a cluster is born. Finding the paths is then a minimum-cost flow with
//! unit capacities through an acyclic graph, which equals one assignment of all clusters (as
//! predecessors) to all clusters (as successors). A link from experiment i to i + 2 competes with
//! the links through i + 1, and no pair of experiments is decided in isolation.

pub(super) mod assignment;
mod confidence;

use crate::ClusterId;
use crate::tracking::evidence::{Prepared, neighbourhood, parthood, sure};
use crate::tracking::matrix::Matrix;
use crate::tracking::params::TrackChecked;
use crate::tracking::result::{Evaluator, Event, Link, LinkKind, Pair};
use assignment::{Edge, best};

pub(crate) use confidence::confidence;

/// Factor on the weight of a bridge, a link that skips the experiment in between.
const BRIDGE: f64 = 0.5;

/// Smallest share of the time of a whole at which a cluster at its program position, but elsewhere in the
/// metric space, is a part.
const PART: f64 = 0.02;

/// Experiment and cluster.
pub(crate) type Node = (usize, usize);

/// Tracked region before it is numbered.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// Clusters in each experiment.
    pub(crate) members: Vec<Vec<usize>>,
    /// Links between the clusters.
    pub(crate) links: Vec<Link>,
    /// Events.
    pub(crate) events: Vec<Event>,
    /// Confidence.
    pub(crate) confidence: f64,
}

/// Compared pairs and the parameters.
struct Graph<'p> {
    /// Experiments.
    experiments: &'p [Prepared],
    /// Compared pairs.
    pairs: &'p [Pair],
    /// Parameters.
    params: &'p TrackChecked,
    /// Certain partners of the clusters of the earlier and of the later experiment of each pair.
    partners: Vec<[Vec<Option<usize>>; 2]>,
    /// Simultaneity of the clusters of each experiment.
    simultaneity: &'p [Matrix],
    /// Index of the first cluster of each experiment among all clusters.
    offsets: Vec<usize>,
}

pub(crate) fn regions(
    experiments: &[Prepared],
    pairs: &[Pair],
    simultaneity: &[Matrix],
    params: &TrackChecked,
) -> Vec<Draft> {
    let mut offsets = vec![0];
    for experiment in experiments {
        let last = offsets.last().copied().unwrap_or(0);
        offsets.push(last + experiment.side.clusters);
    }
    let graph = Graph {
        experiments,
        pairs,
        params,
        partners: pairs
            .iter()
            .map(|pair| [sure(&pair.evidence), sure(&pair.evidence.transposed())])
            .collect(),
        simultaneity,
        offsets,
    };
    graph.drafts()
}

impl Graph<'_> {
    fn index(&self, (experiment, class): Node) -> usize {
        self.offsets[experiment] + class
    }

    fn node(&self, index: usize) -> Node {
        let experiment = self.offsets.partition_point(|&offset| offset <= index) - 1;
        (experiment, index - self.offsets[experiment])
    }

    fn pair(&self, from: usize, to: usize) -> Option<&Pair> {
        self.pairs
            .iter()
            .find(|pair| (pair.from, pair.to) == (from, to))
    }

    fn evidence(&self, from: Node, to: Node) -> f64 {
        let pair = self.pair(from.0, to.0);
        let value = pair.map_or(f64::NAN, |pair| pair.evidence.at(from.1, to.1));
        if value.is_nan() { 0.0 } else { value }
    }

    /// Returns the successor of each cluster, as an index among all clusters.
    fn successors(&self) -> Vec<Option<usize>> {
        let count = self.offsets.last().copied().unwrap_or(0);
        let mut edges = Vec::new();
        for pair in self.pairs {
            let worth = if pair.to == pair.from + 1 {
                1.0
            } else {
                BRIDGE
            };
            for i in 0..pair.evidence.rows() {
                for j in 0..pair.evidence.columns() {
                    let above = pair.evidence.at(i, j) - self.params.birth();
                    if above > 0.0 {
                        edges.push(Edge {
                            left: self.index((pair.from, i)),
                            right: self.index((pair.to, j)),
                            weight: worth * above,
                        });
                    }
                }
            }
        }
        best(count, count, &edges)
    }

    fn drafts(&self) -> Vec<Draft> {
        let next = self.successors();
        let mut previous = vec![None; next.len()];
        for (from, to) in next.iter().enumerate() {
            if let Some(to) = *to {
                previous[to] = Some(from);
            }
        }
        // Each chain is identified by its first cluster.
        let mut chain_of: Vec<usize> = (0..next.len()).collect();
        for from in 0..next.len() {
            if let Some(to) = next[from] {
                chain_of[to] = chain_of[from];
            }
        }
        let parts = self.parts(&next, &previous);
        let mut root = chain_of.clone();
        fn find(root: &[usize], mut at: usize) -> usize {
            while root[at] != at {
                at = root[at];
            }
            at
        }
        let mut kept = Vec::new();
        let mut has_parent = vec![false; next.len()];
        for part in parts {
            // A chain may be a part of at most one other chain; a part of two chains would join them.
            let child = chain_of[part.child];
            let (a, b) = (find(&root, child), find(&root, chain_of[part.whole]));
            if has_parent[child] || a == b {
                continue;
            }
            has_parent[child] = true;
            root[a.max(b)] = a.min(b);
            kept.push(part);
        }
        let mut drafts: Vec<Draft> = Vec::new();
        let mut place = vec![usize::MAX; next.len()];
        for (index, &chain) in chain_of.iter().enumerate() {
            let (experiment, class) = self.node(index);
            if self.experiments[experiment].side.sizes[class] == 0 {
                continue;
            }
            let name = find(&root, chain);
            if place[name] == usize::MAX {
                place[name] = drafts.len();
                drafts.push(Draft {
                    members: vec![Vec::new(); self.experiments.len()],
                    ..Draft::default()
                });
            }
            drafts[place[name]].members[experiment].push(class);
        }
        for (from, to) in next.iter().enumerate() {
            if let Some(to) = *to {
                let draft = &mut drafts[place[find(&root, chain_of[from])]];
                self.continued(draft, self.node(from), self.node(to));
            }
        }
        for part in &kept {
            let draft = &mut drafts[place[find(&root, chain_of[part.child])]];
            self.parted(draft, part);
        }
        for draft in &mut drafts {
            self.finish(draft);
        }
        drafts
    }

    /// Finds the loose ends of chains that are parts of clusters in other chains, in descending
    /// order of evidence.
    fn parts(&self, next: &[Option<usize>], previous: &[Option<usize>]) -> Vec<Part> {
        let mut parts = Vec::new();
        for index in 0..next.len() {
            let node @ (experiment, class) = self.node(index);
            if self.experiments[experiment].side.sizes[class] == 0 {
                continue;
            }
            // A cluster without a predecessor may be split off a cluster that continues.
            if previous[index].is_none() && experiment > 0 {
                for whole in 0..self.experiments[experiment - 1].side.clusters {
                    let from = self.index((experiment - 1, whole));
                    let Some(sibling) = next[from].map(|to| self.node(to)) else {
                        continue;
                    };
                    if sibling.0 == experiment {
                        let together = self.together(experiment, class, sibling.1);
                        parts.push(self.part(node, (experiment - 1, whole), together));
                    }
                }
            }
            // A cluster without a successor may have merged into a cluster that existed before.
            if next[index].is_none() && experiment + 1 < self.experiments.len() {
                for whole in 0..self.experiments[experiment + 1].side.clusters {
                    let to = self.index((experiment + 1, whole));
                    let Some(sibling) = previous[to].map(|from| self.node(from)) else {
                        continue;
                    };
                    if sibling.0 == experiment {
                        let together = self.together(experiment, class, sibling.1);
                        parts.push(self.part(node, (experiment + 1, whole), together));
                    }
                }
            }
        }
        parts.retain(|part| part.evidence >= self.params.split());
        parts.sort_by(|a, b| {
            let by_evidence = b.evidence.total_cmp(&a.evidence);
            by_evidence.then((a.child, a.whole).cmp(&(b.child, b.whole)))
        });
        parts
    }

    /// Returns the simultaneity of two clusters: the geometric mean of both directions.
    fn together(&self, experiment: usize, a: usize, b: usize) -> f64 {
        let matrix = &self.simultaneity[experiment];
        (matrix.at(a, b) * matrix.at(b, a)).sqrt()
    }

    /// Computes the evidence that a cluster is a part of a cluster of the previous or next
    /// experiment.
    fn part(&self, child: Node, whole: Node, together: f64) -> Part {
        let is_split = whole.0 < child.0;
        let (from, to, evaluator) = if is_split {
            (whole, child, Evaluator::Backward)
        } else {
            (child, whole, Evaluator::Forward)
        };
        let near = self.pair(from.0, to.0).and_then(|pair| {
            let vote = pair.votes.iter().find(|vote| vote.evaluator == evaluator)?;
            Some(vote.matrix.at(from.1, to.1))
        });
        let pair_at = |pair: &Pair| (pair.from, pair.to) == (from.0, to.0);
        let beside = self.pairs.iter().position(pair_at).map_or(0.0, |pair| {
            let (part, whole_side) = (
                &self.experiments[child.0].side,
                &self.experiments[whole.0].side,
            );
            let partners = &self.partners[pair][usize::from(is_split)];
            let (own, other) = (part.shares()[child.1], whole_side.shares()[whole.1]);
            if own < PART * other {
                return 0.0;
            }
            neighbourhood((part, child.1), (whole_side, whole.1), partners)
        });
        let together = if together.is_nan() { 0.0 } else { together };
        let evidence = parthood(
            near.unwrap_or(f64::NAN),
            (&self.experiments[child.0].side, child.1),
            (&self.experiments[whole.0].side, whole.1),
            self.params.use_callers(),
            together.max(beside),
        );
        Part {
            child: self.index(child),
            whole: self.index(whole),
            evidence,
        }
    }

    fn link(&self, from: Node, to: Node, kind: LinkKind, evidence: f64) -> Link {
        let id = |class: usize| ClusterId(class as u32 + 1);
        let votes = self.pair(from.0, to.0).map_or_else(Vec::new, |pair| {
            let votes = pair.votes.iter();
            votes
                .filter_map(|vote| {
                    let value = vote.matrix.at(from.1, to.1);
                    (!value.is_nan()).then_some((vote.evaluator, value))
                })
                .collect()
        });
        Link {
            from: (from.0, id(from.1)),
            to: (to.0, id(to.1)),
            kind,
            evidence,
            confidence: 0.0,
            votes,
        }
    }

    fn continued(&self, draft: &mut Draft, from: Node, to: Node) {
        let kind = if to.0 == from.0 + 1 {
            LinkKind::Continues
        } else {
            LinkKind::Bridges
        };
        draft
            .links
            .push(self.link(from, to, kind, self.evidence(from, to)));
        if kind == LinkKind::Bridges {
            let experiment = from.0 + 1;
            let hosts = (0..self.experiments[experiment].side.clusters)
                .map(|host| (host, self.part(from, (experiment, host), 0.0).evidence));
            let host = hosts.fold(
                (0, 0.0),
                |best, next| if next.1 > best.1 { next } else { best },
            );
            let is_hidden = host.1 >= self.params.split();
            draft.events.push(Event::Gap {
                experiment,
                hidden_in: is_hidden.then_some(ClusterId(host.0 as u32 + 1)),
            });
        }
    }

    fn parted(&self, draft: &mut Draft, part: &Part) {
        let (child, whole) = (self.node(part.child), self.node(part.whole));
        let is_split = whole.0 < child.0;
        let (from, to, kind) = if is_split {
            (whole, child, LinkKind::Splits)
        } else {
            (child, whole, LinkKind::Merges)
        };
        draft.links.push(self.link(from, to, kind, part.evidence));
        // One event for all parts of a cluster.
        let (id, whole_id) = (ClusterId(child.1 as u32 + 1), ClusterId(whole.1 as u32 + 1));
        let known = draft.events.iter_mut().find_map(|event| match event {
            Event::Split {
                experiment,
                from,
                into,
            } if is_split => (*experiment == child.0 && *from == whole_id).then_some(into),
            Event::Merge {
                experiment,
                from,
                into,
            } if !is_split => (*experiment == whole.0 && *into == whole_id).then_some(from),
            _ => None,
        });
        if let Some(parts) = known {
            parts.push(id);
            parts.sort_unstable();
            return;
        }
        let main = draft.links.iter().find_map(|link| {
            if is_split {
                (link.kind == LinkKind::Continues && link.from == (whole.0, whole_id))
                    .then_some(link.to.1)
            } else {
                (link.kind == LinkKind::Continues && link.to == (whole.0, whole_id))
                    .then_some(link.from.1)
            }
        });
        let mut parts: Vec<ClusterId> = main.into_iter().chain([id]).collect();
        parts.sort_unstable();
        draft.events.push(if is_split {
            Event::Split {
                experiment: child.0,
                from: whole_id,
                into: parts,
            }
        } else {
            Event::Merge {
                experiment: whole.0,
                from: parts,
                into: whole_id,
            }
        });
    }
}

/// Cluster at a loose end of its chain that is a part of a cluster of another chain.
struct Part {
    /// Index of the part among all clusters.
    child: usize,
    /// Index of the whole among all clusters.
    whole: usize,
    /// Evidence that the cluster is a part.
    evidence: f64,
}
