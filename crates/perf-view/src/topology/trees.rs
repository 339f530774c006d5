//! [`Trees`]: metrics, call paths and system of a profile with their sums, shown next to the grids of a page.

use super::page_data::unit_text;
use crate::encoding::front_coded;
use crate::{Result, Unit};
use perf_core::{CallPathId, Combine, Job, LocationId, MetricId, Profile, Scope, SystemNodeId};
use perf_spectral::{Real, Spectra};
use perf_topology::Topology;
use serde::Serialize;
use std::collections::BTreeMap;

/// Largest number of rows of a profile whose trees a page holds.
const MAX_ROWS: usize = 40_000;

/// Names of the metric with the number of calls, in the order of preference.
const CALLS: [&str; 4] = ["visits", "Visits", "calls", "CALLS"];

/// Item of a metric tree.
#[derive(Clone, Debug, Serialize)]
struct MetricItem {
    /// Name without its scope.
    name: String,
    /// Unit of the values.
    unit: String,
    /// Index of the parent; `None` for a root.
    parent: Option<usize>,
    /// Rule that combines values: `sum`, `min`, `max`, or `none`.
    combine: &'static str,
    /// Index of the rows with inclusive values; `None` if they follow from the exclusive ones.
    inclusive: Option<usize>,
    /// Index of the rows with exclusive values; `None` if they follow from the inclusive ones.
    exclusive: Option<usize>,
}

/// Values of one metric for each call path with a row.
#[derive(Clone, Debug, Default, Serialize)]
struct RowItems {
    /// Call paths in ascending order.
    paths: Vec<usize>,
    /// Sums over all locations; `None` if the values cannot be combined.
    totals: Vec<Option<f64>>,
    /// Place of the values of the cells.
    views: Vec<Place>,
}

/// Place of the values of the cells of a row.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Place {
    /// Index of the grid.
    Grid(usize),
    /// Value of each cell, if it is the same everywhere.
    Same([f64; 1]),
    /// The page does not hold the values.
    Nowhere(()),
}

/// Terms of a selection in the trees, with their signs.
pub(super) struct Sum {
    pub(super) terms: Vec<(Place, f64)>,
    /// Rule that combines the values of a cell.
    pub(super) combine: fn(f64, f64) -> f64,
}

/// Item of a system tree: name, parent, and cell of a leaf.
type SystemItem = (String, Option<usize>, Option<usize>);

/// Metrics, call paths and system of a profile.
#[derive(Clone, Debug)]
pub(super) struct Trees {
    metrics: Vec<MetricItem>,
    regions: Vec<String>,
    /// Region and parent of each call path.
    paths: Vec<(usize, Option<usize>)>,
    rows: Vec<RowItems>,
    system: Vec<SystemItem>,
    /// Number of locations without a cell.
    unplaced: usize,
    /// Index of the metric with the number of calls.
    calls: Option<usize>,
}

