//! Algebra of profiles against sums over names, computed the textbook way.

use perf_core::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Value of a metric by the names of its call path, with the number of the call path among equal
/// ones on each level, and by location.
type Cells = BTreeMap<(Vec<(String, usize)>, String), f64>;

/// Call path of a plan: the caller, the region, and a value for each location.
type Planned = (Option<usize>, u8, Vec<i16>);

/// Returns a profile with regions `a` to `d`, these call paths, and a process for each location.
/// Metric 0 stores `scope`, metric 1 is a maximum.
fn profile(plan: &[Planned], names: &[&str], scope: Scope) -> Profile {
    let group = |name: &&str| LocationGroup {
        name: (*name).into(),
        ..LocationGroup::default()
    };
    let location = |at: usize| Location {
        name: "thread".into(),
        group: LocationGroupId::from_index(at),
        key: at as u64,
        ..Location::default()
    };
    let groups = names.iter().map(group).collect();
    let locations = (0..names.len()).map(location).collect();
    let system = SystemTree::new(vec![], groups, locations, &Limits::default()).unwrap();
    let regions = ["a", "b", "c", "d"].map(Region::named).to_vec();
    let mut calls = CallTree::default();
    let mut rows = Rows::default();
    for (at, (parent, region, values)) in plan.iter().enumerate() {
        let parent = parent.filter(|parent| *parent < at);
        let parent = parent.and_then(CallPathId::from_index);
        let region = RegionId(u32::from(region % 4));
        let id = calls.push(CallPath { region, parent }).unwrap();
        let row: Vec<i64> = (0..names.len()).map(|at| i64::from(values[at])).collect();
        // Call paths of region `d` have no row.
        if region.0 < 3 {
            rows.insert(MetricId(0), id, Severities::I64(row.clone()));
            let row = row.iter().map(|value| *value as f64).collect();
            rows.insert(MetricId(1), id, Severities::F64(row));
        }
    }
    let metric = |name: &str, value_type, combine| ProfileMetric {
        metric: Metric {
            name: name.into(),
            value_type,
            ..Metric::default()
        },
        scope,
        combine,
        ..ProfileMetric::default()
    };
    let metrics = vec![
        metric("amount", ValueType::I64, Combine::Sum),
        metric("largest", ValueType::F64, Combine::Maximum),
    ];
    Profile::new(system, regions, calls, metrics, Arc::new(rows)).unwrap()
}

/// Returns the cells of a metric in a scope by names.
fn cells(profile: &Profile, metric: &str, scope: Scope) -> Cells {
    let metric = profile.metric(metric).unwrap();
    let mut names: Vec<Vec<(String, usize)>> = Vec::new();
    let mut cells = Cells::new();
    for (at, path) in profile.calls().paths().iter().enumerate() {
        let parent = path
            .parent
            .map_or(Vec::new(), |id| names[id.index()].clone());
        let name = &profile.regions()[path.region.index()].name;
        let number = (0..)
            .find(|number| {
                let mut own = parent.clone();
                own.push((name.clone(), *number));
                !names.contains(&own)
            })
            .unwrap();
        let mut own = parent;
        own.push((name.clone(), number));
        names.push(own.clone());
        let id = CallPathId::from_index(at).unwrap();
        let Some(row) = profile.scoped(metric, id, scope).unwrap() else {
            continue;
        };
        for (place, value) in profile.system().location_ids().zip(row.to_f64()) {
            cells.insert((own.clone(), profile.system().label(place)), value);
        }
    }
    cells
}

fn plan() -> impl Strategy<Value = Vec<Planned>> {
    let path = (
        prop::option::weighted(0.8, 0..12_usize),
        0..8_u8,
        prop::collection::vec(any::<i16>(), 3),
    );
    prop::collection::vec(path, 1..12)
}

/// Compares a result with `f` of the cells of both profiles, with 0 for missing cells.
fn check(result: &Profile, parts: [&Profile; 2], scope: Scope, f: impl Fn(f64, f64) -> f64) {
    let [one, other] = parts.map(|part| cells(part, "amount", scope));
    let found = cells(result, "amount", scope);
    for key in one.keys().chain(other.keys()).chain(found.keys()) {
        let of = |cells: &Cells| cells.get(key).copied().unwrap_or_default();
        assert_eq!(of(&found), f(of(&one), of(&other)), "{key:?}");
    }
}

