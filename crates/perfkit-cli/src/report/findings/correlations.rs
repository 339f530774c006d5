//! Findings of the report about call paths whose times correlate over the grid of the ranks.

use super::{Finding, Kind, list};
use crate::correlate::{self, Related};
use crate::failure::{self, Failure};
use crate::report::Part;
use crate::report::exclusive_times::{Class, PathTime, Times, time_metric};
use crate::report::sources::Source;
use crate::table::shortened;
use perfkit::core::{CallPathId, CallTree, MetricId, Profile, Scope};
use std::ffi::OsString;

/// Smallest |r| of a finding.
const MIN_R: f64 = 0.8;
/// Smallest |r| at which the views of a caller and its callee count as identical.
const SAME_R: f64 = 0.999;
/// Largest probability of a reported correlation to occur by chance.
const MAX_CHANCE: f64 = 0.05;
/// Number of random references from which this probability is estimated.
const SURROGATES: &str = "99";
/// Largest number of letters of a call path in a sentence.
const MAX_NAME: usize = 60;
/// Number of the most uneven call paths that are tried as reference.
const MAX_REFERENCES: usize = 4;
/// Largest number of call paths in the finding.
const MAX_VIEWS: usize = 4;

/// Returns the finding about the call paths that correlate over the grid with one of the most uneven call paths.
///
/// # Errors
/// Returns [`Failure`] if the grid does not apply to the recording.
pub(in crate::report) fn part(
    source: &Source,
    profile: &Profile,
    times: &Times,
    topology: Option<&str>,
) -> Result<Part, Failure> {
    let mut part = Part::default();
    let analysis = "correlation over the grid";
    if topology.is_none() && profile.topologies().is_empty() {
        part.skip(
            analysis,
            "the recording has no grid of its ranks; give --topology, the lengths of its axes, such as 4x4x4 for 64 ranks",
        );
        return Ok(part);
    }
    if let ([_, _, ..], None) = (&source.paths[..], topology) {
        part.skip(
            analysis,
            "several files are one job; `perfkit correlate` reads one",
        );
        return Ok(part);
    }
    let Some((metric, _)) = time_metric(profile) else {
        part.skip(analysis, "no metric of the profile is a time");
        return Ok(part);
    };
    let metric = exclusive(profile).unwrap_or(metric);
    // The inclusive time of a caller contains that of its callees, so both correlate by
    // construction.
    let is_inclusive = profile.metrics()[metric.index()].scope == Scope::Inclusive;
    let is_leaf = |path: &PathTime| profile.calls().children(Some(path.id)).next().is_none();
    let computing = times
        .paths
        .iter()
        .filter(|path| path.class == Class::Computing);
    let computing = computing.filter(|path| !is_inclusive || is_leaf(path));
    let mut references: Vec<(f64, &PathTime)> = computing
        .map(|path| (deviation(&path.members), path))
        .collect();
    references.sort_by(|one, other| other.0.total_cmp(&one.0));
    if references.is_empty() {
        part.skip(
            analysis,
            "no computing call path is fit as a reference: inclusive times are compared for call paths without callees only",
        );
        return Ok(part);
    }
    let metric = profile.metrics()[metric.index()].metric.name.clone();
    let file = source
        .paths
        .first()
        .map(|path| path.clone().into_os_string())
        .unwrap_or_default();
    let options = |path: &PathTime, surrogates: bool| {
        let mut words = vec![
            "--path".into(),
            path.id.0.to_string(),
            "--metric".into(),
            metric.clone(),
        ];
        words.push("--same-metric".into());
        words.extend(topology.map(|topology| format!("--topology={topology}")));
        words.extend(surrogates.then(|| format!("--surrogates={SURROGATES}")));
        let words = words.into_iter().map(OsString::from);
        failure::options(words.chain(["--".into(), file.clone()]))
    };
    // Selects the call path with the strongest correlation among the most uneven call paths.
    let mut chosen: Option<(f64, &PathTime, Vec<Related>)> = None;
    for (_, path) in references.into_iter().take(MAX_REFERENCES) {
        let related = correlate::related(profile, &options(path, true)?)?;
        let found = folded(&related, profile.calls(), path.id, is_inclusive);
        let strongest = found.first().map_or(0.0, |(one, _)| one.r.abs());
        if chosen.as_ref().is_none_or(|(best, ..)| strongest > *best) {
            chosen = Some((strongest, path, related));
        }
    }
    let Some((_, reference, related)) = chosen else {
        return Ok(part);
    };
    let found = folded(&related, profile.calls(), reference.id, is_inclusive);
    let heading = format!("{}: correlated with {}", source.name, reference.name);
    let section = correlate::section_of(profile, &options(reference, false)?, &heading)?;
    part.sections.push(section);
    if found.is_empty() {
        part.pass(format!(
            "no call path varies over the grid as {} does, nor as the next {} most uneven ones do: |r| below {MIN_R}, or likely by chance",
            reference.name,
            MAX_REFERENCES - 1
        ));
        return Ok(part);
    }
    let strongest = found.first().map_or(0.0, |(one, _)| one.r);
    let views = found.iter().take(MAX_VIEWS).map(|(one, kin)| {
        let kin = match kin {
            0 => String::new(),
            1 => " and 1 of its kin".into(),
            more => format!(" and {more} of its kin"),
        };
        let opposite = if one.r < 0.0 { "opposite: " } else { "" };
        format!(
            "{}{kin} ({opposite}r {:+.2} at shift {})",
            shortened(&one.path, MAX_NAME),
            one.r,
            one.shift
        )
    });
    let views: Vec<String> = views.collect();
    let sentence = format!(
        "Over the grid, the times of {} correlate with those of {}. The probability that one of all {} views does so by chance is \
         at most {MAX_CHANCE}.",
        list(&views),
        shortened(&reference.name, MAX_NAME),
        related.len()
    );
    let figure = ("largest |r|", strongest.abs(), "1");
    let finding = Finding::new(Kind::Correlation, &source.name, None, "", figure, sentence);
    let more = [
        &["--path", &reference.name, "--metric", &metric][..],
        &["--html", "closer.html"],
    ]
    .concat();
    let more = match topology {
        Some(topology) => [&more[..], &["--topology", topology]].concat(),
        None => more,
    };
    part.findings.push(
        finding
            .next(source.command(&["correlate"], &more))
            .at(|place| place.call_path = Some(reference.name.clone())),
    );
    Ok(part)
}

