//! Findings about profiles over a grid: call paths that vary as another does.

use super::Part;
use super::findings::{Finding, Kind, list};
use super::sources::Source;
use super::times::{Class, Times, time_metric};
use crate::correlate::{self, Related};
use crate::failure::{self, Failure};
use perfkit::core::{CallPathId, CallTree, Profile};
use std::ffi::OsString;

/// Smallest |r| of a finding.
const MIN_R: f64 = 0.8;
/// |r| from which on a view of a caller or callee is the same view.
const SAME_R: f64 = 0.999;
/// Largest probability that one of all views reaches the correlation by chance.
const MAX_CHANCE: f64 = 0.05;
/// Random references for that probability.
const SURROGATES: &str = "99";
/// Largest number of call paths in the finding.
const MAX_VIEWS: usize = 4;

/// Returns the call paths that correlate with the most uneven one over the grid of the recording.
///
/// # Errors
/// [`Failure`] for a grid that does not fit the recording.
pub(super) fn part(
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
    let computing = times
        .paths
        .iter()
        .filter(|path| path.class == Class::Computing);
    let spread = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        values.iter().map(|value| (value - mean).abs()).sum::<f64>()
    };
    let reference =
        computing.max_by(|one, other| spread(&one.members).total_cmp(&spread(&other.members)));
    let (Some(reference), Some((metric, _))) = (reference, time_metric(profile)) else {
        part.skip(analysis, "no computing call path has times");
        return Ok(part);
    };
    let metric =
        exclusive(profile).unwrap_or_else(|| profile.metrics()[metric.index()].metric.name.clone());
    let file = source
        .paths
        .first()
        .map(|path| path.clone().into_os_string())
        .unwrap_or_default();
    let id = reference.id.0.to_string();
    let mut words = vec!["--path", &id, "--metric", &metric, "--same-metric"];
    if let Some(topology) = topology {
        words.extend(["--topology", topology]);
    }
    let surrogates = [&words[..], &["--surrogates", SURROGATES]].concat();
    let options = |words: &[&str]| {
        let words = words.iter().map(OsString::from);
        failure::options(words.chain(["--".into(), file.clone()]))
    };
    let related = correlate::related(profile, &options(&surrogates)?)?;
    let found = folded(&related, profile.calls(), reference.id);
    let heading = format!("{}: what varies as {} does", source.name, reference.name);
    part.sections
        .push(correlate::section_of(profile, &options(&words)?, &heading)?);
    if found.is_empty() {
        part.pass(format!(
            "no call path varies over the grid as {} does: |r| below {MIN_R}, or likely by chance",
            reference.name
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
        format!("{}{kin} (r {:+.2} at shift {})", one.path, one.r, one.shift)
    });
    let views: Vec<String> = views.collect();
    let sentence = format!(
        "Over the grid, {} varies as {} does. By chance one of all {} views reaches that with a probability of at most {MAX_CHANCE}.",
        list(&views),
        reference.name,
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

/// Returns the name of the exclusive time of a profile of a trace.
fn exclusive(profile: &Profile) -> Option<String> {
    let name = "exclusive time";
    profile.metric(name).map(|_| name.into())
}

/// Returns the views that are no chance, each with the number of identical views of callers and callees. Views of the
/// kin of the reference that equal it are dropped.
fn folded<'a>(
    related: &'a [Related],
    calls: &CallTree,
    reference: CallPathId,
) -> Vec<(&'a Related, usize)> {
    let mut found: Vec<(&Related, usize)> = Vec::new();
    for one in related {
        let is_chance = one.chance.is_none_or(|chance| chance > MAX_CHANCE);
        if one.r.abs() < MIN_R
            || is_chance
            || (one.r.abs() >= SAME_R && are_kin(calls, one.id, reference))
        {
            continue;
        }
        let same = found.iter_mut().find(|(other, _)| {
            (one.r - other.r).abs() <= 1.0 - SAME_R && are_kin(calls, one.id, other.id)
        });
        match same {
            Some((_, kin)) => *kin += 1,
            None => found.push((one, 0)),
        }
    }
    found
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
