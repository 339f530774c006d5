//! [`remap()`]: replaces the metrics of a profile by those that a remapping specification, such as
//! `remapping.spec` of Score-P, derives from them with CubePL.

use super::anchor;
use super::derived::{DerivedRows, Unsupported};
use super::names::property;
use super::resolve::{Resolved, Resolver};
use crate::read_context::ReadContext;
use crate::{Error, OpenOptions, Result};
use perf_core::{
    Combine, Diagnostics, Job, JoinedRows, MetricId, Place, Profile, ProfileMetric, RowStore, Rows,
};
use std::sync::Arc;

/// Replaces the metrics of a profile by those of a remapping specification, such as the member
/// `remapping.spec` of a Score-P profile, and returns the profile and what was noted while reading
/// the specification. `name` is the name of the specification in errors.
///
/// A specification is an XML document with a tree of metrics. A metric without a program has the
/// values of the metric of the same name in the profile. The programs of the others are evaluated,
/// in the part of CubePL that [the module](super) lists. The result stores the values of `PREDERIVED`
/// metrics, and of `POSTDERIVED` metrics that are sums of other metrics. Other `POSTDERIVED` metrics,
/// such as ratios, stay derived.
///
/// Metrics of the profile that the specification does not mention follow at the end. Metrics that
/// the specification declares `VOID`, and those without values in the profile, are dropped together
/// with the metrics below them.
///
/// ```
/// use perf_core::{CallPathId, Job, Profile};
/// use perf_formats::{OpenOptions, cube};
/// let trace = perf_core::samples::cosmo::trace();
/// let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
/// let specification = "<metrics><metric><uniq_name>time</uniq_name>
///     <metric type='PREDERIVED_EXCLUSIVE'><uniq_name>communication</uniq_name><cubepl>
///         ${is_mpi}[${calculation::callpath::id}] * metric::time(e)
///     </cubepl><cubeplinit>{
///         global(is_mpi);
///         ${i} = 0;
///         while (${i} < ${cube::#callpaths}) {
///             ${region} = ${cube::callpath::calleeid}[${i}];
///             if (${cube::region::name}[${region}] =~ /^MPI_/) { ${is_mpi}[${i}] = 1; };
///             ${i} = ${i} + 1;
///         };
///     }</cubeplinit></metric></metric></metrics>";
/// let (options, job) = (OpenOptions::new(), Job::default());
/// let (remapped, _) = cube::remap(&profile, specification, "mpi.spec", &options, &job)?;
/// let metric = remapped.metric("communication").expect("the specification has it");
/// let total: f64 = remapped.over_paths(metric)?.iter().sum();
/// assert!(total > 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::Truncated`], [`Error::Malformed`] or [`Error::Limit`] for a document that is no
/// specification, [`Error::Unsupported`] with line and column for a program that cannot be
/// evaluated, [`Error::Core`] if a row of the profile cannot be read, and [`Error::Cancelled`].
pub fn remap(
    profile: &Profile,
    specification: &str,
    name: &str,
    options: &OpenOptions,
    job: &Job,
) -> Result<(Profile, Diagnostics)> {
    let file: Arc<str> = name.into();
    let options = &ReadContext::new(options, job);
    let mut found = Diagnostics::default();
    let resolved = read(specification, &file, options, &mut found)?;
    let all = Metrics::of(profile, resolved.metrics);
    let properties = profile.properties().iter().cloned();
    let properties: Vec<_> = properties.chain(resolved.properties).collect();
    let base = all.profile(profile, &properties, Rows::default())?;
    let mut unread = Diagnostics::default();
    let Some(derived) = DerivedRows::new(&base, &file, &mut unread, job)? else {
        return Ok((base, found));
    };
    if let Some((metric, reason)) = derived.unsupported().next() {
        return Err(unsupported(&base, metric, reason, specification, &file));
    }
    let rows = all.compute(&derived, job)?;
    let kept = all.keep(&derived, &rows);
    let (all, rows) = all.without(&derived, &kept, &rows)?;
    let remapped = all.profile(profile, &properties, rows)?;
    let derived = DerivedRows::new(&remapped, &file, &mut unread, job)?;
    Ok(match derived {
        Some(derived) => (remapped.with_rows(Arc::new(derived)), found),
        None => (remapped, found),
    })
}

/// Reads the metrics of a specification.
fn read(
    specification: &str,
    file: &Arc<str>,
    options: &ReadContext,
    found: &mut Diagnostics,
) -> Result<Resolved> {
    // A specification has several outermost elements.
    let document = format!("<cube>{}</cube>", escaped(specification));
    let anchor = anchor::parse_specification(document.as_bytes(), file, options, found)?;
    let mut names = anchor.metrics.things.iter().map(|metric| &metric.unique);
    if anchor.metrics.things.is_empty() || names.any(String::is_empty) {
        return Err(Error::Malformed {
            place: Place::file(Arc::clone(file)),
            expected: "a remapping specification: <metric> elements with <uniq_name>".into(),
            got: "another document".into(),
        });
    }
    let mut resolver = Resolver {
        file,
        options,
        found,
        is_text: false,
    };
    resolver.resolve(anchor)
}

