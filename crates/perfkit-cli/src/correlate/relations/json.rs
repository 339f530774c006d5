//! Result of relations for `--json`.

use super::{Distinct, Found};
use crate::findings::Findings;
use crate::scope::scope_of;
use serde::Serialize;

/// View of a pair, for `--json`.
#[derive(Serialize)]
struct Named {
    /// Name of the metric.
    metric: String,
    /// Scope of the metric; `None` for one that is not additive.
    scope: Option<&'static str>,
    /// Label of the call path.
    path: String,
    /// Number of the call path.
    call_path: u32,
}

/// Pair of views, for `--json`.
#[derive(Serialize)]
struct Pair<'a> {
    /// Statement about the pair.
    sentence: String,
    /// One view.
    one: Named,
    /// The other view.
    other: Named,
    /// Correlation without shift, in `-1.0..=1.0`.
    r: f64,
    /// Upper bound of the probability of the correlation by chance.
    p_bound: f64,
    /// Part of r along each axis.
    along: &'a [f64],
    /// Variation of the view that varies less, relative to the largest of its tree of metrics.
    share: f64,
    /// Number of pairs that repeat this one.
    similar: usize,
}

/// Location that carries pairs, for `--json`.
#[derive(Serialize)]
pub(super) struct Carried {
    /// Name of the location.
    pub(super) location: String,
    /// Number of pairs.
    pub(super) pairs: usize,
}

/// Result of `--json`.
#[derive(Serialize)]
struct Document<'a> {
    /// Number of cells along each axis.
    dims: Vec<usize>,
    /// Weight of each axis.
    axes: &'a [f64],
    /// Number of views.
    views: usize,
    /// Number of distinct views that vary.
    distinct: usize,
    /// Number of views identical to another one.
    identical: usize,
    /// Number of constant views.
    constant: usize,
    /// Number of views with a value that is not finite.
    skipped: usize,
    /// Number of tested pairs of call paths that are not related.
    tested: u64,
    /// Number of tested pairs of one call path, of a caller and a callee, and of one function.
    tested_related: u64,
    /// Number of pairs that are kin.
    kin: u64,
    /// Number of pairs that were found, with those of related call paths.
    found: usize,
    /// Number of them whose call paths are related.
    found_related: usize,
    /// Expected share of false pairs among them.
    rate: f64,
    /// Numbers of pairs that are not found because few locations carry them.
    carried: Vec<Carried>,
    /// Notes about the grid.
    notes: Vec<String>,
    /// Repairs and losses of the reader.
    #[serde(flatten)]
    findings: Findings,
    /// Pairs of call paths that are not related, without repetitions.
    pairs: Vec<Pair<'a>>,
    /// Statements about the pairs of related call paths.
    related: Vec<String>,
}

impl Found {
    fn named(&self, view: usize) -> Named {
        Named {
            metric: self
                .metric(view)
                .map_or_else(String::new, |it| it.metric.name.clone()),
            scope: self.metric(view).and_then(scope_of),
            path: self.label(view),
            call_path: self.views.rows.get(view).map_or(0, |(_, path)| path.0),
        }
    }

    pub(super) fn json(&self, top: usize, findings: Findings) -> impl Serialize {
        let pairs = self.distinct().into_iter().take(top);
        let pairs = pairs.map(
            |Distinct {
                 relation: it,
                 similar,
             }| Pair {
                sentence: self.sentence(it),
                one: self.named(it.one),
                other: self.named(it.other),
                r: it.r,
                p_bound: it.p,
                along: &it.along,
                share: it.share,
                similar: similar.len(),
            },
        );
        let relations = &self.relations;
        Document {
            dims: self.views.topology.shape().lens(),
            axes: &self.views.axes,
            views: self.views.rows.len(),
            distinct: relations.distinct,
            identical: relations.identical,
            constant: relations.constant,
            skipped: relations.skipped,
            tested: relations.tested,
            tested_related: relations.tested_tied,
            kin: relations.kin,
            found: relations.found.len() + relations.tied.len(),
            found_related: relations.tied.len(),
            rate: self.rate,
            carried: self.carried(),
            notes: self.views.notes.clone(),
            findings,
            pairs: pairs.collect(),
            related: self.ties().into_iter().map(|(_, text)| text).collect(),
        }
    }
}
