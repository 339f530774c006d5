//! Races of the correlation in the frequency domain: perfkit, FFTW and SciPy, on the shapes of Table 1 of the paper.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::compare::race::{Race, Runner};
use crate::compare::target::Target;
use crate::compare::{Options, target_folder, workshop};
use crate::python::python;
use crate::{cargo, execute, root};

/// Program of `perfkit-benches` that generates views and runs perfkit.
const OURS: &str = "perfkit-bench-spectral";

/// Shape of Table 1.
struct Case {
    /// Name of the application.
    name: &'static str,
    /// Lengths of the axes, separated by `x`.
    shape: &'static str,
    /// Number of views that are correlated.
    views: u32,
    /// Number of different views, which are used in rotation.
    ///
    /// All views differ except for NEKBONE, whose views would take 9 GB in each tool. Its different
    /// views take 2 GB, several times the size of the largest caches. `--full` uses all views.
    distinct: u32,
    /// Number of views that are transformed.
    transforms: u32,
}

const CASES: [Case; 3] = [
    Case {
        name: "NEKBONE",
        shape: "28x8x8x8x2x16x4",
        views: 624,
        distinct: 128,
        transforms: 240,
    },
    Case {
        name: "psOpen",
        shape: "4x4x4x8x2x16x4",
        views: 2031,
        distinct: 2031,
        transforms: 2031,
    },
    Case {
        name: "Sweep3D",
        shape: "32x32x64",
        views: 850,
        distinct: 850,
        transforms: 1700,
    },
];

/// Memory limit in MB that suffices if spectra stay in a file.
const MEMORY: &str = "1000";

/// Builds the program, writes the views unless they exist, and lists the races.
pub(crate) fn races(options: &Options) -> Result<Vec<Race>, String> {
    let chosen = |case: &&Case| match &options.shape {
        Some(shape) => *shape == case.name.to_lowercase(),
        None => true,
    };
    if !CASES.iter().any(|case| chosen(&case)) {
        let names: Vec<_> = CASES.iter().map(|case| case.name).collect();
        return Err(format!("the shapes are {}", names.join(", ")));
    }
    let arguments = ["build", "--quiet", "--release"];
    execute(cargo(&arguments).args(["--package", "perfkit-benches", "--bin", OURS]))?;
    let ours = target_folder()?.join("release").join(OURS);
    let mut races = Vec::new();
    for case in CASES.iter().filter(chosen) {
        let bench = Bench::new(case, options, &ours)?;
        for kind in ["f64", "f32"] {
            races.extend([
                bench.correlate(kind),
                bench.forward(kind),
                bench.alone("correlate", kind),
                bench.alone("forward", kind),
                bench.pruned(kind),
            ]);
        }
        races.push(bench.second_core());
        races.push(bench.in_file(options)?);
    }
    Ok(races)
}

/// Shape with its views in a file.
struct Bench<'a> {
    case: &'a Case,
    ours: &'a Path,
    file: PathBuf,
    /// Number of views in the file, without the reference.
    distinct: u32,
}

impl<'a> Bench<'a> {
    /// Writes the views unless they exist.
    fn new(case: &'a Case, options: &Options, ours: &'a Path) -> Result<Self, String> {
        let shape = case.shape;
        let distinct = if options.full {
            case.views
        } else {
            case.distinct
        };
        let file = workshop()?.join(format!("views-{shape}-{distinct}.f64"));
        if !file.exists() {
            // Write to a temporary name, so that an interrupted run leaves no incomplete file. The
            // file also has the reference.
            let part = file.with_extension("part");
            let count = (distinct + 1).to_string();
            let mut generate = Command::new(ours);
            let generate = generate.arg("generate").arg(&part);
            execute(generate.args([shape, count.as_str()]))?;
            std::fs::rename(&part, &file).map_err(|error| error.to_string())?;
        }
        Ok(Bench {
            case,
            ours,
            file,
            distinct,
        })
    }

    /// Returns the command of perfkit.
    fn we(&self, mode: &str, views: u32, kind: &str, threads: u32, more: &[&str]) -> Vec<String> {
        let [views, threads, distinct] = [views, threads, self.distinct].map(|it| it.to_string());
        let shape = self.case.shape;
        let usual = [mode, shape, &views, kind];
        let sizes = ["--threads", &threads, "--distinct", &distinct];
        let words = usual.iter().chain(&sizes).chain(more);
        let words = words.map(|word| (*word).to_string());
        std::iter::once(text(self.ours)).chain(words).collect()
    }

    /// Returns the command of perfkit on the views of the file.
    fn given(&self, mode: &str, views: u32, kind: &str, threads: u32) -> Vec<String> {
        self.we(mode, views, kind, threads, &["--views", &text(&self.file)])
    }

