//! A synthetic MPI program whose versions can be recorded as Paraver traces.

use perf_testdata::xorshift::Xorshift;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// MPI calls of the program: event type, value and name.
const CALLS: [(u32, u32, &str); 4] = [
    (50_000_002, 10, "MPI_Allreduce"),
    (50_000_002, 7, "MPI_Bcast"),
    (50_000_001, 41, "MPI_Sendrecv"),
    (50_000_002, 8, "MPI_Barrier"),
];

/// Computation and the MPI call that ends it.
#[derive(Clone, Debug)]
pub(super) struct Phase {
    /// True identity of the phase.
    pub(super) truth: usize,
    /// Natural logarithm of the instructions of all tasks together.
    pub(super) work: f64,
    /// Instructions per cycle.
    pub(super) ipc: f64,
    /// Factor of instructions and IPC on the upper half of the ranks.
    pub(super) upper: (f64, f64),
    /// Index in [`CALLS`].
    pub(super) call: usize,
    /// Number of the source file and the function.
    pub(super) file: usize,
    /// Line of the call.
    pub(super) line: u32,
}

/// Version of the program.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// Phases before the loop, each executed once.
    pub(super) start: Vec<Phase>,
    /// Phases of the loop.
    pub(super) body: Vec<Phase>,
}

/// How a version is run and recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Number of tasks.
    pub(super) tasks: u32,
    /// Number of iterations.
    pub(super) iterations: usize,
    /// `false` to record no callers.
    pub(super) callers: bool,
    /// `false` to write no `.pcf`.
    pub(super) names: bool,
    /// Offset of the numbers of functions and lines.
    pub(super) rotate: usize,
    /// Seed of the noise.
    pub(super) seed: u64,
}

/// Returns a number in `0.0..1.0`.
pub(super) fn unit(random: &mut Xorshift) -> f64 {
    random.below(1 << 30) as f64 / (1u64 << 30) as f64
}

/// Returns a number that is approximately normal.
fn bell(random: &mut Xorshift) -> f64 {
    (0..6).map(|_| unit(random) - 0.5).sum::<f64>() * 1.4
}

impl Program {
    /// Creates a program of `count` phases in the loop and 3 before it, in three files. All phases
    /// have different work or IPC.
    pub(super) fn new(seed: u64, count: usize) -> Self {
        let mut random = Xorshift::new(seed);
        let mut places: Vec<(f64, f64)> = Vec::new();
        while places.len() < count + 3 {
            let place = (
                19.0 + 2.0 * unit(&mut random),
                0.5 + 2.0 * unit(&mut random),
            );
            let is_free = |other: &(f64, f64)| {
                ((place.0 - other.0) / 2.0).hypot((place.1 - other.1) / 2.0) > 0.13
            };
            if places.iter().all(is_free) {
                places.push(place);
            }
        }
        let mut lines = [0; 3];
        let mut phase = |truth: usize, file: usize, random: &mut Xorshift| {
            lines[file] += 4 + random.below(20) as u32;
            let (work, ipc) = places[truth];
            let call = random.below(4) as usize;
            let (upper, line) = ((1.0, 1.0), 40 + lines[file]);
            Phase {
                truth,
                work,
                ipc,
                upper,
                call,
                file,
                line,
            }
        };
        let start = (0..3).map(|at| phase(count + at, 0, &mut random)).collect();
        let body = (0..count)
            .map(|at| phase(at, at * 3 / count, &mut random))
            .collect();
        Program { start, body }
    }

    /// Shifts the lines of all calls from `line` on in a file.
    pub(super) fn shift(&mut self, file: usize, line: u32, by: u32) {
        for phase in self.start.iter_mut().chain(&mut self.body) {
            if phase.file == file && phase.line >= line {
                phase.line += by;
            }
        }
    }
}

/// Experiment on disk with the true phase of each burst by task and begin.
#[derive(Debug)]
pub(super) struct Recorded {
    /// Path of the trace.
    pub(super) path: PathBuf,
    /// True phase of each burst.
    pub(super) truth: BTreeMap<(u32, i64), usize>,
}

