//! [`Unusual`]: differences of each row from the rows of its kind, so that one slow rank among a
//! thousand is found without unfolding them all.

use super::pyramid::Node;
use perf_core::LocationKind;
use perf_fold::{Groups, State, Usage};
use std::collections::{BTreeMap, HashMap};

/// Smallest number of rows of a kind with a mark. Fewer rows are compared at a glance.
const FEWEST_ROWS: usize = 8;
/// Smallest difference of a row with a mark, as a share of its time.
const LEAST: f64 = 0.02;
/// Smallest difference of a row with a mark, in medians of the differences of its kind.
const MEDIANS: f64 = 6.0;
/// Difference between two differences of a row that counts as none.
const NEAR: f64 = 0.001;
/// Number of rows of a kind for each row with a mark. If more rows differ, they are a group, such as the
/// first threads of all processes.
const ROWS_OF_MARK: usize = 50;

/// Difference of a row from the rows of its kind: those at the same depth of the hierarchy that are
/// devices too, or are not, and that recorded some work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Unusual {
    /// Largest difference of the share of a state from its median, from 0 to 1.
    pub(super) difference: f64,
    /// State with this difference.
    pub(super) state: Option<State>,
    /// Share of the state in the time of the row, and its median.
    pub(super) shares: [f64; 2],
    /// `true` if the difference is much larger than that of almost all rows of the kind.
    pub(super) is_marked: bool,
    /// Row below this one that differs most: a marked one if there is any.
    pub(super) most: Option<usize>,
}

/// Returns the difference of each node.
pub(super) fn unusual_rows(nodes: &[Node], groups: &Groups, usage: &[Usage]) -> Vec<Unusual> {
    let mut kinds: BTreeMap<(usize, bool), Vec<usize>> = BTreeMap::new();
    let mut depths = vec![0; nodes.len()];
    for (at, (node, usage)) in nodes.iter().zip(usage).enumerate() {
        // Parents come before their members.
        depths[at] = node.parent.map_or(0, |parent| depths[parent] + 1);
        let group = groups.get(node.group);
        let is_device = group.is_some_and(|it| it.kind == LocationKind::AcceleratorStream);
        if usage.times.iter().any(|(state, _)| state.class().is_some()) {
            kinds.entry((depths[at], is_device)).or_default().push(at);
        }
    }
    let mut found = vec![Unusual::default(); nodes.len()];
    for rows in kinds.values().filter(|rows| rows.len() > 1) {
        compare(rows, usage, &mut found);
    }
    // Members come after their parents, so the last nodes are first.
    for at in (0..nodes.len()).rev() {
        let key = |row: &usize| (found[*row].is_marked, found[*row].difference);
        let members = nodes[at].children.iter().copied();
        let all = members.flat_map(|member| found[member].most.into_iter().chain([member]));
        // The first of several equal rows.
        found[at].most = all.rev().max_by(|a, b| {
            let ((is_marked, one), (other_is_marked, other)) = (key(a), key(b));
            is_marked.cmp(&other_is_marked).then(one.total_cmp(&other))
        });
    }
    found
}

/// Compares the rows of one kind.
fn compare(rows: &[usize], usage: &[Usage], found: &mut [Unusual]) {
    let mut shares: BTreeMap<State, Vec<f64>> = BTreeMap::new();
    for (state, share) in rows.iter().flat_map(|row| shares_of(&usage[*row])) {
        shares.entry(state).or_default().push(share);
    }
    let medians = shares.into_iter().map(|(state, mut known)| {
        // Rows without the state have a share of 0.
        let absent = rows.len() - known.len();
        known.resize(known.len() + absent, 0.0);
        (state, median(&mut known))
    });
    let medians: Vec<(State, f64)> = medians.filter(|(_, median)| *median > 0.0).collect();
    let usual: HashMap<State, f64> = medians.iter().copied().collect();
    for row in rows {
        let own: HashMap<State, f64> = shares_of(&usage[*row]).collect();
        let missing = medians.iter().filter(|(state, _)| !own.contains_key(state));
        let missing = missing.map(|(state, median)| (*state, [0.0, *median]));
        let own = shares_of(&usage[*row]).map(|(state, share)| {
            let median = usual.get(&state).copied().unwrap_or_default();
            (state, [share, median])
        });
        for (state, [share, median]) in own.chain(missing) {
            let difference = (share - median).abs();
            // Of two states with nearly one difference, such as work and waiting, the first has more time.
            if difference > found[*row].difference + NEAR {
                found[*row] = Unusual {
                    difference,
                    state: Some(state),
                    shares: [share, median],
                    ..Unusual::default()
                };
            }
        }
    }
    let mut differences: Vec<f64> = rows.iter().map(|row| found[*row].difference).collect();
    let least = (MEDIANS * median(&mut differences)).max(LEAST);
    let marked = rows.iter().filter(|row| found[**row].difference >= least);
    let marked: Vec<usize> = marked.copied().collect();
    if rows.len() >= FEWEST_ROWS && marked.len() <= (rows.len() / ROWS_OF_MARK).max(1) {
        for row in marked {
            found[row].is_marked = true;
        }
    }
}