/// Returns the sum of the absolute deviations from the mean.
fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    values.iter().map(|value| (value - mean).abs()).sum()
}

/// Returns the metric `exclusive time`, which profiles of traces have in addition to the inclusive time.
fn exclusive(profile: &Profile) -> Option<MetricId> {
    profile.metric("exclusive time")
}

/// Returns the views that are unlikely to correlate by chance, each with the number of identical views
/// of its callers, its callees and other calls of its function. Views of callers and callees of the reference
/// are dropped if they equal the reference, or if times are inclusive and therefore contain each other. Views of
/// the function of the reference are dropped, because the same code correlates with itself.
fn folded<'a>(
    related: &'a [Related],
    calls: &CallTree,
    reference: CallPathId,
    is_inclusive: bool,
) -> Vec<(&'a Related, usize)> {
    let mut found: Vec<(&Related, usize)> = Vec::new();
    for one in related {
        let is_chance = one.chance.is_none_or(|chance| chance > MAX_CHANCE);
        let is_same = is_inclusive || one.r.abs() >= SAME_R;
        let is_reference = is_same && are_kin(calls, one.id, reference);
        if one.r.abs() < MIN_R
            || is_chance
            || is_reference
            || are_calls_of_one(calls, one.id, reference)
        {
            continue;
        }
        let same = found.iter_mut().find(|(other, _)| {
            let is_equal = is_inclusive || (one.r - other.r).abs() <= 1.0 - SAME_R;
            let is_one = are_calls_of_one(calls, one.id, other.id);
            is_equal && (is_one || are_kin(calls, one.id, other.id))
        });
        match same {
            Some((_, kin)) => *kin += 1,
            None => found.push((one, 0)),
        }
    }
    found
}

/// Returns `true` if two call paths end in the same region.
fn are_calls_of_one(calls: &CallTree, one: CallPathId, other: CallPathId) -> bool {
    let region = |id| calls.get(id).map(|path| path.region);
    region(one) == region(other)
}

/// Returns `true` if one call path is an ancestor of the other.
fn are_kin(calls: &CallTree, one: CallPathId, other: CallPathId) -> bool {
    let is_above = |above: CallPathId, below: CallPathId| {
        let mut at = Some(below);
        while let Some(id) = at {
            if id == above {
                return true;
            }
            at = calls.get(id).and_then(|path| path.parent);
        }
        false
    };
    is_above(one, other) || is_above(other, one)
}
