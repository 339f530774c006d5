//! [`cut`]: a profile with a part of its call tree; [`rename`]: a profile with other names of
//! regions, which can group call paths.

use crate::profile::derived_rows::add;
use crate::profile::{Combine, Profile, RowStore, Scope, Severities};
use crate::{CallPath, CallPathId, CallTree, Error, Job, MetricId, Region, RegionId, Result, fits};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Call paths of the original profile behind a call path.
#[derive(Clone, Debug, Default)]
struct Sources {
    /// Call paths that it replaces.
    whole: Vec<CallPathId>,
    /// Call paths below that are joined with it. Their exclusive values are added to its exclusive
    /// values. Its inclusive values already include them.
    inner: Vec<CallPathId>,
    /// Call paths below that are removed together with their callees.
    pruned: Vec<CallPathId>,
}

/// Rows of a profile with a changed call tree.
#[derive(Debug)]
struct MovedRows {
    /// Original profile.
    base: Profile,
    /// Sources of each call path.
    sources: Vec<Sources>,
    /// New call path of each original call path, and `true` if it replaces the original one.
    targets: Vec<Option<(CallPathId, bool)>>,
}

impl RowStore for MovedRows {
    fn row(&self, metric: MetricId, path: CallPathId) -> Result<Option<Arc<Severities>>> {
        let base = &self.base;
        let about = base.metrics().get(metric.index());
        let (Some(sources), Some(about)) = (self.sources.get(path.index()), about) else {
            return Ok(None);
        };
        if let ([only], [], []) = (
            sources.whole.as_slice(),
            sources.inner.as_slice(),
            sources.pruned.as_slice(),
        ) {
            return base.row(metric, *only);
        }
        if matches!(about.combine, Combine::Never(_)) {
            return Ok(None);
        }
        let mut sum: Option<Severities> = None;
        let mut join = |row: Option<Arc<Severities>>| match (&mut sum, row) {
            (Some(sum), Some(row)) => add(about.combine, sum, &row),
            (None, Some(row)) => {
                sum = Some((*row).clone());
                Ok(())
            }
            (_, None) => Ok(()),
        };
        for path in &sources.whole {
            join(base.row(metric, *path)?)?;
        }
        if about.scope == Scope::Exclusive {
            for path in &sources.inner {
                join(base.row(metric, *path)?)?;
            }
            for path in &sources.pruned {
                join(base.scoped(metric, *path, Scope::Inclusive)?)?;
            }
        }
        Ok(sum.map(Arc::new))
    }

    fn paths(&self, metric: MetricId) -> Vec<CallPathId> {
        let about = self.base.metrics().get(metric.index());
        let Some(about) = about else {
            return Vec::new();
        };
        let is_exclusive = about.scope == Scope::Exclusive;
        let target = |path: CallPathId| {
            let (target, is_whole) = (*self.targets.get(path.index())?)?;
            (is_whole || is_exclusive).then_some(target)
        };
        let own = self.base.paths(metric).into_iter();
        let paths: BTreeSet<CallPathId> = own.filter_map(target).collect();
        paths.into_iter().collect()
    }
}

/// Returns the profile with a part of its call tree.
///
/// With `roots`, the result has only these call paths and the ones below them, as roots. Values of
/// other call paths are lost. The call paths of `pruned` and the ones below them are removed, and
/// their values become exclusive values of the caller: the inclusive value of the caller does not
/// change. A pruned root has no caller, so its values are lost. Values that cannot be combined
/// ([`Combine::Never`]) are lost for the caller.
///
/// ```
/// use perf_core::{CallPathId, Job, Profile, Value, algebra};
/// let trace = perf_core::samples::cosmo::trace();
/// let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
/// let time = profile.metric("time").expect("profiles of traces have it");
/// let own = profile.metric("exclusive time").expect("profiles of traces have it");
/// let root = CallPathId(0);
/// let below: Vec<CallPathId> = profile.calls().children(Some(root)).collect();
/// let cut = algebra::cut(&profile, &[], &below, &Job::default())?;
/// assert_eq!(cut.total(time, root)?, profile.total(time, root)?);
/// // All time is now that of the root itself.
/// assert_eq!(cut.total(own, root)?, profile.total(time, root)?);
/// # Ok::<(), perf_core::Error>(())
/// ```
///
/// # Errors
/// Returns [`Error::Undefined`] for a call path that does not exist, and [`Error::Cancelled`] if the
/// job is cancelled.
pub fn cut(
    profile: &Profile,
    roots: &[CallPathId],
    pruned: &[CallPathId],
    job: &Job,
) -> Result<Profile> {
    let count = profile.calls().paths().len();
    if let Some(id) = roots.iter().chain(pruned).find(|id| id.index() >= count) {
        return Err(Error::Undefined {
            what: "call path",
            id: u64::from(id.0),
            count,
        });
    }
    let roots: BTreeSet<CallPathId> = roots.iter().copied().collect();
    let pruned: BTreeSet<CallPathId> = pruned.iter().copied().collect();
    let mut tree = Tree::default();
    let mut checks = job.checks();
    for (id, path) in paths(profile) {
        checks.next(1)?;
        let above = path.parent.and_then(|id| *tree.targets.get(id.index())?);
        let target = match above {
            // Below a pruned call path.
            Some((caller, false)) => Some((caller, false)),
            Some((caller, true)) if pruned.contains(&id) => {
                tree.sources(caller)?.pruned.push(id);
                Some((caller, false))
            }
            Some((caller, true)) => Some((tree.add(profile, id, Some(caller), path.region)?, true)),
            None => {
                let is_root = if roots.is_empty() {
                    path.parent.is_none()
                } else {
                    roots.contains(&id)
                };
                if is_root && !pruned.contains(&id) {
                    Some((tree.add(profile, id, None, path.region)?, true))
                } else {
                    None
                }
            }
        };
        tree.targets.push(target);
    }
    tree.finish(profile, profile.regions().to_vec())
}

