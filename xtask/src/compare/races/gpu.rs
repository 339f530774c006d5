//! Races of the utilisation of devices: perfkit, and Holistic Trace Analysis of PyTorch.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compare::race::{Race, Runner};
use crate::compare::target::Target;
use crate::compare::{Options, target_folder, workshop};
use crate::python::python;
use crate::{cargo, execute, root};

/// Program of `perfkit-benches` that runs perfkit.
const OURS: &str = "perfkit-bench-gpu";

/// Size of a generated file of about 200,000 events.
const SIZE: &str = "54M";

/// Files below the folder `gpu` of the corpus that are used if the corpus is available.
const FILES: [&str; 4] = [
    "hta/tests/data/trace_filter/sampled_rank-0.json.gz",
    "hta/tests/data/nccl_parser_config/nccl_data.json.gz",
    "hta/tests/data/trace_diff/test/test.json.gz",
    "param/dlrm_kineto/worker0_step_12.1694128201545.pt.trace.json",
];

/// Size of a generated file that is far larger than the data kept from it.
const HUGE: &str = "2G";

/// Generates a file of about the given size unless it exists.
fn generated(ours: &Path, file: &Path, size: &str) -> Result<PathBuf, String> {
    if !file.exists() {
        // Write to a temporary name, so that an interrupted run leaves no incomplete file.
        let part = file.with_extension("part");
        execute(Command::new(ours).arg("generate").arg(&part).arg(size))?;
        std::fs::rename(&part, file).map_err(|error| error.to_string())?;
    }
    Ok(file.into())
}

/// Builds the program, writes large files unless they exist, and lists the races.
///
/// Both tools print the idle, compute and non-compute time as Holistic Trace Analysis defines them,
/// so that the answers must agree. perfkit also computes the utilisation by its default rules.
pub(crate) fn races(_: &Options) -> Result<Vec<Race>, String> {
    let arguments = ["build", "--quiet", "--release"];
    execute(cargo(&arguments).args(["--package", "perfkit-benches", "--bin", OURS]))?;
    let ours = target_folder()?.join("release").join(OURS);
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let workshop = workshop()?;
    let large = generated(&ours, &workshop.join("kineto-200k.json"), SIZE)?;
    let huge = generated(&ours, &workshop.join("kineto-2g.json"), HUGE)?;
    let planted = root().join("data/gpu/planted-6x14.json.gz");
    let mut files: Vec<(String, PathBuf)> = vec![
        ("bundled, 6 devices of 14 streams".into(), planted),
        ("generated, 200,000 events".into(), large.clone()),
    ];
    if let Some(corpus) = std::env::var_os("PERFKIT_CORPUS") {
        let corpus = PathBuf::from(corpus).join("gpu");
        let known = FILES.map(|name| (name.to_owned(), corpus.join(name)));
        files.extend(known.into_iter().filter(|(_, path)| path.exists()));
    }
    let python = python("hta", "HolisticTraceAnalysis (pip)");
    let race = |(name, file): (String, PathBuf)| {
        let peer = python.clone().map(|python| {
            let peer = root().join("data/peers/gpu.py");
            vec![text(&python), text(&peer), text(&file)]
        });
        Race {
            title: format!("how busy devices are: {name}"),
            by: "cpu_s",
            work: "events",
            asked: if file.starts_with(&workshop) {
                vec![Target::Faster(1, 20.0), Target::Leaner(1, 10.0)]
            } else {
                Vec::new()
            },
            runners: vec![
                Runner::new("perfkit", Ok(vec![text(&ours), "hta".into(), text(&file)])),
                Runner::new("Holistic Trace Analysis", peer),
            ],
        }
    };
    let busy = |title: &str, file: &Path, asked: Vec<Target>| Race {
        title: title.into(),
        by: "cpu_s",
        work: "bytes",
        asked,
        runners: vec![Runner::new(
            "perfkit",
            Ok(vec![text(&ours), "busy".into(), text(file)]),
        )],
    };
    let mut races: Vec<Race> = files.into_iter().map(race).collect();
    let rate = Target::Rate(200.0);
    races.push(busy(
        "Kineto, 200,000 events, to busy time",
        &large,
        vec![rate],
    ));
    let memory = Target::Beyond(500.0);
    races.push(busy(
        "Kineto, 2 GB, to busy time",
        &huge,
        vec![rate, memory],
    ));
    Ok(races)
}