/// Returns the shares of the states of a row. The time before the first and after the last event of a
/// stream is no state of the program.
fn shares_of(usage: &Usage) -> impl Iterator<Item = (State, f64)> + '_ {
    usage.shares().filter(|(state, _)| *state != State::Absent)
}

/// Returns the median of values; 0 without values.
fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    if values.is_empty() {
        return 0.0;
    }
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::super::pyramid::nodes;
    use super::*;
    use perf_core::{
        Definitions, Event, Events, Job, Location, Region, RegionId, SystemTree, Ticks, Trace,
    };
    use perf_fold::{Folder, GroupBy, RegionMap, Timelines};

    /// Returns the differences of `ranks` ranks, each of which works for the given time of 1,000 ticks and
    /// waits for the rest.
    fn differences(work: &[u64]) -> (Vec<Node>, Vec<Unusual>) {
        let mut definitions = Definitions::default();
        definitions.regions = vec![Region::named("work"), Region::named("MPI_Barrier")];
        let locations = (0..work.len() as u64).map(|key| Location {
            name: format!("rank {key}"),
            key,
            ..Location::default()
        });
        let system = SystemTree::new(vec![], vec![], locations.collect(), &Default::default());
        definitions.system = system.expect("a good tree");
        let events = work.iter().map(|work| {
            let mut events = Events::default();
            for (at, region, is_enter) in [
                (0, 0, true),
                (*work, 0, false),
                (*work, 1, true),
                (1000, 1, false),
            ] {
                let region = RegionId(region);
                let event = if is_enter {
                    Event::Enter { region }
                } else {
                    Event::Leave { region }
                };
                events.push(Ticks(at), event).expect("few events");
            }
            events
        });
        let trace = Trace::new(definitions, events.collect()).expect("a good trace");
        let map = RegionMap::by_name(trace.definitions()).expect("two regions");
        let timelines = Timelines::new(trace.view(), &map, &Job::default()).expect("a good trace");
        let groups = Groups::by(&timelines, GroupBy::All);
        let nodes = nodes(&groups, 10_000);
        let ids: Vec<_> = nodes.iter().map(|node| node.group).collect();
        let rows = groups.with_rows(&ids).expect("known groups");
        let folder = Folder::new(&timelines, rows, Default::default()).expect("some rows");
        let usage = folder.busy_shares(timelines.range(), &Job::default());
        let found = unusual_rows(&nodes, &groups, &usage.expect("it is computed"));
        (nodes, found)
    }

    #[test]
    fn one_slow_rank_of_a_thousand_is_marked_and_named_by_its_row() {
        let mut work: Vec<u64> = (0..1000).map(|rank| 900 + rank % 9).collect();
        work[517] = 960;
        let (nodes, found) = differences(&work);
        let marked = found.iter().filter(|it| it.is_marked);
        assert_eq!(marked.count(), 1);
        let row = found[0].most.expect("the row of all ranks has members");
        let slow = found[row];
        assert!(slow.is_marked && (slow.difference - 0.056).abs() < 1e-9);
        assert_eq!(slow.shares, [0.96, 0.904]);
        // The row of rank 517 is the 518th of those without members.
        let leaves = (0..nodes.len()).filter(|at| nodes[*at].children.is_empty());
        assert_eq!(leaves.take(518).last(), Some(row));
    }

    #[test]
    fn usual_scatter_and_groups_of_ranks_have_no_marks() {
        let scattered: Vec<u64> = (0..200).map(|rank| 500 + (rank * 37) % 400).collect();
        assert!(differences(&scattered).1.iter().all(|it| !it.is_marked));
        // A fifth of the ranks has more work.
        let halves: Vec<u64> = (0..200)
            .map(|rank| 800 + 150 * u64::from(rank % 5 == 0))
            .collect();
        let (_, found) = differences(&halves);
        assert!(found.iter().all(|it| !it.is_marked));
        assert_eq!(found.iter().filter(|it| it.difference > 0.1).count(), 40);
        let few = differences(&[900, 900, 900, 990]).1;
        assert!(few.iter().all(|it| !it.is_marked));
        assert!(few.iter().any(|it| it.difference > 0.05));
    }
}