/// Records a run of a version.
pub(super) fn record(program: &Program, run: Run, folder: &Path, name: &str) -> Recorded {
    let mut random = Xorshift::new(run.seed);
    let mut truth = BTreeMap::new();
    let mut lines: Vec<(u64, String)> = Vec::new();
    let place = |phase: &Phase| {
        let function = 3 + (phase.file + run.rotate) % 3;
        let mut all: Vec<(usize, u32)> = program
            .start
            .iter()
            .chain(&program.body)
            .map(|of| (of.file, of.line))
            .collect();
        all.sort_unstable();
        all.dedup();
        let at = all.iter().position(|of| *of == (phase.file, phase.line));
        (
            function,
            10 + (at.unwrap_or(0) + 5 * run.rotate) % all.len(),
        )
    };
    let once = program.start.iter();
    let loops = (0..run.iterations).flat_map(|_| &program.body);
    let steps: Vec<&Phase> = once.chain(loops).collect();
    let mut clocks = vec![1_000_u64; run.tasks as usize];
    for phase in steps {
        for task in 0..run.tasks {
            let at = format!("{0}:1:{0}:1", task + 1);
            let begin = clocks[task as usize];
            let upper = if 2 * task >= run.tasks {
                phase.upper
            } else {
                (1.0, 1.0)
            };
            let noise = 1.0 + 0.01 * bell(&mut random);
            let instructions = phase.work.exp() / f64::from(run.tasks) * upper.0 * noise;
            let ipc = phase.ipc * upper.1 * (1.0 + 0.008 * bell(&mut random));
            let cycles = instructions / ipc;
            let end = begin + (cycles / 2.5).max(2.0) as u64;
            let leave = end + 4_000 + random.below(500);
            truth.insert((task, begin as i64), phase.truth);
            let (kind, value, _) = CALLS[phase.call];
            let mut enter = format!(
                "2:{at}:{end}:{kind}:{value}:42000050:{instructions:.0}:42000059:{cycles:.0}"
            );
            if run.callers {
                let (function, line) = place(phase);
                let _ = write!(
                    enter,
                    ":70000001:{function}:80000001:{line}:70000002:9:80000002:9"
                );
            }
            lines.push((begin, format!("1:{at}:{begin}:{end}:1\n")));
            lines.push((end, format!("1:{at}:{end}:{leave}:13\n")));
            lines.push((end, enter + "\n"));
            lines.push((
                leave,
                format!("2:{at}:{leave}:{kind}:0:42000050:300:42000059:400\n"),
            ));
            clocks[task as usize] = leave;
        }
        // All calls synchronise.
        let last = clocks.iter().copied().max().unwrap_or(0);
        clocks.iter_mut().for_each(|clock| *clock = last);
    }
    lines.sort_by_key(|line| line.0);
    let end = clocks.iter().copied().max().unwrap_or(0);
    let nodes = vec!["1:1"; run.tasks as usize].join(",");
    let mut text = format!(
        "#Paraver (01/01/20 at 01:00):{end}_ns:1({0}):1:{0}({nodes})\n",
        run.tasks
    );
    text.extend(lines.into_iter().map(|line| line.1));
    let path = folder.join(format!("{name}.prv"));
    std::fs::create_dir_all(folder).expect("a folder");
    std::fs::write(&path, text).expect("a trace");
    let pcf = path.with_extension("pcf");
    if run.names {
        let mut names = String::from("STATES\n0 Idle\n1 Running\n13 Group Communication\n\n");
        for (kind, title) in [
            (50_000_001, "MPI Point-to-point"),
            (50_000_002, "MPI Collective Comm"),
        ] {
            let _ = write!(names, "EVENT_TYPE\n9 {kind} {title}\nVALUES\n");
            for call in CALLS.iter().filter(|call| call.0 == kind) {
                let _ = writeln!(names, "{} {}", call.1, call.2);
            }
            names += "0 Outside MPI\n\n";
        }
        names += "EVENT_TYPE\n7 42000050 PAPI_TOT_INS\n7 42000059 PAPI_TOT_CYC\n\n";
        let mut functions = BTreeMap::from([(9, "main".to_owned())]);
        let mut sites = BTreeMap::from([(9, "9 (main.f90, app)".to_owned())]);
        for phase in program.start.iter().chain(&program.body) {
            let (function, line) = place(phase);
            functions.insert(function, format!("solve_{}", phase.file));
            sites.insert(
                line,
                format!("{} (file{}.f90, app)", phase.line, phase.file),
            );
        }
        for (kind, title, values) in [
            (
                70_000_000,
                "Caller at level",
                functions.into_iter().collect::<Vec<_>>(),
            ),
            (
                80_000_000,
                "Caller line at level",
                sites.into_iter().collect(),
            ),
        ] {
            names += "EVENT_TYPE\n";
            for level in 1..=2 {
                let _ = writeln!(names, "0 {} {title} {level}", kind + level);
            }
            names += "VALUES\n";
            for (value, label) in &values {
                let _ = writeln!(names, "{value} {label}");
            }
            names.push('\n');
        }
        std::fs::write(pcf, names).expect("names");
    } else {
        let _ = std::fs::remove_file(pcf);
    }
    Recorded { path, truth }
}