/// Returns the profile with other names of regions, which can group them. Each rule is a new name
/// and a pattern with `*` and `?` ([`fits`]); the first rule that matches the name of a region
/// applies. Renamed call paths with the same caller and the same new name become one call path. A
/// renamed call path whose caller has the same new name becomes part of its caller.
///
/// ```
/// use perf_core::{Job, Profile, algebra};
/// let trace = perf_core::samples::cosmo::trace();
/// let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
/// let rules = [("program".to_string(), "*".to_string())];
/// let one = algebra::rename(&profile, &rules, &Job::default())?;
/// assert_eq!(one.calls().paths().len(), 1);
/// let time = profile.metric("time").expect("profiles of traces have it");
/// assert_eq!(one.over_paths(time)?, profile.over_paths(time)?);
/// # Ok::<(), perf_core::Error>(())
/// ```
///
/// # Errors
/// Returns [`Error::TooMany`] for more regions than ids can number, and [`Error::Cancelled`] if the
/// job is cancelled.
pub fn rename(profile: &Profile, rules: &[(String, String)], job: &Job) -> Result<Profile> {
    let mut regions = profile.regions().to_vec();
    let mut groups: HashMap<&str, RegionId> = HashMap::new();
    // New region of each region; `None` if it keeps its name.
    let mut renamed = Vec::with_capacity(regions.len());
    for region in profile.regions() {
        let rule = rules.iter().find(|rule| fits(&rule.1, &region.name));
        let Some((name, _)) = rule else {
            renamed.push(None);
            continue;
        };
        let next = RegionId::from_index(regions.len()).ok_or(Error::TooMany {
            what: "regions",
            limit: u64::from(u32::MAX),
        })?;
        let id = *groups.entry(name.as_str()).or_insert(next);
        if id == next {
            let (paradigm, role) = (region.paradigm, region.role);
            regions.push(Region {
                paradigm,
                role,
                ..Region::named(name.clone())
            });
        }
        renamed.push(Some(id));
    }
    let mut tree = Tree::default();
    let mut known: HashMap<(Option<CallPathId>, RegionId), CallPathId> = HashMap::new();
    let mut checks = job.checks();
    for (id, path) in paths(profile) {
        checks.next(1)?;
        let above = path.parent.and_then(|id| *tree.targets.get(id.index())?);
        let caller = above.map(|(caller, _)| caller);
        let target = match renamed.get(path.region.index()).copied().flatten() {
            None => (tree.add(profile, id, caller, path.region)?, true),
            Some(region) if caller.and_then(|id| tree.region(id)) == Some(region) => {
                let caller = caller.unwrap_or_default();
                tree.sources(caller)?.inner.push(id);
                (caller, false)
            }
            Some(region) => match known.get(&(caller, region)) {
                Some(target) => {
                    tree.sources(*target)?.whole.push(id);
                    (*target, true)
                }
                None => {
                    let target = tree.add(profile, id, caller, region)?;
                    known.insert((caller, region), target);
                    (target, true)
                }
            },
        };
        tree.targets.push(Some(target));
    }
    tree.finish(profile, regions)
}

/// Returns the call paths of a profile in ascending order.
fn paths(profile: &Profile) -> impl Iterator<Item = (CallPathId, CallPath)> {
    let paths = profile.calls().paths().iter().enumerate();
    paths.filter_map(|(at, path)| Some((CallPathId::from_index(at)?, *path)))
}

/// Call tree that is being changed.
#[derive(Default)]
struct Tree {
    /// New call paths.
    calls: CallTree,
    /// Sources of each new call path.
    sources: Vec<Sources>,
    /// New call path of each original call path so far.
    targets: Vec<Option<(CallPathId, bool)>>,
}

impl Tree {
    /// Adds a call path that replaces one of the profile, with its properties.
    fn add(
        &mut self,
        profile: &Profile,
        from: CallPathId,
        parent: Option<CallPathId>,
        region: RegionId,
    ) -> Result<CallPathId> {
        let id = match self.calls.find(parent, region) {
            Some(_) => self.calls.push(CallPath { region, parent })?,
            None => self.calls.child(parent, region)?,
        };
        for (name, value) in profile.calls().properties(from) {
            self.calls.annotate(id, name.clone(), value.clone());
        }
        self.sources.push(Sources {
            whole: vec![from],
            ..Sources::default()
        });
        Ok(id)
    }

    fn region(&self, id: CallPathId) -> Option<RegionId> {
        self.calls.get(id).map(|path| path.region)
    }

    fn sources(&mut self, id: CallPathId) -> Result<&mut Sources> {
        let count = self.sources.len();
        self.sources.get_mut(id.index()).ok_or(Error::Undefined {
            what: "call path",
            id: u64::from(id.0),
            count,
        })
    }

    fn finish(self, profile: &Profile, regions: Vec<Region>) -> Result<Profile> {
        let rows = MovedRows {
            base: profile.clone(),
            sources: self.sources,
            targets: self.targets,
        };
        profile
            .clone()
            .with_calls(self.calls, regions, Arc::new(rows))
    }
}
