//! Tests of derived metrics and their expressions.

use super::*;

#[test]
fn derived_metrics_are_evaluated_after_aggregation() {
    let derived = |id, kind: &str, name: &str, text: &str| {
        metric(
            id,
            kind,
            name,
            &format!("<cubepl rowwise=false>{text}</cubepl>"),
        )
    };
    let metrics = metric(0, "EXCLUSIVE", "time", "")
        + &derived(
            1,
            "POSTDERIVED",
            "ratio",
            "metric::time(e) / metric::twice(i)",
        )
        + &derived(2, "POSTDERIVED", "twice", "2 * metric::time()")
        + &derived(
            3,
            "POSTDERIVED",
            "branch",
            "{ if (1 &lt; 2) { return 1; }; }",
        )
        + &derived(4, "PREDERIVED_EXCLUSIVE", "early", "metric::time()")
        + &derived(5, "POSTDERIVED", "round", "metric::turn()")
        + &derived(6, "POSTDERIVED", "turn", "metric::round()")
        + &derived(7, "PREDERIVED_INCLUSIVE", "soon", "metric::time()")
        + &derived(
            8,
            "POSTDERIVED",
            "all",
            "(max(metric::time(i), 7) - 1) * min(2, metric::time(e)) + 1 / 2.0",
        );
    let cube = with(&anchor(&metrics, ""), &[]);
    let profile = cube.profile();
    // Inclusive of call path 0: 5 + 1 and 6 + 2.
    assert_eq!(row(&cube, 2, 0), Some(vec![12.0, 16.0]));
    assert_eq!(row(&cube, 1, 0), Some(vec![5.0 / 12.0, 6.0 / 16.0]));
    assert_eq!(row(&cube, 1, 1), None);
    let total = |metric, scope| cube.total(MetricId(metric), CallPathId(0), scope).unwrap();
    assert_eq!(total(1, Scope::Inclusive), 11.0 / 28.0);
    assert_eq!(total(2, Scope::Exclusive), 22.0);
    assert_eq!(row(&cube, 8, 0), Some(vec![12.5, 14.5]));
    // With zeros the result is 0.5 everywhere.
    assert_eq!(
        profile.paths(MetricId(8)).len(),
        profile.calls().paths().len()
    );
    assert_eq!(row(&cube, 8, 1), Some(vec![0.5, 0.5]));
    assert_eq!(total(8, Scope::Inclusive), 26.5);
    let ratio = profile.total(MetricId(1), CallPathId(0)).unwrap();
    assert_eq!(ratio, Value::F64(11.0 / 28.0));
    assert_eq!(total(0, Scope::Inclusive), 14.0);
    let own = profile.scoped(MetricId(2), CallPathId(0), Scope::Exclusive);
    assert_eq!(own.unwrap().unwrap().to_f64(), [10.0, 12.0]);
    // Both locations in one part, none in another: a ratio of sums there too.
    let over = |metric, path, parts: &[u32]| {
        let mut values = [9.0; 2];
        let there = profile.over_parts(MetricId(metric), CallPathId(path), parts, &mut values);
        (there.unwrap(), values)
    };
    assert_eq!(over(1, 0, &[1, 1]), (true, [0.0, 11.0 / 28.0]));
    assert_eq!(over(8, 0, &[1, 1]), (true, [0.0, 26.5]));
    assert_eq!(over(8, 1, &[0, 9]), (true, [0.5, 0.0]));
    assert_eq!(over(1, 0, &[1, 0]), (true, [6.0 / 16.0, 5.0 / 12.0]));
    assert_eq!(over(0, 0, &[1, 1]), (true, [0.0, 11.0]));
    assert_eq!(over(0, 1, &[1, 1]), (false, [0.0, 0.0]));
    // Metrics that are evaluated before aggregation have the scope of their type.
    assert_eq!(row(&cube, 3, 0), Some(vec![1.0, 1.0]));
    for (metric, scope, expected) in [
        (4, Scope::Exclusive, [5.0, 6.0]),
        (4, Scope::Inclusive, [6.0, 8.0]),
        (7, Scope::Inclusive, [6.0, 8.0]),
        (7, Scope::Exclusive, [5.0, 6.0]),
    ] {
        let row = profile.scoped(MetricId(metric), CallPathId(0), scope);
        assert_eq!(
            row.unwrap().unwrap().to_f64(),
            expected,
            "{metric} {scope:?}"
        );
        assert_eq!(total(metric, scope), expected.iter().sum::<f64>());
    }
    // Metrics that refer to each other have no values.
    assert_eq!(cube.diagnostics().count(rules::DERIVED), 2);
    for id in 5..7 {
        let error = profile.row(MetricId(id), CallPathId(0)).unwrap_err();
        let name = &profile.metrics()[id as usize].metric.name;
        assert!(error.to_string().contains(name.as_str()), "{error}");
        assert!(
            cube.total(MetricId(id), CallPathId(0), Scope::Inclusive)
                .is_err()
        );
        let about = &profile.metrics()[id as usize];
        let kept = about
            .properties
            .iter()
            .any(|(name, _)| name == property::EXPRESSION);
        assert!(kept, "{id}");
    }
    let mut bytes = Vec::new();
    write(profile, &mut bytes, &WriteOptions::new(), &Job::default()).unwrap();
    let back = read(bytes).unwrap();
    assert_eq!(back.profile().metrics(), profile.metrics());
    assert_eq!(row(&back, 1, 0), row(&cube, 1, 0));
    // Exponentially growing references are not followed.
    let mut bomb = metric(0, "EXCLUSIVE", "m0", "");
    for at in 1..64 {
        let before = at - 1;
        let text = format!("metric::m{before}() + metric::m{before}()");
        let name = format!("m{at}");
        bomb += &derived(at, "POSTDERIVED", &name, &text);
    }
    let cube = with(&anchor(&bomb, ""), &[]);
    assert!(cube.diagnostics().count(rules::DERIVED) > 40);
    assert!(cube.profile().row(MetricId(63), CallPathId(0)).is_err());
    assert_eq!(row(&cube, 3, 2), Some(vec![8.0, 16.0]));
}

