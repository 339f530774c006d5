//! [`Clusters::of`]: conversion of a tracking result to tracked regions with their links, events and votes.

use super::model::{Clusters, Compared, Match, Metric, numbers, same};
use crate::Result;
use perf_track::tracking::{Link, LinkKind, Mixture, Occurrence, Pair, TrackedRegion, Tracking};
use perf_track::trend::Trends;
use perf_track::{ClusterId, Scaled};

/// Maximum number of clusters of an experiment in a matrix. Clusters with the most time take
/// precedence.
pub(super) const MOST_CLUSTERS: usize = 32;

impl Clusters {
    /// Creates a value from a tracking result. `scaled` holds the points of each experiment, and
    /// `labels` the clusters of these points, as they were tracked.
    ///
    /// # Errors
    ///
    /// - Returns [`Error::Mismatch`](crate::Error::Mismatch) if the numbers of experiments, or of
    ///   labels and points of an experiment, differ.
    /// - Returns [`Error::Empty`](crate::Error::Empty) if there is no experiment or the space has
    ///   no axis.
    /// - Returns [`Error::Track`](crate::Error::Track) if the parts of the tracking result do not
    ///   belong together.
    pub fn of(
        tracking: &Tracking,
        trends: &Trends,
        scaled: &Scaled,
        labels: &[&[ClusterId]],
    ) -> Result<Self> {
        same(
            "experiments of points",
            tracking.experiments.len(),
            scaled.experiments.len(),
        )?;
        let mut regions = Vec::with_capacity(tracking.experiments.len());
        for (at, of_points) in labels.iter().enumerate().take(tracking.experiments.len()) {
            let colours = tracking.colours(at)?;
            let region = |id: &ClusterId| {
                let found = colours.get(id.0 as usize).copied().flatten();
                found.map_or(0, |region| region.0)
            };
            regions.push(of_points.iter().map(region).collect());
        }
        let names = tracking.experiments.iter();
        let names = names.map(|experiment| (experiment.name.clone(), experiment.tasks));
        let mut found = Self::empty(names.collect(), scaled, labels, regions)?;
        if let Some(scale) = trends.parameters().first() {
            found.scale.clone_from(scale);
        }
        for (shown, experiment) in found.experiments.iter_mut().zip(&tracking.experiments) {
            shown.balance = experiment.balance;
        }
        for region in &tracking.regions {
            let mut shown = found.shown(region.id.0);
            shown.members = region.members.iter().map(|ids| numbers(ids)).collect();
            shown.share.clone_from(&region.share);
            shown.confidence = Some(region.confidence);
            shown.events = region
                .events
                .iter()
                .map(|event| tracking.sentence(region, event))
                .chain(region.mixture.as_ref().map(|of| mixed(of, tracking)))
                .chain(occurrence(region.occurrence))
                .collect();
            shown.position = region
                .position()
                .map(ToString::to_string)
                .unwrap_or_default();
            shown.links = links(region);
            found.regions.push(shown);
        }
        for metric in trends.metrics() {
            let series = tracking.regions.iter();
            let series = series.map(|region| trends.series(region.id, &metric.name));
            found.metrics.push(Metric {
                name: metric.name.clone(),
                unit: metric.unit.clone(),
                series: series.collect::<perf_track::Result<_>>()?,
            });
        }
        found.pairs = tracking.pairs.iter().map(compared).collect();
        Ok(found)
    }
}

fn links(region: &TrackedRegion) -> Vec<Match> {
    let of = |link: &Link| Match {
        from: (link.from.0, link.from.1.0),
        to: (link.to.0, link.to.1.0),
        kind: match link.kind {
            LinkKind::Continues => "continues as",
            LinkKind::Bridges => "is found again as",
            LinkKind::Splits => "splits into",
            LinkKind::Merges => "merges into",
            _ => "is in a group with",
        },
        confidence: link.confidence,
        evidence: link.evidence,
        votes: link
            .votes
            .iter()
            .map(|(who, value)| (who.name(), *value))
            .collect(),
    };
    region.links.iter().map(of).collect()
}

/// Returns the description of a tracked region that occurs only at start-up or once, otherwise
/// `None`.
fn occurrence(of: Occurrence) -> Option<String> {
    match of {
        Occurrence::StartUp => Some("occurs only at start-up, before the main loop".to_owned()),
        Occurrence::Once => Some("occurs only once on most of its threads".to_owned()),
        Occurrence::FewThreads => Some(
            "has bursts on a smaller share of the threads in experiments with few threads; no trend is stated"
                .to_owned(),
        ),
        _ => None,
    }
}

/// Returns the description of the call sites that a tracked region mixes, each by its innermost
/// caller.
fn mixed(mixture: &Mixture, tracking: &Tracking) -> String {
    let sites = mixture.sites.iter();
    let mut sites: Vec<&str> = sites
        .map(|chain| chain.split(" < ").next().unwrap_or(chain))
        .collect();
    sites.dedup();
    let experiments = mixture.experiments.map(|experiment| {
        let known = tracking.experiments.get(experiment);
        known.map_or("", |experiment| experiment.name.as_str())
    });
    format!(
        "mixes computation after {} ({})",
        sites.join(", after "),
        experiments.join(", ")
    )
}

fn compared(pair: &Pair) -> Compared {
    let [there, back] = &pair.cross;
    let (rows, columns) = (there.rows(), there.columns());
    let shown = [rows.min(MOST_CLUSTERS), columns.min(MOST_CLUSTERS)];
    let id = |index: usize| ClusterId(index as u32 + 1);
    let table = |get: &dyn Fn(ClusterId, ClusterId) -> Option<f64>| -> Vec<Vec<f64>> {
        let row = |row| {
            let cells = (0..shown[1]).map(|column| get(id(row), id(column)).unwrap_or(f64::NAN));
            cells.collect()
        };
        (0..shown[0]).map(row).collect()
    };
    let mut matrices = vec![
        ("nearest, forward", table(&|from, to| there.get(from, to))),
        ("nearest, backward", table(&|from, to| back.get(to, from))),
    ];
    if pair.evidence.rows() > 0 {
        matrices.insert(
            0,
            ("evidence", table(&|from, to| pair.evidence.get(from, to))),
        );
    }
    for vote in &pair.votes {
        let name = vote.evaluator.name();
        matrices.push((name, table(&|from, to| vote.matrix.get(from, to))));
    }
    Compared {
        from: pair.from,
        to: pair.to,
        left_out: [rows - shown[0], columns - shown[1]],
        matrices,
    }
}