/// Returns a specification whose comparisons are escaped: programs contain a bare `<`, which begins
/// no tag.
fn escaped(specification: &str) -> String {
    let mut document = String::with_capacity(specification.len());
    for (at, part) in specification.split('<').enumerate() {
        let begins_tag = part.starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c));
        document.push_str(match (at, begins_tag) {
            (0, _) => "",
            (_, true) => "<",
            (_, false) => "&lt;",
        });
        document.push_str(part);
    }
    document
}

/// Returns the error for a metric that cannot be evaluated, with its place in the specification.
fn unsupported(
    base: &Profile,
    metric: MetricId,
    reason: &Unsupported,
    specification: &str,
    file: &Arc<str>,
) -> Error {
    let (kind, problem) = match reason {
        Unsupported::Expression(problem) => (property::EXPRESSION, problem),
        Unsupported::Init(problem) => (property::INIT, problem),
        Unsupported::Definition(what) => {
            let name = &base.metrics()[metric.index()].metric.name;
            return Error::Unsupported {
                place: Place::file(Arc::clone(file)).record(format!("metric {name}")),
                what: format!("this derived metric ({what})"),
            };
        }
    };
    let metrics = base.metrics().get(..=metric.index()).unwrap_or_default();
    // A program that initialises variables may be that of an earlier metric.
    let own = metrics.iter().rev().find_map(|about| {
        let mut properties = about.properties.iter();
        let text = properties.find(|(name, _)| name == kind);
        text.map(|(_, text)| (&about.metric.name, text))
    });
    let (name, text) = own.map_or(("", ""), |(name, text)| (name.as_str(), text.as_str()));
    let (line, column) = match specification.find(text) {
        Some(start) => problem.position(specification, start),
        None => problem.position(text, 0),
    };
    Error::Unsupported {
        place: Place::file(Arc::clone(file))
            .record(format!("metric {name}, line {line}, column {column}")),
        what: format!("this part of CubePL ({problem})"),
    }
}

/// Metrics of a remapped profile.
struct Metrics {
    /// Definitions.
    metrics: Vec<ProfileMetric>,
    /// Metric of the original profile that has the values of each.
    sources: Vec<Option<MetricId>>,
}

impl Metrics {
    /// Assigns the metrics of a profile to those of a specification, and appends the others.
    fn of(profile: &Profile, mut metrics: Vec<ProfileMetric>) -> Self {
        let mut sources = Vec::with_capacity(metrics.len());
        let mut moved = vec![None; profile.metrics().len()];
        for (at, about) in metrics.iter_mut().enumerate() {
            let source = profile.metric(&about.metric.name);
            let source = source.filter(|_| !is_derived(about));
            sources.push(source);
            let Some(source) = source else { continue };
            moved[source.index()] = MetricId::from_index(at);
            let known = &profile.metrics()[source.index()];
            about.scope = known.scope;
            about.combine = known.combine;
            about.counterpart = known.counterpart;
            about.metric.value_type = known.metric.value_type;
            about.metric.unit.clone_from(&known.metric.unit);
            let is_type = |name: &str| name == property::DATA_TYPE || name == property::METRIC_TYPE;
            about.properties.retain(|(name, _)| !is_type(name));
            let types = known.properties.iter().filter(|(name, _)| is_type(name));
            about.properties.extend(types.cloned());
        }
        for (at, known) in profile.metrics().iter().enumerate() {
            if moved[at].is_none() {
                moved[at] = MetricId::from_index(metrics.len());
                let mut about = known.clone();
                let parent = known.metric.parent;
                about.metric.parent = parent.and_then(|id| *moved.get(id.index())?);
                metrics.push(about);
                sources.push(MetricId::from_index(at));
            }
        }
        for about in &mut metrics {
            about.counterpart = about.counterpart.and_then(|id| *moved.get(id.index())?);
        }
        Metrics { metrics, sources }
    }

    fn ids(&self) -> impl Iterator<Item = MetricId> {
        (0..self.metrics.len()).filter_map(MetricId::from_index)
    }

