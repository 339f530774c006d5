//! [`Kinship`]: views of a profile that contain each other by construction, and [`Tie`]s between
//! those that do not but belong together.

use perf_core::{CallPathId, Combine, MetricId, Profile, ProfileMetric, Scope};

/// Relation between the call paths of two views that are not kin. Their correlation is expected, so
/// it is no finding about two parts of a program.
///
/// ```
/// use perf_core::{Job, Profile};
/// use perf_spectral::{Kinship, Tie, stored_rows};
/// let trace = perf_core::samples::cosmo::trace();
/// let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
/// let metrics = ["time", "visits"].map(|name| profile.metric(name).expect("it exists"));
/// let rows = stored_rows(&profile, &metrics);
/// let kin = Kinship::of(&profile, &rows);
/// let view = |metric, path| {
///     let at = rows.iter().position(|row| *row == (metrics[metric], perf_core::CallPathId(path)));
///     at.expect("it has a row")
/// };
/// // Time and visits of call path 0, and visits of it and of its callee 1.
/// assert_eq!(kin.tie(view(0, 0), view(1, 0)), Some(Tie::CallPath));
/// assert_eq!(kin.tie(view(1, 0), view(1, 1)), Some(Tie::Caller));
/// # Ok::<(), perf_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum Tie {
    /// Two metrics of one call path, such as its time and its instructions.
    CallPath,
    /// A caller and a direct or indirect callee.
    Caller,
    /// One function with two callers.
    Function,
}

/// Views that are related by construction, so that their correlation is no finding.
///
/// Two views are kin if the values of one are part of those of the other:
/// * two metrics of the same call path, if one is an ancestor of the other in the metric tree, such
///   as `time` and `mpi`, or if they are the inclusive and the exclusive form of one metric;
/// * a caller and a direct or indirect callee, if the values of the caller are inclusive and the
///   metrics are equal, ancestors of each other, or the two forms of one metric.
///
/// A metric of minima or maxima, such as `max_time`, counts as the additive metric of the same unit
/// whose name ends its own, here `time`.
///
/// Exclusive values of a caller and its callee have no common part, so they are not kin.
///
/// ```
/// use perf_core::{Job, Profile};
/// use perf_spectral::{Kinship, stored_rows};
/// let trace = perf_core::samples::cosmo::trace();
/// let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
/// let metrics = ["time", "exclusive time", "visits"].map(|name| profile.metric(name).expect("it exists"));
/// let rows = stored_rows(&profile, &metrics);
/// let kin = Kinship::of(&profile, &rows);
/// let view = |metric, path| {
///     let at = rows.iter().position(|row| *row == (metrics[metric], perf_core::CallPathId(path)));
///     at.expect("it has a row")
/// };
/// // The inclusive time of call path 0 contains the times of its callee 1, but not its visits.
/// assert!(kin.are_kin(view(0, 0), view(0, 1)) && kin.are_kin(view(0, 0), view(1, 1)));
/// assert!(!kin.are_kin(view(0, 0), view(2, 1)));
/// // Visits are exclusive: those of a caller do not contain those of its callees.
/// assert!(!kin.are_kin(view(2, 0), view(2, 1)));
/// # Ok::<(), perf_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Kinship {
    /// Metric and interval of call paths of each view.
    views: Vec<Place>,
    /// Parent and counterpart of each metric.
    metrics: Vec<[Option<usize>; 2]>,
    /// `true` if no call path has a caller, so that inclusive values may contain each other.
    is_flat: bool,
}

/// Largest number of steps in the tree of metrics. Files may contain cycles.
const MAX_DEPTH: usize = 64;

/// Place of a view in the trees of metrics and call paths.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Index of the root of the tree of metrics that has the quantity of the view.
    root: usize,
    /// Index of the additive metric whose extremes the metric has, or of the metric itself.
    quantity: usize,
    /// Number of the call path in depth-first order, and the end of its subtree.
    subtree: (u32, u32),
    /// Number of the function; that of the view if it is unknown.
    function: usize,
    /// `true` if the values include those of callees.
    is_inclusive: bool,
    /// `true` if the metric is the time of the profile or part of it.
    is_time: bool,
}

impl Kinship {
    /// Creates a kinship in which no two views are kin and all views have the same metric.
    pub fn unrelated(views: usize) -> Self {
        let place = |at: usize| Place {
            root: 0,
            quantity: 0,
            subtree: (at as u32, at as u32 + 1),
            function: at,
            is_inclusive: false,
            is_time: false,
        };
        Kinship {
            views: (0..views).map(place).collect(),
            metrics: vec![[None; 2]],
            is_flat: false,
        }
    }

