//! Wait states of threads in recordings of Extrae, whose teams are events and frames of outlined functions.
//!
//! The numbers of recordings come from a separate program that reads the lines of the `.prv`.

use crate::common::corpus;
use perf_core::{Job, Trace};
use perf_formats::OpenOptions;
use perf_formats::paraver::{Pcf, Reader, Row, into_trace};
use perf_wait::activity::Activities;
use perf_wait::critical::{CriticalPath, Extent};
use perf_wait::delay::DelayCosts;
use perf_wait::efficiency::HybridEfficiencies;
use perf_wait::findings::{FindingKind, Findings, FindingsPlan};
use perf_wait::waits::{Pattern, WaitStates};
use perf_wait::whatif::{Dependency, WhatIf};
use std::fmt::Write;

/// Results of a trace.
struct Found {
    activities: Activities,
    waits: WaitStates,
    findings: Findings,
}

/// Analyses a trace, and checks the laws of delays, critical path and replay.
fn find(trace: &Trace) -> Found {
    let (job, view) = (Job::default(), trace.view());
    let activities = Activities::of(view, &job).expect("it can be read");
    let waits = WaitStates::of_activities(&activities, &job).expect("likewise");
    let delays = DelayCosts::of(view, &activities, &waits, &job).expect("likewise");
    let costs: f64 = delays.costs().iter().map(|it| it.short + it.long).sum();
    let waiting = waits.states().iter().filter(|it| it.pattern.is_waiting());
    let waiting = waiting.map(|it| it.ticks).sum::<u64>() as f64;
    assert!((costs - waiting).abs() <= waiting * 1e-6);
    let path = CriticalPath::of(view, &activities, &waits, Extent::Run, &job);
    let (begin, end) = activities.range().expect("there are events");
    assert_eq!(path.expect("there is one").ticks(), end.0 - begin.0);
    let none: &[Dependency] = &[];
    let whatif = WhatIf::of(view, &activities, none, &job).expect("it can be replayed");
    let answer = whatif.ask(&[], &job).expect("it can be replayed");
    assert_eq!(answer.identity, answer.recorded);
    let plan = FindingsPlan::default();
    let findings = plan.find(view, &activities, &waits, &delays, &job);
    let findings = findings.expect("it can be replayed");
    Found {
        activities,
        waits,
        findings,
    }
}

impl Found {
    /// Returns the ticks of a kind by location.
    fn by_thread(&self, pattern: Pattern) -> Vec<u64> {
        let mut sums = vec![0; self.activities.locations().len()];
        let states = self.waits.states().iter();
        for state in states.filter(|it| it.pattern == pattern) {
            sums[state.call.location.index()] += state.ticks;
        }
        sums
    }

    /// Returns the sentences of the findings.
    fn texts(&self) -> Vec<String> {
        let all = self.findings.findings.iter();
        let definitions = self.activities.definitions();
        all.map(|it| it.text(definitions, &self.activities))
            .collect()
    }
}

/// Lines of a `.prv` with one process, in the order of time.
#[derive(Default)]
struct Lines(Vec<(u64, String)>);

impl Lines {
    fn state(&mut self, thread: usize, begin: u64, end: u64, state: u32) {
        let line = format!("1:{thread}:1:1:{thread}:{begin}:{end}:{state}");
        self.0.push((begin, line));
    }

    fn event(&mut self, thread: usize, at: u64, events: &[(u32, u64)]) {
        let mut line = format!("2:{thread}:1:1:{thread}:{at}");
        for (kind, value) in events {
            write!(line, ":{kind}:{value}").expect("text can be written");
        }
        self.0.push((at, line));
    }

