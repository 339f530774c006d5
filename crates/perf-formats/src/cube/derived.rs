//! Derived metrics, evaluated on request and after aggregation.
//!
//! If none of the inputs of an expression has a row, the expression is evaluated with zeros. The
//! result is usually 0, and there is no row. Otherwise, as for `metric::time() + 1`, all call paths
//! have a row. A minimum or maximum without values is infinite; it is not a valid result, so that
//! there is no row either.

use super::cubepl::Expression;
use super::cubex_rows::unreadable;
use super::names::property;
use super::rules;
use crate::Error;
use perf_core::{
    CallPathId, Combine, Diagnostics, MetricId, Place, Profile, Result, RowStore, Scope,
    Severities, Value,
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
    expressions: BTreeMap<MetricId, Derived>,
}

/// A derived metric.
#[derive(Debug)]
struct Derived {
    /// Parsed expression; `None` if it is not supported.
    expression: Option<Expression>,
    /// Call paths with rows, computed on first use.
    paths: OnceLock<Vec<CallPathId>>,
}

impl Derived {
    fn of(expression: Option<Expression>) -> Self {
        Derived {
            expression,
            paths: OnceLock::new(),
        }
    }
}

/// Maximum number of metrics that are read for one value.
const HEAVIEST: u64 = 10_000;

impl DerivedRows {
    /// Parses the derived metrics as far as they are supported. Returns `None` if there are none.
    pub(super) fn new(base: &Profile, file: &Arc<str>, found: &mut Diagnostics) -> Option<Self> {
        let mut waiting = BTreeMap::new();
        // Metrics by name; of several with the same name, the first is used.
        let mut names = HashMap::new();
        for (about, at) in base.metrics().iter().zip(0u32..) {
            names
                .entry(about.metric.name.as_str())
                .or_insert(MetricId(at));
        }
        for (about, at) in base.metrics().iter().zip(0u32..) {
            let value = |name: &str| {
                let own = about.properties.iter().find(|(own, _)| own == name);
                own.map(|(_, value)| value.as_str())
            };
            let kind = value(property::METRIC_TYPE).filter(|kind| kind.contains("DERIVED"));
            let Some(kind) = kind else { continue };
            let is_plain = kind != "PREDERIVED_INCLUSIVE"
                && kind != "PREDERIVED_EXCLUSIVE"
                && value(property::INIT).is_none();
            let expression = value(property::EXPRESSION).filter(|_| is_plain);
            let expression = expression
                .and_then(|text| Expression::parse(text, &|name| names.get(name).copied()));
            waiting.insert(MetricId(at), expression);
        }
        if waiting.is_empty() {
            return None;
        }
        // A derived metric may refer to others in any order, but not in a cycle, and the total
        // number of references is bounded. `missing` counts the unresolved inputs of each metric,
        // `needed_by` lists its users.
        let mut missing: HashMap<MetricId, usize> = HashMap::new();
        let mut needed_by: HashMap<MetricId, Vec<MetricId>> = HashMap::new();
        let mut ready = Vec::new();
        for (metric, expression) in &waiting {
            let Some(expression) = expression else {
                continue;
            };
            let mut count = 0;
            expression.metrics(&mut |needed| {
                if waiting.contains_key(&needed) {
                    needed_by.entry(needed).or_default().push(*metric);
                    count += 1;
                }
            });
            match count {
                0 => ready.push(*metric),
                _ => drop(missing.insert(*metric, count)),
            }
        }
        let mut expressions = BTreeMap::new();
        let mut weights: HashMap<MetricId, u64> = HashMap::new();
        while let Some(metric) = ready.pop() {
            let Some(Some(expression)) = waiting.get(&metric) else {
                continue;
            };
            let mut weight = 1_u64;
            expression.metrics(&mut |metric| {
                // A recorded metric weighs 1.
                weight = weight.saturating_add(weights.get(&metric).copied().unwrap_or(1));
            });
            if weight > HEAVIEST {
                continue;
            }
            weights.insert(metric, weight);
            expressions.insert(metric, Derived::of(waiting.remove(&metric).flatten()));
            for next in needed_by.remove(&metric).unwrap_or_default() {
                if let Some(count) = missing.get_mut(&next) {
                    *count -= 1;
                    if *count == 0 {
                        ready.push(next);
                    }
                }
            }
        }
        for metric in waiting.into_keys() {
            let name = &base.metrics()[metric.index()].metric.name;
            let place = Place::file(Arc::clone(file)).record(format!("metric {name}"));
            found.add(rules::DERIVED, place);
            expressions.insert(metric, Derived::of(None));
        }
        Some(DerivedRows {
            base: base.clone(),
            file: Arc::clone(file),
            expressions,
        })
    }

    pub(super) fn is_derived(&self, metric: MetricId) -> bool {
        self.expressions.contains_key(&metric)
    }

    fn expression(&self, metric: MetricId) -> Result<&Expression> {
        let known = self.expressions.get(&metric);
        let known = known.and_then(|derived| derived.expression.as_ref());
        known.ok_or_else(|| {
            let about = self.base.metrics().get(metric.index());
            let name = about.map_or("", |about| about.metric.name.as_str());
            unreadable(Error::Unsupported {
                place: Place::file(Arc::clone(&self.file)).record(format!("metric {name}")),
                what: "the expression of this derived metric".into(),
            })
        })
    }

