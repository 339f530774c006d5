//! Correlation in the frequency domain: perfkit, FFTW and SciPy, on the shapes of Table 1 of the paper.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::asked::Asked;
use super::race::{Race, Runner};
use super::{Options, target_folder, workshop};
use crate::python::python;
use crate::{cargo, execute, root};

/// Program of `perfkit-benches` that generates views and runs our side.
const OURS: &str = "perfkit-bench-spectral";

/// A shape of Table 1.
struct Case {
    name: &'static str,
    shape: &'static str,
    /// Views that are correlated.
    views: u32,
    /// How many of them differ; those are cycled. All do but for NEKBONE, where all take 9 GB on either side, and
    /// these 2 GB, several times the largest caches. `--full` takes all.
    distinct: u32,
    /// Views that are transformed.
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

/// Memory that is enough where spectra stay in a file, in MB.
const MEMORY: &str = "1000";

/// Builds our program, writes the views unless they are there, and lists the races.
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

/// A shape with its views in a file.
struct Bench<'a> {
    case: &'a Case,
    ours: &'a Path,
    file: PathBuf,
    /// Views in the file, beside the reference.
    distinct: u32,
}

impl<'a> Bench<'a> {
    /// Writes the views unless they are there.
    fn new(case: &'a Case, options: &Options, ours: &'a Path) -> Result<Self, String> {
        let shape = case.shape;
        let distinct = match options.full {
            true => case.views,
            false => case.distinct,
        };
        let file = workshop()?.join(format!("views-{shape}-{distinct}.f64"));
        if !file.exists() {
            // Under another name until it is whole. The reference is one more.
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

    /// Our side.
    fn we(&self, mode: &str, views: u32, kind: &str, threads: u32, more: &[&str]) -> Vec<String> {
        let [views, threads, distinct] = [views, threads, self.distinct].map(|it| it.to_string());
        let shape = self.case.shape;
        let usual = [mode, shape, &views, kind];
        let sizes = ["--threads", &threads, "--distinct", &distinct];
        let words = usual.iter().chain(&sizes).chain(more);
        let words = words.map(|word| (*word).to_string());
        std::iter::once(text(self.ours)).chain(words).collect()
    }

    /// Our side on the views of the file.
    fn given(&self, mode: &str, views: u32, kind: &str, threads: u32) -> Vec<String> {
        self.we(mode, views, kind, threads, &["--views", &text(&self.file)])
    }

    /// FFTW or SciPy on the same views.
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

    /// What is done to how many views.
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

    /// Two threads each, by wall time.
    fn two(&self, mode: &str, kind: &str, least: f64) -> Race {
        let (views, what) = self.work(mode);
        let theirs = |split: &str| self.they(mode, views, kind, split, 2);
        Race {
            title: format!("{} {kind}: {what}", self.case.name),
            by: "wall_s",
            work: "views",
            asked: vec![Asked::Faster(1, least), Asked::Faster(2, least)],
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

    /// One thread each, by processor time.
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

    /// The search for the closest views that stops early, and the whole one.
    fn pruned(&self, kind: &str) -> Race {
        let (name, distinct) = (self.case.name, self.distinct);
        let we = |mode: &str| Ok(self.given(mode, distinct, kind, 2));
        Race {
            title: format!(
                "{name} {kind}: the 10 of {distinct} views closest to one, equal to the last bit"
            ),
            by: "wall_s",
            work: "views",
            asked: vec![Asked::Faster(1, 2.5)],
            runners: vec![
                Runner::new("perfkit, pruned", we("top10")),
                Runner::new("perfkit, all of them", we("top10-of-all")),
            ],
        }
    }

    /// Our side alone, on two threads and on one.
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

    /// Spectra that stay in a file, which is written if this race is run, so that it is of this program.
    fn in_file(&self, options: &Options) -> Result<Race, String> {
        let distinct = self.distinct;
        let points: u64 = self.case.shape.split('x').map(length).product();
        // A number a point and view, and the reference is one more.
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
            asked: vec![Asked::Memory(1000.0)],
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
