//! `correlate` with several profiles, such as runs of different sizes: table of the correlations
//! with one call path in each of them.

use super::Options;
use super::list::List;
use crate::failure::{Failure, Outcome};
use crate::messages;
use crate::output;
use crate::pictures;
use crate::recording;
use crate::table::{self, counted};
use perfkit::core::Table;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;

/// Correlation of one view in one profile.
#[derive(Clone, Debug, Serialize)]
struct Found {
    /// Signed correlation.
    r: f64,
    /// Shift, with commas between the axes.
    shift: String,
}

/// Profile with its correlations.
#[derive(Debug, Serialize)]
struct Scale {
    /// Name of the file.
    file: String,
    /// Grid of the locations.
    dims: Vec<usize>,
    /// Number of locations.
    locations: usize,
}

/// View with its correlation in each profile.
#[derive(Debug, Serialize)]
struct Pair {
    /// Metric with its scope.
    metric: String,
    /// Call path.
    path: String,
    /// Correlation in each profile; `None` if the profile does not have the view.
    found: Vec<Option<Found>>,
    /// Smallest |r| over all profiles, 0 if one of them does not have the view or the signs differ.
    consistent: f64,
}

/// Result of `--json`.
#[derive(Debug, Serialize)]
struct Document<'a> {
    /// Metric of the reference, with its scope.
    metric: &'a str,
    /// Call path of the reference.
    path: &'a str,
    /// Profiles in the order of the command line.
    profiles: &'a [Scale],
    /// Number of pairs before the selection.
    pairs_total: usize,
    /// First pairs.
    pairs: &'a [Pair],
}

/// Correlates the reference in each profile, and prints a table of the pairs over the profiles.
///
/// # Errors
/// Returns [`Failure::Usage`] for output files that need a single profile, and the errors of the
/// list of one profile.
pub(super) fn run(options: &Options, out: &mut dyn Write) -> Outcome {
    let single = options.cube.is_some() || options.write_topology.is_some();
    if single || options.files.all().next().is_some() {
        let what = "pictures, pages, --cube and --write-topology need a single profile; --csv and --json take several";
        return Err(Failure::Usage(what.into()));
    }
    let Some(mut path) = options.path.clone() else {
        let what = "several profiles need --path, the call path to compare with in each of them";
        return Err(Failure::Usage(what.into()));
    };
    let files = std::iter::once(&options.file).chain(&options.more);
    let names = distinct_names(files.clone())?;
    let (mut scales, mut reference) = (Vec::new(), None);
    let mut pairs: BTreeMap<(String, String), Vec<Option<Found>>> = BTreeMap::new();
    let mut listed = BTreeSet::new();
    let count = options.more.len() + 1;
    for (at, file) in files.enumerate() {
        let own = Options {
            file: file.clone(),
            path: Some(path.clone()),
            ..options.clone()
        };
        let opened = recording::profile_by(file, options.window)?;
        let located = |failure: Failure| match failure {
            Failure::Input(what) => Failure::Input(format!("{}: {what}", file.display())),
            other => other,
        };
        let list = List::of(&opened.profile, &own).map_err(located)?;
        for note in list.notes(0) {
            messages::say(&format!("note: {}: {note}", names[at]));
        }
        let label = list.label(list.reference);
        if at == 0 {
            // A number is that of a call path of the first profile.
            path.clone_from(&label.1);
        }
        reference.get_or_insert(label);
        for (is_listed, found) in list.with_kin() {
            let label = list.label(list.row(found));
            if is_listed {
                listed.insert(label.clone());
            }
            let slots = pairs.entry(label).or_insert_with(|| vec![None; count]);
            if let Some(slot) = slots.get_mut(at) {
                *slot = Some(Found {
                    r: found.r(),
                    shift: list.shift(found),
                });
            }
        }
        scales.push(Scale {
            file: names[at].clone(),
            dims: list.topology.shape().lens(),
            locations: list.profile.system().locations().len(),
        });
    }
    let (metric, path) = reference.unwrap_or_default();
    let pairs = pairs.into_iter().filter(|(label, found)| {
        // Constant views correlate with nothing.
        listed.contains(label) && found.iter().flatten().any(|it| it.r != 0.0)
    });
    let pairs = pairs.map(|((metric, path), found)| Pair {
        metric,
        path,
        consistent: consistent(&found),
        found,
    });
    let mut pairs: Vec<Pair> = pairs.collect();
    // Names break ties, because pairs are in their order.
    pairs.sort_by(|one, other| other.consistent.total_cmp(&one.consistent));
    let total = pairs.len();
    let table = |pairs: &[Pair]| table_of(pairs, &scales);
    output::csv(options.csv.as_ref(), || Ok(table(&pairs)))?;
    pairs.truncate(options.top);
    if options.general.json {
        let document = Document {
            metric: &metric,
            path: &path,
            profiles: &scales,
            pairs_total: total,
            pairs: &pairs,
        };
        return output::json(out, &document);
    }
    writeln!(out, "{metric} of {path} in {}", counted(count, "profile"))?;
    for scale in &scales {
        let dims: Vec<String> = scale.dims.iter().map(usize::to_string).collect();
        let (file, dims) = (&scale.file, dims.join(" x "));
        writeln!(
            out,
            "  {file}: {}, grid {dims}",
            counted(scale.locations, "location")
        )?;
    }
    writeln!(
        out,
        "  r with each view, first those whose weakest r over all profiles is the strongest; views whose sign changes \
         or that a profile does not have are last"
    )?;
    table::print(out, &table(&pairs), 60)?;
    if total > pairs.len() {
        writeln!(
            out,
            "  {} more: --top",
            counted(total - pairs.len(), "view")
        )?;
    }
    Ok(())
}

