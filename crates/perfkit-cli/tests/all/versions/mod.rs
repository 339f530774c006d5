//! Tracking of versions of a program: links of known phases between two recorded runs.

mod program;

use perf_testdata::xorshift::Xorshift;
use perfkit::track::tracking::{Event, TrackedRegionId};
use perfkit_cli::command;
use perfkit_cli::failure::Failure;
use perfkit_cli::phases::series::{self, ClusterOptions, Series};
use program::{Phase, Program, Recorded, Run, record, unit};
use std::collections::BTreeMap;
use std::path::Path;

/// Number of seeds of each family.
const SEEDS: u64 = 20;

/// Change between two versions.
type Change = fn(&mut Program, &mut Program, &mut [Run; 2], &mut Xorshift);

/// Change that one cluster becomes two or the reverse, by the experiment with two clusters.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Named {
    /// No split or merge is planted.
    Nothing,
    /// Phase 2 is split or merged.
    Two,
    /// Phases 2 and 5 have the same metrics in the second experiment.
    Both,
}

/// Families of changes with their names.
const FAMILIES: [(&str, Change, Named); 13] = [
    ("same", |_, _, _, _| {}, Named::Nothing),
    (
        "lineshift",
        |_, new, _, random| {
            let by = 1 + random.below(40) as u32;
            (0..3).for_each(|file| new.shift(file, 0, by));
        },
        Named::Nothing,
    ),
    (
        "part of a file",
        |_, new, _, random| {
            let line = new.body[random.below(10) as usize].line;
            let by = 1 + random.below(40) as u32;
            (0..3).for_each(|file| new.shift(file, line, by));
        },
        Named::Nothing,
    ),
    (
        "appear",
        |_, new, _, random| {
            let at = random.below(new.body.len() as u64 + 1) as usize;
            appear(new, at, random);
        },
        Named::Nothing,
    ),
    (
        "vanish first",
        |_, new, _, _| vanish(new, 0),
        Named::Nothing,
    ),
    (
        "vanish middle",
        |_, new, _, random| vanish(new, 3 + random.below(4) as usize),
        Named::Nothing,
    ),
    (
        "vanish last",
        |_, new, _, _| {
            let last = new.body.len() - 1;
            vanish(new, last)
        },
        Named::Nothing,
    ),
    ("split", |_, new, _, _| divide(new, 2), Named::Two),
    ("merge of halves", |old, _, _, _| divide(old, 2), Named::Two),
    (
        "merge of phases",
        |_, new, _, _| {
            (new.body[5].work, new.body[5].ipc) = (new.body[2].work, new.body[2].ipc);
        },
        Named::Both,
    ),
    (
        "swap",
        |_, new, _, _| {
            let (a, b) = (new.body[1].clone(), new.body[6].clone());
            (new.body[1].work, new.body[1].ipc) = (b.work, b.ipc);
            (new.body[6].work, new.body[6].ipc) = (a.work, a.ipc);
        },
        Named::Nothing,
    ),
    (
        "permuted ids",
        |_, _, runs, _| runs[1].rotate = 1,
        Named::Nothing,
    ),
    (
        "no pcf",
        |_, _, runs, random| {
            let at = random.below(3) as usize;
            runs.iter_mut()
                .enumerate()
                .for_each(|(run, of)| of.names = run != at && at < 2);
        },
        Named::Nothing,
    ),
];

fn appear(new: &mut Program, at: usize, random: &mut Xorshift) {
    let host = new.body[at.min(new.body.len() - 1)].clone();
    let (line, truth) = (host.line, 100);
    let by = 2 + random.below(9) as u32;
    new.shift(host.file, line, by);
    let phase = loop {
        let (work, ipc) = (19.0 + 2.0 * unit(random), 0.5 + 2.0 * unit(random));
        let all = || new.start.iter().chain(&new.body);
        if all().all(|of| ((of.work - work) / 2.0).hypot((of.ipc - ipc) / 2.0) > 0.13) {
            break Phase {
                truth,
                work,
                ipc,
                line,
                call: random.below(4) as usize,
                ..host
            };
        }
    };
    new.body.insert(at, phase);
}

