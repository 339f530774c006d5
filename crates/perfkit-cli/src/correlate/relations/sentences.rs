//! Sentences about the relations of views, with short names of their call paths.

use super::{Distinct, Found};
use crate::scope::scoped_name;
use crate::table::{counted, different, grouped};
use perfkit::core::{CallPathId, ProfileMetric};
use perfkit::spectral::{Relation, Tie};
use std::collections::{BTreeMap, BTreeSet};

/// Share of R that the named axes of a sentence hold at least.
const NAMED_SHARE: f64 = 0.9;

/// Largest number of characters of a call path in a sentence.
const MAX_NAME: usize = 60;

/// Largest number of call paths that follow a sentence.
const MAX_FURTHER: usize = 3;

impl Found {
    pub(super) fn metric(&self, view: usize) -> Option<&ProfileMetric> {
        let (metric, _) = self.views.rows.get(view)?;
        self.views.profile.metrics().get(metric.index())
    }

    /// Returns the label of the call path of a view.
    pub(super) fn label(&self, view: usize) -> String {
        let row = self.views.rows.get(view);
        let label = row.and_then(|(_, path)| self.views.labels.get(path));
        label.cloned().unwrap_or_default()
    }

    pub(super) fn metric_name(&self, view: usize) -> String {
        self.metric(view).map_or_else(String::new, scoped_name)
    }

    /// Returns the innermost regions of the call path of a view that identify it, or its label.
    pub(super) fn short(&self, view: usize) -> String {
        let profile = &self.views.profile;
        let calls = profile.calls();
        let name = |id: CallPathId| {
            let region = calls.get(id).map(|path| path.region)?;
            Some(profile.regions().get(region.index())?.name.as_str())
        };
        let own = self.views.rows.get(view).map(|(_, path)| *path);
        // Callers of other call paths with the same names so far.
        let ids = (0..calls.paths().len()).filter_map(CallPathId::from_index);
        let mut same: Vec<CallPathId> = ids.filter(|id| Some(*id) != own).collect();
        let (mut at, mut names) = (own, Vec::new());
        while let Some(id) = at {
            names.push(name(id).unwrap_or_default());
            same.retain(|other| name(*other) == name(id));
            if same.is_empty() {
                names.reverse();
                return names.join(" > ");
            }
            at = calls.get(id).and_then(|path| path.parent);
            if at.is_some() {
                let callers = same.iter().filter_map(|id| calls.get(*id)?.parent);
                same = callers.collect();
            }
        }
        // The end of a label has the number of the call path.
        self.label(view)
    }

    /// Returns the names of the call paths of two views for a sentence, shortened but different.
    pub(super) fn both(&self, one: usize, other: usize) -> (String, String) {
        let names = [self.short(one), self.short(other)];
        let mut names = different(names.iter().map(String::as_str), MAX_NAME).into_iter();
        let mut next = || names.next().unwrap_or_default();
        (next(), next())
    }

    /// Returns the name of an axis: its number, with the name that the grid gives it.
    pub(super) fn axis_name(&self, axis: usize) -> String {
        let axes = self.views.topology.shape().axes();
        match axes.get(axis).map(|axis| axis.name.as_str()) {
            None | Some("") => axis.to_string(),
            Some(name) => format!("{axis} ({name})"),
        }
    }

    /// Returns the axes that hold most of R as text; empty if all axes do.
    pub(super) fn along(&self, relation: &Relation) -> String {
        let axes = self.views.topology.shape().axes();
        let mut parts: Vec<(usize, f64)> = relation.along.iter().copied().enumerate().collect();
        parts.sort_by(|(_, a), (_, b)| (b * relation.r).total_cmp(&(a * relation.r)));
        let (mut named, mut sum) = (Vec::new(), 0.0);
        for (axis, part) in parts {
            if sum / relation.r >= NAMED_SHARE {
                break;
            }
            sum += part;
            named.push(axis);
        }
        let varying = axes.iter().filter(|axis| axis.len > 1).count();
        if named.len() >= varying {
            return String::new();
        }
        named.sort_unstable();
        let names: Vec<String> = named.into_iter().map(|axis| self.axis_name(axis)).collect();
        let noun = if names.len() == 1 { "axis" } else { "axes" };
        format!("{noun} {}", names.join(" and "))
    }

    /// Returns the statement about a pair with its statistics.
    pub(super) fn sentence(&self, relation: &Relation) -> String {
        let (statement, statistics) = self.statement(relation);
        format!("{statement} ({statistics})")
    }

    /// Returns the statement about a pair, and its statistics.
    pub(super) fn statement(&self, relation: &Relation) -> (String, String) {
        let (one, other) = (relation.one, relation.other);
        let metrics = (self.metric_name(one), self.metric_name(other));
        let is_time = |view: usize| {
            self.metric(view).is_some_and(|metric| {
                let unit = metric.metric.unit.as_str();
                matches!(unit, "ns" | "us" | "usec" | "ms" | "s" | "sec" | "seconds")
            })
        };
        let (high, low) = if is_time(one) && is_time(other) {
            ("long", "short")
        } else {
            ("high", "low")
        };
        let opposite = if relation.r < 0.0 { low } else { high };
        let statistics = format!("r = {:+.2}, p < {}", relation.r, power_of_ten(relation.p));
        let along = match self.along(relation) {
            along if along.is_empty() => along,
            along => format!(", along {along}"),
        };
        let (one, other) = self.both(one, other);
        if metrics.0 == metrics.1 {
            return (
                format!("`{one}` is {high} where `{other}` is {opposite}{along}"),
                format!("{statistics}; {}", metrics.0),
            );
        }
        let (metric, with) = metrics;
        let statement =
            format!("{metric} of `{one}` is {high} where {with} of `{other}` is {opposite}{along}");
        (statement, statistics)
    }