    /// Finds the kin among rows of a profile, in the order of
    /// [`SpectraBuilder::add_rows`](crate::SpectraBuilder::add_rows).
    pub fn of(profile: &Profile, rows: &[(MetricId, CallPathId)]) -> Self {
        let subtrees = subtrees(profile);
        let metrics = profile.metrics();
        let quantities: Vec<_> = (0..metrics.len()).map(|at| quantity(metrics, at)).collect();
        let times = times(metrics);
        let functions = profile.regions().len();
        let place = |(metric, path): &(MetricId, CallPathId)| {
            let about = metrics.get(metric.index());
            // Ids that the profile does not have get no relatives.
            let quantity = quantities.get(metric.index()).copied().unwrap_or_default();
            let call = profile.calls().get(*path);
            let root = root(metrics, quantity);
            Place {
                root,
                quantity,
                subtree: subtrees.get(path.index()).copied().unwrap_or_default(),
                function: call.map_or(functions + path.index(), |call| call.region.index()),
                is_time: times.contains(&Some(root)),
                is_inclusive: about
                    .is_some_and(|about| about.scope == Scope::Inclusive || is_extreme(about)),
            }
        };
        let relatives = metrics.iter().map(|about| {
            let ids = [about.metric.parent, about.counterpart];
            ids.map(|id| id.map(MetricId::index))
        });
        Kinship {
            views: rows.iter().map(place).collect(),
            metrics: relatives.collect(),
            is_flat: profile
                .calls()
                .paths()
                .iter()
                .all(|path| path.parent.is_none()),
        }
    }

    /// Returns `true` if the values of one view are part of those of the other.
    pub fn are_kin(&self, one: usize, other: usize) -> bool {
        let (Some(one), Some(other)) = (self.views.get(one), self.views.get(other)) else {
            return false;
        };
        self.contains(one, other) || self.contains(other, one)
    }

    /// Returns `true` if the second view is part of the first.
    fn contains(&self, whole: &Place, part: &Place) -> bool {
        let parts = |one: &Place, other: &Place| self.is_part(one.quantity, other.quantity);
        if whole.subtree == part.subtree {
            return parts(whole, part);
        }
        let is_below = whole.subtree.0 <= part.subtree.0 && part.subtree.1 <= whole.subtree.1;
        whole.is_inclusive && is_below && (parts(whole, part) || parts(part, whole))
    }

    /// Returns `true` if a metric is the other one, below it in the tree of metrics, or the
    /// counterpart of such a metric.
    fn is_part(&self, whole: usize, part: usize) -> bool {
        let parent = |metric: &usize| self.metrics.get(*metric).and_then(|it| it[0]);
        let counterpart = self.metrics.get(part).and_then(|it| it[1]);
        [Some(part), counterpart].into_iter().flatten().any(|part| {
            let mut above = std::iter::successors(Some(part), parent).take(MAX_DEPTH);
            above.any(|metric| metric == whole)
        })
    }

    /// Returns the relation between the call paths of two views; `None` if they have none in the call
    /// tree and call different functions. Kin have one too.
    pub fn tie(&self, one: usize, other: usize) -> Option<Tie> {
        let (one, other) = (self.views.get(one)?, self.views.get(other)?);
        let is_below = |whole: &Place, part: &Place| {
            whole.subtree.0 <= part.subtree.0 && part.subtree.1 <= whole.subtree.1
        };
        if one.subtree == other.subtree {
            Some(Tie::CallPath)
        } else if is_below(one, other) || is_below(other, one) {
            Some(Tie::Caller)
        } else {
            (one.function == other.function).then_some(Tie::Function)
        }
    }

    /// Returns the numbers of the functions of two views, the lower one first.
    pub(super) fn functions(&self, one: usize, other: usize) -> (usize, usize) {
        let function = |view: usize| self.views.get(view).map_or(view, |place| place.function);
        let (one, other) = (function(one), function(other));
        (one.min(other), one.max(other))
    }

