//! [`DerivedRows`]: rows of a Cube profile including those of derived metrics, whose CubePL
//! programs are evaluated when a row is requested.
//!
//! A `POSTDERIVED` metric is evaluated after aggregation, so that a ratio is a ratio of sums. A
//! `PREDERIVED` metric is evaluated for each call path and location, and its values are added.
//!
//! If none of the inputs of a program has a row, the program is evaluated with zeros. The result is
//! usually 0, and there is no row. Otherwise, as for `metric::time() + 1`, the call path has a row.
//! A minimum or maximum without values is infinite; it is not a valid result, so that there is no
//! row either.

use super::cubepl::{Facts, Failure, Names, Problem, Program, State};
use super::cubex_rows::unreadable;
use super::names::property;
use super::rules;
use crate::{Error, Result};
use perf_core::{
    CallPathId, Combine, Diagnostics, Job, MetricId, Place, Profile, ProfileMetric, RowStore,
    Scope, Severities, Value,
};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

/// Rows of a profile, including those of derived metrics.
#[derive(Debug)]
pub(super) struct DerivedRows {
    /// The profile without rows for derived metrics.
    base: Profile,
    /// Name of the file, for diagnostics.
    file: Arc<str>,
    /// Derived metrics by id.
    metrics: BTreeMap<MetricId, Derived>,
    /// Facts that the programs read.
    facts: Facts,
    /// Variables that the programs share.
    state: State,
    /// Job of the profile, whose cancellation also stops programs that are evaluated later.
    job: Job,
}

/// A derived metric.
#[derive(Debug)]
struct Derived {
    /// Parsed program, or the reason why it cannot be evaluated.
    program: std::result::Result<Program, Unsupported>,
    /// Scope of the values that are evaluated before aggregation; `None` for a `POSTDERIVED`
    /// metric.
    added: Option<Scope>,
    /// Values for call paths without inputs, computed on first use: one, or one for each call path.
    nothing: OnceLock<Vec<f64>>,
    /// Call paths with rows, computed on first use.
    paths: OnceLock<Vec<CallPathId>>,
}

/// Reason why a program cannot be evaluated.
#[derive(Clone, Debug)]
pub(super) enum Unsupported {
    /// Defect of the expression.
    Expression(Problem),
    /// Defect of the program that initialises variables.
    Init(Problem),
    /// Defect of the definition of the metric.
    Definition(&'static str),
}

/// Maximum number of metrics that are read for one value.
const HEAVIEST: u64 = 10_000;

/// Returns a property of a metric.
fn text<'a>(about: &'a ProfileMetric, name: &str) -> Option<&'a str> {
    let own = about.properties.iter().find(|(own, _)| own == name);
    own.map(|(_, value)| value.as_str())
}

/// Returns the scope in which a derived metric is evaluated before aggregation.
fn added(about: &ProfileMetric) -> Option<Scope> {
    match text(about, property::METRIC_TYPE) {
        Some("PREDERIVED_INCLUSIVE") => Some(Scope::Inclusive),
        Some("PREDERIVED_EXCLUSIVE") => Some(Scope::Exclusive),
        _ => None,
    }
}