/// Trees as the page reads them.
#[derive(Serialize)]
pub(super) struct TreesData<'a> {
    metrics: &'a [MetricItem],
    /// Names of the regions with the part that they share with the one before.
    regions: Vec<(usize, &'a str)>,
    paths: &'a [(usize, Option<usize>)],
    rows: Vec<RowItems>,
    /// Names of the items of the system, like `regions`, and parents and cells.
    system: Vec<(usize, &'a str)>,
    parents: Vec<Option<usize>>,
    cells: Vec<Option<usize>>,
    unplaced: usize,
    calls: Option<usize>,
}

impl Trees {
    /// Describes a profile whose `rows` are the views of the spectra. `views` holds the number in the
    /// spectra of each grid of the page. Returns `None` for a profile of too many rows.
    pub(super) fn of<T: Real>(
        (profile, topology): (&Profile, &Topology),
        rows: &[(MetricId, CallPathId)],
        (spectra, views): (&Spectra<T>, &[usize]),
        unit: impl Fn(&str) -> (Unit, f64),
        job: &Job,
    ) -> Result<Option<Self>> {
        if rows.len() > MAX_ROWS {
            return Ok(None);
        }
        let grids: BTreeMap<usize, usize> = views
            .iter()
            .zip(0..)
            .map(|(view, at)| (*view, at))
            .collect();
        let mut by_metric: BTreeMap<MetricId, RowItems> = BTreeMap::new();
        for (view, (metric, path)) in rows.iter().enumerate() {
            job.check()?;
            let about = profile.metrics().get(metric.index());
            let factor = about.map_or(1.0, |it| unit(&it.metric.unit).1);
            let total = profile.total(*metric, *path).map_err(unreadable)?.as_f64() * factor;
            let info = spectra.views().get(view);
            // The page may hold the first of equal views only.
            let first = info.and_then(|it| it.same_as).unwrap_or(view);
            let place = match (grids.get(&view).or_else(|| grids.get(&first)), info) {
                (Some(grid), _) => Place::Grid(*grid),
                (None, Some(info)) if info.is_constant() => Place::Same([info.mean * factor]),
                _ => Place::Nowhere(()),
            };
            let items = by_metric.entry(*metric).or_default();
            items.paths.push(path.index());
            items.totals.push(total.is_finite().then_some(total));
            items.views.push(place);
        }
        let ids: Vec<MetricId> = by_metric.keys().copied().collect();
        let source = |id: MetricId| ids.binary_search(&id).ok();
        let about = |id: MetricId| profile.metrics().get(id.index());
        // The exclusive form of a metric is no item of its own.
        let listed: Vec<MetricId> = ids
            .iter()
            .copied()
            .filter(|id| {
                let form = about(*id).filter(|it| it.scope == Scope::Exclusive);
                form.and_then(|it| source(it.counterpart?)).is_none()
            })
            .collect();
        let item = |id: MetricId| listed.binary_search(&id).ok();
        let metrics = listed.iter().filter_map(|id| {
            let metric = about(*id)?;
            let other = metric.counterpart.and_then(source);
            let (inclusive, exclusive) = match metric.scope {
                Scope::Inclusive => (source(*id), other),
                Scope::Exclusive => (other, source(*id)),
            };
            let mut parent = metric.metric.parent;
            while let Some(id) = parent.filter(|id| item(*id).is_none()) {
                parent = about(id).and_then(|it| it.metric.parent);
            }
            Some(MetricItem {
                name: match other {
                    Some(_) => metric.quantity().to_owned(),
                    None => metric.metric.name.clone(),
                },
                unit: unit_text(&unit(&metric.metric.unit).0).to_owned(),
                parent: parent.and_then(item),
                combine: match metric.combine {
                    Combine::Minimum => "min",
                    Combine::Maximum => "max",
                    Combine::Never(_) => "none",
                    _ => "sum",
                },
                inclusive,
                exclusive,
            })
        });
        let calls = CALLS.iter().find_map(|name| item(profile.metric(name)?));
        let paths = profile.calls().paths().iter();
        Ok(Some(Trees {
            metrics: metrics.collect(),
            regions: profile.regions().iter().map(|it| it.name.clone()).collect(),
            paths: paths
                .map(|it| (it.region.index(), it.parent.map(CallPathId::index)))
                .collect(),
            rows: by_metric.into_values().collect(),
            system: system(profile, topology),
            unplaced: profile.system().locations().len() - topology.check().placed,
            calls,
        }))
    }

    /// Returns the numbers of metrics and of call paths.
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.metrics.len(), self.paths.len())
    }

    /// Returns the terms of a metric and a call path, as the script of the page adds them. An expanded
    /// metric is without the metrics below it, and exclusive values are without the call paths below the
    /// call path.
    pub(super) fn sum(
        &self,
        (metric, is_expanded): (usize, bool),
        (path, is_exclusive): (usize, bool),
    ) -> Sum {
        let is_additive = |at: usize| self.metrics.get(at).is_some_and(|it| it.combine == "sum");
        let mut metrics = vec![(metric, 1.0)];
        if is_expanded && is_additive(metric) {
            let below = (0..self.metrics.len())
                .filter(|at| self.metrics[*at].parent == Some(metric) && is_additive(*at));
            metrics.extend(below.map(|at| (at, -1.0)));
        }
        let mut terms = Vec::new();
        for (metric, sign) in metrics {
            let rows = self.rows_of(metric, path, is_exclusive).into_iter();
            terms.extend(rows.filter_map(|(source, path, direction)| {
                let rows = self.rows.get(source)?;
                let at = rows.paths.binary_search(&path).ok()?;
                Some((*rows.views.get(at)?, sign * direction))
            }));
        }
        let combine: fn(f64, f64) -> f64 = match self.metrics.get(metric).map(|it| it.combine) {
            Some("min") => f64::min,
            Some("max") => f64::max,
            _ => |one, other| one + other,
        };
        Sum { terms, combine }
    }

    /// Returns the rows of a metric and call path with their signs, as source, path and sign.
    fn rows_of(&self, metric: usize, path: usize, is_own: bool) -> Vec<(usize, usize, f64)> {
        let Some(about) = self.metrics.get(metric) else {
            return Vec::new();
        };
        let below = |own: usize| {
            let paths = self.paths.iter().enumerate();
            paths.filter_map(move |(at, (_, parent))| (*parent == Some(own)).then_some(at))
        };
        match (is_own, about.inclusive, about.exclusive) {
            (true, _, Some(source)) => vec![(source, path, 1.0)],
            (true, Some(source), None) => {
                let callees = below(path).filter(|_| about.combine == "sum");
                let callees = callees.map(|callee| (source, callee, -1.0));
                std::iter::once((source, path, 1.0))
                    .chain(callees)
                    .collect()
            }
            (false, Some(source), _) => vec![(source, path, 1.0)],
            (false, None, Some(source)) if about.combine == "none" => vec![(source, path, 1.0)],
            (false, None, Some(source)) => {
                // Parents come before their children.
                let mut is_inside = vec![false; self.paths.len()];
                for (at, (_, parent)) in self.paths.iter().enumerate() {
                    is_inside[at] = at == path
                        || parent.is_some_and(|up| is_inside.get(up).copied().unwrap_or(false));
                }
                let inside = (0..self.paths.len()).filter(|at| is_inside[*at]);
                inside.map(|at| (source, at, 1.0)).collect()
            }
            (_, None, None) => Vec::new(),
        }
    }

    /// Returns the data of the page, which holds the first `held` grids.
    pub(super) fn data(&self, held: usize) -> TreesData<'_> {
        let mut rows = self.rows.clone();
        let views = rows.iter_mut().flat_map(|rows| &mut rows.views);
        views.for_each(|view| {
            if matches!(view, Place::Grid(grid) if *grid >= held) {
                *view = Place::Nowhere(());
            }
        });
        TreesData {
            metrics: &self.metrics,
            regions: front_coded(self.regions.iter().map(String::as_str)),
            paths: &self.paths,
            rows,
            system: front_coded(self.system.iter().map(|it| it.0.as_str())),
            parents: self.system.iter().map(|it| it.1).collect(),
            cells: self.system.iter().map(|it| it.2).collect(),
            unplaced: self.unplaced,
            calls: self.calls,
        }
    }
}