    /// Returns the factor of a pair in the order of relations: times come before other quantities,
    /// and work that is long where other work or waiting is short before work that is long together.
    /// Times that are long together come last if one is inclusive and may be that of a caller.
    pub(super) fn interest(&self, one: usize, other: usize, r: f64) -> f64 {
        let (Some(one), Some(other)) = (self.views.get(one), self.views.get(other)) else {
            return 1.0;
        };
        let factor = match (one.is_time, other.is_time) {
            (true, true) if r < 0.0 => 2.0,
            (true, true) if self.is_flat && (one.is_inclusive || other.is_inclusive) => 0.015625,
            (true, true) => 1.0,
            (true, false) | (false, true) => 0.25,
            (false, false) => 0.0625,
        };
        // Metrics of one tree can be compared: one of them may be a rating of the other otherwise.
        if one.root == other.root {
            factor
        } else {
            0.5 * factor
        }
    }

    /// Returns the index of the root of the tree of metrics that has the metric of a view.
    pub(crate) fn root(&self, view: usize) -> usize {
        self.views.get(view).map_or(0, |place| place.root)
    }

    /// Returns the number of views.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// Returns `true` if there are no views.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }
}

/// Returns the index of the metric that contains the values of a metric and is not part of another.
fn root(metrics: &[ProfileMetric], at: usize) -> usize {
    let parent = |at: &usize| metrics.get(*at)?.metric.parent.map(MetricId::index);
    let above = std::iter::successors(Some(at), parent).take(MAX_DEPTH);
    above.last().unwrap_or(at)
}

/// Returns the roots of the first additive metric that is a time, and of its counterpart. Other
/// times, such as the imbalance, are derived from it.
fn times(metrics: &[ProfileMetric]) -> [Option<usize>; 2] {
    let is_time = |about: &ProfileMetric| {
        let unit = about.metric.unit.as_str();
        !is_extreme(about) && matches!(unit, "ns" | "us" | "usec" | "ms" | "s" | "sec" | "seconds")
    };
    let first = metrics.iter().position(is_time);
    let counterpart = first.and_then(|at| metrics.get(at)?.counterpart);
    [first, counterpart.map(MetricId::index)].map(|at| Some(root(metrics, at?)))
}

fn is_extreme(about: &ProfileMetric) -> bool {
    matches!(about.combine, Combine::Minimum | Combine::Maximum)
}

/// Returns the index of the additive metric whose extremes a metric has, or of the metric itself.
fn quantity(metrics: &[ProfileMetric], at: usize) -> usize {
    let Some(about) = metrics.get(at).filter(|about| is_extreme(about)) else {
        return at;
    };
    let is_whole = |whole: &ProfileMetric| {
        let (name, unit) = (&whole.metric.name, &whole.metric.unit);
        let is_same = !name.is_empty() && about.metric.name.ends_with(name.as_str());
        !is_extreme(whole) && is_same && *unit == about.metric.unit
    };
    metrics.iter().position(is_whole).unwrap_or(at)
}

/// Returns the number of each call path in depth-first order, and the end of its subtree.
fn subtrees(profile: &Profile) -> Vec<(u32, u32)> {
    let paths = profile.calls().paths();
    // Sizes of subtrees, from the leaves up: a parent has a lower id than its children.
    let mut sizes = vec![1u32; paths.len()];
    for (at, path) in paths.iter().enumerate().rev() {
        let size = sizes[at];
        if let Some(slot) = path.parent.and_then(|parent| sizes.get_mut(parent.index())) {
            *slot += size;
        }
    }
    // Next free number below each call path, and for roots.
    let (mut next, mut root) = (vec![0; paths.len()], 0);
    let mut all = Vec::with_capacity(paths.len());
    for (at, path) in paths.iter().enumerate() {
        let free = match path.parent.and_then(|parent| next.get_mut(parent.index())) {
            Some(free) => free,
            None => &mut root,
        };
        let first = *free;
        *free += sizes[at];
        next[at] = first + 1;
        all.push((first, first + sizes[at]));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::quantity;
    use perf_core::{Combine, Metric, ProfileMetric};

    #[test]
    fn extremes_belong_to_the_metric_that_their_name_ends_with() {
        let metric = |name: &str, unit: &str, combine| ProfileMetric {
            metric: Metric {
                name: name.into(),
                unit: unit.into(),
                ..Metric::default()
            },
            combine,
            ..ProfileMetric::default()
        };
        let metrics = [
            metric("visits", "occ", Combine::Sum),
            metric("time", "sec", Combine::Sum),
            metric("min_time", "sec", Combine::Minimum),
            metric("max_time", "sec", Combine::Maximum),
            metric("maximum_heap", "bytes", Combine::Maximum),
            metric("slowest_time", "h", Combine::Maximum),
        ];
        let found: Vec<_> = (0..6).map(|at| quantity(&metrics, at)).collect();
        assert_eq!(found, [0, 1, 1, 1, 4, 5]);
    }
}
