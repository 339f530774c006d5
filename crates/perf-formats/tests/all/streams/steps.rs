//! Tests of the steps of several files, some of which appear later or stay quiet.

use super::*;

/// Returns rows of a table with these steps: `work` is entered and left, 10 us apart.
fn steps(of: &[u64]) -> String {
    let mut text = String::from("step\tts_us\tkind\tname\n");
    for (at, step) in of.iter().enumerate() {
        let kind = if at % 2 == 0 { "ENTRY" } else { "EXIT" };
        text += &format!("{step}\t{}\t{kind}\twork\n", 10 * at);
    }
    text
}

fn ends(lines: &[String]) -> Vec<u64> {
    let ends = lines.iter().filter_map(|line| line.strip_prefix("end "));
    ends.map(|step| step.parse().unwrap()).collect()
}

/// One wrong step moves only one event to another step.
#[test]
fn one_wrong_step_makes_no_other_wrong() {
    let right: Vec<u64> = (0..60).map(|row| row / 10).collect();
    for place in [0, 1, 5, 9, 10, 11, 30, 49, 50, 58, 59] {
        for wrong in [20_000, u64::MAX] {
            let mut rows = right.clone();
            rows[place] = wrong;
            let (lines, found) = read(steps(&rows).as_bytes());
            assert_eq!(ends(&lines), (0..6).collect::<Vec<_>>(), "{place} {wrong}");
            assert_eq!(
                found.count(rules::STEP_AHEAD),
                1,
                "{place} {wrong}: {found}"
            );
            assert_eq!(found.count(rules::STEP_BACK), 0, "{place} {wrong}: {found}");
            assert_eq!(lines.len(), 66);
        }
    }
    // Several in a row, which agree or disagree with each other.
    for wrong in [[9_000, 80_000, 70_000], [9_000, 9_000, 9_000]] {
        let mut rows = right.clone();
        rows[24..27].copy_from_slice(&wrong);
        let (lines, found) = read(steps(&rows).as_bytes());
        assert_eq!(ends(&lines), (0..6).collect::<Vec<_>>());
        assert_eq!(found.count(rules::STEP_AHEAD), 3, "{found}");
    }
    // A rank that was idle for long, or begins late.
    for rows in [
        vec![0, 0, 7_000, 7_000, 7_001],
        vec![5_000, 5_000, 5_000],
        vec![3, 3, 12],
    ] {
        let (lines, found) = read(steps(&rows).as_bytes());
        let mut expected = rows.clone();
        expected.dedup();
        assert_eq!(ends(&lines), expected);
        assert!(found.is_empty(), "{found}");
    }
    // Also in JSON, and if the time determines the step.
    let rows = |wrong: usize| {
        (0..60).fold(String::new(), |text, at| {
            let (kind, time) = (if at % 2 == 0 { "ENTRY" } else { "EXIT" }, 100_000 * at);
            let time = if at == wrong {
                90_000_000_000_000
            } else {
                time
            };
            text + &format!("{{\"kind\":\"{kind}\",\"name\":\"work\",\"ts_us\":{time}}}\n")
        })
    };
    for place in [0, 1, 9, 10, 35, 58, 59] {
        let (lines, found) = read(rows(place).as_bytes());
        assert_eq!(ends(&lines), (0..6).collect::<Vec<_>>(), "{place}");
        assert_eq!(found.count(rules::STEP_AHEAD), 1, "{place}: {found}");
    }
}