fn unreadable(error: perf_core::Error) -> std::io::Error {
    std::io::Error::other(error.to_string())
}

/// Returns the machine as a tree whose leaves are the cells of the grid. A cell with several locations is
/// a leaf below their group, or below the group of the first of them.
fn system(profile: &Profile, topology: &Topology) -> Vec<SystemItem> {
    let system = profile.system();
    let mut items: Vec<SystemItem> = Vec::new();
    let mut nodes: BTreeMap<SystemNodeId, usize> = BTreeMap::new();
    let mut groups = BTreeMap::new();
    let mut sizes: BTreeMap<_, usize> = BTreeMap::new();
    for group in system.locations().iter().filter_map(|it| it.group) {
        *sizes.entry(group).or_default() += 1;
    }
    let occupants = topology.occupants();
    for cell in occupants.chunk_by(|(one, _), (other, _)| one == other) {
        let Some((at, first)) = cell.first().copied() else {
            continue;
        };
        let group = system.location(first).and_then(|it| it.group);
        let above = group.and_then(|id| Some((id, system.group(id)?)));
        // Machine nodes from the root.
        let mut chain = Vec::new();
        let mut node = above.and_then(|(_, group)| group.parent);
        while let Some(id) = node {
            chain.push(id);
            node = system.node(id).and_then(|it| it.parent);
        }
        let mut parent = None;
        for id in chain.into_iter().rev() {
            parent = Some(*nodes.entry(id).or_insert_with(|| {
                let name = system.node(id).map_or("", |it| it.name.as_str());
                items.push((name.to_owned(), parent, None));
                items.len() - 1
            }));
        }
        let name = |id: LocationId| system.location(id).map_or("", |it| it.name.as_str());
        let is_one_group = |id| {
            let mut all = cell
                .iter()
                .filter_map(|(_, location)| system.location(*location));
            all.all(|location| location.group == Some(id))
        };
        let leaf = match above {
            // The cell is a whole process.
            Some((id, group)) if is_one_group(id) && sizes.get(&id) == Some(&cell.len()) => {
                match cell.len() {
                    1 => group.name.clone(),
                    count => format!("{} ({count} locations)", group.name),
                }
            }
            Some((id, group)) => {
                parent = Some(*groups.entry(id).or_insert_with(|| {
                    items.push((group.name.clone(), parent, None));
                    items.len() - 1
                }));
                several(name(first), cell.len())
            }
            None => several(name(first), cell.len()),
        };
        items.push((leaf, parent, Some(at)));
    }
    items
}

fn several(first: &str, count: usize) -> String {
    match count {
        1 => first.to_owned(),
        count => format!("{first} and {} more", count - 1),
    }
}