proptest! {
    #[test]
    fn operators_equal_sums_over_names(one in plan(), other in plan(), exclusive in any::<bool>()) {
        let scope = if exclusive { Scope::Exclusive } else { Scope::Inclusive };
        let one = profile(&one, &["rank 0", "rank 1", "rank 2"], scope);
        let other = profile(&other, &["rank 2", "rank 7"], scope);
        let job = Job::default();
        let change = algebra::difference(&one, &other, &job).unwrap();
        check(&change.profile, [&one, &other], scope, |a, b| a - b);
        prop_assert_eq!((change.locations.all, change.locations.common), (4, 1));
        prop_assert_eq!(&change.dropped, &["largest"]);
        let both = [one.clone(), other.clone()];
        check(&algebra::mean(&both, &job).unwrap().profile, [&one, &other], scope, |a, b| (a + b) / 2.0);
        check(&algebra::minimum(&both, &job).unwrap().profile, [&one, &other], scope, f64::min);
        check(&algebra::maximum(&both, &job).unwrap().profile, [&one, &other], scope, f64::max);
        // Linear operators have the same values in both scopes.
        for scope in [Scope::Inclusive, Scope::Exclusive] {
            check(&change.profile, [&one, &other], scope, |a, b| a - b);
        }
        let own = algebra::difference(&one, &one, &job).unwrap();
        prop_assert_eq!(own.call_paths.all, own.call_paths.common);
        prop_assert!(cells(&own.profile, "amount", scope).values().all(|value| *value == 0.0));
        // The metrics of the first profile win.
        let merged = algebra::merge(&both, &job).unwrap();
        check(&merged.profile, [&one, &other], scope, |a, _| a);
    }

    #[test]
    fn pruned_values_become_exclusive_ones_of_the_caller(
        plan in plan(), exclusive in any::<bool>(), at in 0..12_usize,
    ) {
        let scope = if exclusive { Scope::Exclusive } else { Scope::Inclusive };
        let whole = profile(&plan, &["rank 0", "rank 1"], scope);
        let at = at % plan.len();
        let pruned = CallPathId::from_index(at).unwrap();
        let cut = algebra::cut(&whole, &[], &[pruned], &Job::default()).unwrap();
        let below = whole.calls().subtree(pruned);
        prop_assert_eq!(cut.calls().paths().len(), plan.len() - below.len());
        let kept = |id: CallPathId| !below.contains(&id);
        let ids = (0..plan.len()).filter_map(CallPathId::from_index).filter(|id| kept(*id));
        let amount = |profile: &Profile, id, scope| {
            let row = profile.scoped(MetricId(0), id, scope).unwrap();
            row.map_or(vec![0.0; 2], |row| row.to_f64())
        };
        for (new, old) in (0..).map(CallPathId).zip(ids) {
            let whole_value = amount(&whole, old, Scope::Inclusive);
            prop_assert_eq!(amount(&cut, new, Scope::Inclusive), whole_value);
            let mut own = amount(&whole, old, Scope::Exclusive);
            if whole.calls().get(pruned).unwrap().parent == Some(old) {
                let added = amount(&whole, pruned, Scope::Inclusive);
                own.iter_mut().zip(added).for_each(|(own, added)| *own += added);
            }
            prop_assert_eq!(amount(&cut, new, Scope::Exclusive), own);
        }
        let part = algebra::cut(&whole, &[pruned], &[], &Job::default()).unwrap();
        prop_assert_eq!(part.calls().paths().len(), below.len());
        for (new, old) in (0..).map(CallPathId).zip(below) {
            prop_assert_eq!(
                amount(&part, new, Scope::Inclusive), amount(&whole, old, Scope::Inclusive)
            );
        }
    }

    #[test]
    fn renaming_keeps_the_exclusive_value_of_each_name(plan in plan(), exclusive in any::<bool>()) {
        let scope = if exclusive { Scope::Exclusive } else { Scope::Inclusive };
        let whole = profile(&plan, &["rank 0"], scope);
        let rules = [("group".to_string(), "[ab]".to_string()), ("group".into(), "?".into())];
        let by_name = |profile: &Profile, name: &dyn Fn(&str) -> String| {
            let mut sums: BTreeMap<String, f64> = BTreeMap::new();
            for (at, path) in profile.calls().paths().iter().enumerate() {
                let id = CallPathId::from_index(at).unwrap();
                let row = profile.scoped(MetricId(0), id, Scope::Exclusive).unwrap();
                let name = name(&profile.regions()[path.region.index()].name);
                *sums.entry(name).or_default() += row.map_or(0.0, |row| row.to_f64()[0]);
            }
            sums
        };
        let all = algebra::rename(&whole, &rules, &Job::default()).unwrap();
        prop_assert_eq!(all.calls().paths().len(), 1);
        let expected = by_name(&whole, &|_| "group".into());
        prop_assert_eq!(by_name(&all, &str::to_owned), expected);
        let rules = [("x".to_string(), "a".to_string()), ("x".into(), "b".into())];
        let some = algebra::rename(&whole, &rules, &Job::default()).unwrap();
        let expected = by_name(&whole, &|name| if matches!(name, "a" | "b") { "x" } else { name }.into());
        prop_assert_eq!(by_name(&some, &str::to_owned), expected);
    }
}

