//! Subcommand `wait` with several recordings: compares the efficiencies of a series of runs by
//! factor ([`FACTORS`]), as text, JSON and coloured table.

use super::statement::Command;
use super::{Analysed, Analysis, Options, output::warnings, trace_of};
use crate::clocks;
use crate::failure::{Failure, Outcome, input};
use crate::findings;
use crate::options::file_names;
use crate::output;
use crate::pictures::{self, name};
use crate::recording::order_by_threads;
use crate::table::{self, counted};
use perfkit::core::{Nanos, Table};
use perfkit::view::{Grades, Section, Theme};
use perfkit::wait::efficiency::{Efficiencies, Series, SeriesRow};
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// Smallest loss of a factor that is described, as a difference of values in `0.0..=1.0`.
const MIN_LOSS: f64 = 0.02;

/// Factor of the efficiency: name, depth in the tree of factors, and value in a run.
pub(crate) type Factor = (&'static str, usize, fn(&SeriesRow) -> Option<f64>);

/// Factors of a series as a tree, in the order of a table.
pub(crate) const FACTORS: [Factor; 10] = [
    ("global efficiency", 0, |row| Some(row.global)),
    ("parallel efficiency", 1, |row| Some(row.parallel)),
    ("load balance", 2, |row| Some(row.load_balance)),
    ("communication efficiency", 2, |row| Some(row.communication)),
    ("serialisation efficiency", 3, |row| Some(row.serialisation)),
    ("transfer efficiency", 3, |row| Some(row.transfer)),
    ("computation scaling", 1, |row| {
        Some(row.computation_scaling)
    }),
    ("IPC scaling", 2, |row| row.ipc_scaling),
    ("instruction scaling", 2, |row| row.instruction_scaling),
    ("frequency scaling", 2, |row| row.frequency_scaling),
];

/// Index of the first scaling factor in [`FACTORS`].
const SCALING: usize = 6;

/// Indices in [`FACTORS`] of the factors whose product is the global efficiency.
const LEAVES: [usize; 4] = [2, 4, 5, 6];

/// Run of a series.
struct Run {
    /// Name of the run.
    name: String,
    /// Efficiencies of the ranks.
    efficiencies: Efficiencies,
    /// Sentence of the first finding, if there is one.
    first: Option<String>,
    /// Sentences about clocks that disagree.
    warnings: Vec<String>,
    /// Description of the clock correction, if there was one.
    corrected: Option<String>,
}

/// Reads all recordings and prints the efficiencies of the series.
///
/// # Errors
/// Returns [`Failure::Usage`] for options that apply to a single recording only, and
/// [`Failure::Input`] for a recording without efficiencies of MPI.
pub(super) fn run(options: &Options, out: &mut dyn Write) -> Outcome {
    let single = "of one recording, not of a series";
    if !options.questions.is_empty() {
        return Err(Failure::Usage(format!("--what-if asks {single}")));
    }
    if options.cube.is_some() {
        return Err(Failure::Usage(format!(
            "--cube writes the wait states {single}"
        )));
    }
    if options.window.is_given() {
        let what = "--from and --to are for a window of one recording: windows of equal length say nothing about speedup and scaling";
        return Err(Failure::Usage(what.into()));
    }
    let runs = options.files.iter().map(|file| read(file, options));
    let mut runs: Vec<Run> = runs.collect::<Result<_, _>>()?;
    order_by_threads(&mut runs, |run| run.efficiencies.processes.len());
    let efficiencies: Vec<Efficiencies> = runs.iter().map(|run| run.efficiencies.clone()).collect();
    let series = Series::of(&efficiencies, options.scaling).map_err(input)?;
    let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    output::csv(options.csv.as_ref(), || Ok(by_run(&series, &names)))?;
    let words = words(&series, &names);
    let title = "Efficiencies of a series";
    let table = |theme: Theme| grades(&series, &names).theme(theme);
    options.output.write(
        title,
        || Ok(table(Theme::light()).titled(title).scene()),
        || {
            let draw = |theme| table(theme).scene();
            let picture = Section::picture("efficiencies", title, draw, &words);
            let picture = picture.map_err(pictures::failed)?;
            let table = Section::table(
                "factors",
                "Efficiencies and scaling",
                &by_run(&series, &names),
            );
            Ok(vec![picture, table])
        },
    )?;
    if options.general.json {
        return output::json(out, &json(&runs, &series, &names));
    }
    writeln!(out, "{}", file_names(&options.files))?;
    for run in &runs {
        for warning in &run.warnings {
            writeln!(out, "warning: {}: {warning}", run.name)?;
        }
        if let Some(words) = &run.corrected {
            writeln!(out, "clocks of {}: corrected {words}", run.name)?;
        }
    }
    writeln!(
        out,
        "\nefficiencies of the POP methodology; scaling relative to {}",
        names[0]
    )?;
    table::print(out, &by_factor(&series, &names), 60)?;
    if !words.is_empty() {
        writeln!(out, "\n{words}")?;
    }
    writeln!(out, "\nfirst finding of each run")?;
    for run in &runs {
        let none = "nothing that would save 1 % of the run time or more";
        writeln!(
            out,
            "  {}: {}",
            run.name,
            run.first.as_deref().unwrap_or(none)
        )?;
    }
    Ok(())
}

/// Reads and analyses one recording.
fn read(file: &Path, options: &Options) -> Result<Run, Failure> {
    let recording = trace_of(file, options)?;
    let explain = findings::explain(&recording.diagnostics);
    let view = recording.trace.view();
    let found = Analysis::of(view, options.top.max(1), false).map_err(explain)?;
    let analysis = match found {
        Analysed::Found(analysis) => analysis,
        Analysed::Training(_) => {
            return Err(refused(file, "a training job has no efficiencies of MPI"));
        }
        Analysed::Nothing { reason, .. } => return Err(refused(file, &reason)),
    };
    let Some(efficiencies) = analysis.efficiencies.clone() else {
        return Err(refused(
            file,
            "no calls of MPI, of which efficiencies are compared",
        ));
    };
    let files = vec![file.to_string_lossy().into_owned()];
    let corrected = clocks::correction(&recording.diagnostics);
    let command = Command::new(files, corrected.is_some());
    let violations = clocks::violations(&recording.trace)?;
    let first = analysis.statements(&command).into_iter().next();
    Ok(Run {
        name: name(file),
        warnings: warnings(&recording, &violations, &command),
        corrected,
        first: first.map(|statement| statement.sentence),
        efficiencies,
    })
}

/// Returns the failure for a recording that cannot be a run of a series, with the reason.
fn refused(file: &Path, reason: &str) -> Failure {
    let file = file.display();
    Failure::Input(format!("{file}: {reason}; it is no run of a series"))
}

/// Returns the series as a table with a column for each run. The rows are processes, run time, speedup and the factors.
fn by_factor(series: &Series, names: &[&str]) -> Table {
    let factors: Vec<Factor> = present(series).collect();
    let heads = ["processes", "run time", "speedup"].map(String::from);
    let indented = |(name, depth, _): &Factor| format!("{}{name}", "  ".repeat(*depth));
    let heads = heads.into_iter().chain(factors.iter().map(indented));
    let table = Table::new(
        "factors",
        "Efficiencies, and scaling relative to the first run.",
    );
    let table = table.text("", heads);
    names
        .iter()
        .zip(&series.rows)
        .fold(table, |table, (name, run)| {
            let first = [
                run.processes.to_string(),
                run.runtime.to_string(),
                format!("{:.3}", run.speedup),
            ];
            let percent = |share: f64| format!("{:.2} %", 100.0 * share);
            let shares = factors.iter().map(|(.., value)| value(run).map(percent));
            let cells = first.map(Some).into_iter().chain(shares);
            table.text(name.to_string(), cells)
        })
}

/// Returns the factors that at least one run has; for a single run without scaling.
fn present(series: &Series) -> impl Iterator<Item = Factor> + '_ {
    let has = |(_, _, value): &Factor| series.rows.iter().any(|row| value(row).is_some());
    // A single run does not scale.
    let (from, to) = match series.rows.len() {
        1 => (1, SCALING),
        _ => (0, FACTORS.len()),
    };
    let own = FACTORS[from..to].iter().copied().filter(has);
    own.map(move |(name, depth, value)| (name, depth - from, value))
}