/// Divides a phase by rank, into halves that differ from all other phases.
fn divide(program: &mut Program, at: usize) {
    let place = |work: f64, ipc: f64| {
        move |of: &Phase| ((of.work - work) / 2.0).hypot((of.ipc - ipc) / 2.0)
    };
    let own = program.body[at].clone();
    let others = || {
        program
            .start
            .iter()
            .chain(&program.body)
            .filter(|of| of.truth != own.truth)
    };
    let factors = [(1.5, 0.8), (1.5, 1.2), (1.6, 1.0), (1.4, 0.7)];
    let room = |(work, ipc): &(f64, f64)| {
        let far = place(own.work + work.ln(), own.ipc * ipc);
        others().map(far).fold(f64::INFINITY, f64::min)
    };
    let best = factors
        .into_iter()
        .max_by(|a, b| room(a).total_cmp(&room(b)));
    program.body[at].upper = best.expect("there are factors");
}

fn vanish(new: &mut Program, at: usize) {
    let gone = new.body.remove(at);
    for phase in new.start.iter_mut().chain(&mut new.body) {
        if phase.file == gone.file && phase.line > gone.line {
            phase.line -= 3;
        }
    }
}

/// Region with most bursts of a phase in an experiment, and the phase with most bursts of that region.
fn home(
    series: &Series,
    recorded: &Recorded,
    at: usize,
    phase: usize,
) -> Option<(TrackedRegionId, usize)> {
    let clustered = &series.experiments[at];
    let mut of: BTreeMap<(Option<TrackedRegionId>, usize), usize> = BTreeMap::new();
    let colours = series.tracking.colours(at).expect("an experiment");
    for (&row, label) in clustered.rows.iter().zip(&clustered.labels) {
        let burst = clustered.experiment.bursts().rows()[row as usize];
        let Some(&truth) = recorded.truth.get(&(burst.thread, burst.begin.0)) else {
            continue;
        };
        *of.entry((colours[label.0 as usize], truth)).or_default() += 1;
    }
    let own = of.iter().filter(|((_, truth), _)| *truth == phase);
    let region = own.max_by_key(|(_, count)| **count)?.0.0?;
    let main = of.iter().filter(|((other, _), _)| *other == Some(region));
    Some((region, main.max_by_key(|(_, count)| **count)?.0.1))
}

/// Returns `true` if bursts of a phase are longer than the minimum duration.
fn is_long(series: &Series, recorded: &Recorded, at: usize, phase: usize) -> bool {
    let clustered = &series.experiments[at];
    clustered.rows.iter().any(|&row| {
        let burst = clustered.experiment.bursts().rows()[row as usize];
        recorded.truth.get(&(burst.thread, burst.begin.0)) == Some(&phase)
    })
}