    /// Returns the command of FFTW or SciPy on the same views.
    fn they(
        &self,
        mode: &str,
        views: u32,
        kind: &str,
        split: &str,
        threads: u32,
    ) -> Result<Vec<String>, &'static str> {
        let python = match split {
            "scipy" => python("pyfftw, scipy.fft", "scipy (pip)")?,
            _ => python("pyfftw, numpy", "pyfftw (pip)")?,
        };
        let peer = text(&root().join("data/peers/spectral.py"));
        let [views, threads] = [views, threads].map(|it| it.to_string());
        let (file, shape) = (text(&self.file), self.case.shape);
        let words = [&peer, mode, &file, shape, &views, kind, split, &threads];
        let words = words.iter().map(|word| (*word).to_string());
        Ok(std::iter::once(text(&python)).chain(words).collect())
    }

    /// Returns the number of views and a description of the work.
    fn work(&self, mode: &str) -> (u32, String) {
        let Case {
            views, transforms, ..
        } = *self.case;
        let distinct = self.distinct;
        match mode {
            "forward" => (transforms, "forward transforms".into()),
            _ => (
                views,
                format!(
                    "one view against {views} ({distinct} of them differ), product, inverse, extremes"
                ),
            ),
        }
    }

    /// Returns a race with two threads each, compared by wall time.
    fn two(&self, mode: &str, kind: &str, least: f64) -> Race {
        let (views, what) = self.work(mode);
        let theirs = |split: &str| self.they(mode, views, kind, split, 2);
        Race {
            title: format!("{} {kind}: {what}", self.case.name),
            by: "wall_s",
            work: "views",
            asked: vec![Target::Faster(1, least), Target::Faster(2, least)],
            runners: vec![
                Runner::new("perfkit, 2 threads", Ok(self.given(mode, views, kind, 2))),
                Runner::new("FFTW, a thread for half of the views", theirs("lanes")),
                Runner::new("FFTW, 2 threads in each transform", theirs("inside")),
                Runner::new("SciPy, 2 threads in each transform", theirs("scipy")),
            ],
        }
    }

    fn correlate(&self, kind: &str) -> Race {
        self.two("correlate", kind, 1.3)
    }

    fn forward(&self, kind: &str) -> Race {
        self.two("forward", kind, 1.0)
    }

    /// Returns a race with one thread each, compared by CPU time.
    fn alone(&self, mode: &str, kind: &str) -> Race {
        let (views, what) = self.work(mode);
        let theirs = |split: &str| self.they(mode, views, kind, split, 1);
        Race {
            title: format!("{} {kind}, one thread: {what}", self.case.name),
            by: "cpu_s",
            work: "views",
            asked: Vec::new(),
            runners: vec![
                Runner::new("perfkit", Ok(self.given(mode, views, kind, 1))),
                Runner::new("FFTW", theirs("lanes")),
                Runner::new("SciPy", theirs("scipy")),
            ],
        }
    }

    /// Returns a race between two searches for the closest views: with early termination, and
    /// complete.
    fn pruned(&self, kind: &str) -> Race {
        let (name, distinct) = (self.case.name, self.distinct);
        let we = |mode: &str| Ok(self.given(mode, distinct, kind, 2));
        Race {
            title: format!(
                "{name} {kind}: the 10 of {distinct} views closest to one, equal to the last bit"
            ),
            by: "wall_s",
            work: "views",
            asked: vec![Target::Faster(1, 2.5)],
            runners: vec![
                Runner::new("perfkit, pruned", we("top10")),
                Runner::new("perfkit, all of them", we("top10-of-all")),
            ],
        }
    }

    /// Returns a race of perfkit with two threads and with one.
    fn second_core(&self) -> Race {
        let (views, what) = self.work("correlate");
        let we = |threads| Ok(self.given("correlate", views, "f64", threads));
        Race {
            title: format!(
                "what a second core is worth: {} f64, {what}",
                self.case.name
            ),
            by: "wall_s",
            work: "views",
            asked: Vec::new(),
            runners: vec![
                Runner::new("perfkit, 2 threads", we(2)),
                Runner::new("perfkit, 1 thread", we(1)),
            ],
        }
    }

    /// Returns a race with spectra in a file. The file is written each time the race is run, so
    /// that it is always from the current version.
    fn in_file(&self, options: &Options) -> Result<Race, String> {
        let distinct = self.distinct;
        let points: u64 = self.case.shape.split('x').map(length).product();
        // One number for each point and view, including the reference.
        let size = points * 8 * u64::from(distinct + 1);
        let title = format!(
            "{} f64: one view against {distinct}, spectra of {:.1} GB in a file",
            self.case.name,
            size as f64 / 1e9
        );
        let spectra = self.file.with_extension("spectra");
        if options.wants(&title) {
            let mut store = Command::new(self.ours);
            let store = store.arg("store").arg(&spectra);
            let store = store.args([self.case.shape, &distinct.to_string(), "f64", "--views"]);
            execute(store.arg(&self.file).stdout(Stdio::null()))?;
        }
        let in_file = ["--file", &text(&spectra), "--memory", MEMORY];
        Ok(Race {
            title,
            by: "wall_s",
            work: "views",
            asked: vec![Target::Memory(1000.0)],
            runners: vec![
                Runner::new(
                    "perfkit, in a file",
                    Ok(self.we("correlate", distinct, "f64", 2, &in_file)),
                ),
                Runner::new(
                    "perfkit, in memory",
                    Ok(self.given("correlate", distinct, "f64", 2)),
                ),
            ],
        })
    }
}

fn length(text: &str) -> u64 {
    text.parse().unwrap_or_default()
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
