//! `cargo xtask fuzz [TARGET...] [--seconds N]`: fuzzes every reader and decoder.
//!
//! One program contains all targets (`fuzz/`). It lists the targets, writes their initial inputs,
//! and is run once for each target, in parallel on all cores. Interesting inputs stay in
//! `fuzz/corpus` of the target folder, and the next run continues with them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use crate::ci::install;
use crate::{Outcome, execute, output_of, root, target_folder};

/// Pinned version, so that a new release cannot make the gate fail.
pub(crate) const CARGO_FUZZ: &str = "0.13.2";

/// Default number of seconds for each target.
const SECONDS: u64 = 20;

/// Fuzz target.
struct Target {
    /// Name of the target.
    name: String,
    /// Maximum size of its inputs in bytes.
    most: String,
}

/// Result of a target.
struct Ran {
    name: String,
    runs: String,
    covered: String,
    /// Message of the fuzzer and path of the input; `None` if the target did not fail.
    found: Option<(String, String)>,
}

/// Fuzzes the named targets, or all targets if none is named.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let mut seconds = SECONDS;
    let mut named = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => {
                let number = words.next().and_then(|text| text.parse().ok());
                seconds = number.ok_or("--seconds: how many?")?;
            }
            name => named.push(name),
        }
    }
    let program = build()?;
    let mut targets = targets(&program)?;
    if let Some(unknown) = named
        .iter()
        .find(|name| !targets.iter().any(|target| target.name == **name))
    {
        let names: Vec<_> = targets.iter().map(|target| target.name.as_str()).collect();
        return Err(format!(
            "no target is called {unknown}: {}",
            names.join(", ")
        ));
    }
    targets.retain(|target| named.is_empty() || named.contains(&target.name.as_str()));
    let folder = target_folder()?.join("fuzz");
    let mut seeds = Command::new(&program);
    if let Some(corpus) = crate::ci::corpus() {
        seeds.env("PERFKIT_CORPUS", corpus);
    }
    execute(seeds.env("PERFKIT_FUZZ_SEEDS", folder.join("seeds")))?;
    let all = fuzz_all(&program, &folder, &targets, seconds)?;
    println!(
        "   {:<12} {:>12} {:>10}",
        "target", "executions", "coverage"
    );
    for one in &all {
        println!("   {:<12} {:>12} {:>10}", one.name, one.runs, one.covered);
    }
    let mut finds = Vec::new();
    for one in all {
        if let Some((said, input)) = one.found {
            println!("== {}: {input}\n{said}", one.name);
            finds.push(one.name);
        }
    }
    if finds.is_empty() {
        Ok(())
    } else {
        Err(format!("inputs were found for {}", finds.join(", ")))
    }
}

/// Builds the program in a target folder of its own, so that other builds can run at the same time, and returns its
/// path.
pub(crate) fn build() -> Result<PathBuf, String> {
    install("cargo-fuzz", CARGO_FUZZ)?;
    // The code has no `unsafe` that a sanitizer could check, and without a sanitizer a stable
    // compiler suffices.
    let arguments = [
        "fuzz",
        "build",
        "--sanitizer",
        "none",
        "--codegen-units",
        "16",
    ];
    let folder = target_folder()?.join("fuzz/build");
    // The output is printed on failure only.
    output_of(
        crate::cargo(&arguments)
            .arg("readers")
            .env("CARGO_TARGET_DIR", &folder),
    )?;
    let about = output_of(Command::new("rustc").arg("-vV"))?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or("rustc does not say what it compiles for")?;
    Ok(folder.join(host).join("release/readers"))
}

/// Returns the targets that the program lists, one on each line with the maximum size of its
/// inputs.
fn targets(program: &Path) -> Result<Vec<Target>, String> {
    let text = output_of(Command::new(program).env("PERFKIT_FUZZ_LIST", "1"))?;
    let target = |line: &str| {
        let (name, most) = line.split_once(' ')?;
        Some(Target {
            name: name.into(),
            most: most.into(),
        })
    };
    let all: Vec<Target> = text.lines().filter_map(target).collect();
    if all.is_empty() {
        Err(format!("{} has no targets", program.display()))
    } else {
        Ok(all)
    }
}

/// Runs each target once, in parallel on all cores.
fn fuzz_all(
    program: &Path,
    folder: &Path,
    targets: &[Target],
    seconds: u64,
) -> Result<Vec<Ran>, String> {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let ran = fuzz(program, folder, target, seconds);
                    if let Ok(mut all) = all.lock() {
                        all.push(ran);
                    }
                }
            });
        }
    });
    let all = all.into_inner().map_err(|_| "a thread failed")?;
    let mut all = all.into_iter().collect::<Result<Vec<Ran>, String>>()?;
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

fn fuzz(program: &Path, folder: &Path, target: &Target, seconds: u64) -> Result<Ran, String> {
    let name = &target.name;
    let below = |kind: &str| folder.join(kind).join(name);
    for kind in ["corpus", "seeds", "artifacts"] {
        let path = below(kind);
        std::fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let artifacts = below("artifacts");
    let output = Command::new(program)
        .env("PERFKIT_FUZZ", name)
        .env("RAYON_NUM_THREADS", "1")
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={}", target.most))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args(["-timeout=60", "-rss_limit_mb=2048", "-print_final_stats=1"])
        .args([below("corpus"), below("seeds")])
        .stdin(Stdio::null())
        .current_dir(root())
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let (runs, covered) = counted(&said);
    let found = (!output.status.success()).then(|| {
        let input = said
            .lines()
            .find_map(|line| line.split_once("Test unit written to "))
            .map_or("no input was written", |(_, path)| path);
        let from = said
            .find("panicked at")
            .unwrap_or(said.len().saturating_sub(2000));
        let said: String = said.chars().skip(from).take(2000).collect();
        (said, input.trim().to_string())
    });
    Ok(Ran {
        name: name.clone(),
        runs,
        covered,
        found,
    })
}

/// Returns the number of executions and of covered edges, as libFuzzer counts them.
fn counted(said: &str) -> (String, String) {
    let last = |mark: &str| {
        let mut lines = said.lines().rev();
        let found = lines.find_map(|line| line.split_once(mark))?;
        Some(found.1.split_whitespace().next()?.to_string())
    };
    let unknown = || "?".to_string();
    (
        last("stat::number_of_executed_units:").unwrap_or_else(unknown),
        last("cov: ").unwrap_or_else(unknown),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_fuzzer_counts_is_read() {
        let said = "#2\tINITED cov: 12 ft: 13 corp: 1/1b\n#90\tDONE   cov: 345 ft: 678 corp: 9/1Kb\n\
                    stat::number_of_executed_units: 90\n";
        assert_eq!(counted(said), ("90".into(), "345".into()));
        assert_eq!(counted(""), ("?".into(), "?".into()));
    }
}