/// Returns the names of profiles for their columns: whole paths if files in several folders have one
/// name.
///
/// # Errors
/// Returns [`Failure::Usage`] for a file that is given twice.
fn distinct_names<'a>(
    files: impl Iterator<Item = &'a PathBuf> + Clone,
) -> Result<Vec<String>, Failure> {
    let mut known = BTreeSet::new();
    for file in files.clone() {
        // A file that cannot be found is reported when it is read.
        let place = file.canonicalize().unwrap_or_else(|_| file.clone());
        if !known.insert(place) {
            return Err(Failure::Usage(format!(
                "{} is given twice: its correlations would be compared with themselves; give each profile once",
                file.display()
            )));
        }
    }
    let short: Vec<String> = files.clone().map(|file| pictures::name(file)).collect();
    let names = short.iter().zip(files).map(|(name, file)| {
        let same = short.iter().filter(|other| *other == name);
        match same.count() {
            1 => name.clone(),
            _ => file.display().to_string(),
        }
    });
    Ok(names.collect())
}

/// Returns the smallest magnitude over all profiles; 0 if one of them does not have the view or the
/// signs differ.
fn consistent(found: &[Option<Found>]) -> f64 {
    let values: Option<Vec<f64>> = found.iter().map(|it| it.as_ref().map(|it| it.r)).collect();
    let values = values.unwrap_or_default();
    let is_same_sign = values.iter().all(|r| *r > 0.0) || values.iter().all(|r| *r < 0.0);
    let least = values.iter().map(|r| r.abs()).fold(f64::INFINITY, f64::min);
    if is_same_sign && least.is_finite() {
        least
    } else {
        0.0
    }
}

/// Returns the pairs as a table with two columns for each profile.
fn table_of(pairs: &[Pair], scales: &[Scale]) -> Table {
    let table = Table::new(
        "scales",
        "Correlations with the reference in several profiles.",
    )
    .text("call path", pairs.iter().map(|it| it.path.clone()))
    .text("metric", pairs.iter().map(|it| it.metric.clone()));
    let is_repeated = |locations: usize| {
        let same = scales.iter().filter(|scale| scale.locations == locations);
        same.count() > 1
    };
    scales.iter().enumerate().fold(table, |table, (at, scale)| {
        let name = if is_repeated(scale.locations) {
            scale.file.clone()
        } else {
            format!("p = {}", scale.locations)
        };
        let found = |it: &Pair| it.found.get(at).cloned().flatten();
        let r = pairs.iter().map(|it| found(it).map(|it| it.r));
        let shifts = pairs.iter().map(|it| found(it).map(|it| it.shift));
        table
            .floats(format!("r ({name})"), "", r)
            .text(format!("shift ({name})"), shifts)
    })
}
