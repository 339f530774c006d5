//! Correlation in the frequency domain: perfkit and FFTW, on the shapes of Table 1 of the paper.

use std::path::Path;
use std::process::Command;

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
        races.extend(of_case(case, options, &ours)?);
    }
    Ok(races)
}

/// The races of a shape.
fn of_case(case: &Case, options: &Options, ours: &Path) -> Result<Vec<Race>, String> {
    let Case { name, shape, .. } = case;
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
        execute(
            generate
                .arg("generate")
                .arg(&part)
                .args([shape, count.as_str()]),
        )?;
        std::fs::rename(&part, &file).map_err(|error| error.to_string())?;
    }
    let spectra = file.with_extension("spectra");
    let count = distinct.to_string();
    let mut store = Command::new(ours);
    let store = store
        .arg("store")
        .arg(&spectra)
        .args([shape, count.as_str(), "f64"]);
    execute(
        store
            .arg("--views")
            .arg(&file)
            .stdout(std::process::Stdio::null()),
    )?;
    let (file, spectra) = (text(&file), text(&spectra));
    let size = std::fs::metadata(&spectra).map_or(0, |about| about.len());
    let we = |mode: &str, views: u32, kind: &str, more: &[&str]| -> Vec<String> {
        let views = views.to_string();
        let words = [
            mode,
            shape,
            &views,
            kind,
            "--threads",
            "2",
            "--distinct",
            &count,
        ];
        let words = words.iter().chain(more).map(|word| (*word).to_string());
        std::iter::once(text(ours)).chain(words).collect()
    };
    let views = ["--views", file.as_str()];
    let mut races = Vec::new();
    for kind in ["f64", "f32"] {
        for (mode, views_of_mode, least, what) in [
            (
                "correlate",
                case.views,
                1.3,
                format!(
                    "one view against {} ({distinct} of them differ), product, inverse, extremes",
                    case.views
                ),
            ),
            (
                "forward",
                case.transforms,
                1.0,
                "forward transforms".to_string(),
            ),
        ] {
            let theirs = |split: &str| {
                let python = match split {
                    "scipy" => python("pyfftw, scipy.fft", "scipy (pip)")?,
                    _ => python("pyfftw, numpy", "pyfftw (pip)")?,
                };
                let peer = text(&root().join("data/peers/spectral.py"));
                let count = views_of_mode.to_string();
                let words = [peer.as_str(), mode, &file, shape, &count, kind, split];
                let words = words.iter().map(|word| (*word).to_string());
                Ok(std::iter::once(text(&python)).chain(words).collect())
            };
            races.push(Race {
                title: format!("{name} {kind}: {what}"),
                by: "wall_s",
                work: "views",
                asked: vec![Asked::Faster(1, least), Asked::Faster(2, least)],
                runners: vec![
                    Runner::new(
                        "perfkit, 2 threads",
                        Ok(we(mode, views_of_mode, kind, &views)),
                    ),
                    Runner::new("FFTW, a thread for half of the views", theirs("lanes")),
                    Runner::new("FFTW, 2 threads in each transform", theirs("inside")),
                    Runner::new("SciPy, 2 threads in each transform", theirs("scipy")),
                ],
            });
        }
        let title = format!(
            "{name} {kind}: the 10 of {distinct} views closest to one, equal to the last bit"
        );
        races.push(Race {
            title,
            by: "wall_s",
            work: "views",
            asked: vec![Asked::Faster(1, 2.5)],
            runners: vec![
                Runner::new("perfkit, pruned", Ok(we("top10", distinct, kind, &views))),
                Runner::new(
                    "perfkit, all of them",
                    Ok(we("top10-of-all", distinct, kind, &views)),
                ),
            ],
        });
    }
    let title = format!(
        "{name} f64: one view against {distinct}, spectra of {:.1} GB in a file",
        size as f64 / 1e9
    );
    let in_file = ["--file", spectra.as_str(), "--memory", MEMORY];
    races.push(Race {
        title,
        by: "wall_s",
        work: "views",
        asked: vec![Asked::Memory(1000.0)],
        runners: vec![
            Runner::new(
                "perfkit, in a file",
                Ok(we("correlate", distinct, "f64", &in_file)),
            ),
            Runner::new(
                "perfkit, in memory",
                Ok(we("correlate", distinct, "f64", &views)),
            ),
        ],
    });
    Ok(races)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
