//! The synthetic case, whose folds are known in closed form.

use perf_core::samples::cosmo;
use perf_core::{Job, LocationId, Merge, Ticks, TimeRange};
use perf_fold::{FoldParams, Folder, GroupBy, Groups, Line, Op, RegionMap, Selection, Timelines};
use std::collections::BTreeMap;

fn timelines() -> Timelines {
    let trace = cosmo::trace();
    let map = RegionMap::by_name(trace.definitions()).unwrap();
    Timelines::new(trace.view(), &map, &Job::default()).unwrap()
}

fn painted(params: FoldParams) -> BTreeMap<String, usize> {
    let timelines = timelines();
    assert_eq!(timelines.range(), cosmo::SPAN);
    let groups = Groups::by(&timelines, GroupBy::All);
    let params = params.columns(6000).check().unwrap();
    let folder = Folder::new(&timelines, groups, params).unwrap();
    let fold = folder.fold(cosmo::SPAN, &Job::default()).unwrap();
    let row = fold.row(0).unwrap();
    assert_eq!((row.label(), row.streams()), ("All threads", 40));
    let counts = row.painted().into_iter();
    let mut counts: BTreeMap<_, _> = counts
        .map(|(class, count)| (timelines.classes().name(class).to_owned(), count))
        .collect();
    counts.insert("None".into(), row.idle_cells());
    counts
}

fn table(counts: [usize; 5]) -> BTreeMap<String, usize> {
    let names = ["None", "COSMO", "MPI_Sendrecv", "SPECS", "MPI_Allreduce"];
    let all = names.map(String::from).into_iter().zip(counts);
    all.filter(|(name, count)| *count > 0 || name == "None")
        .collect()
}

#[test]
fn max_min_and_diff_paint_the_published_pixels() {
    let op = |op| painted(Folder::params().op(op));
    assert_eq!(op(Op::Max), table([0, 810, 163, 3_291, 1_736]));
    assert_eq!(op(Op::Min), table([0, 810, 163, 4_929, 98]));
    assert_eq!(op(Op::Diff), table([4_362, 0, 0, 1_638, 0]));
    // The default operation for threads is `max`.
    assert_eq!(painted(Folder::params()), op(Op::Max));
    // The slowest 4 of 40 ranks are outliers; a limit of 3 is too low to show them.
    assert_eq!(op(Op::Outliers(4)), op(Op::Diff));
    assert_eq!(op(Op::Outliers(3)), table([6_000, 0, 0, 0, 0]));
}

#[test]
fn the_synthetic_recording_has_the_documented_visits() {
    let trace = cosmo::trace();
    assert_eq!(trace.len(), 19_280);
    assert_eq!(cosmo::start(3), Ticks(16_103_389));
    assert_eq!(cosmo::differing(1), range(10_500_000, 10_567_796));
    assert_eq!(cosmo::start(cosmo::ITERATIONS), cosmo::SPAN.end);
    // Visits and inclusive ticks (here nanoseconds) of each region.
    let mut visits = BTreeMap::<String, (u64, u64)>::new();
    struct Frames<'a>(
        &'a mut BTreeMap<String, (u64, u64)>,
        &'a perf_core::Trace,
        Vec<Ticks>,
    );
    impl perf_core::Visitor for Frames<'_> {
        fn enter(&mut self, at: Ticks, _: perf_core::RegionId, _: usize) {
            self.2.push(at);
        }
        fn leave(&mut self, at: Ticks, id: perf_core::RegionId, _: usize, _: perf_core::Close) {
            let name = self.1.definitions().region_name(id).into_owned();
            let entry = self.0.entry(name).or_default();
            entry.0 += 1;
            entry.1 += at.0 - self.2.pop().unwrap().0;
        }
    }
    for location in trace.view().locations() {
        perf_core::replay(
            location,
            &mut Frames(&mut visits, &trace, vec![]),
            &Job::default(),
        )
        .unwrap();
    }
    for (name, count, ticks) in [
        ("main", 40, 17_519_998_840),
        ("SPECS", 2_400, 10_079_999_884),
        ("MPI_Allreduce", 2_400, 4_559_998_956),
        ("COSMO", 2_400, 2_400_000_000),
        ("MPI_Sendrecv", 2_400, 480_000_000),
    ] {
        assert_eq!(visits[name], (count, ticks), "{name}");
    }
}