    fn view(&self, metric: MetricId, path: CallPathId, scope: Scope) -> Result<Vec<f64>> {
        let count = self.base.system().locations().len();
        if self.is_derived(metric) {
            let mut fetch = |metric, scope| self.view(metric, path, scope);
            return self.expression(metric)?.evaluate(count, scope, &mut fetch);
        }
        let row = self.base.scoped(metric, path, scope)?;
        Ok(row.map_or_else(|| vec![self.nothing(metric); count], |row| row.to_f64()))
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

    /// Returns a metric over parts of the machine; see [`Combine::over_parts`]. For a derived
    /// metric, the expression is evaluated with the aggregated inputs.
    fn view_over(
        &self,
        (metric, path): (MetricId, CallPathId),
        scope: Scope,
        parts: &[u32],
        count: usize,
    ) -> Result<Vec<f64>> {
        if self.is_derived(metric) {
            let mut fetch = |metric, scope| self.view_over((metric, path), scope, parts, count);
            return self.expression(metric)?.evaluate(count, scope, &mut fetch);
        }
        let Some(row) = self.base.scoped(metric, path, scope)? else {
            return Ok(vec![self.nothing(metric); count]);
        };
        let mut values = vec![0.0; count];
        let combine = self.base.metrics()[metric.index()].combine;
        combine.over_parts(&row, parts, &mut values);
        Ok(values)
    }

    /// Returns the value of a metric if no input has a row.
    fn of_nothing(&self, metric: MetricId) -> Result<f64> {
        if !self.is_derived(metric) {
            return Ok(self.nothing(metric));
        }
        let mut fetch = |metric, _| Ok::<_, perf_core::Error>(vec![self.of_nothing(metric)?]);
        let values = self.expression(metric)?;
        let values = values.evaluate(1, Scope::Inclusive, &mut fetch)?;
        Ok(values[0])
    }

    /// Returns a metric over all locations. For a derived metric, the expression is evaluated with
    /// the sums.
    pub(super) fn total(&self, metric: MetricId, path: CallPathId, scope: Scope) -> Result<f64> {
        if self.is_derived(metric) {
            let mut fetch =
                |metric, scope| Ok::<_, perf_core::Error>(vec![self.total(metric, path, scope)?]);
            let value = self.expression(metric)?.evaluate(1, scope, &mut fetch)?;
            return Ok(value[0]);
        }
        let about = &self.base.metrics()[metric.index()];
        let row = self.base.scoped(metric, path, scope)?;
        let zeros = || Arc::new(about.zeros(0));
        Ok(about.combine.total(&row.unwrap_or_else(zeros)).as_f64())
    }

    /// Collects the stored metrics on which a derived one depends.
    fn stored(&self, metric: MetricId, into: &mut Vec<MetricId>) {
        match self.expressions.get(&metric) {
            None => into.push(metric),
            Some(derived) => {
                if let Some(expression) = &derived.expression {
                    expression.metrics(&mut |metric| self.stored(metric, into));
                }
            }
        }
    }

    /// Returns the call paths at which the metric can be non-zero: those with a row of one of its
    /// inputs and their ancestors, or all.
    fn derived_paths(&self, metric: MetricId) -> &[CallPathId] {
        let derived = self.expressions.get(&metric);
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
        let of_nothing = self.of_nothing(metric);
        let is_everywhere = of_nothing.is_ok_and(|value| value != 0.0 && value.is_finite());
        let mut has_row = vec![is_everywhere; calls.paths().len()];
        for path in metrics
            .into_iter()
            .flat_map(|metric| self.base.paths(metric))
        {
            let mut at = Some(path);
            while let Some(id) = at.filter(|id| !has_row[id.index()]) {
                has_row[id.index()] = true;
                at = calls.get(id).and_then(|path| path.parent);
            }
        }
        let paths = has_row.into_iter().zip(0u32..);
        let paths = paths.filter_map(|(has_row, at)| has_row.then_some(CallPathId(at)));
        paths.collect()
    }
}

impl RowStore for DerivedRows {
    fn row(&self, metric: MetricId, path: CallPathId) -> Result<Option<Arc<Severities>>> {
        if !self.is_derived(metric) {
            return self.base.row(metric, path);
        }
        self.expression(metric)?;
        if self.derived_paths(metric).binary_search(&path).is_err() {
            return Ok(None);
        }
        let row = self.view(metric, path, Scope::Inclusive)?;
        Ok(Some(Arc::new(Severities::F64(row))))
    }

    fn paths(&self, metric: MetricId) -> Vec<CallPathId> {
        if self.is_derived(metric) {
            self.derived_paths(metric).to_vec()
        } else {
            self.base.paths(metric)
        }
    }

    fn total(&self, metric: MetricId, path: CallPathId) -> Result<Option<Value>> {
        if self.is_derived(metric) {
            let total = DerivedRows::total(self, metric, path, Scope::Inclusive)?;
            Ok(Some(Value::F64(total)))
        } else {
            self.base.rows().total(metric, path)
        }
    }

    fn scoped(
        &self,
        metric: MetricId,
        path: CallPathId,
        scope: Scope,
    ) -> Option<Result<Severities>> {
        if !self.is_derived(metric) {
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
    ) -> Option<Result<Vec<f64>>> {
        if !self.is_derived(metric) {
            return None;
        }
        let scope = Scope::Inclusive;
        Some(self.view_over((metric, path), scope, parts, count))
    }
}