    /// Returns a profile with these metrics and computed rows.
    fn profile(
        &self,
        of: &Profile,
        properties: &[(String, String)],
        computed: Rows,
    ) -> Result<Profile> {
        let computed: Arc<dyn RowStore> = Arc::new(computed);
        let mut rows = JoinedRows::default();
        for (metric, source) in (0..).zip(&self.sources) {
            let (store, metric) = match source {
                Some(source) => (of.rows(), source.0),
                None => (&computed, metric),
            };
            rows.extend(Arc::clone(store), metric..metric + 1);
        }
        let (system, regions) = (of.system().clone(), of.regions().to_vec());
        let metrics = self.metrics.clone();
        let profile = Profile::new(system, regions, of.calls().clone(), metrics, Arc::new(rows))?;
        let profile = profile.with_topologies(of.topologies().to_vec());
        Ok(profile.with_properties(properties.to_vec()))
    }

    /// Computes the values of the derived metrics that are additive.
    fn compute(&self, derived: &DerivedRows, job: &Job) -> Result<Rows> {
        let mut rows = Rows::default();
        let mut checks = job.checks();
        let metrics = self.ids().filter(|id| derived.is_additive(*id));
        for metric in metrics {
            for path in derived.derived_paths(metric) {
                checks.next(1)?;
                let Some(row) = derived.row(metric, *path)? else {
                    continue;
                };
                let row = (*row).clone();
                if row.to_f64().iter().any(|value| *value != 0.0) {
                    rows.insert(metric, *path, row);
                }
            }
        }
        Ok(rows)
    }

    /// Returns `true` for each metric that has values or is not declared `VOID`, and those above it.
    fn keep(&self, derived: &DerivedRows, rows: &Rows) -> Vec<bool> {
        // A metric below a `VOID` one is `VOID` as well; it follows its parent.
        let mut voids = vec![false; self.metrics.len()];
        for id in self.ids() {
            let above = self.metrics[id.index()].metric.parent;
            let is_below = above.is_some_and(|parent| voids[parent.index()]);
            let kind = derived.kinds().get(&id);
            voids[id.index()] = is_below || kind.is_some_and(|kind| kind == "VOID");
        }
        let is_kept = |id: MetricId| {
            let has_program = is_derived(&self.metrics[id.index()]);
            let has_source = self.sources[id.index()].is_some();
            let is_void = voids[id.index()];
            has_source || has_program && !is_void || !rows.paths(id).is_empty()
        };
        let mut kept: Vec<_> = self.ids().map(is_kept).collect();
        // The programs that remain refer to other metrics.
        if self.ids().any(|id| self.remains(derived, id)) {
            kept.fill(true);
        }
        for at in (0..kept.len()).rev() {
            // A metric follows its parent.
            if let Some(parent) = self.metrics[at].metric.parent.filter(|_| kept[at]) {
                kept[parent.index()] = true;
            }
        }
        kept
    }

    /// Returns `true` for a metric that stays derived.
    fn remains(&self, derived: &DerivedRows, id: MetricId) -> bool {
        is_derived(&self.metrics[id.index()]) && !derived.is_additive(id)
    }

    /// Returns the kept metrics, with those that were computed as stored ones, and their rows.
    fn without(&self, derived: &DerivedRows, kept: &[bool], rows: &Rows) -> Result<(Self, Rows)> {
        let mut count = 0;
        let moved = kept.iter().map(|kept| {
            let id = kept.then(|| MetricId::from_index(count)).flatten();
            count += usize::from(*kept);
            id
        });
        let moved: Vec<Option<MetricId>> = moved.collect();
        let of = |id: MetricId| moved.get(id.index()).copied().flatten();
        let is_init_needed = self.ids().any(|id| self.remains(derived, id));
        let mut all = Metrics {
            metrics: Vec::new(),
            sources: Vec::new(),
        };
        let mut computed = Rows::default();
        for id in self.ids() {
            let Some(new) = of(id) else { continue };
            let mut about = self.metrics[id.index()].clone();
            about.metric.parent = about.metric.parent.and_then(of);
            about.counterpart = about.counterpart.and_then(of);
            if !is_init_needed {
                about.properties.retain(|(name, _)| name != property::INIT);
            }
            if is_derived(&about) && derived.is_additive(id) {
                about.combine = Combine::Sum;
                about.properties.retain(|(name, _)| {
                    let is_program = [property::METRIC_TYPE, property::EXPRESSION];
                    !is_program.contains(&name.as_str()) && !name.starts_with(property::EVALUATION)
                });
            }
            for path in rows.paths(id) {
                if let Some(row) = rows.row(id, path)? {
                    computed.insert(new, path, (*row).clone());
                }
            }
            all.metrics.push(about);
            all.sources.push(self.sources[id.index()]);
        }
        Ok((all, computed))
    }
}

fn is_derived(about: &ProfileMetric) -> bool {
    let mut properties = about.properties.iter();
    properties.any(|(name, kind)| name == property::METRIC_TYPE && kind.contains("DERIVED"))
}