#[test]
fn the_share_of_differing_time_follows_the_formula() {
    let timelines = timelines();
    let groups = Groups::by(&timelines, GroupBy::All);
    let params = Folder::params().columns(6000).op(Op::Diff).check().unwrap();
    let folder = Folder::new(&timelines, groups, params).unwrap();
    let fold = folder.fold(cosmo::SPAN, &Job::default()).unwrap();
    let cells = fold.row(0).unwrap().cells();
    let mut worst: f64 = 0.0;
    for k in 0..cosmo::ITERATIONS {
        let iteration = range(cosmo::start(k).0, cosmo::start(k + 1).0);
        let inside = || {
            let cells = cells.iter().zip(fold.centres());
            cells.filter(|(_, at)| iteration.contains(**at))
        };
        let differ = inside()
            .filter(|(cell, _)| cell.picture().is_some())
            .count();
        let share = differ as f64 / inside().count() as f64;
        worst = worst.max((share - cosmo::differing_share(k)).abs());
        // Exact value from the interval in which the ranks differ.
        let exact = cosmo::differing(k).len() as f64 / iteration.len() as f64;
        assert!((exact - cosmo::differing_share(k)).abs() < 1e-6);
        for (cell, at) in inside() {
            let differs = cosmo::differing(k).contains(*at);
            assert_eq!(cell.picture().is_some(), differs);
            assert_eq!((cell.distinct, cell.total), (1 + u32::from(differs), 40));
            assert_eq!(cell.winning, if differs { 4 } else { 40 });
        }
    }
    assert!(worst < 0.0089, "{worst}");
}

#[test]
fn exact_time_adds_up() {
    let timelines = timelines();
    let groups = Groups::by(&timelines, GroupBy::All);
    let specs = timelines.classes().id("SPECS").unwrap();
    let params = Folder::params().columns(777).op(Op::Count(specs));
    let params = params.selection(Selection::Exact).check().unwrap();
    let folder = Folder::new(&timelines, groups, params).unwrap();
    let fold = folder.fold(cosmo::SPAN, &Job::default()).unwrap();
    let ticks: u64 = fold.cells().iter().map(|cell| cell.winning).sum();
    assert_eq!(ticks, 10_079_999_884);
    let usage = &folder.usage(cosmo::SPAN, &Job::default()).unwrap()[0];
    assert_eq!(usage.times[0], (perf_fold::State::Class(specs), ticks));
    let utilisation = usage.utilisation;
    assert_eq!(utilisation.utilisation(), 1.0);
    assert_eq!(utilisation.mean_concurrency(), 40.0);
}

fn range(start: u64, end: u64) -> TimeRange {
    TimeRange::new(Ticks(start), Ticks(end)).unwrap()
}

#[test]
fn lines_of_parts_merge_to_those_of_all() {
    let timelines = timelines();
    let groups = Groups::by(&timelines, GroupBy::Process);
    let params = Folder::params().columns(100).check().unwrap();
    let folder = Folder::new(&timelines, groups, params).unwrap();
    let range = timelines.range();
    let at = |part: u64| Ticks(range.start.0 + range.len() / 1000 * part);
    let message = |number: u32| Line {
        from: LocationId(number % 5),
        sent: at(number.into()),
        to: LocationId(if number.is_multiple_of(50) {
            9_999
        } else {
            number % 7
        }),
        received: at(u64::from(number) + 30),
        bytes: number.into(),
    };
    let all = folder.lines(range, (0..200).map(message));
    let mut merged = folder.lines(range, (0..80).map(message));
    merged.merge(&folder.lines(range, (80..200).map(message)));
    assert_eq!(merged, all);
    assert_eq!(all.elsewhere.count, 4);
    let lines: u64 = all.bundles.values().map(|traffic| traffic.count).sum();
    assert!(lines > 100 && lines + all.inside.count + all.outside.count == 196);
}