    /// Returns the end of a line with the similar pairs and some of their call paths; empty if there
    /// are none.
    pub(super) fn similar(&self, distinct: &Distinct<'_>) -> String {
        let Distinct { relation, similar } = distinct;
        if similar.is_empty() {
            return String::new();
        }
        let path = |view: usize| self.views.rows.get(view).map(|(_, path)| *path);
        let own = [path(relation.one), path(relation.other)];
        let mut known: BTreeSet<Option<CallPathId>> = own.into_iter().collect();
        let views = similar.iter().flat_map(|it| [it.one, it.other]);
        let further: Vec<usize> = views.filter(|view| known.insert(path(*view))).collect();
        let pairs = counted(similar.len(), "similar pair");
        if further.is_empty() {
            return format!("; {pairs} of other metrics not listed");
        }
        let names: Vec<String> = further
            .iter()
            .take(MAX_FURTHER)
            .map(|view| self.short(*view))
            .collect();
        let names = different(names.iter().map(String::as_str), MAX_NAME).into_iter();
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        let such = if further.len() > MAX_FURTHER {
            ", such as "
        } else {
            ": "
        };
        format!(
            "; {pairs} with {} not listed{such}{}",
            counted(further.len(), "more call path"),
            names.join(", ")
        )
    }

    /// Describes the pairs of views whose call paths are related, with a label for each kind of
    /// relation.
    pub(super) fn ties(&self) -> Vec<(&'static str, String)> {
        let of = |tie: Tie| {
            self.relations
                .tied
                .iter()
                .filter(move |it| it.tie == Some(tie))
        };
        let mut lines = Vec::new();
        let same = of(Tie::CallPath).count();
        if same > 0 {
            let are = if same == 1 { "is" } else { "are" };
            let pairs = counted(same, "pair");
            lines.push((
                "same path",
                format!(
                    "{pairs} {are} of two metrics of one call path: {}",
                    self.metric_pairs()
                ),
            ));
        }
        for (tie, label, what) in [
            (Tie::Caller, "call tree", "of a caller and a callee"),
            (
                Tie::Function,
                "call sites",
                "of one function with two callers",
            ),
        ] {
            let count = of(tie).count();
            // Views that equal those of a related call path are related too, but do not show it.
            let shown = of(tie).find(|it| self.kin.tie(it.one, it.other) == Some(tie));
            let first =
                shown.map_or_else(String::new, |it| format!("; first, {}", self.sentence(it)));
            if count > 0 {
                let are = if count == 1 { "is" } else { "are" };
                lines.push((
                    label,
                    format!("{} {are} {what}{first}", counted(count, "pair")),
                ));
            }
        }
        lines
    }

    /// Lists the pairs of metrics that correlate in most call paths.
    fn metric_pairs(&self) -> String {
        let mut pairs: BTreeMap<[String; 2], MetricPair> = BTreeMap::new();
        // Views that equal those of a related call path are of another one.
        let is_own = |it: &&Relation| {
            it.tie == Some(Tie::CallPath) && self.kin.tie(it.one, it.other) == it.tie
        };
        for it in self.relations.tied.iter().filter(is_own) {
            let names = [self.metric_name(it.one), self.metric_name(it.other)];
            let found = pairs.entry(names).or_default();
            let path = self.views.rows.get(it.one).map(|(_, path)| *path);
            found.paths.extend(path);
            found.r.push(it.r);
        }
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_by_key(|(_, pair)| std::cmp::Reverse(pair.paths.len()));
        let more = pairs.len().saturating_sub(MAX_FURTHER);
        let texts = pairs.iter().take(MAX_FURTHER).map(|([one, other], pair)| {
            let low = pair.r.iter().copied().fold(1.0, f64::min);
            let high = pair.r.iter().copied().fold(-1.0, f64::max);
            let r = match (format!("{low:+.2}"), format!("{high:+.2}")) {
                (low, high) if low == high => low,
                (low, high) => format!("{low} to {high}"),
            };
            let paths = grouped(pair.paths.len() as u64);
            format!("{one} and {other} in {paths} (r = {r})")
        });
        let texts: Vec<String> = texts.collect();
        let more = match more {
            0 => String::new(),
            1 => ", and 1 more pair of metrics".into(),
            more => format!(", and {} more pairs of metrics", grouped(more as u64)),
        };
        format!("{}{more}", texts.join(", "))
    }
}

/// Correlations of two metrics of one call path.
#[derive(Default)]
struct MetricPair {
    /// Call paths in which both correlate.
    paths: BTreeSet<CallPathId>,
    /// Correlation in each of them.
    r: Vec<f64>,
}

/// Returns the smallest power of ten above a probability, from 1e-300 to 1.
fn power_of_ten(p: f64) -> String {
    let exponent = p.max(1e-300).log10().floor() as i32 + 1;
    match exponent {
        0.. => "1".into(),
        -3..=-1 => format!(
            "{:.1$}",
            10f64.powi(exponent),
            exponent.unsigned_abs() as usize
        ),
        _ => format!("1e{exponent}"),
    }
}