#[test]
fn steps_of_files_without_any_begin_together() {
    let folder = std::env::temp_dir().join(format!("perfkit-origin-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut paths = Vec::new();
    for (rank, begin) in [(0, 5_000_000), (1, 2_000_000)] {
        let rows = (0..8).fold(String::new(), |text, at| {
            let time = begin + 500_000 * at;
            text + &format!("{time}\t{rank}\tENTRY\tf\n")
        });
        let path = folder.join(format!("{rank}.tsv"));
        std::fs::write(&path, format!("ts_us\trank\tkind\tname\n{rows}")).unwrap();
        paths.push(path);
    }
    let (lines, _) = all(Streams::open(&paths, &OpenOptions::new()).unwrap());
    std::fs::remove_dir_all(&folder).unwrap();
    let text = lines.join("\n");
    // The first event of rank 0 is 3 s after that of rank 1.
    assert!(
        text.contains("end 2\n0.0 5000000000 enter 0:f\n0.0 5500000000 enter 0:f\n1.0 5000000000"),
        "{text}"
    );
    assert_eq!(ends(&lines), (0..7).collect::<Vec<_>>());
}

/// Steps of each rank, with the number of events in each.
#[derive(Default)]
struct Ranks {
    streams: Vec<u32>,
    now: std::collections::BTreeMap<u32, u64>,
    steps: std::collections::BTreeMap<(u32, u64), u64>,
    last: std::collections::BTreeMap<u32, u64>,
}

impl EventSink for Ranks {
    fn region(&mut self, _: u32, _: &str) -> RegionId {
        RegionId(0)
    }
    fn counter(&mut self, _: &str) -> perf_core::MetricId {
        perf_core::MetricId(0)
    }
    fn stream(&mut self, key: StreamKey) -> StreamId {
        self.streams.push(key.rank);
        StreamId(self.streams.len() as u32 - 1)
    }
    fn push(&mut self, stream: StreamId, _: Nanos, _: StreamEvent) {
        *self.now.entry(self.streams[stream.0 as usize]).or_default() += 1;
    }
    fn metadata(&mut self, _: StreamId, _: &str, _: &str) {}
    fn end_step(&mut self, step: u64) {
        for (rank, events) in std::mem::take(&mut self.now) {
            *self.steps.entry((rank, step)).or_default() += events;
            // A rank that returned to an earlier step would be taken for another run.
            let last = self.last.insert(rank, step);
            assert!(last <= Some(step), "{rank} {step} {last:?}");
        }
    }
}

#[test]
fn a_rank_has_the_same_steps_whenever_its_file_appears() {
    let folder = std::env::temp_dir().join(format!("perfkit-appears-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for has_steps in [true, false] {
        // Rank 1 begins before rank 0, and has a step without events.
        let rows = |rank: u64| {
            let header = if has_steps {
                "step\tts_us\trank\tkind\tname\n"
            } else {
                "ts_us\trank\tkind\tname\n"
            };
            (0..24).fold(header.to_string(), |text, at: u64| {
                let time = 1_000_000 + (1 - rank) * 1_500_000 + 500_000 * at + at / 9 * 2_000_000;
                let step = if has_steps {
                    format!("{}\t", time / 1_000_000)
                } else {
                    String::new()
                };
                text + &format!("{step}{time}\t{rank}\tENTRY\tf\n")
            })
        };
        let paths = [0, 1].map(|rank| folder.join(format!("{rank}.tsv")));
        let open = || {
            let streams = Streams::open(&paths, &OpenOptions::new()).unwrap();
            streams.origin(Nanos(1_000_000_000))
        };
        for (rank, path) in paths.iter().enumerate() {
            std::fs::write(path, rows(rank as u64)).unwrap();
        }
        let (mut whole, mut streams) = (Ranks::default(), open());
        while streams.next_step(&mut whole, &Job::default()).unwrap() {}
        assert!(streams.diagnostics().is_empty());
        // Now the second file has no data until the first one has ended some steps.
        // Also if it pauses in the middle of a step.
        for (wait, pause) in [(1, 24), (4, 24), (9, 24), (4, 2), (4, 12), (9, 13)] {
            let text = rows(1);
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let (begin, rest) = lines.split_at(1 + pause);
            let mut rest = Some(rest.concat()).filter(|rest| !rest.is_empty());
            std::fs::write(&paths[1], "").unwrap();
            let follow = Follow::default()
                .poll(Duration::from_millis(1))
                .patience(Duration::from_millis(5))
                .idle(Duration::from_millis(300));
            let (mut late, mut streams) = (Ranks::default(), open().follow(follow).unwrap());
            let mut ended = 0;
            while streams.next_step(&mut late, &Job::default()).unwrap() {
                ended += 1;
                if ended == wait {
                    std::fs::write(&paths[1], begin.concat()).unwrap();
                }
                // All rows before the pause have been read, and other steps follow.
                let events = late.steps.iter().filter(|((rank, _), _)| *rank == 1);
                let events: u64 = events.map(|(_, events)| events).sum();
                if events == pause as u64
                    && let Some(rest) = rest.take()
                {
                    let file = std::fs::OpenOptions::new().append(true).open(&paths[1]);
                    file.unwrap().write_all(rest.as_bytes()).unwrap();
                }
            }
            assert_eq!(late.steps, whole.steps, "{has_steps}, {wait}, {pause}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Ranks of one file may follow each other in any order, as if each had its own file.
#[test]
fn a_rank_has_the_same_steps_in_any_order_of_the_ranks() {
    let read_ranks = |rows: &[String], header: &str| {
        let text = format!("{header}\n{}", rows.concat());
        let reader = std::io::Cursor::new(text);
        let mut streams = Streams::read("ranks", reader, &OpenOptions::new()).unwrap();
        streams = streams.origin(Nanos(0));
        let mut seen = Ranks::default();
        while streams.next_step(&mut seen, &Job::default()).unwrap() {}
        (seen.steps, streams.diagnostics().clone())
    };
    for has_steps in [true, false] {
        let header = "step\tts_us\trank\tkind\tname";
        let header = header.strip_prefix(if has_steps { "" } else { "step\t" });
        let header = header.unwrap();
        let row = |rank: u64, at: u64| {
            let step = if has_steps {
                format!("{}\t", at / 3)
            } else {
                String::new()
            };
            let time = 10 * rank + 1_000_000 * (at / 3) + 100_000 * (at % 3);
            format!("{step}{time}\t{rank}\tENTRY\tf\n")
        };
        let steps = 12;
        let by_step = (0..3 * steps).flat_map(|at| (0..4).map(move |rank| (rank, at)));
        let mut by_step: Vec<(u64, u64)> = by_step.collect();
        by_step.sort_by_key(|(rank, at)| (at / 3, *rank, *at));
        let mut by_rank = by_step.clone();
        by_rank.sort();
        let mut reversed = by_rank.clone();
        reversed.sort_by_key(|(rank, at)| (4 - rank, *at));
        // Rank 2 is four steps behind the others, and interrupts steps before the rows of rank 3.
        let mut behind = by_step.clone();
        behind.sort_by_key(|(rank, at)| (at / 3 + if *rank == 2 { 4 } else { 0 }, *rank, *at));
        let rows = |order: &[(u64, u64)]| -> Vec<String> {
            order.iter().map(|(rank, at)| row(*rank, *at)).collect()
        };
        let (expected, found) = read_ranks(&rows(&by_step), header);
        assert_eq!((expected.len(), found.is_empty()), (48, true), "{found}");
        for (order, late) in [(&by_rank, 36), (&reversed, 36), (&behind, 20)] {
            let (seen, found) = read_ranks(&rows(order), header);
            assert_eq!(seen, expected);
            let counts = (found.count(rules::LATE), found.iter().count());
            assert_eq!(counts, (late, 1), "{found}");
        }
        // Rows of ranks that are behind alternate with those of others.
        for seed in 1..40_u64 {
            let (mut state, mut next) = (seed, [0; 4]);
            let mut mixed = Vec::new();
            while mixed.len() < 144 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let rank = (state >> 33) % 4;
                let at = next[rank as usize];
                if at < 3 * steps {
                    mixed.push((rank, at));
                    next[rank as usize] += 1;
                }
            }
            let (seen, _) = read_ranks(&rows(&mixed), header);
            assert_eq!(seen.values().sum::<u64>(), 144);
        }
        // A wrong step moves one event to another step, also the first one of a rank.
        for wrong in [0, 20, 36, 37, 60, 100, 143] {
            let mut rows = rows(&by_rank);
            rows[wrong] = row(by_rank[wrong].0, 90_000);
            let (seen, found) = read_ranks(&rows, header);
            assert_eq!(found.count(rules::STEP_AHEAD), 1, "{wrong} {found}");
            let moved = expected.iter().map(|(key, events)| {
                let own = seen.get(key).copied().unwrap_or_default();
                own.abs_diff(*events)
            });
            let moved: u64 = moved.sum();
            assert!(moved <= 2, "{wrong}: {moved}");
            assert_eq!(seen.values().sum::<u64>(), 144);
        }
    }
}

#[test]
fn files_that_appear_later_are_followed() {
    let folder = std::env::temp_dir().join(format!("perfkit-comes-{}", std::process::id()));
    let rows = |rank: u64| {
        let row = |at: u64| format!("{}\t{rank}\tENTRY\tf\n", 1_000_000 + 500_000 * at);
        let rows: String = (0..10).map(row).collect();
        format!("ts_us\trank\tkind\tname\n{rows}")
    };
    for is_folder in [true, false] {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("packed.tsv.gz"), [0x1f, 0x8b, 8, 0]).unwrap();
        let paths = ["a-1.tsv", "a-2.tsv", "never.tsv"].map(|name| folder.join(name));
        let roots = if is_folder {
            vec![folder.clone()]
        } else {
            paths.to_vec()
        };
        let follow = Follow::default()
            .poll(Duration::from_millis(1))
            .patience(Duration::from_millis(5))
            .idle(Duration::from_millis(400));
        let mut streams = Streams::following(&roots, follow, &OpenOptions::new()).unwrap();
        let writer = {
            let path = paths[0].clone();
            let text = rows(0);
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(50));
                std::fs::write(path, text).unwrap();
            })
        };
        let (mut seen, mut ended) = (Ranks::default(), 0);
        while streams.next_step(&mut seen, &Job::default()).unwrap() {
            ended += 1;
            if ended == 3 {
                std::fs::write(&paths[1], rows(1)).unwrap();
            }
        }
        writer.join().unwrap();
        // The second rank has the same steps as if its file had existed from the begin.
        let [one, other] = [0, 1].map(|rank| {
            let own = seen.steps.iter().filter(|((of, _), _)| *of == rank);
            own.map(|((_, step), events)| (*step, *events))
                .collect::<Vec<_>>()
        });
        assert_eq!(one, [(0, 2), (1, 2), (2, 2), (3, 2), (4, 2)], "{is_folder}");
        assert_eq!(other, one, "{is_folder}");
        let found = streams.diagnostics();
        let counts = [rules::PACKED, rules::ABSENT].map(|rule| found.count(rule));
        assert_eq!(counts, if is_folder { [1, 0] } else { [0, 1] });
        assert!(!streams.next_step(&mut seen, &Job::default()).unwrap());
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A file without new data delays the others only once, for the patience.
#[test]
fn a_quiet_file_holds_nobody_up() {
    let folder = std::env::temp_dir().join(format!("perfkit-quiet-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |rank: usize| folder.join(format!("rank-{rank}.tsv"));
    let row = |step: u64, rank: usize| format!("{step}\t{step}\t{rank}\tENTRY\tf\n");
    let header = "step\tts_us\trank\tkind\tname\n";
    // The first file is empty, without a header; the second stops after step 0.
    std::fs::write(path(0), "").unwrap();
    std::fs::write(path(1), format!("{header}{}", row(0, 1))).unwrap();
    std::fs::write(path(2), header).unwrap();
    let (told, heard) = std::sync::mpsc::channel::<u64>();
    let writer = {
        let (third, first) = (path(2), path(0));
        let append = |path: &std::path::Path, text: String| {
            let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        std::thread::spawn(move || {
            for step in 0..30 {
                append(&third, row(step, 2));
            }
            // The writer continues only after all of these steps have ended, although two files are
            // idle.
            while heard.recv().unwrap() < 28 {}
            append(&first, format!("{header}{}{}", row(3, 0), row(31, 0)));
            append(&third, row(30, 2) + &row(31, 2));
        })
    };
    let follow = Follow::default()
        .poll(Duration::from_millis(1))
        .patience(Duration::from_millis(40))
        .idle(Duration::from_millis(600));
    let paths = [path(0), path(1), path(2)];
    let streams = Streams::open(&paths, &OpenOptions::new()).unwrap();
    let mut streams = streams.follow(follow).unwrap();
    let mut seen = Seen::default();
    while streams.next_step(&mut seen, &Job::default()).unwrap() {
        if let Some(step) = seen.steps().last() {
            // The writer has ended after enough steps.
            let _ = told.send(*step);
        }
    }
    writer.join().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    // The idle file has its own step 3 after the others have ended theirs.
    let steps = seen.steps();
    let late = steps.iter().rposition(|step| *step == 3).unwrap();
    assert!(late > 28, "{steps:?}");
    let rest = steps.iter().enumerate().filter(|(at, _)| *at != late);
    let rest: Vec<u64> = rest.map(|(_, step)| *step).collect();
    assert_eq!(rest, (0..32).collect::<Vec<_>>());
    assert_eq!(seen.events().len(), 35);
    let found = streams.diagnostics();
    assert_eq!(
        (found.count(rules::LATE), found.iter().count()),
        (1, 1),
        "{found}"
    );
}