    fn trace(mut self, threads: usize, end: u64) -> Trace {
        self.0.sort_by_key(|it| it.0);
        let mut text =
            format!("#Paraver (01/01/2024 at 10:00):{end}_ns:1({threads}):1:1({threads}:1),0\n");
        for (_, line) in self.0 {
            text.push_str(&line);
            text.push('\n');
        }
        let pcf = Pcf::parse(b"EVENT_TYPE\n0 60000018 Executed OpenMP parallel function\nVALUES\n1 solve\n2 update\n");
        let reader = Reader::new(
            text.as_bytes(),
            "planted.prv",
            &OpenOptions::new(),
            &Job::default(),
        );
        let read = into_trace(reader.expect("it has a header"), &pcf, &Row::default());
        read.expect("it can be read").0
    }
}

/// Time of the fork and of the join of a region on the thread that forks.
const FORK: u64 = 10;

/// Returns a run with parallel regions of the function `1` after serial sections. `regions` has the length of each
/// section, and the time of each thread in the region after it.
fn regions(regions: &[(u64, Vec<u64>)], rest: u64) -> Trace {
    let threads = regions[0].1.len();
    let mut lines = Lines::default();
    let mut now = 0;
    for (serial, times) in regions {
        let open = now + serial;
        lines.state(1, now, open, 1);
        lines.event(1, open, &[(60_000_001, 3)]);
        let begin = open + FORK;
        let last = begin + times.iter().max().expect("there are threads");
        for (thread, time) in (1..).zip(times) {
            if thread > 1 && now == 0 {
                lines.state(thread, 0, begin, 2);
            }
            lines.event(thread, begin, &[(60_000_018, 1)]);
            lines.state(thread, begin, begin + time, 1);
            lines.event(thread, begin + time, &[(60_000_018, 0)]);
        }
        lines.state(1, open, begin, 7);
        now = last + FORK;
        lines.state(1, begin + times[0], now, 7);
        lines.event(1, now, &[(60_000_001, 0)]);
    }
    lines.state(1, now, now + rest, 1);
    lines.trace(threads, now + rest)
}

#[test]
fn threads_wait_for_the_end_of_regions_and_are_idle_outside() {
    let trace = regions(
        &[(1000, vec![100, 200, 50, 400]), (300, vec![70, 70, 20, 10])],
        500,
    );
    let found = find(&trace);
    assert_eq!(
        found.by_thread(Pattern::TeamBarrierWait),
        [300, 200, 400, 60]
    );
    // Of the first thread none, although it writes the same states.
    assert_eq!(found.by_thread(Pattern::IdleThread), [0, 1800, 1800, 1800]);
    let hybrid = HybridEfficiencies::of(trace.view(), &Job::default()).expect("there are calls");
    // Useful time is that in the state Running: the serial sections and the regions.
    let useful: Vec<i64> = hybrid.processes[0].useful.iter().map(|it| it.1.0).collect();
    assert_eq!(useful, [1970, 270, 70, 410]);
}

#[test]
fn serial_sections_and_imbalance_are_found() {
    let serial = regions(&[(6_000, vec![1_000; 4]), (1_000, vec![1_000; 4])], 2_000);
    let found = find(&serial);
    let first = &found.findings.findings[0];
    assert!(
        matches!(first.kind, FindingKind::Serial { location, .. } if location.0 == 0),
        "{:?}",
        found.texts()
    );
    // 9 us of serial work by four threads.
    assert_eq!(first.saved.0, 6_750);
    let text = &found.texts()[0];
    assert!(
        text.starts_with("THREAD 1.1.1 runs alone outside of parallel regions for 9.00 us"),
        "{text}"
    );
    assert!(
        text.contains("3 other threads are idle for 26.94 us"),
        "{text}"
    );

    let unequal = regions(&[(100, vec![2_000, 9_000, 9_000, 4_000])], 100);
    let found = find(&unequal);
    let first = &found.findings.findings[0];
    assert!(
        matches!(first.kind, FindingKind::Imbalance { .. }),
        "{:?}",
        found.texts()
    );
    let slow: Vec<u32> = first.locations.iter().map(|it| it.0).collect();
    assert_eq!((slow, first.saved.0), (vec![1, 2], 3_000));

    // One thread after the other takes long.
    let slow = |slow: usize| (0..4).map(move |it| 1_000 + 800 * u64::from(it == slow % 4));
    let all: Vec<(u64, Vec<u64>)> = (0..20).map(|it| (50, slow(it).collect())).collect();
    let found = find(&regions(&all, 100));
    let first = &found.findings.findings[0];
    assert!(
        matches!(first.kind, FindingKind::MovingImbalance { .. }),
        "{:?}",
        found.texts()
    );
    assert_eq!(first.saved.0, 20 * 600);
    assert!(found.texts()[0].contains("move from thread to thread"));
}