impl DerivedRows {
    /// Parses the derived metrics and executes the programs that initialise them. Returns `None` if
    /// there are no derived metrics.
    pub(super) fn new(
        base: &Profile,
        file: &Arc<str>,
        found: &mut Diagnostics,
        job: &Job,
    ) -> Result<Option<Self>> {
        let mut names = Names::default();
        for (about, at) in base.metrics().iter().zip(0u32..) {
            let name = about.metric.name.clone();
            names.metrics.entry(name).or_insert(MetricId(at));
        }
        let mut metrics = BTreeMap::new();
        let mut inits = Vec::new();
        for (about, at) in base.metrics().iter().zip(0u32..) {
            if let Some(text) = text(about, property::INIT) {
                inits.push((MetricId(at), names.parse(text)));
            }
            let kind = text(about, property::METRIC_TYPE);
            if !kind.is_some_and(|kind| kind.contains("DERIVED")) {
                continue;
            }
            let added = added(about);
            let mut properties = about.properties.iter();
            let is_aggregated = properties.any(|(name, _)| name.starts_with(property::AGGREGATION));
            let program = match text(about, property::EXPRESSION) {
                None => Err(Unsupported::Definition("there is no <cubepl>")),
                Some(_) if is_aggregated && added.is_some() => {
                    Err(Unsupported::Definition("<cubeplaggr> is not supported"))
                }
                Some(text) => names.parse(text).map_err(Unsupported::Expression),
            };
            let derived = Derived {
                program,
                added,
                nothing: OnceLock::new(),
                paths: OnceLock::new(),
            };
            metrics.insert(MetricId(at), derived);
        }
        if metrics.is_empty() {
            return Ok(None);
        }
        let mut rows = DerivedRows {
            base: base.clone(),
            file: Arc::clone(file),
            metrics,
            facts: Facts::new(base),
            state: State::default(),
            job: job.without_progress(),
        };
        rows.initialise(inits, job)?;
        rows.refuse_cycles();
        for (id, derived) in &rows.metrics {
            if let Err(reason) = &derived.program {
                let place = rows.place(*id, reason);
                found.add(rules::DERIVED, place);
            }
        }
        Ok(Some(rows))
    }

    /// Executes the programs that initialise variables. A defect makes all derived metrics
    /// unsupported that have or follow the program, because they read its variables.
    fn initialise(
        &mut self,
        inits: Vec<(MetricId, std::result::Result<Program, Problem>)>,
        job: &Job,
    ) -> Result<()> {
        for (metric, program) in inits {
            let done = match program {
                Ok(program) => program.initialise(&self.facts, &mut self.state, job),
                Err(problem) => Err(Failure::Program(problem)),
            };
            let problem = match done {
                Ok(()) => continue,
                Err(Failure::Read(error)) => return Err(error.into()),
                Err(Failure::Program(problem)) => problem,
                Err(Failure::Mixed) => Problem::mixed(),
            };
            for (_, derived) in self.metrics.range_mut(metric..) {
                derived.program = Err(Unsupported::Init(problem.clone()));
            }
            break;
        }
        Ok(())
    }

    /// Refuses metrics that refer to each other in a cycle, and those for which too many metrics
    /// are read. A derived metric may refer to others in any order.
    fn refuse_cycles(&mut self) {
        // `missing` counts the unresolved inputs of each metric, `needed_by` lists its users.
        let mut missing: HashMap<MetricId, usize> = HashMap::new();
        let mut needed_by: HashMap<MetricId, Vec<MetricId>> = HashMap::new();
        let mut ready = Vec::new();
        for (metric, derived) in &self.metrics {
            let Ok(program) = &derived.program else {
                continue;
            };
            let mut count = 0;
            program.metrics(&mut |needed| {
                if self.metrics.contains_key(&needed) {
                    needed_by.entry(needed).or_default().push(*metric);
                    count += 1;
                }
            });
            match count {
                0 => ready.push(*metric),
                _ => drop(missing.insert(*metric, count)),
            }
        }
        let mut weights: HashMap<MetricId, u64> = HashMap::new();
        while let Some(metric) = ready.pop() {
            let derived = self.metrics.get(&metric);
            let Some(Ok(program)) = derived.map(|derived| &derived.program) else {
                continue;
            };
            let mut weight = 1_u64;
            program.metrics(&mut |metric| {
                // A recorded metric weighs 1.
                weight = weight.saturating_add(weights.get(&metric).copied().unwrap_or(1));
            });
            if weight > HEAVIEST {
                continue;
            }
            weights.insert(metric, weight);
            for next in needed_by.remove(&metric).unwrap_or_default() {
                if let Some(count) = missing.get_mut(&next) {
                    *count -= 1;
                    if *count == 0 {
                        ready.push(next);
                    }
                }
            }
        }
        for (metric, derived) in &mut self.metrics {
            if derived.program.is_ok() && !weights.contains_key(metric) {
                let what = "it depends on itself, on too many metrics, or on one of these";
                derived.program = Err(Unsupported::Definition(what));
            }
        }
    }