#[test]
fn extremes_are_those_of_the_profiles_that_have_a_value() {
    let plan = |value: i16| vec![(None, 0, vec![value; 3])];
    let one = profile(&plan(-3), &["rank 0"], Scope::Exclusive);
    let other = profile(&plan(-5), &["rank 1"], Scope::Exclusive);
    let mean = algebra::mean(&[one, other], &Job::default())
        .unwrap()
        .profile;
    let largest = mean.metric("largest").unwrap();
    // A rank that a profile does not have is not 0, which would be the largest.
    let row = mean.row(largest, CallPathId(0)).unwrap().unwrap();
    assert_eq!(*row, Severities::F64(vec![-3.0, -5.0]));
    assert_eq!(
        mean.total(largest, CallPathId(0)).unwrap(),
        Value::F64(-3.0)
    );
    let none = algebra::mean(&[], &Job::default());
    assert!(matches!(none, Err(Error::Length { .. })));
}

#[test]
fn means_and_extremes_are_those_of_the_profiles_that_have_the_metric() {
    type Operator = fn(&[Profile], &Job) -> Result<algebra::Combined>;
    let plan = |value: i16| vec![(None, 0, vec![value; 3])];
    let [one, two] = [6, 2].map(|value| profile(&plan(value), &["rank 0"], Scope::Exclusive));
    // The third run measures another counter.
    let mut metrics = two.metrics().to_vec();
    metrics[0].metric.name = "counter".into();
    let mut rows = Rows::default();
    rows.insert(MetricId(0), CallPathId(0), Severities::I64(vec![50]));
    let (system, regions) = (two.system().clone(), two.regions().to_vec());
    let rows = Arc::new(rows);
    let other = Profile::new(system, regions, two.calls().clone(), metrics, rows).unwrap();
    let all = [one, two, other];
    let operators: [(Operator, f64); 3] = [
        (algebra::mean, 4.0),
        (algebra::minimum, 2.0),
        (algebra::maximum, 6.0),
    ];
    for (operator, expected) in operators {
        let result = operator(&all, &Job::default()).unwrap().profile;
        let value = |name: &str| {
            let metric = result.metric(name).unwrap();
            result.total(metric, CallPathId(0)).unwrap().as_f64()
        };
        assert_eq!((value("amount"), value("counter")), (expected, 50.0));
    }
}

