//! Races of clustering between perfkit, linfa, scikit-learn and hdbscan, and of sequence alignment
//! and tracking, with one thread each unless noted.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compare::race::{Race, Runner};
use crate::compare::target::Target;
use crate::compare::{Options, target_folder, workshop};
use crate::python::python;
use crate::{cargo, execute, root};

/// Program of `perfkit-benches` that generates points and runs perfkit.
const OURS: &str = "perfkit-bench-cluster";
/// Program that aligns sequences.
const ALIGN: &str = "perfkit-bench-spmd";
/// Program that tracks recordings, including the reading of their files.
const TRACK: &str = "perfkit-bench-track";

/// Builds the program, writes the points unless they exist, and lists the races.
pub(crate) fn races(_: &Options) -> Result<Vec<Race>, String> {
    let arguments = ["build", "--quiet", "--release"];
    let bin = [
        "--package",
        "perfkit-benches",
        "--features",
        "linfa",
        "--bin",
        OURS,
        "--bin",
        ALIGN,
        "--bin",
        TRACK,
    ];
    execute(cargo(&arguments).args(bin))?;
    let release = target_folder()?.join("release");
    let ours = release.join(OURS);
    let (small, middle, large) = (
        generated(&ours, 10_000)?,
        generated(&ours, 100_000)?,
        generated(&ours, 5_000_000)?,
    );
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let we = |mode: &str, file: &Path, more: &[&str]| {
        let more = more.iter().map(|word| (*word).to_string());
        let words = [text(&ours), mode.into(), text(file)];
        Ok(words.into_iter().chain(more).collect::<Vec<String>>())
    };
    let they = |package: &'static str, module: &str, words: [&str; 4]| {
        let python = python(module, package)?;
        let peer = text(&root().join("data/peers/cluster.py"));
        let words = words.map(String::from);
        Ok([text(&python), peer].into_iter().chain(words).collect())
    };
    let dense = ["--eps", "0.01"];
    let sparse = ["--eps", "0.002"];
    let learn = |file: &Path, eps: &str| {
        let words = ["dbscan", &text(file), eps, "10"];
        they("scikit-learn (pip)", "sklearn", words)
    };
    let dbscan = |title: &str, file: &Path, options: &[&str], eps: &str, asked| Race {
        title: title.into(),
        by: "cpu_s",
        work: "points",
        asked,
        runners: vec![
            Runner::new("perfkit", we("dbscan", file, options)),
            Runner::new("linfa", we("linfa", file, options)),
            Runner::new("scikit-learn", learn(file, eps)),
        ],
    };
    let two = ["--eps", "0.0005", "--threads", "2"];
    let sizes = ["--min-points", "10", "--min-size", "100"];
    let package = they(
        "hdbscan (pip)",
        "hdbscan",
        ["hdbscan", &text(&middle), "10", "100"],
    );
    let align = [text(&release.join(ALIGN)), "1024".into()];
    let align = align.into_iter().chain(["1000", "10"].map(String::from));
    let track = [text(&release.join(TRACK)), "0.04".into()];
    let track = epoch().map(|files| track.into_iter().chain(files).collect());
    Ok(vec![
        dbscan(
            "DBSCAN of 10,000 points, eps 0.01",
            &small,
            &dense,
            "0.01",
            Vec::new(),
        ),
        dbscan(
            "DBSCAN of 100,000 points, eps 0.002",
            &middle,
            &sparse,
            "0.002",
            Vec::new(),
        ),
        dbscan(
            "DBSCAN of 100,000 points, eps 0.01",
            &middle,
            &dense,
            "0.01",
            vec![Target::Seconds(0.1), Target::Memory(50.0)],
        ),
        Race {
            title: "DBSCAN of 5 million points, eps 0.0005, on one core".into(),
            by: "cpu_s",
            work: "points",
            asked: vec![Target::Seconds(10.0), Target::Memory(1000.0)],
            runners: vec![Runner::new("perfkit", we("dbscan", &large, &two[..2]))],
        },
        Race {
            title: "what a second core is worth: DBSCAN of 5 million points, eps 0.0005".into(),
            by: "wall_s",
            work: "points",
            asked: vec![Target::Faster(1, 1.6)],
            runners: vec![
                Runner::new("perfkit, 2 threads", we("dbscan", &large, &two)),
                Runner::new("perfkit, 1 thread", we("dbscan", &large, &two[..2])),
            ],
        },
        Race {
            title: "HDBSCAN of 100,000 points".into(),
            by: "cpu_s",
            work: "points",
            asked: Vec::new(),
            runners: vec![
                Runner::new("perfkit", we("hdbscan", &middle, &sizes)),
                Runner::new("hdbscan", package),
            ],
        },
        Race {
            title: "alignment of 1,024 threads of 1,000 bursts, 1 % of them another on each".into(),
            by: "cpu_s",
            work: "columns",
            asked: vec![Target::Seconds(10.0), Target::Memory(1000.0)],
            runners: vec![Runner::new("perfkit", Ok(align.collect()))],
        },
        Race {
            title: "tracking EPOCH on 2, 4 and 16 tasks, from files to objects".into(),
            by: "wall_s",
            work: "clusters",
            asked: vec![Target::Seconds(1.0)],
            runners: vec![Runner::new("perfkit", track)],
        },
    ])
}

/// Returns the paths of the traces of a strong-scaling series in the corpus.
fn epoch() -> Result<Vec<String>, &'static str> {
    let corpus = std::env::var("PERFKIT_CORPUS").map_err(|_| "the corpus (PERFKIT_CORPUS)")?;
    let file = |tasks| format!("{corpus}/paraver/epoch/epoch_{tasks}proc.prv.gz");
    Ok([2, 4, 16].map(file).to_vec())
}

/// Returns a file of `points` points, generated unless it exists.
fn generated(ours: &Path, points: usize) -> Result<PathBuf, String> {
    let file = workshop()?.join(format!("phases-{points}.f64"));
    if !file.exists() {
        // Write to a temporary name, so that an interrupted run leaves no incomplete file.
        let part = file.with_extension("part");
        let count = points.to_string();
        execute(
            Command::new(ours)
                .arg("generate")
                .arg(&part)
                .args(["--points", &count]),
        )?;
        std::fs::rename(&part, &file).map_err(|error| error.to_string())?;
    }
    Ok(file)
}
