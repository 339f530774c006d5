//! Correlation in the frequency domain: perfkit and FFTW, on the shapes of Table 1 of the paper.

use std::path::Path;
use std::process::Command;

use super::race::{Race, Runner};
use super::{Options, target_folder, workshop};
use crate::python::python;
use crate::{cargo, execute, root};

/// Program of `perfkit-benches` that generates views and runs our side.
const OURS: &str = "perfkit-bench-spectral";

/// Name, shape, views that are correlated, how many of them differ (those fill more than the caches and
/// are cycled: all 624 of NEKBONE would take 9 GB on either side), and views that are transformed.
const CASES: [(&str, &str, u32, u32, u32); 3] = [
    ("NEKBONE", "28x8x8x8x2x16x4", 624, 24, 60),
    ("psOpen", "4x4x4x8x2x16x4", 2031, 256, 2031),
    ("Sweep3D", "32x32x64", 850, 256, 1700),
];

/// Builds our program, writes the views unless they are there, and lists the races.
pub(crate) fn races(options: &Options) -> Result<Vec<Race>, String> {
    let chosen = |name: &str| match &options.shape {
        Some(shape) => *shape == name.to_lowercase(),
        None => true,
    };
    if !CASES.iter().any(|case| chosen(case.0)) {
        let names: Vec<_> = CASES.iter().map(|case| case.0).collect();
        return Err(format!("the shapes are {}", names.join(", ")));
    }
    let arguments = ["build", "--quiet", "--release"];
    execute(cargo(&arguments).args(["--package", "perfkit-benches", "--bin", OURS]))?;
    let ours = target_folder()?.join("release").join(OURS);
    let mut races = Vec::new();
    for (name, shape, views, distinct, transforms) in
        CASES.into_iter().filter(|case| chosen(case.0))
    {
        let file = workshop()?.join(format!("views-{shape}-{distinct}.f64"));
        if !file.exists() {
            // Under another name until it is whole. The reference is one more.
            let part = file.with_extension("part");
            let count = (distinct + 1).to_string();
            execute(
                Command::new(&ours)
                    .arg("generate")
                    .arg(&part)
                    .args([shape, &count]),
            )?;
            std::fs::rename(&part, &file).map_err(|error| error.to_string())?;
        }
        for kind in ["f64", "f32"] {
            let title = format!(
                "{name} {kind}: one view against {views} ({distinct} of them differ), product, inverse, extremes"
            );
            races.push(race(
                title,
                "correlate",
                [shape, &views.to_string(), kind],
                &ours,
                &file,
            ));
            let views = transforms.to_string();
            let title = format!("{name} {kind}: forward transforms");
            races.push(race(title, "forward", [shape, &views, kind], &ours, &file));
        }
    }
    Ok(races)
}

fn race(title: String, mode: &str, work: [&str; 3], ours: &Path, file: &Path) -> Race {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let words = |first: &[String], rest: &[&str]| -> Vec<String> {
        let rest = rest.iter().map(|word| (*word).to_string());
        first.iter().cloned().chain(rest).collect()
    };
    let file = text(file);
    let [shape, views, kind] = work;
    let we = [text(ours)];
    // All that are in the file.
    let we = words(
        &we,
        &[mode, shape, views, kind, "--threads", "2", "--views", &file],
    );
    let theirs = |split: &str| {
        let python = python("pyfftw, numpy", "pyfftw (pip)")?;
        let peer = [text(&python), text(&root().join("data/peers/spectral.py"))];
        Ok(words(&peer, &[mode, &file, shape, views, kind, split]))
    };
    Race {
        title,
        by: "wall_s",
        work: "views",
        runners: vec![
            Runner::new("perfkit, 2 threads", Ok(we)),
            Runner::new("FFTW, a thread for half of the views", theirs("lanes")),
            Runner::new("FFTW, 2 threads in each transform", theirs("inside")),
        ],
    }
}