/// Returns a run of two threads in one region, with the events of each between the begin and the end of the function.
fn within(events: impl Fn(&mut Lines)) -> Trace {
    let mut lines = Lines::default();
    lines.state(1, 0, 100, 1);
    lines.event(1, 100, &[(60_000_001, 3)]);
    for thread in [1, 2] {
        lines.event(thread, 100, &[(60_000_018, 1)]);
    }
    events(&mut lines);
    for thread in [1, 2] {
        lines.event(thread, 900, &[(60_000_018, 0)]);
    }
    lines.event(1, 900, &[(60_000_001, 0)]);
    lines.state(1, 900, 1000, 1);
    lines.trace(2, 1000)
}

#[test]
fn barriers_within_regions_are_events() {
    // A barrier, and the end of a loop that is one because the thread synchronises.
    for (kind, state) in [(60_000_005, 5), (60_000_016, 5), (60_000_016, 7)] {
        let trace = within(|lines| {
            for (thread, arrival) in [(1, 300), (2, 550)] {
                lines.state(thread, 100, arrival, 1);
                lines.state(thread, arrival, 600, state);
                lines.event(thread, arrival, &[(kind, 1)]);
                lines.event(thread, 600, &[(kind, 0)]);
                lines.state(thread, 600, 900, 1);
            }
        });
        let expected = if state == 5 { [250, 0] } else { [0, 0] };
        let found = find(&trace);
        assert_eq!(found.by_thread(Pattern::TeamBarrierWait), expected);
    }
}

#[test]
fn critical_sections_exclude_each_other_by_their_address() {
    let (critical, name) = (60_000_006, 60_000_032);
    for (addresses, wait) in [([7, 7], 250), ([7, 8], 0)] {
        let trace = within(|lines| {
            for (thread, from, locked) in [(1, 200, 210), (2, 300, 560)] {
                lines.state(thread, 100, 900, 1);
                lines.event(thread, from, &[(critical, 3)]);
                lines.event(
                    thread,
                    locked,
                    &[(critical, 6), (name, addresses[thread - 1])],
                );
                lines.event(thread, locked + 340, &[(critical, 5)]);
                lines.event(thread, locked + 345, &[(critical, 0), (name, 0)]);
            }
        });
        let found = find(&trace);
        assert_eq!(found.by_thread(Pattern::LockContention), [0, wait]);
    }
}

#[test]
fn regions_end_where_calls_of_mpi_begin() {
    let mut lines = Lines::default();
    lines.state(1, 0, 100, 1);
    lines.event(1, 100, &[(60_000_001, 3)]);
    for (thread, end) in [(1, 300), (2, 900)] {
        lines.event(thread, 100, &[(60_000_018, 1)]);
        lines.state(thread, 100, end, 1);
        lines.event(thread, end, &[(60_000_018, 0)]);
    }
    lines.state(1, 300, 900, 7);
    lines.event(1, 900, &[(60_000_001, 0)]);
    lines.state(1, 900, 1000, 13);
    lines.event(1, 900, &[(50_000_002, 8)]);
    lines.event(1, 1000, &[(50_000_002, 0)]);
    let found = find(&lines.trace(2, 1000));
    assert_eq!(found.by_thread(Pattern::TeamBarrierWait), [600, 0]);
    assert_eq!(found.by_thread(Pattern::IdleThread), [0, 200]);
}

