//! Replay equals a reference implementation, and its frames nest for any input.

use crate::common;

use common::{enter, events, leave, trace};
use perf_core::Job;
use perf_core::*;
use proptest::prelude::*;

#[derive(Default, Debug)]
struct Log {
    /// Time, region, depth, and the reason of a leave.
    calls: Vec<(u64, u32, usize, Option<Close>)>,
    /// Current depth.
    depth: usize,
}

impl Visitor for Log {
    fn enter(&mut self, at: Ticks, region: RegionId, depth: usize) {
        assert_eq!(depth, self.depth);
        self.depth += 1;
        self.calls.push((at.0, region.0, depth, None));
    }

    fn leave(&mut self, at: Ticks, region: RegionId, depth: usize, why: Close) {
        self.depth -= 1;
        assert_eq!(depth, self.depth);
        self.calls.push((at.0, region.0, depth, Some(why)));
    }
}

/// Reference implementation of the four rules, which searches the stack each time.
fn textbook(list: &[(u64, Event<'_>)]) -> (Log, ReplayCounts) {
    let (mut log, mut counts) = (Log::default(), ReplayCounts::default());
    let mut stack: Vec<RegionId> = Vec::new();
    for (at, event) in list {
        match event {
            Event::Enter { region } => {
                log.enter(Ticks(*at), *region, stack.len());
                stack.push(*region);
            }
            Event::Leave { region } if stack.last() == Some(region) => {
                counts.top += 1;
                stack.pop();
                log.leave(Ticks(*at), *region, stack.len(), Close::Top);
            }
            Event::Leave { region } if stack.contains(region) => {
                counts.nearest += 1;
                while let Some(top) = stack.pop() {
                    let found = top == *region;
                    let why = if found {
                        Close::Nearest
                    } else {
                        Close::Implicit
                    };
                    log.leave(Ticks(*at), top, stack.len(), why);
                    if found {
                        break;
                    }
                    counts.implicit_closes += 1;
                }
            }
            Event::Leave { .. } => match stack.pop() {
                Some(top) => {
                    counts.renamed += 1;
                    log.leave(Ticks(*at), top, stack.len(), Close::Renamed);
                }
                None => counts.orphan += 1,
            },
            _ => {}
        }
    }
    let end = list.last().map_or(0, |(at, _)| *at);
    while let Some(top) = stack.pop() {
        counts.open_at_end += 1;
        log.leave(Ticks(end), top, stack.len(), Close::End);
    }
    (log, counts)
}

fn calls() -> impl Strategy<Value = Vec<(u64, Event<'static>)>> {
    prop::collection::vec((0u64..3, any::<bool>(), 0u32..4), 0..80).prop_map(|list| {
        let mut now = 0;
        let stamp = |(step, is_enter, region)| {
            now += step;
            (
                now,
                if is_enter {
                    enter(region)
                } else {
                    leave(region)
                },
            )
        };
        list.into_iter().map(stamp).collect()
    })
}

/// Returns the ticks in which each region is the innermost one between `from` and `to`.
fn innermost(log: &Log, from: u64, to: u64) -> [u64; 8] {
    let mut time = [0; 8];
    let mut stack: Vec<u32> = Vec::new();
    let mut last = 0;
    for (at, region, _, why) in &log.calls {
        if let Some(top) = stack.last() {
            time[*top as usize] += (*at).clamp(from, to) - last.clamp(from, to);
        }
        last = *at;
        match why {
            None => stack.push(*region),
            Some(_) => drop(stack.pop()),
        }
    }
    time
}

proptest! {
    #[test]
    fn equals_the_textbook(list in calls()) {
        let trace = trace(vec![events(&list)]);
        let mut log = Log::default();
        let counts = replay(trace.location(LocationId(0)).unwrap(), &mut log, &Job::default()).unwrap();
        let (expected, expected_counts) = textbook(&list);
        prop_assert_eq!(log.calls, expected.calls);
        prop_assert_eq!(counts, expected_counts);
        prop_assert_eq!(log.depth, 0);
    }

    #[test]
    fn a_window_sees_the_same_frames(list in calls(), a in 0u64..100, b in 0u64..100) {
        let (a, b) = (a.min(b), a.max(b));
        let trace = trace(vec![events(&list)]);
        let window = TimeRange::new(Ticks(a), Ticks(b)).unwrap();
        let mut part = Log::default();
        replay(trace.view().between(window).location(LocationId(0)).unwrap(), &mut part, &Job::default()).unwrap();
        let (whole, _) = textbook(&list);
        prop_assert_eq!(innermost(&part, a, b), innermost(&whole, a, b));
        prop_assert!(part.calls.iter().all(|call| a <= call.0 && call.0 <= b.max(a)));
        let cut = clip(&trace, window, &Job::default()).unwrap();
        let mut alone = Log::default();
        replay(cut.trace.location(LocationId(0)).unwrap(), &mut alone, &Job::default()).unwrap();
        prop_assert_eq!(innermost(&alone, a, b), innermost(&whole, a, b));
    }

    #[test]
    fn counts_merge(a in calls(), b in calls(), c in calls()) {
        let [a, b, c] = [a, b, c].map(|list| textbook(&list).1);
        let sum = |x: ReplayCounts, y: ReplayCounts| { let mut sum = x; sum.merge(&y); sum };
        prop_assert_eq!(sum(sum(a, b), c), sum(a, sum(b, c)));
        prop_assert_eq!(sum(a, b), sum(b, a));
        prop_assert_eq!(sum(a, ReplayCounts::default()), a);
    }
}

#[test]
fn a_deep_stack_that_never_fits_takes_linear_time() {
    // 200,000 frames, each closed under another name. A search of the stack at each leave would
    // take 20,000,000,000 steps, and this test would not finish.
    let depth = 200_000;
    let mut list: Vec<_> = (0..depth).map(|at| (at, enter(1))).collect();
    list.extend((0..depth).map(|at| (depth + at, leave(2))));
    let trace = trace(vec![events(&list)]);
    let counts = replay(
        trace.location(LocationId(0)).unwrap(),
        &mut Log::default(),
        &Job::default(),
    )
    .unwrap();
    assert_eq!(counts.renamed, depth);
}