/// Call paths without a row of any input: a result of 0 yields no row, any other result one
/// everywhere, and a maximum without values is no value.
#[test]
fn expressions_may_be_more_than_zero_of_nothing() {
    let derived = |id, name: &str, text: &str| {
        metric(id, "POSTDERIVED", name, &format!("<cubepl>{text}</cubepl>"))
    };
    let metrics = metric(0, "EXCLUSIVE", "time", "")
        + &derived(1, "constant", "2 * 3")
        + &derived(2, "more", "metric::time() + 1")
        + &derived(3, "inverse", "1 / metric::time()")
        + &derived(4, "again", "metric::inverse() - metric::constant()")
        + &derived(
            5,
            "nothing",
            "metric::more() * metric::time() - metric::time()",
        )
        + &metric(6, "EXCLUSIVE", "longest", "").replace("DOUBLE", "MAXDOUBLE")
        + &derived(7, "unlikely", "metric::longest() / metric::time()");
    let more = [
        member("6.index", &index(&[2])),
        member("6.data", &data(&[8.0, -8.0])),
    ];
    let cube = with(&anchor(&metrics, ""), &more);
    assert_eq!(cube.diagnostics().count(rules::DERIVED), 0);
    let paths = |metric| -> Vec<u32> {
        let paths = cube.profile().paths(MetricId(metric));
        paths.into_iter().map(|path| path.0).collect()
    };
    let everywhere: Vec<_> = (1..8)
        .filter(|metric| paths(*metric) == [0, 1, 2])
        .collect();
    assert_eq!(everywhere, [1, 2, 3, 4]);
    // Time has rows at 0 and 2, the longest at 2, and at their ancestors.
    assert_eq!((paths(5), paths(7)), (vec![0, 2], vec![0, 2]));
    assert_eq!(row(&cube, 1, 1), Some(vec![6.0, 6.0]));
    assert_eq!(row(&cube, 2, 1), Some(vec![1.0, 1.0]));
    assert_eq!(row(&cube, 3, 1), Some(vec![f64::MAX; 2]));
    assert_eq!(row(&cube, 4, 1), Some(vec![f64::MAX; 2]));
    assert_eq!(row(&cube, 5, 1), None);
    assert_eq!(row(&cube, 7, 1), None);
    assert_eq!(row(&cube, 7, 2), Some(vec![8.0, -4.0]));
    // A row and its sum over locations agree on the existence of values.
    let total = |metric| cube.profile().total(MetricId(metric), CallPathId(1));
    assert_eq!(total(1).unwrap(), Value::F64(6.0));
    assert_eq!(total(5).unwrap(), Value::F64(0.0));
    let mut bytes = Vec::new();
    write(
        cube.profile(),
        &mut bytes,
        &WriteOptions::new(),
        &Job::default(),
    )
    .unwrap();
    let back = read(bytes).unwrap();
    assert_eq!(back.profile(), cube.profile());
}
