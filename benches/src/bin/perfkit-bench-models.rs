//! Prints the scaling models of perfkit and of Extra-P for the call paths of Cube profiles, and the
//! errors of both when they predict scales that were left out.
//!
//! `perfkit-bench-models PYTHON models.py FILE.cubex...`: the names of the files state their parameters, as in
//! `lulesh.p27.size30.r1.cubex`. Prints a row for each call path with most time, with both models of all
//! files. Then each value of the last parameter is left out in turn, and the median error of the predictions
//! of both, the share of perfkit's 95 % intervals that hold, and their median width follow.

use perfkit::core::{CallPathId, Job, Scope};
use perfkit::formats::OpenOptions;
use perfkit::formats::cube::Cube;
use perfkit::track::scaling::{Measurements, ScalingModel};
use perfkit_benches::Outcome;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Number of listed call paths.
const LISTED: usize = 10;

/// Scale and value of each measurement.
type Points = Vec<(Vec<f64>, f64)>;

/// Names of call paths with their measurements.
type Series = Vec<(String, Points)>;

fn main() -> ExitCode {
    perfkit_benches::main(
        "usage: perfkit-bench-models PYTHON models.py FILE.cubex...",
        run,
    )
}

fn run(words: &[String]) -> Outcome<String> {
    let [python, script, files @ ..] = words else {
        return Err("a Python, the script and files, please".into());
    };
    let (names, series) = read(files)?;
    let peer = |series: &[(String, Points)], scales: &[Vec<f64>]| {
        extra_p((python, script), &names, series, scales)
    };
    let mut text = String::from("| call path | perfkit | Extra-P |\n|---|---|---|\n");
    let others = peer(&series, &[])?;
    for (name, points) in series.iter().take(LISTED) {
        let own = fit(&names, points)?.map_or("none".to_owned(), |model| model.to_string());
        let other = others.get(name).map_or("none", |found| found.0.as_str());
        writeln!(text, "| `{}` | {own} | {other} |", short(name))?;
    }
    let last = names.len() - 1;
    let mut levels: Vec<f64> = series
        .iter()
        .flat_map(|of| of.1.iter().map(|point| point.0[last]))
        .collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let (mut own_errors, mut peer_errors, mut widths, mut held) = (vec![], vec![], vec![], 0);
    for level in levels {
        let divide = |points: &Points, is_left_out: bool| -> Points {
            let kept = |point: &&(Vec<f64>, f64)| (point.0[last] == level) == is_left_out;
            points.iter().filter(kept).cloned().collect()
        };
        let rest: Series = series
            .iter()
            .map(|(name, points)| (name.clone(), divide(points, false)))
            .collect();
        let scales: Vec<Vec<f64>> = divide(&series[0].1, true)
            .into_iter()
            .map(|point| point.0)
            .collect();
        let others = peer(&rest, &scales)?;
        for ((name, points), (_, rest)) in series.iter().zip(&rest) {
            let (Some(model), Some(other)) = (fit(&names, rest)?, others.get(name)) else {
                continue;
            };
            for ((scale, value), predicted) in divide(points, true).iter().zip(&other.1) {
                let found = model.predict(scale)?;
                own_errors.push((found.value / value - 1.0).abs());
                peer_errors.push((predicted / value - 1.0).abs());
                if let Some((low, high)) = found.interval {
                    held += usize::from(low <= *value && *value <= high);
                    widths.push((high / low).sqrt());
                }
            }
        }
    }
    let count = widths.len();
    write!(
        text,
        "\n{} predictions of {} call paths: median error {:.1} % (perfkit), {:.1} % (Extra-P); mean of errors up to 100 %: \
         {:.1} % and {:.1} %; {held} of {count} intervals hold, median factor {:.2} to either side",
        own_errors.len(),
        series.len(),
        100.0 * median(&mut own_errors),
        100.0 * median(&mut peer_errors),
        100.0 * capped(&own_errors),
        100.0 * capped(&peer_errors),
        median(&mut widths),
    )?;
    Ok(text)
}