    /// Returns the place of a defect of a metric.
    fn place(&self, metric: MetricId, reason: &Unsupported) -> Place {
        let about = self.base.metrics().get(metric.index());
        let name = about.map_or("", |about| about.metric.name.as_str());
        let texts = |name| {
            about
                .and_then(|about| text(about, name))
                .unwrap_or_default()
        };
        let record = match reason {
            Unsupported::Expression(problem) => {
                let (line, column) = problem.position(texts(property::EXPRESSION), 0);
                format!("metric {name}, <cubepl>, line {line}, column {column}: {problem}")
            }
            Unsupported::Init(problem) => {
                let inits = self.base.metrics().iter();
                let mut inits = inits.take(metric.index() + 1).rev();
                let of = inits.find_map(|about| text(about, property::INIT));
                let (line, column) = problem.position(of.unwrap_or_default(), 0);
                format!("metric {name}, <cubeplinit>, line {line}, column {column}: {problem}")
            }
            Unsupported::Definition(what) => format!("metric {name}: {what}"),
        };
        Place::file(Arc::clone(&self.file)).record(record)
    }

    pub(super) fn is_derived(&self, metric: MetricId) -> bool {
        self.metrics.contains_key(&metric)
    }

    /// Returns the derived metrics that cannot be evaluated, with the reasons.
    pub(super) fn unsupported(&self) -> impl Iterator<Item = (MetricId, &Unsupported)> {
        let metrics = self.metrics.iter();
        metrics.filter_map(|(id, derived)| Some((*id, derived.program.as_ref().err()?)))
    }

    /// Returns the kinds of values that the programs set, such as `VOID`, by metric.
    pub(super) fn kinds(&self) -> &BTreeMap<MetricId, String> {
        &self.state.kinds
    }

    /// Returns the metric if its values are additive: it is evaluated before aggregation, or a sum
    /// of metrics.
    pub(super) fn is_additive(&self, metric: MetricId) -> bool {
        let derived = self.metrics.get(&metric);
        derived.is_some_and(|derived| {
            derived.added.is_some() || derived.program.as_ref().is_ok_and(Program::is_sum)
        })
    }

    fn error(&self, metric: MetricId, reason: &Unsupported) -> perf_core::Error {
        unreadable(Error::Unsupported {
            place: self.place(metric, reason),
            what: "the expression of this derived metric".into(),
        })
    }

    fn derived(&self, metric: MetricId) -> perf_core::Result<(&Derived, &Program)> {
        let none = Unsupported::Definition("it is not a derived metric");
        let derived = self.metrics.get(&metric);
        let derived = derived.ok_or_else(|| self.error(metric, &none))?;
        let program = derived.program.as_ref();
        Ok((
            derived,
            program.map_err(|reason| self.error(metric, reason))?,
        ))
    }

    /// Evaluates the program of a metric; `fetch` returns the inputs.
    fn evaluate(
        &self,
        metric: MetricId,
        at: (Option<CallPathId>, Scope),
        count: usize,
        fetch: &mut dyn FnMut(MetricId, Scope) -> perf_core::Result<Vec<f64>>,
    ) -> perf_core::Result<Vec<f64>> {
        let (_, program) = self.derived(metric)?;
        let shared = (&self.facts, &self.state);
        let values = program.evaluate(shared, at, count, fetch, &self.job);
        values.map_err(|failure| match failure {
            Failure::Read(error) => error,
            Failure::Program(problem) => self.error(metric, &Unsupported::Expression(problem)),
            Failure::Mixed => self.error(metric, &Unsupported::Expression(Problem::mixed())),
        })
    }

    /// Returns a metric for each location.
    fn view(
        &self,
        metric: MetricId,
        path: CallPathId,
        scope: Scope,
    ) -> perf_core::Result<Vec<f64>> {
        let count = self.base.system().locations().len();
        let Some(derived) = self.metrics.get(&metric) else {
            let row = self.base.scoped(metric, path, scope)?;
            return Ok(row.map_or_else(|| vec![self.nothing(metric); count], |row| row.to_f64()));
        };
        let evaluate = |path| {
            let scope = derived.added.unwrap_or(scope);
            let mut fetch = |metric, scope| self.view(metric, path, scope);
            self.evaluate(metric, (Some(path), scope), count, &mut fetch)
        };
        let Some(own) = derived.added.filter(|own| *own != scope) else {
            return evaluate(path);
        };
        // Values of the other scope are sums or differences along the call tree.
        let (mut values, parts, sign) = match own {
            Scope::Exclusive => (vec![0.0; count], self.base.calls().subtree(path), 1.0),
            Scope::Inclusive => {
                let parts: Vec<_> = self.base.calls().children(Some(path)).collect();
                (evaluate(path)?, parts, -1.0)
            }
        };
        let paths = self.derived_paths(metric);
        for part in parts {
            if paths.binary_search(&part).is_ok() {
                for (sum, value) in values.iter_mut().zip(evaluate(part)?) {
                    *sum += sign * value;
                }
            }
        }
        Ok(values)
    }