#[test]
fn damaged_regions_have_no_wait() {
    // The region has no end.
    let mut lines = Lines::default();
    lines.state(1, 0, 100, 1);
    lines.event(1, 100, &[(60_000_001, 3)]);
    for (thread, end) in [(1, 300), (2, 900)] {
        lines.event(thread, 100, &[(60_000_018, 1)]);
        lines.state(thread, 100, end, 1);
        lines.event(thread, end, &[(60_000_018, 0)]);
    }
    let found = find(&lines.trace(2, 1000));
    assert_eq!(found.by_thread(Pattern::TeamBarrierWait), [0, 0]);
}

#[test]
fn recordings_have_the_wait_states_of_an_independent_program() {
    type Sums = [u64; 8];
    let row = "paraver/par_labs/boada_lab3_for_row_mandel-omp_8_";
    let expected: [(String, Sums, u64, u64); 3] = [
        (
            format!("{row}STATIC.prv"),
            [
                1378277259, 1376798423, 1083840465, 0, 16758467, 1097795780, 1375506010, 1377651838,
            ],
            212827841,
            0,
        ),
        (
            format!("{row}DYNAMIC_10.prv"),
            [
                23505797, 24112113, 20767752, 16313628, 11038315, 0, 24140951, 18934142,
            ],
            214883604,
            0,
        ),
        (
            "paraver/imagemagick_omp/omp8.prv.gz".to_owned(),
            [
                513416526, 635071948, 134336077, 142455489, 525225903, 522742997, 0, 142943351,
            ],
            5677605163,
            1434729,
        ),
    ];
    for (name, barrier, idle, contention) in expected {
        let Some(trace) = corpus(&name) else { return };
        let found = find(&trace);
        assert_eq!(found.by_thread(Pattern::TeamBarrierWait), barrier, "{name}");
        let mut of_workers = [idle; 8];
        of_workers[0] = 0;
        assert_eq!(found.by_thread(Pattern::IdleThread), of_workers, "{name}");
        let total = found.waits.total(Pattern::LockContention);
        assert_eq!(total, contention, "{name}");
    }
}

#[test]
fn findings_of_recordings_are_those_of_an_independent_program() {
    let row = "paraver/par_labs/boada_lab3_for_row_mandel-omp_8_";
    let recordings = [
        format!("{row}STATIC.prv"),
        format!("{row}DYNAMIC_10.prv"),
        "paraver/imagemagick_omp/omp8.prv.gz".to_owned(),
    ];
    // What balancing the running time of the threads in a region saves, and the threads that take long.
    let imbalance: [(i64, &[u32]); 3] = [
        (963_005_275, &[3, 4]),
        (0, &[]),
        (259_490_910, &[2, 3, 6, 7]),
    ];
    for (name, (saved, slow)) in recordings.into_iter().zip(imbalance) {
        let Some(trace) = corpus(&name) else { return };
        let found = find(&trace);
        let all = || found.findings.findings.iter();
        let serial = |it: &&perf_wait::findings::Finding| matches!(it.kind, FindingKind::Serial { location, .. } if location.0 == 0);
        assert_eq!(all().filter(serial).count(), 1, "{:?}", found.texts());
        let unequal = all().find(|it| matches!(it.kind, FindingKind::Imbalance { .. }));
        let Some(unequal) = unequal else {
            assert_eq!(saved, 0, "{:?}", found.texts());
            continue;
        };
        let locations: Vec<u32> = unequal.locations.iter().map(|it| it.0).collect();
        assert_eq!(locations, slow, "{name}");
        assert!(
            (unequal.saved.0 - saved).abs() < 1_000,
            "{:?}",
            found.texts()
        );
    }
}