/// Returns the series as a table with a row for each run.
fn by_run(series: &Series, names: &[&str]) -> Table {
    let table = series.table();
    let named = Table::new(
        "efficiencies",
        "Efficiencies, and scaling relative to the first run.",
    );
    let named = named.text("run", names.iter().copied());
    table.columns().iter().cloned().fold(named, Table::with)
}

/// Returns the coloured table of a series.
pub(crate) fn grades(series: &Series, names: &[&str]) -> Grades {
    let heads = names.iter().zip(&series.rows);
    let heads = heads.map(|(name, row)| (name.to_string(), counted(row.processes, "rank")));
    let mut grades = Grades::new(heads);
    for (name, depth, value) in present(series) {
        grades.push(name, depth, series.rows.iter().map(value));
    }
    grades
}

/// Returns a sentence about the factor with the largest relative loss between the first and the last run. States that
/// there is none if no factor loses [`MIN_LOSS`].
fn words(series: &Series, names: &[&str]) -> String {
    let (Some(first), Some(last)) = (series.rows.first(), series.rows.last()) else {
        return String::new();
    };
    let (from, to) = (names.first().unwrap_or(&""), names.last().unwrap_or(&""));
    let lost = LEAVES.iter().filter_map(|at| {
        let (name, _, value) = FACTORS[*at];
        let (before, after) = (value(first)?, value(last)?);
        (before - after >= MIN_LOSS).then_some((name, before, after))
    });
    let worst = lost.max_by(|one, other| (other.2 / other.1).total_cmp(&(one.2 / one.1)));
    match worst {
        Some((name, before, after)) => format!(
            "The largest loss is in {name}: {:.1} % in {from}, {:.1} % in {to}.",
            100.0 * before,
            100.0 * after
        ),
        None => format!(
            "No factor loses {:.0} points from {from} to {to}.",
            100.0 * MIN_LOSS
        ),
    }
}

fn json(runs: &[Run], series: &Series, names: &[&str]) -> impl Serialize {
    #[derive(Serialize)]
    struct RunDocument {
        name: String,
        run_time_ns: Nanos,
        clocks_corrected: Option<String>,
        warnings: Vec<String>,
        first_finding: Option<String>,
    }
    #[derive(Serialize)]
    struct SeriesDocument {
        runs: Vec<RunDocument>,
        efficiencies: Table,
    }
    let run = |run: &Run| RunDocument {
        name: run.name.clone(),
        run_time_ns: run.efficiencies.runtime,
        clocks_corrected: run.corrected.clone(),
        warnings: run.warnings.clone(),
        first_finding: run.first.clone(),
    };
    SeriesDocument {
        runs: runs.iter().map(run).collect(),
        efficiencies: by_run(series, names),
    }
}