/// Counts of correct and of all links, and whether a planted split or merge is named.
fn score(
    series: &Series,
    runs: &[Recorded; 2],
    versions: [&Program; 2],
    named: Named,
) -> (usize, usize, bool, Vec<String>) {
    let (mut right, mut all, mut wrong) = (0, 0, Vec::new());
    let merged = |phase: usize| named == Named::Both && (phase == 2 || phase == 5);
    let in_both = |phase: &&Phase| {
        versions[1]
            .body
            .iter()
            .chain(&versions[1].start)
            .any(|of| of.truth == phase.truth)
    };
    for phase in versions[0]
        .body
        .iter()
        .chain(&versions[0].start)
        .filter(in_both)
    {
        if !(0..2).all(|at| is_long(series, &runs[at], at, phase.truth)) {
            continue;
        }
        let ends = [0, 1].map(|at| home(series, &runs[at], at, phase.truth));
        all += 1;
        let is_right = match ends {
            [Some(a), Some(b)] => {
                a.0 == b.0 && (merged(phase.truth) || (a.1, b.1) == (phase.truth, phase.truth))
            }
            _ => false,
        };
        right += usize::from(is_right);
        if !is_right {
            wrong.push(format!("{} {ends:?}", phase.truth));
        }
    }
    for phase in versions[1].body.iter().filter(|phase| phase.truth == 100) {
        all += 1;
        let end = home(series, &runs[1], 1, phase.truth);
        let is_new = end.is_some_and(|(id, _)| {
            series
                .tracking
                .region(id)
                .is_some_and(|region| region.members[0].is_empty())
        });
        right += usize::from(is_new);
        if !is_new {
            wrong.push(format!("new {end:?}"));
        }
    }
    let events = |phase: usize| {
        let region = home(series, &runs[0], 0, phase).and_then(|end| series.tracking.region(end.0));
        region.is_some_and(|region| {
            region
                .events
                .iter()
                .any(|event| matches!(event, Event::Split { .. } | Event::Merge { .. }))
        })
    };
    let is_named = match named {
        Named::Nothing => series.tracking.regions.iter().all(|region| {
            !region
                .events
                .iter()
                .any(|event| matches!(event, Event::Split { .. } | Event::Merge { .. }))
        }),
        Named::Two => events(2),
        Named::Both => events(2) && events(5),
    };
    if !is_named {
        let regions = series.tracking.regions.iter();
        let regions = regions.map(|of| format!("{:?} {:?}", of.members, of.events));
        wrong.push(regions.collect::<Vec<_>>().join("; "));
    }
    (right, all, is_named, wrong)
}

fn run(family: usize, seed: u64, callers: bool) -> (usize, usize, bool, Vec<String>) {
    let (name, change, named) = FAMILIES[family];
    let mut random = Xorshift::new(1_000 * family as u64 + seed);
    let mut old = Program::new(seed, 10);
    let mut new = old.clone();
    let usual = Run {
        tasks: 4,
        iterations: 15,
        callers,
        names: true,
        rotate: 0,
        seed,
    };
    let tasks = if seed.is_multiple_of(2) { 4 } else { 8 };
    let mut runs = [
        usual,
        Run {
            tasks,
            seed: seed + 77,
            ..usual
        },
    ];
    change(&mut old, &mut new, &mut runs, &mut random);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = folder.join(format!(
        "versions-{}-{seed}-{callers}",
        name.replace(' ', "-")
    ));
    let recorded = [
        record(&old, runs[0], &folder, "old"),
        record(&new, runs[1], &folder, "new"),
    ];
    let paths = recorded
        .iter()
        .map(|of| of.path.clone())
        .collect::<Vec<_>>();
    let series = series::track(&paths, &ClusterOptions::default())
        .unwrap_or_else(|error| panic!("{name} {seed}: {error:?}"));
    let found = score(&series, &recorded, [&old, &new], named);
    let _ = std::fs::remove_dir_all(folder);
    found
}

/// Asserts the share of correct links of each family.
fn check(callers: bool, least: f64) {
    let (mut right, mut all, mut unnamed) = (0, 0, Vec::new());
    let mut low = Vec::new();
    let mut report = String::new();
    for (family, (name, ..)) in FAMILIES.iter().enumerate() {
        let (mut own, mut own_all, mut misses) = (0, 0, 0);
        for seed in 1..=SEEDS {
            let (r, a, is_named, wrong) = run(family, seed, callers);
            own += r;
            own_all += a;
            if !is_named {
                misses += 1;
                unnamed.push(format!("{name} {seed}"));
            }
            if !wrong.is_empty() {
                report += &format!("    {name} {seed}: {wrong:?}\n");
            }
        }
        report += &format!("{name}: {own} of {own_all}, {misses} unnamed\n");
        if f64::from(own as u32) < least * f64::from(own_all as u32) {
            low.push(name);
        }
        right += own;
        all += own_all;
    }
    let share = f64::from(right as u32) / f64::from(all as u32);
    println!("{report}{share}");
    assert!(
        low.is_empty() && unnamed.is_empty(),
        "{report}{share} {low:?} {unnamed:?}"
    );
}

