//! Properties that hold for any recording, and agreement with a reference implementation.

use crate::naive;

use naive::{Naive, as_idle, operate, operations};
use perf_core::{Job, Merge, Ticks, TimeRange};
use perf_fold::{
    AbsentRule, Boundary, Folder, GroupBy, Groups, Nesting, Op, Selection, State, Tally, Ties,
    Timelines, Usage,
};
use perf_testdata::random;
use proptest::prelude::*;

/// Windows inside, across the edges and outside of the recorded time.
fn window() -> impl Strategy<Value = TimeRange> {
    (0u64..200, 0u64..200).prop_map(|(a, b)| range(a.min(b), a.max(b)))
}

fn range(start: u64, end: u64) -> TimeRange {
    TimeRange::new(Ticks(start), Ticks(end)).unwrap()
}

fn by() -> impl Strategy<Value = GroupBy> {
    prop::sample::select(vec![
        GroupBy::All,
        GroupBy::Node,
        GroupBy::Process,
        GroupBy::Device,
        GroupBy::Location,
    ])
}

fn published() -> impl Strategy<Value = Op> {
    let any = Op::Any(perf_fold::ClassId(1));
    prop::sample::select(vec![Op::Max, Op::Min, Op::Diff, Op::Idle, any])
}

fn boundary() -> impl Strategy<Value = Boundary> {
    prop::sample::select(vec![Boundary::AtOrBefore, Boundary::Strict])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sampled_equals_a_linear_search_a_pixel(
        seed: u64, window in window(), by in by(), op in published(),
        boundary in boundary(), columns in 1usize..70,
    ) {
        let trace = random::trace(seed, 12, 60);
        let naive = Naive::of(&trace);
        let timelines = naive.timelines(&trace);
        let params = Folder::params().columns(columns).op(op).boundary(boundary);
        let groups = Groups::by(&timelines, by);
        let folder = Folder::new(&timelines, groups, params.check().unwrap()).unwrap();
        let fold = folder.fold(window, &Job::default()).unwrap();
        for row in fold.rows() {
            for (p, cell) in row.cells().iter().enumerate() {
                let (p, w) = (p as u64, columns as u64);
                let at = Ticks(window.start.0 + (2 * p + 1) * window.len() / (2 * w));
                let weights = naive.sampled(&row.group().streams, at, boundary);
                let counted = as_idle(&weights);
                prop_assert_eq!(cell.value, operate(op, &counted));
                prop_assert_eq!(cell.total, row.streams() as u64);
                prop_assert_eq!(cell.distinct as usize, counted.len());
                let of = |state| weights.get(&state).map_or(0, |(weight, _)| *weight);
                prop_assert_eq!((cell.idle, cell.absent), (of(State::Idle), of(State::Absent)));
                prop_assert!(cell.agreement() > 0.0 && cell.agreement() <= 1.0);
            }
        }
    }

    #[test]
    fn exact_equals_asking_at_each_tick(
        seed: u64, window in window(), by in by(), op in published(), columns in 1usize..40,
    ) {
        let trace = random::trace(seed, 12, 60);
        let naive = Naive::of(&trace);
        let timelines = naive.timelines(&trace);
        let params = Folder::params().columns(columns).op(op).selection(Selection::Exact);
        let groups = Groups::by(&timelines, by);
        let folder = Folder::new(&timelines, groups, params.check().unwrap()).unwrap();
        let fold = folder.fold(window, &Job::default()).unwrap();
        for row in fold.rows() {
            for (cell, edges) in row.cells().iter().zip(fold.edges().windows(2)) {
                let (pixel, streams) = (range(edges[0].0, edges[1].0), &row.group().streams);
                let weights = if pixel.is_empty() { naive.sampled(streams, pixel.start, Boundary::AtOrBefore) } else { naive.exact(streams, pixel) };
                prop_assert_eq!(cell.value, operate(op, &as_idle(&weights)));
                let total = streams.len() as u64 * pixel.len().max(1);
                prop_assert_eq!(cell.total, total);
            }
        }
    }

    /// With one pixel for each tick, sampling is exact.
    #[test]
    fn sampled_converges_to_exact(seed: u64, start in 0u64..150, length in 1u64..100) {
        let trace = random::trace(seed, 12, 60);
        let naive = Naive::of(&trace);
        let timelines = naive.timelines(&trace);
        let window = range(start, start + length);
        let total = |selection, columns, class| {
            let params = Folder::params().op(Op::Count(class)).selection(selection);
            let params = params.columns(columns).check().unwrap();
            let groups = Groups::by(&timelines, GroupBy::All);
            let fold = Folder::new(&timelines, groups, params).unwrap().fold(window, &Job::default()).unwrap();
            fold.cells().iter().map(|cell| cell.winning).sum::<u64>()
        };
        for class in 0..naive.classes().len() as u32 {
            let class = perf_fold::ClassId(class);
            let exact = total(Selection::Exact, 1, class);
            prop_assert_eq!(exact, total(Selection::Exact, length.min(13) as usize, class));
            prop_assert_eq!(exact, total(Selection::Sampled, length as usize, class));
        }
    }

    #[test]
    fn a_flat_refold_of_an_unfold_is_the_fold(
        seed: u64, window in window(), by in by(), op in published(),
        lowest: bool, leave_out: bool,
    ) {
        let trace = random::trace(seed, 12, 60);
        let naive = Naive::of(&trace);
        let timelines = naive.timelines(&trace);
        let ties = if lowest { Ties::LowestStateId } else { Ties::StreamOrder };
        let absent = if leave_out { AbsentRule::LeaveOut } else { AbsentRule::AsIdle };
        let params = Folder::params().columns(17).op(op).ties(ties).absent(absent);
        let groups = Groups::by(&timelines, by);
        let folder = Folder::new(&timelines, groups, params.check().unwrap()).unwrap();
        let fold = folder.fold(window, &Job::default()).unwrap();
        for row in fold.rows() {
            let children = &row.group().children;
            if children.is_empty() {
                continue;
            }
            let unfolded = folder.with_rows(children).unwrap();
            for (cell, at) in row.cells().iter().zip(fold.centres()) {
                let mut refolded = Tally::default();
                // Parts may come in any order.
                for child in (0..children.len()).rev() {
                    refolded.merge(&unfolded.tally(child, *at));
                }
                prop_assert_eq!(refolded.cell(&op, ties, absent), *cell);
            }
        }
    }

    #[test]
    fn tallies_merge_in_any_grouping(
        adds in prop::collection::vec((0u32..4, 0u64..3, 0u32..20), 0..30), cuts in any::<(usize, usize)>(),
    ) {
        let state = |code| match code {
            0 => State::Idle,
            1 => State::Absent,
            class => State::Class(perf_fold::ClassId(class)),
        };
        let tally = |adds: &[(u32, u64, u32)]| {
            let mut tally = Tally::default();
            for (code, weight, first) in adds {
                tally.add(state(*code), *weight, *first);
            }
            tally
        };
        let merged = |a: &Tally, b: &Tally| {
            let mut sum = a.clone();
            sum.merge(b);
            sum
        };
        let cut = cuts.0 % (adds.len() + 1);
        let (a, rest) = adds.split_at(cut);
        let (b, c) = rest.split_at(cuts.1 % (rest.len() + 1));
        let (a, b, c) = (tally(a), tally(b), tally(c));
        prop_assert_eq!(merged(&merged(&a, &b), &c), tally(&adds));
        prop_assert_eq!(merged(&a, &merged(&c, &b)), tally(&adds));
        prop_assert_eq!(merged(&a, &b), merged(&b, &a));
        prop_assert_eq!(merged(&a, &Tally::default()), a);
    }

    /// With ties to the lowest state, the order of streams does not matter.
    #[test]
    fn lowest_state_does_not_depend_on_the_order_of_streams(seed: u64, op in published(), at in 0u64..150) {
        let trace = random::trace(seed, 12, 60);
        let naive = Naive::of(&trace);
        let timelines = naive.timelines(&trace);
        let states = (0..timelines.len() as u32).map(|s| timelines.state(s, Ticks(at), Boundary::Strict));
        let (mut forward, mut backward) = (Tally::default(), Tally::default());
        for (index, state) in (0..).zip(states) {
            forward.add(state, 1, index);
            backward.add(state, 1, u32::MAX - index);
        }
        let rule = AbsentRule::AsIdle;
        let cell = |tally: &Tally| tally.cell(&op, Ties::LowestStateId, rule);
        prop_assert_eq!(cell(&forward), cell(&backward));
    }

    #[test]
    fn usage_equals_asking_at_each_tick(seed: u64, window in window()) {
        let trace = random::trace(seed, 12, 60);
        let naive = Naive::of(&trace);
        let timelines = naive.timelines(&trace);
        let streams: Vec<u32> = (0..timelines.len() as u32).collect();
        let usage = Usage::of(&timelines, &streams, window, &Job::default()).unwrap();
        let (mut busy, mut overlap, mut time, mut starts) = (0, 0, 0, 0);
        let mut before = 0;
        for tick in window.start.0..window.end.0 {
            let states = naive.states(&streams, Ticks(tick), Boundary::AtOrBefore);
            let active = states.iter().filter(|state| state.class().is_some()).count() as u64;
            busy += u64::from(active > 0);
            overlap += u64::from(active > 1);
            time += active;
            starts += u64::from(active > 0 && before == 0);
            before = active;
        }
        let found = usage.utilisation;
        prop_assert_eq!(
            (found.busy, found.overlap, found.stream_time, found.intervals),
            (busy, overlap, time, starts)
        );
        prop_assert_eq!(found.span, window.len());
        let with_states: Vec<u32> = streams.iter().copied().filter(|it| timelines.has_states(*it)).collect();
        prop_assert_eq!(usage.without_states, streams.len() - with_states.len());
        let exact = naive.exact(&with_states, window);
        for (state, ticks) in &usage.times {
            prop_assert_eq!(exact[state].0, *ticks);
        }
        prop_assert_eq!(usage.times.len(), exact.len());
        let shares: f64 = usage.shares().map(|(_, share)| share).sum();
        prop_assert!(exact.is_empty() || (shares - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_sampled_utilisation_is_within_its_bound(seed: u64, window in window(), columns in 1usize..99) {
        let trace = random::trace(seed, 12, 60);
        let naive = Naive::of(&trace);
        let timelines = naive.timelines(&trace);
        let groups = Groups::by(&timelines, GroupBy::Process);
        let params = Folder::params().columns(columns).op(Op::Idle).check().unwrap();
        let folder = Folder::new(&timelines, groups, params).unwrap();
        let fold = folder.fold(window, &Job::default()).unwrap();
        for (row, usage) in fold.rows().zip(folder.usage(window, &Job::default()).unwrap()) {
            let exact = usage.utilisation;
            let error = (row.painted_share() - exact.utilisation()).abs();
            let bound = exact.sampled_error(columns);
            prop_assert!(window.is_empty() || error <= bound + 1e-9, "{} > {}", error, bound);
        }
    }

    #[test]
    fn a_view_of_a_window_folds_like_the_whole(seed: u64, window in window()) {
        let trace = random::trace(seed, 12, 60);
        let naive = Naive::of(&trace);
        let whole = naive.timelines(&trace);
        let part = Timelines::new(trace.view().between(window), &naive.map, &Job::default()).unwrap();
        for stream in 0..whole.len() as u32 {
            for tick in window.start.0..window.end.0 {
                let state = |timelines: &Timelines| timelines.state(stream, Ticks(tick), Boundary::AtOrBefore);
                prop_assert_eq!(state(&part), state(&whole), "stream {} at {}", stream, tick);
            }
        }
    }

    #[test]
    fn nothing_panics_on_any_window(
        seed: u64, start in any::<u64>(), end in any::<u64>(), by in by(), columns in 1usize..9,
        op in prop::sample::select(operations()), exact: bool, nested: bool, ties in 0u8..3,
    ) {
        let trace = random::trace(seed, 12, 60);
        let naive = Naive::of(&trace);
        let timelines = naive.timelines(&trace);
        let ties = [Ties::StreamOrder, Ties::LowestStateId, Ties::KeepPrevious][usize::from(ties)];
        let nesting = if nested { Nesting::Nested } else { Nesting::Flat };
        let selection = if exact { Selection::Exact } else { Selection::Sampled };
        let params = Folder::params().columns(columns).op(op).ties(ties).nesting(nesting);
        let Ok(params) = params.selection(selection).check() else {
            prop_assert!(nested);
            return Ok(());
        };
        let folder = Folder::new(&timelines, Groups::by(&timelines, by), params).unwrap();
        // Windows that are empty, reversed, or cover the whole range of ticks.
        for (start, end) in [(start, end), (0, u64::MAX), (u64::MAX, u64::MAX), (u64::MAX, 0), (7, 7)] {
            let window = TimeRange { start: Ticks(start), end: Ticks(end) };
            let fold = folder.fold(window, &Job::default()).unwrap();
            prop_assert_eq!(fold.cells().len(), fold.rows().count() * columns);
            prop_assert_eq!(folder.usage(window, &Job::default()).unwrap().len(), fold.rows().count());
        }
    }
}

#[cfg(feature = "parallel")]
#[test]
fn the_number_of_threads_does_not_matter() {
    let trace = random::trace(7, 64, 400);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let timelines = Naive::of(&trace).timelines(&trace);
            let mut all = Vec::new();
            for op in operations() {
                for selection in [Selection::Exact, Selection::Sampled] {
                    let params = Folder::params().columns(3000).op(op).selection(selection);
                    let groups = Groups::by(&timelines, GroupBy::Node);
                    let folder = Folder::new(&timelines, groups, params.check().unwrap()).unwrap();
                    let cells = folder
                        .fold(timelines.range(), &Job::default())
                        .unwrap()
                        .cells()
                        .to_vec();
                    all.push((
                        format!("{cells:?}"),
                        folder.usage(timelines.range(), &Job::default()).unwrap(),
                    ));
                }
            }
            all
        })
    };
    let one = run(1);
    for threads in [2, 3, 8] {
        assert!(run(threads) == one, "{threads} threads");
    }
}
