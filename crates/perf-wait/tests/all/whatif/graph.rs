//! Replay of activity graphs against the recursive definition, and graphs that cannot be replayed.

use perf_core::{Job, Nanos};
use perf_wait::Error;
use perf_wait::graph::{ActivityId, GraphBuilder, Schedule};
use proptest::prelude::*;

/// Activities with durations, groups of neighbours, and dependencies on activities of earlier groups.
#[derive(Debug, Clone)]
struct Made {
    durations: Vec<i64>,
    group: Vec<usize>,
    edges: Vec<(usize, usize)>,
}

fn made() -> impl Strategy<Value = Made> {
    (1usize..40).prop_flat_map(|count| {
        let durations = prop::collection::vec(-3i64..50, count);
        let sizes = prop::collection::vec(1usize..4, count);
        let edges = prop::collection::vec((0..count, 0..count), 0..80);
        (durations, sizes, edges).prop_map(|(durations, sizes, edges)| {
            let groups = sizes.iter().enumerate();
            let group = groups.flat_map(|(group, size)| std::iter::repeat_n(group, *size));
            let group: Vec<usize> = group.take(durations.len()).collect();
            let edges = edges.into_iter().map(|(a, b)| (a.max(b), a.min(b)));
            let edges = edges.filter(|(a, b)| group[*a] != group[*b]).collect();
            Made {
                durations,
                group,
                edges,
            }
        })
    })
}

/// The end of an activity by the definition.
fn end(made: &Made, of: usize, known: &mut [Option<i64>]) -> i64 {
    if let Some(end) = known[of] {
        return end;
    }
    let members = (0..made.group.len()).filter(|other| made.group[*other] == made.group[of]);
    let mut start = 0;
    for member in members {
        for (_, before) in made.edges.iter().filter(|edge| edge.0 == member) {
            start = start.max(end(made, *before, known));
        }
    }
    known[of] = Some(start + made.durations[of]);
    start + made.durations[of]
}

proptest! {
    #[test]
    fn replay_is_the_definition(made in made(), shuffle in any::<u64>()) {
        let count = made.durations.len();
        // Numbers of the activities in the graph, in another order.
        let mut numbers: Vec<usize> = (0..count).collect();
        numbers.sort_by_key(|at| (*at as u64).wrapping_mul(shuffle | 1).rotate_left(17));
        let place = |of: usize| ActivityId(numbers.iter().position(|at| *at == of).unwrap() as u32);
        let mut graph = GraphBuilder::default();
        for at in &numbers {
            graph.add(Nanos(made.durations[*at])).unwrap();
        }
        for (later, before) in &made.edges {
            graph.depend(place(*later), place(*before)).unwrap();
        }
        for group in 0..count {
            let members = (0..count).filter(|at| made.group[*at] == group);
            graph.group(&members.map(place).collect::<Vec<_>>()).unwrap();
        }
        let graph = graph.build(&Job::default()).unwrap();
        let mut times = Schedule::default();
        graph.replay(graph.durations(), &mut times, &Job::default()).unwrap();
        let mut known = vec![None; count];
        for at in 0..count {
            prop_assert_eq!(times.end[place(at).index()].0, end(&made, at, &mut known));
        }
    }
}

#[test]
fn cycles_are_errors_with_their_place() {
    let mut graph = GraphBuilder::default();
    let ids = [3, 4, 5].map(|duration| graph.add(Nanos(duration)).unwrap());
    graph.depend(ids[1], ids[2]).unwrap();
    graph.depend(ids[2], ids[1]).unwrap();
    assert!(matches!(
        graph.depend(ids[0], ActivityId(9)),
        Err(Error::UnknownActivity {
            activity: 9,
            count: 3
        })
    ));
    let found = graph.build(&Job::default());
    assert!(matches!(
        found,
        Err(Error::Cycle {
            activity: 1,
            stuck: 2,
            count: 3,
            ..
        })
    ));
    // A member of a group that waits for another member.
    let mut graph = GraphBuilder::default();
    let ids = [3, 4].map(|duration| graph.add(Nanos(duration)).unwrap());
    graph.group(&ids).unwrap();
    assert!(matches!(
        graph.group(&ids[..1]),
        Err(Error::Grouped { activity: 0 })
    ));
    graph.depend(ids[1], ids[0]).unwrap();
    assert!(matches!(
        graph.build(&Job::default()),
        Err(Error::Cycle { .. })
    ));
}