/// Reads the mean exclusive time of a location in each call path, in descending order of the last file. Call
/// paths without time in a file are skipped.
fn read(files: &[String]) -> Outcome<(Vec<String>, Series)> {
    let (mut names, mut all) = (Vec::new(), BTreeMap::<String, Points>::new());
    for file in files {
        let name = Path::new(file).file_name().unwrap_or_default();
        let (own, scale) = in_name(&name.to_string_lossy());
        names = own;
        let cube = Cube::open(file, &OpenOptions::new(), &Job::default())?;
        let profile = cube.profile();
        let time = profile.metric("time").ok_or("no metric time")?;
        let labels = profile.call_path_labels();
        let locations = profile.system().locations().len() as f64;
        for path in (0..profile.calls().paths().len()).filter_map(CallPathId::from_index) {
            let row = profile.scoped(time, path, Scope::Exclusive)?;
            let value = row.map_or(0.0, |row| row.sum().as_f64()) / locations;
            let points = all.entry(labels.label(path)).or_default();
            points.push((scale.clone(), value));
        }
    }
    let is_whole =
        |points: &Points| points.len() == files.len() && points.iter().all(|point| point.1 > 0.0);
    let mut series: Series = all.into_iter().filter(|of| is_whole(&of.1)).collect();
    let last = |of: &(String, Points)| of.1.last().map_or(0.0, |point| point.1);
    series.sort_by(|a, b| last(b).total_cmp(&last(a)));
    if names.is_empty() || series.is_empty() {
        return Err("no parameters in the names of the files, or no common call path".into());
    }
    Ok((names, series))
}

/// Returns the parameters in the name of a file: letters and a number between points.
fn in_name(name: &str) -> (Vec<String>, Vec<f64>) {
    let parts = name.split('.').filter_map(|part| {
        let digits = part.find(|of: char| of.is_ascii_digit())?;
        let (name, value) = part.split_at(digits);
        let value: f64 = value.parse().ok()?;
        (!name.is_empty() && name != "r").then(|| (name.to_owned(), value))
    });
    parts.unzip()
}

fn fit(names: &[String], points: &Points) -> Outcome<Option<ScalingModel>> {
    let mut data = Measurements::new(names.iter().cloned());
    for (scale, value) in points {
        data.push(scale, *value)?;
    }
    Ok(ScalingModel::fit(&data, 0.95, &Job::default())?)
}

/// Returns the model of each series by Extra-P, and its values at some scales.
fn extra_p(
    (python, script): (&str, &str),
    names: &[String],
    series: &[(String, Points)],
    scales: &[Vec<f64>],
) -> Outcome<BTreeMap<String, (String, Vec<f64>)>> {
    let joined = |scale: &[f64], with: &str| -> String {
        let words: Vec<String> = scale.iter().map(f64::to_string).collect();
        words.join(with)
    };
    let mut text = String::new();
    for name in names {
        writeln!(text, "PARAMETER {name}")?;
    }
    let points: Vec<String> = series[0]
        .1
        .iter()
        .map(|point| format!("({})", joined(&point.0, " ")))
        .collect();
    writeln!(text, "POINTS {}", points.join(" "))?;
    for (number, (_, points)) in series.iter().enumerate() {
        writeln!(text, "REGION path{number}\nMETRIC time")?;
        for (_, value) in points {
            writeln!(text, "DATA {value:e}")?;
        }
    }
    let file = std::env::temp_dir().join(format!("perfkit-models-{}.txt", std::process::id()));
    std::fs::write(&file, text)?;
    let scales: Vec<String> = scales.iter().map(|scale| joined(scale, ",")).collect();
    let out = Command::new(python)
        .arg(script)
        .arg(&file)
        .arg(scales.join(" "))
        .output();
    std::fs::remove_file(&file)?;
    let out = out?;
    if !out.status.success() {
        return Err(String::from_utf8_lossy(&out.stderr).into_owned().into());
    }
    let mut all = BTreeMap::new();
    for line in String::from_utf8(out.stdout)?.lines() {
        let mut words = line.split('\t');
        let (Some(region), Some(model)) = (words.next(), words.next()) else {
            continue;
        };
        let number: usize = region.trim_start_matches("path").parse()?;
        let values = words.map(str::parse).collect::<Result<Vec<f64>, _>>()?;
        all.insert(series[number].0.clone(), (rounded(model), values));
    }
    Ok(all)
}

/// Returns a model with three significant digits in its coefficients.
fn rounded(model: &str) -> String {
    let word = |word: &str| match word.parse::<f64>() {
        Ok(number) => format!("{number:.2e}"),
        Err(_) => word.to_owned(),
    };
    model.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Returns the last two functions of a call path without their arguments.
fn short(path: &str) -> String {
    let functions: Vec<&str> = path.split(" > ").collect();
    let last = functions.iter().rev().take(2).rev();
    let names = last.map(|name| name.split('(').next().unwrap_or(name));
    names.collect::<Vec<_>>().join(" > ")
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Returns the mean of values, each at most 1.
fn capped(values: &[f64]) -> f64 {
    values.iter().map(|value| value.min(1.0)).sum::<f64>() / values.len() as f64
}
