//! [`ScopeBy`]: option `--scope` for values of a profile; search of a metric by the value of
//! `--metric` and its scope, and names of scopes for output.

use crate::failure::Failure;
use crate::options::words;
use crate::suggest::hint;
use clap::Args;
use perfkit::core::{Combine, MetricId, Profile, ProfileMetric, Scope};

/// Option that selects the scope of the values of a profile.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct ScopeBy {
    /// Scope of the values along the call tree [default: of the recording]
    #[arg(long, value_name = "SCOPE", value_parser = words(&[
        ("inclusive", Scope::Inclusive, "values of a call path with those of its callees"),
        ("exclusive", Scope::Exclusive, "values of a call path without those of its callees"),
    ]))]
    pub scope: Option<Scope>,
}

/// Returns the name of a scope.
pub(crate) fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Inclusive => "inclusive",
        Scope::Exclusive => "exclusive",
    }
}

/// Returns the scope of a metric; `None` if it is not additive, because it then has none.
pub(crate) fn scope_of(metric: &ProfileMetric) -> Option<&'static str> {
    (metric.combine == Combine::Sum).then(|| scope_name(metric.scope))
}

/// Returns the name of a metric with its scope, if it has one that the name does not state.
pub(crate) fn scoped_name(metric: &ProfileMetric) -> String {
    let name = &metric.metric.name;
    match scope_of(metric) {
        Some(scope) if !name.starts_with(scope) => format!("{name} ({scope})"),
        _ => name.clone(),
    }
}

/// Finds a metric by name. `exclusive time` is also the metric `time` in exclusive scope, if the
/// profile has none of that name. Returns the metric, and the scope that `--scope` or the name
/// selects.
///
/// # Errors
/// Returns [`Failure::Input`] if there is no such metric, and [`Failure::Usage`] if `--scope`
/// contradicts the name.
pub(crate) fn find_metric(
    profile: &Profile,
    name: &str,
    scope: Option<Scope>,
) -> Result<(MetricId, Option<Scope>), Failure> {
    let scopes = [Scope::Exclusive, Scope::Inclusive];
    let stated = scopes.into_iter().find_map(|scope| {
        let rest = name.strip_prefix(scope_name(scope))?;
        Some((scope, rest.strip_prefix(' ')?))
    });
    let in_words = stated.and_then(|(scope, quantity)| {
        let metrics = profile.metrics().iter();
        let mut metrics = metrics.enumerate();
        let (at, _) = metrics.find(|(_, metric)| metric.quantity() == quantity)?;
        Some((MetricId::from_index(at)?, Some(scope)))
    });
    let exact = profile.metric(name).map(|id| (id, None));
    let (id, named) = exact.or(in_words).ok_or_else(|| {
        let names = profile.metrics().iter();
        let hint = hint(name, names.map(|metric| metric.metric.name.as_str()));
        Failure::Input(format!("--metric {name}: no such metric{hint}"))
    })?;
    if let (Some(scope), Some((other, _))) = (scope, stated)
        && scope != other
    {
        return Err(Failure::Usage(format!(
            "--metric {name} contradicts --scope {}",
            scope_name(scope)
        )));
    }
    Ok((id, scope.or(named)))
}