/// Run of four tasks with callers and names.
const USUAL: Run = Run {
    tasks: 4,
    iterations: 15,
    callers: true,
    names: true,
    rotate: 0,
    seed: 1,
};

/// A truncated trace is read with `--lenient` as far as it goes, compressed or not.
#[test]
fn truncated_traces() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("versions-truncated");
    let whole = record(&Program::new(1, 10), USUAL, &folder, "whole").path;
    let bytes = std::fs::read(&whole).expect("a trace");
    let cut = folder.join("cut.prv");
    std::fs::write(&cut, &bytes[..bytes.len() * 2 / 3]).expect("a part");
    let (whole, cut) = (whole.display().to_string(), cut.display().to_string());
    let failed = command::output(["track", &whole, &cut]).expect_err("truncated");
    assert!(format!("{failed:?}").contains("ends where"), "{failed:?}");
    let text = command::output(["track", "--lenient", &whole, &cut]).expect("it is read");
    assert!(text.contains("regions by CPU time"), "{text}");
    let json = command::output(["bursts", "--lenient", "--json", &cut]).expect("it is read");
    assert!(json.contains("cut-off"), "{json}");
}

/// Two recordings of one file name are refused before anything is written.
#[test]
fn recoloured_traces_need_different_names() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("versions-recolour");
    let program = Program::new(1, 10);
    let paths = ["a", "b"].map(|name| record(&program, USUAL, &folder.join(name), "run").path);
    let [a, b] = paths.map(|path| path.display().to_string());
    let out = folder.join("out");
    let to = out.display().to_string();
    let failed = command::output(["track", "--recolour", &to, &a, &b]).expect_err("one name");
    assert!(format!("{failed:?}").contains("run.prv"), "{failed:?}");
    assert!(!out.exists());
}

/// A region of a new version that is 5 % slower is found among runs of both versions, and no other.
#[test]
fn slower_regions_are_found() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("versions-slower");
    let old = Program::new(4, 8);
    let mut new = old.clone();
    new.body[2].ipc /= 1.05;
    let runs = |program: &Program, name: &str, first: u64| -> Vec<String> {
        let run = |seed: u64| {
            let usual = Run {
                tasks: 8,
                iterations: 15,
                callers: true,
                names: true,
                rotate: 0,
                seed,
            };
            let path = record(program, usual, &folder, &format!("{name}{seed}")).path;
            path.display().to_string()
        };
        (first..first + 3).map(run).collect()
    };
    let (old, new) = (
        [runs(&old, "old", 1), runs(&old, "old", 4)],
        runs(&new, "new", 7),
    );
    let track = |words: &[&str], runs: [&Vec<String>; 2]| {
        let runs = runs.into_iter().flatten().map(String::as_str);
        let words: Vec<&str> = words.iter().copied().chain(runs).collect();
        command::output([&["track"], words.as_slice()].concat())
    };
    let failed = track(&["--versions"], [&old[0], &new]).expect_err("one is slower");
    assert!(
        matches!(&failed, Failure::Found(text) if text == "1 region became slower"),
        "{failed:?}"
    );
    let same = track(&["--versions=3"], [&old[0], &old[1]]).expect("equal versions");
    assert!(
        same.starts_with("no region became slower\ntested: "),
        "{same}"
    );
    assert!(track(&["--versions", "--tolerance", "20"], [&old[0], &new]).is_ok());
    for words in [
        ["--versions=6", "--whole"],
        ["--versions", "--windows=2"],
        ["--threshold=10", "--whole"],
        ["--tolerance=3", "--whole"],
    ] {
        let failed = track(&words, [&old[0], &new]).expect_err("wrong usage");
        assert!(matches!(failed, Failure::Usage(_)), "{words:?} {failed:?}");
    }
}

#[test]
fn with_callers() {
    check(true, 0.98);
}

#[test]
fn without_callers() {
    check(false, 0.95);
}
