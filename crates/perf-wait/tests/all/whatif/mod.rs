//! Tests of the replay of recorded and generated traces with other durations.

mod graph;
mod training;

use crate::common::{corpus, trace};
use crate::synthetic::{self, Rank};
use perf_core::{CollectiveOp, Job, LocationId, Nanos, Trace};
use perf_wait::Error;
use perf_wait::activity::{Activities, CallId};
use perf_wait::whatif::{Change, Dependency, Excess, WhatIf};

fn activities(trace: &Trace) -> Activities {
    Activities::of(trace.view(), &Job::default()).expect("it can be read")
}

#[test]
fn identity_replay_is_the_recorded_run() {
    let bundled = ["jacobi-4", "jacobi-16", "nwchem-md-4"];
    let bundled = bundled.map(|name| Some(trace(&perf_testdata::bundled::recording(name))));
    let others = [
        "otf2/casita-4_mpi_ls_barr",
        "otf2/sstmacro-otf2",
        "otf2/tracer-stencil4d-32",
    ];
    let others = others
        .into_iter()
        .chain(["paraver/epoch/epoch_16proc.prv.gz"])
        .map(corpus);
    for trace in bundled.into_iter().chain(others).flatten() {
        let activities = activities(&trace);
        let none: &[Dependency] = &[];
        let whatif = WhatIf::of(trace.view(), &activities, none, &Job::default());
        let answer = whatif
            .and_then(|it| it.ask(&[], &Job::default()))
            .expect("it can be replayed");
        // Times are rounded to nanoseconds.
        assert!(
            (answer.identity.0 - answer.recorded.0).abs() <= 1,
            "{answer:?}"
        );
        assert_eq!(answer.saved(), Nanos(0));
    }
}

/// Four ranks compute in `solve` and meet in a barrier of 10 ns, ten times; rank 2 takes 300 ns instead of 100.
fn imbalanced() -> Trace {
    let rank = |own: u64| {
        (0..10).fold(Rank::default(), |rank, step| {
            let start = step * 310;
            let rank = rank.enter("solve", start).leave("solve", start + own);
            rank.collective(
                "MPI_Barrier",
                start + own,
                start + 310,
                CollectiveOp::Barrier,
                None,
                0,
            )
        })
    };
    synthetic::trace(&[rank(100), rank(100), rank(300), rank(100)])
}

#[test]
fn questions_have_the_answers_of_the_arithmetic() {
    let trace = imbalanced();
    let activities = activities(&trace);
    let none: &[Dependency] = &[];
    let whatif =
        WhatIf::of(trace.view(), &activities, none, &Job::default()).expect("it can be replayed");
    let ranks = Change::ranks(&activities);
    let ask = |text: &str| {
        let change = Change::parse(text, &ranks).expect("a valid text");
        whatif
            .ask(&[change], &Job::default())
            .expect("it can be replayed")
            .runtime
    };
    assert_eq!(ask("rank 2 = median"), Nanos(10 * 110));
    assert_eq!(ask("rank 2 x 0.5"), Nanos(10 * 160));
    assert_eq!(ask("rank 1 x 2.5"), Nanos(10 * 310));
    assert_eq!(ask("region sol* x 0.8"), Nanos(10 * 250));
    assert_eq!(ask("MPI_* x 0"), Nanos(10 * 300));
    let found = whatif
        .imbalance(&Job::default())
        .expect("it can be replayed");
    assert_eq!(
        (found.replayed, found.ideal),
        (Nanos(3_100), Nanos(10 * 160))
    );
    let worst = found
        .locations
        .iter()
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .expect("there are some");
    assert_eq!(*worst, (LocationId(2), 3_100.0 / 1_600.0));
    let others = found.locations.iter().filter(|it| it.0 != LocationId(2));
    assert!(others.into_iter().all(|it| it.1 == 1.0));
}

#[test]
fn texts_that_are_no_questions_say_what_is_expected() {
    let ranks = [LocationId(0)];
    for text in [
        "",
        "rank 1 = median",
        "rank x 2",
        "f x -1",
        "f x NaN",
        "median",
        "f * 3",
        "rank 0 = mean",
    ] {
        let error = Change::parse(text, &ranks);
        assert!(error.is_err() || text == "rank x 2", "{text}");
    }
    let error = Change::parse("rank 5 x 2", &ranks).expect_err("there is one rank");
    assert_eq!(
        error.to_string(),
        "`rank 5 x 2`: expected a rank from 0 to 0"
    );
}

#[test]
fn cycles_of_dependencies_are_errors_with_their_place() {
    let trace = imbalanced();
    let activities = activities(&trace);
    let id = |location: u32, index: u32| CallId {
        location: LocationId(location),
        index,
    };
    let build = |dependencies: &[Dependency]| {
        WhatIf::of(trace.view(), &activities, dependencies, &Job::default()).map(|_| ())
    };
    let forward = Dependency {
        call: id(1, 3),
        on: id(0, 2),
    };
    assert!(build(&[forward]).is_ok());
    let back = Dependency {
        call: id(0, 2),
        on: id(1, 3),
    };
    let Err(Error::Cycle {
        place: Some(place), ..
    }) = build(&[forward, back])
    else {
        panic!("no cycle");
    };
    assert_eq!(place.region, "MPI_Barrier");
    let unknown = Dependency {
        call: id(0, 99),
        on: id(0, 0),
    };
    assert!(matches!(
        build(&[unknown]),
        Err(Error::UnknownActivity {
            activity: 99,
            count: 10
        })
    ));
}

#[test]
fn lost_time_is_removed_from_computation_in_its_window() {
    let trace = imbalanced();
    let activities = activities(&trace);
    let none: &[Dependency] = &[];
    let whatif =
        WhatIf::of(trace.view(), &activities, none, &Job::default()).expect("it can be replayed");
    let excess = |rank: u32, from: i64, to: i64, time: i64| Excess {
        location: LocationId(rank),
        from: Nanos(from),
        to: Nanos(to),
        time: Nanos(time),
    };
    let without = |lost: &[Excess]| {
        let answer = whatif.without(lost, &Job::default());
        let answer = answer.expect("it can be replayed");
        (answer.answer.saved().0, answer.computed.0)
    };
    // The slow rank in the first five of its ten steps.
    assert_eq!(without(&[excess(2, 0, 5 * 310, 1000)]), (1000, 1000));
    // All of its lost time, and that of a rank for which nobody waits.
    let both = [excess(2, 0, 3100, 2000), excess(1, 0, 3100, 100)];
    assert_eq!(without(&both), (2000, 2100));
    // In the barrier of a fast rank there is no computation.
    assert_eq!(without(&[excess(1, 110, 300, 50)]), (0, 0));
    // A window has no more computation than it is long.
    assert_eq!(without(&[excess(2, 100, 200, 1000)]), (100, 100));
    assert_eq!(
        without(&[excess(9, 0, 3100, 10), excess(2, 200, 100, 10)]),
        (0, 0)
    );
}
