//! [`Candidates`] for the grid of a number of processes: its factorisations, and node x process;
//! each [`Candidate`] with the frequencies along its axes.

use super::Assignment;
use perf_core::SystemTree;
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of candidates with the same number of axes.
const MAX_CANDIDATES: usize = 500;

/// Grid without evidence.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// Length of each axis, slowest first.
    pub(super) lens: Vec<usize>,
    /// Assignment of the processes to the cells.
    pub(super) assignment: Assignment,
    /// `true` if the axes are machine node and process of the node, in either order.
    pub(super) is_machine: bool,
}

/// Frequencies along an axis, of one or several candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Part {
    /// `true` if processes are in the order of their nodes.
    pub(super) by_node: bool,
    /// Number of consecutive processes with the same coordinate.
    pub(super) stride: usize,
    /// Length of the axis.
    pub(super) len: usize,
    /// `true` if only the lowest frequency of the axis counts.
    pub(super) is_lowest: bool,
}

/// Smallest length of an axis whose lowest frequency counts on its own.
const MIN_WAVE: usize = 5;

impl Part {
    /// Returns the number of frequencies, counting opposite ones twice.
    pub(super) fn frequencies(&self) -> usize {
        if self.is_lowest { 2 } else { self.len - 1 }
    }

    /// Returns the lowest frequency of the axis; `None` if the axis has few frequencies.
    pub(super) fn lowest(self) -> Option<Self> {
        let lowest = Part {
            is_lowest: true,
            ..self
        };
        (self.len >= MIN_WAVE).then_some(lowest)
    }
}

impl Candidate {
    /// Returns the number of frequencies along single axes.
    pub(super) fn frequencies(&self) -> usize {
        self.lens.iter().map(|len| len - 1).sum()
    }

    /// Returns the axes.
    pub(super) fn parts(&self) -> impl Iterator<Item = Part> + '_ {
        let mut stride: usize = self.lens.iter().product();
        self.lens.iter().map(move |len| {
            stride /= len;
            Part {
                by_node: self.assignment == Assignment::System,
                stride,
                len: *len,
                is_lowest: false,
            }
        })
    }
}

/// All candidates of a number of processes.
#[derive(Clone, Debug)]
pub(super) struct Candidates {
    /// Candidates, by number of axes, most compact first.
    pub(super) grids: Vec<Candidate>,
    /// Number of grids that are no candidates because there are too many.
    pub(super) untried: usize,
    /// Processes by their place in the order of ranks, in the order of their nodes.
    pub(super) by_node: Vec<u32>,
}

impl Candidates {
    pub(super) fn of(system: &SystemTree, processes: usize, axes: usize) -> Self {
        let (mut grids, mut untried) = (Vec::new(), 0);
        for axes in 2..=axes {
            let mut all = factorisations(processes, axes);
            all.sort_by_key(|lens| lens.iter().sum::<usize>());
            untried += all.len().saturating_sub(MAX_CANDIDATES);
            all.truncate(MAX_CANDIDATES);
            grids.extend(all.into_iter().map(|lens| Candidate {
                lens,
                assignment: Assignment::Order,
                is_machine: false,
            }));
        }
        let mut candidates = Candidates {
            grids,
            untried,
            by_node: Vec::new(),
        };
        candidates.add_machine(system, processes);
        candidates
    }

    /// Marks the candidate whose axes are node and process, or adds it if the order of the
    /// processes does not follow the nodes.
    fn add_machine(&mut self, system: &SystemTree, processes: usize) {
        let mut of_node: BTreeMap<_, Vec<u32>> = BTreeMap::new();
        for (process, id) in (0..).zip(system.processes_by_rank()) {
            let node = system.group(id).and_then(|group| group.parent);
            let Some(node) = node else { return };
            of_node.entry(node).or_default().push(process);
        }
        let (nodes, on_each) = (of_node.len(), processes / of_node.len().max(1));
        let is_even = of_node.values().all(|own| own.len() == on_each);
        if nodes < 2 || on_each < 2 || !is_even || nodes * on_each != processes {
            return;
        }
        // Nodes in the order of their first processes.
        let mut of_node: Vec<Vec<u32>> = of_node.into_values().collect();
        of_node.sort();
        let has = |at: fn(usize, usize, usize, usize) -> usize| {
            let places = of_node.iter().enumerate().flat_map(|(node, own)| {
                let numbered = own.iter().enumerate();
                numbered.map(move |(at, process)| (node, at, *process as usize))
            });
            let mut places = places;
            places.all(|(node, own, process)| process == at(node, own, nodes, on_each))
        };
        let lens = if has(|node, own, _, on_each| node * on_each + own) {
            vec![nodes, on_each]
        } else if has(|node, own, nodes, _| own * nodes + node) {
            vec![on_each, nodes]
        } else {
            self.by_node = of_node.concat();
            self.grids.push(Candidate {
                lens: vec![nodes, on_each],
                assignment: Assignment::System,
                is_machine: true,
            });
            return;
        };
        if let Some(known) = self.grids.iter_mut().find(|grid| grid.lens == lens) {
            known.is_machine = true;
        }
    }

    /// Returns the number of different axes.
    pub(super) fn parts(&self) -> usize {
        let parts: BTreeSet<Part> = self.grids.iter().flat_map(Candidate::parts).collect();
        parts.len()
    }
}

/// Returns all ways to write `count` as an ordered product of `axes` numbers of at least 2.
fn factorisations(count: usize, axes: usize) -> Vec<Vec<usize>> {
    if axes == 1 {
        return if count < 2 {
            Vec::new()
        } else {
            vec![vec![count]]
        };
    }
    let mut found = Vec::new();
    for len in (2..=count / 2).filter(|len| count.is_multiple_of(*len)) {
        for rest in factorisations(count / len, axes - 1) {
            let mut lens = vec![len];
            lens.extend(rest);
            found.push(lens);
        }
    }
    found
}

/// Returns `true` if `merged` results from `lens` by merging adjacent axes.
pub(super) fn is_coarsening(merged: &[usize], lens: &[usize]) -> bool {
    let mut rest = lens.iter();
    merged.iter().all(|len| {
        let mut product = 1;
        while product < *len {
            let Some(next) = rest.next() else {
                return false;
            };
            product *= next;
        }
        product == *len
    }) && rest.next().is_none()
}