    /// Returns the value of a stored metric without a row.
    fn nothing(&self, metric: MetricId) -> f64 {
        let combine = self.base.metrics().get(metric.index());
        match combine.map(|about| about.combine) {
            Some(Combine::Minimum) => f64::INFINITY,
            Some(Combine::Maximum) => f64::NEG_INFINITY,
            _ => 0.0,
        }
    }

    /// Returns `true` for a metric that is evaluated after aggregation.
    fn is_late(&self, metric: MetricId) -> bool {
        let derived = self.metrics.get(&metric);
        derived.is_some_and(|derived| derived.added.is_none())
    }

    /// Returns a metric over parts of the machine; see [`Combine::over_parts`]. A metric that is
    /// derived after aggregation is evaluated with the aggregated inputs.
    fn view_over(
        &self,
        (metric, path): (MetricId, CallPathId),
        scope: Scope,
        parts: &[u32],
        count: usize,
    ) -> perf_core::Result<Vec<f64>> {
        if self.is_late(metric) {
            let mut fetch = |metric, scope| self.view_over((metric, path), scope, parts, count);
            return self.evaluate(metric, (Some(path), scope), count, &mut fetch);
        }
        let row = if self.is_derived(metric) {
            Arc::new(Severities::F64(self.view(metric, path, scope)?))
        } else {
            match self.base.scoped(metric, path, scope)? {
                Some(row) => row,
                None => return Ok(vec![self.nothing(metric); count]),
            }
        };
        let mut values = vec![0.0; count];
        let combine = self.base.metrics()[metric.index()].combine;
        combine.over_parts(&row, parts, &mut values);
        Ok(values)
    }

    /// Returns the values of a metric if no input has a row: one, or one for each call path if they
    /// differ.
    fn of_nothing(&self, metric: MetricId) -> perf_core::Result<Vec<f64>> {
        let Some(derived) = self.metrics.get(&metric) else {
            return Ok(vec![self.nothing(metric)]);
        };
        if let Some(known) = derived.nothing.get() {
            return Ok(known.clone());
        }
        let (_, program) = self.derived(metric)?;
        let mut inputs = HashMap::new();
        let mut result = Ok(());
        program.metrics(&mut |metric| {
            match self.of_nothing(metric) {
                Ok(values) => drop(inputs.insert(metric, values)),
                Err(error) => result = Err(error),
            };
        });
        result?;
        let differs = program.depends_on_path() || inputs.values().any(|values| values.len() > 1);
        let paths = self.base.calls().paths().len();
        let paths = if differs { paths } else { paths.min(1) };
        let scope = derived.added.unwrap_or(Scope::Inclusive);
        let mut values = Vec::with_capacity(paths);
        for path in (0..paths).filter_map(CallPathId::from_index) {
            let mut fetch = |metric, _| {
                let values = inputs.get(&metric).map_or(&[][..], Vec::as_slice);
                let value = values.get(path.index()).or(values.first());
                Ok(vec![value.copied().unwrap_or(0.0)])
            };
            values.extend(self.evaluate(metric, (Some(path), scope), 1, &mut fetch)?);
        }
        Ok(derived.nothing.get_or_init(|| values).clone())
    }

    /// Returns a metric over all locations. A metric that is derived after aggregation is evaluated
    /// with the sums.
    pub(super) fn total(
        &self,
        metric: MetricId,
        path: CallPathId,
        scope: Scope,
    ) -> perf_core::Result<f64> {
        if self.is_late(metric) {
            let mut fetch = |metric, scope| Ok(vec![self.total(metric, path, scope)?]);
            let value = self.evaluate(metric, (Some(path), scope), 1, &mut fetch)?;
            return Ok(value.first().copied().unwrap_or(0.0));
        }
        if self.is_derived(metric) {
            return Ok(self.view(metric, path, scope)?.iter().sum());
        }
        let about = &self.base.metrics()[metric.index()];
        let row = self.base.scoped(metric, path, scope)?;
        let zeros = || Arc::new(about.zeros(0));
        Ok(about.combine.total(&row.unwrap_or_else(zeros)).as_f64())
    }