#[test]
fn times_of_other_units_are_converted() {
    let plan = |value: i16| vec![(None, 0, vec![value; 3])];
    let of = |value: i16, unit: &str| {
        let profile = profile(&plan(value), &["rank 0"], Scope::Exclusive);
        let mut metrics = profile.metrics().to_vec();
        for about in &mut metrics {
            about.metric.unit = unit.into();
        }
        let (system, regions) = (profile.system().clone(), profile.regions().to_vec());
        let mut rows = Rows::default();
        for metric in [MetricId(0), MetricId(1)] {
            let row = profile.row(metric, CallPathId(0)).unwrap().unwrap();
            rows.insert(metric, CallPathId(0), Severities::clone(&row));
        }
        let calls = profile.calls().clone();
        Profile::new(system, regions, calls, metrics, Arc::new(rows)).unwrap()
    };
    let value = |result: &Profile, name: &str| {
        let metric = result.metric(name).unwrap();
        let unit = result.metrics()[metric.index()].metric.unit.clone();
        (result.total(metric, CallPathId(0)).unwrap().as_f64(), unit)
    };
    let job = Job::default();
    // 9 s minus 3,000 ms.
    let change = algebra::difference(&of(9, "sec"), &of(3000, "ms"), &job).unwrap();
    assert_eq!(value(&change.profile, "amount"), (6.0, "sec".into()));
    let change = algebra::difference(&of(3000, "ms"), &of(9, "s"), &job).unwrap();
    assert_eq!(value(&change.profile, "amount"), (-6000.0, "ms".into()));
    let all = [of(9, "usec"), of(6000, "ns")];
    let least = algebra::minimum(&all, &job).unwrap().profile;
    assert_eq!(value(&least, "amount"), (6.0, "usec".into()));
    assert_eq!(value(&least, "largest"), (6.0, "usec".into()));
    // So is the counterpart of a metric in the other scope, from which its total may be derived.
    let trace = perf_core::samples::cosmo::trace();
    let (trace, _) = Profile::from_trace(trace.view(), &job).unwrap();
    let mut metrics = vec![trace.metrics()[trace.metric("time").unwrap().index()].clone()];
    metrics[0].metric.unit = "sec".into();
    metrics[0].counterpart = None;
    let (system, regions) = (trace.system().clone(), trace.regions().to_vec());
    let rows = Arc::new(Rows::default());
    let seconds = Profile::new(system, regions, trace.calls().clone(), metrics, rows).unwrap();
    let common = algebra::in_common_units(&[seconds, trace.clone()]).unwrap();
    for name in ["time", "exclusive time"] {
        let (converted, unit) = value(&common[1], name);
        assert_eq!(unit, "sec");
        assert!(
            (converted * 1e9 - value(&trace, name).0).abs() < 1e-3,
            "{name}"
        );
    }
    // Units of one size keep integers.
    let change = algebra::difference(&of(9, "sec"), &of(3, "s"), &job).unwrap();
    let row = change
        .profile
        .row(MetricId(0), CallPathId(0))
        .unwrap()
        .unwrap();
    assert_eq!(*row, Severities::I64(vec![6]));
}

#[test]
fn collapsed_profiles_have_one_location_with_the_totals() {
    let plan = vec![(None, 0, vec![4, -1, 9]), (Some(0), 1, vec![2, 2, 2])];
    let whole = profile(&plan, &["rank 0", "rank 1", "rank 2"], Scope::Exclusive);
    let one = algebra::collapse(&whole).unwrap();
    for (path, total, largest) in [(0, 12, 9.0), (1, 6, 2.0)] {
        let row = |metric| {
            one.row(MetricId(metric), CallPathId(path))
                .unwrap()
                .unwrap()
        };
        assert_eq!(*row(0), Severities::I64(vec![total]));
        assert_eq!(*row(1), Severities::F64(vec![largest]));
    }
}

#[test]
fn cancelled_jobs_stop() {
    let whole = profile(&[(None, 0, vec![1; 3])], &["rank 0"], Scope::Exclusive);
    let job = Job::default();
    job.cancel();
    let change = algebra::difference(&whole, &whole, &job);
    assert!(matches!(change, Err(Error::Cancelled(_))));
    let lost = algebra::cut(&whole, &[CallPathId(9)], &[], &Job::default());
    assert!(matches!(lost, Err(Error::Undefined { id: 9, .. })));
}
