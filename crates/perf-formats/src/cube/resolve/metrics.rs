//! Resolution of the metrics of an anchor to [`ProfileMetric`]s, each with a description of how its
//! rows are stored, and with its counterpart in the other scope.

use super::{Resolved, Resolver, Stored};
use crate::Result;
use crate::cube::anchor::{Metric, Numbered};
use crate::cube::data_type::DataType;
use crate::cube::names::property;
use crate::cube::row_order::Order;
use crate::cube::rules;
use perf_core::{Combine, MetricId, ProfileMetric, Scope, ValueType};
use std::collections::HashMap;

impl Resolver<'_> {
    pub(super) fn metrics(
        &mut self,
        metrics: Numbered<Metric>,
        resolved: &mut Resolved,
    ) -> Result<()> {
        let mut about = metrics.ids.clone();
        about.sort_unstable();
        let (metrics, ids) = self.sorted(metrics, "metric")?;
        for (mut metric, (id, at)) in metrics.into_iter().zip(about) {
            let parent = metric.parent.map(|place| MetricId(ids.placed(place)));
            // Numbers in text rows have one type, regardless of the declared one.
            if self.is_text {
                metric.data_type = "DOUBLE".into();
            }
            let kind = DataType::named(&metric.data_type).unwrap_or_else(|| {
                let place = self.place(at).record(metric.unique.clone());
                self.found.add(rules::UNKNOWN_TYPE, place);
                DataType::Double
            });
            let (about, stored) = describe(metric, id, parent, kind);
            resolved.metrics.push(about);
            resolved.stored.push(stored);
        }
        pair(&mut resolved.metrics);
        Ok(())
    }
}

/// Resolves the names of counterparts. A name without a metric of the other scope stays a property.
fn pair(metrics: &mut [ProfileMetric]) {
    let ids: HashMap<String, (MetricId, Scope)> = metrics
        .iter()
        .zip(0u32..)
        .map(|(about, id)| (about.metric.name.clone(), (MetricId(id), about.scope)))
        .collect();
    for about in metrics {
        let mut keys = about.properties.iter().map(|(key, _)| key);
        let place = keys.position(|key| key == property::COUNTERPART);
        let Some(place) = place else { continue };
        let other = about
            .properties
            .get(place)
            .and_then(|(_, name)| ids.get(name));
        if let Some((id, scope)) = other
            && *scope != about.scope
        {
            about.counterpart = Some(*id);
            about.properties.remove(place);
        }
    }
}

/// Returns the properties of a metric and its storage.
fn describe(
    metric: Metric,
    id: u64,
    parent: Option<MetricId>,
    kind: DataType,
) -> (ProfileMetric, Stored) {
    let is_derived = match metric.kind.as_str() {
        "POSTDERIVED" | "DERIVED" => true,
        other => other.starts_with("PREDERIVED"),
    };
    let scope = match metric.kind.as_str() {
        "INCLUSIVE" | "PREDERIVED_INCLUSIVE" | "POSTDERIVED" | "DERIVED" => Scope::Inclusive,
        // A missing type means EXCLUSIVE; values of simple metrics belong to their call path only.
        _ => Scope::Exclusive,
    };
    let mut properties = Vec::new();
    let mut keep = |name: &str, value: String, usual: &str| {
        if !value.is_empty() && value != usual {
            properties.push((name.to_string(), value));
        }
    };
    keep(property::DATA_TYPE, metric.data_type, "");
    if is_derived || metric.kind == "SIMPLE" {
        keep(property::METRIC_TYPE, metric.kind.clone(), "");
    }
    keep(property::DISPLAY_NAME, metric.display, &metric.unique);
    keep(property::URL, metric.url, "");
    keep(property::VISIBILITY, metric.visibility.clone(), "NORMAL");
    let is_void = metric.values == "VOID";
    keep(property::VALUES, metric.values, "");
    for (name, value) in metric.flags {
        keep(&name, value, "");
    }
    keep(property::EXPRESSION, metric.expression, "");
    keep(property::INIT, metric.init, "");
    let is_aggregated = !metric.aggregations.is_empty();
    for (which, expression) in metric.aggregations {
        let name = format!("{}:{which}", property::AGGREGATION);
        keep(&name, expression, "");
    }
    properties.extend(metric.attributes);
    let is_added = metric.kind.starts_with("PREDERIVED") && !is_aggregated;
    let (value_type, combine) = if is_added {
        (ValueType::F64, Combine::Sum)
    } else if is_derived {
        (ValueType::F64, Combine::Never(1))
    } else {
        (kind.value_type(), kind.combine())
    };
    let prefix = match metric.visibility.as_str() {
        "GHOST" => "ghost_",
        _ => "",
    };
    let stored = Stored {
        id,
        kind,
        order: Order::of(scope, metric.kind == "SIMPLE"),
        member: format!("{prefix}{id}"),
        has_rows: !is_derived && !is_void,
    };
    let metric = perf_core::Metric {
        name: metric.unique,
        description: metric.description,
        unit: metric.unit,
        value_type,
        parent,
        ..perf_core::Metric::default()
    };
    let about = ProfileMetric {
        metric,
        scope,
        combine,
        properties,
        counterpart: None,
    };
    (about, stored)
}