    /// Collects the stored metrics on which a derived one depends.
    fn stored(&self, metric: MetricId, into: &mut Vec<MetricId>) {
        match self.metrics.get(&metric) {
            None => into.push(metric),
            Some(derived) => {
                if let Ok(program) = &derived.program {
                    program.metrics(&mut |metric| self.stored(metric, into));
                }
            }
        }
    }

    /// Returns the call paths at which the metric can be non-zero: those with a row of one of its
    /// inputs and their ancestors, and those where its value is not zero without inputs.
    pub(super) fn derived_paths(&self, metric: MetricId) -> &[CallPathId] {
        let derived = self.metrics.get(&metric);
        derived.map_or(&[], |derived| {
            derived.paths.get_or_init(|| self.find_paths(metric))
        })
    }

    fn find_paths(&self, metric: MetricId) -> Vec<CallPathId> {
        let mut metrics = Vec::new();
        self.stored(metric, &mut metrics);
        metrics.sort_unstable();
        metrics.dedup();
        let calls = self.base.calls();
        let of_nothing = self.of_nothing(metric).unwrap_or_default();
        let has_value = |at: usize| {
            let value = of_nothing.get(at).or(of_nothing.first());
            value.is_some_and(|value| *value != 0.0 && value.is_finite())
        };
        let mut is_found: Vec<bool> = vec![false; calls.paths().len()];
        for path in metrics
            .into_iter()
            .flat_map(|metric| self.base.paths(metric))
        {
            let mut at = Some(path);
            while let Some(id) = at.filter(|id| !is_found[id.index()]) {
                is_found[id.index()] = true;
                at = calls.get(id).and_then(|path| path.parent);
            }
        }
        let paths = is_found.into_iter().enumerate();
        let paths = paths.filter(|(at, is_found)| *is_found || has_value(*at));
        paths
            .filter_map(|(at, _)| CallPathId::from_index(at))
            .collect()
    }
}

impl RowStore for DerivedRows {
    fn row(
        &self,
        metric: MetricId,
        path: CallPathId,
    ) -> perf_core::Result<Option<Arc<Severities>>> {
        if !self.is_derived(metric) {
            return self.base.row(metric, path);
        }
        let (derived, _) = self.derived(metric)?;
        if self.derived_paths(metric).binary_search(&path).is_err() {
            return Ok(None);
        }
        let scope = derived.added.unwrap_or(Scope::Inclusive);
        let row = self.view(metric, path, scope)?;
        Ok(Some(Arc::new(Severities::F64(row))))
    }

    fn paths(&self, metric: MetricId) -> Vec<CallPathId> {
        if self.is_derived(metric) {
            self.derived_paths(metric).to_vec()
        } else {
            self.base.paths(metric)
        }
    }

    fn total(&self, metric: MetricId, path: CallPathId) -> perf_core::Result<Option<Value>> {
        if self.is_late(metric) {
            let total = DerivedRows::total(self, metric, path, Scope::Inclusive)?;
            Ok(Some(Value::F64(total)))
        } else if self.is_derived(metric) {
            Ok(None)
        } else {
            self.base.rows().total(metric, path)
        }
    }

    fn scoped(
        &self,
        metric: MetricId,
        path: CallPathId,
        scope: Scope,
    ) -> Option<perf_core::Result<Severities>> {
        if !self.is_late(metric) {
            return None;
        }
        Some(self.view(metric, path, scope).map(Severities::F64))
    }

    fn over_parts(
        &self,
        metric: MetricId,
        path: CallPathId,
        parts: &[u32],
        count: usize,
    ) -> Option<perf_core::Result<Vec<f64>>> {
        if !self.is_late(metric) {
            return None;
        }
        let scope = Scope::Inclusive;
        Some(self.view_over((metric, path), scope, parts, count))
    }
}
