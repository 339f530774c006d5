//! Tests that CubePL programs are parsed and evaluated, with a small profile in memory instead of a
//! file.

use super::*;
use perf_core::{
    CallPath, CallPathId, CallTree, Job, Limits, Location, Profile, Region, RegionId, RegionRole,
    Rows, SystemTree,
};

/// Returns a profile with `main` and `MPI_Send` below it, on two locations.
fn profile() -> Profile {
    let location = |key| Location {
        key,
        ..Location::default()
    };
    let locations = vec![location(0), location(1)];
    let system = SystemTree::new(vec![], vec![], locations, &Limits::default()).unwrap();
    let mut calls = CallTree::default();
    for (region, parent) in [(0, None), (1, Some(CallPathId(0)))] {
        let region = RegionId(region);
        calls.push(CallPath { region, parent }).unwrap();
    }
    let send = Region {
        role: RegionRole::PointToPoint,
        ..Region::named("MPI_Send")
    };
    let regions = vec![Region::named("main"), send];
    Profile::new(system, regions, calls, vec![], Arc::new(Rows::default())).unwrap()
}

fn names() -> Names {
    let mut names = Names::default();
    names.metrics.insert("time".into(), MetricId(0));
    names.metrics.insert("visits".into(), MetricId(1));
    names
}

/// Evaluates a program for call path 1 with times 6 and 8, and visits 0 and 4.
fn value(init: &str, text: &str) -> std::result::Result<Vec<f64>, String> {
    value_of(init, text, &[6.0, 8.0])
}

/// Evaluates a program for call path 1 with these times, one for each location.
fn value_of(init: &str, text: &str, times: &[f64]) -> std::result::Result<Vec<f64>, String> {
    let mut names = names();
    let facts = Facts::new(&profile());
    let mut state = State::default();
    let failed = |failure| match failure {
        Failure::Program(problem) => format!("{}: {problem}", problem.at),
        other => format!("{other:?}"),
    };
    if !init.is_empty() {
        let program = names.parse(init).map_err(|it| failed(it.into()))?;
        let done = program.initialise(&facts, &mut state, &Job::default());
        done.map_err(failed)?;
    }
    let program = names.parse(text).map_err(|it| failed(it.into()))?;
    let mut fetch = |metric: MetricId, scope| {
        let add = if scope == Scope::Inclusive { 10.0 } else { 0.0 };
        let times = times.iter();
        Ok(match metric.0 {
            0 => times.map(|time| time + add).collect(),
            _ => times.map(|time| 2.0 * (time - 6.0)).collect(),
        })
    };
    let at = (Some(CallPathId(1)), Scope::Exclusive);
    let values = program.evaluate(
        (&facts, &state),
        at,
        times.len(),
        &mut fetch,
        &Job::default(),
    );
    values.map_err(failed)
}

#[test]
fn expressions_have_values() {
    for (text, expected) in [
        (
            " metric::time(i) / metric::visits(e) - 2 * (1.5e1 + -metric::time()) ",
            [f64::MAX, -9.5],
        ),
        ("max(min(1, 2), 1.25)", [1.25; 2]),
        ("5 - 2 - 1", [2.0; 2]),
        ("2 ^ 3 * 2", [16.0; 2]),
        ("metric::time() > 7", [0.0, 1.0]),
        ("not (1 == 2) and 1 <= 1", [1.0; 2]),
        ("1 > 2 or 0 xor 1", [1.0; 2]),
        ("metric::visits() / metric::visits()", [0.0, 1.0]),
        ("sqrt(metric::visits())", [0.0, 2.0]),
        ("\"MPI\" eq \"mpi\"", [0.0; 2]),
        ("\"file_io metadata\" seq \"File IO Metadata\"", [1.0; 2]),
        (
            "${calculation::callpath::id} + 10 * ${calculation::region::id}",
            [11.0; 2],
        ),
        (
            "${cube::#callpaths} * 100 + ${cube::#locations}",
            [202.0; 2],
        ),
        ("${cube::region::role}[1] eq \"point2point\"", [1.0; 2]),
        ("${nothing}[7] + 3 // a comment", [3.0; 2]),
        // A condition that holds for one location only.
        (
            "{ ${x} = 0; if (metric::visits() > 0) { ${x} = metric::time() / metric::visits(); }
               elseif (1 == 2) { return 5; } else { ${x} = 7; }; return ${x}; }",
            [7.0, 2.0],
        ),
    ] {
        assert_eq!(value("", text), Ok(expected.to_vec()), "{text}");
    }
}

#[test]
fn programs_share_masks_of_call_paths() {
    let init = "{ global(is_mpi); ${count} = 0; ${i} = 0;
        while (${i} < ${cube::#callpaths}) {
            ${name} = ${cube::region::name}[${cube::callpath::calleeid}[${i}]];
            if (${name} =~ /^MPI_(Init(_thread){0,1}|Send)$/) { ${is_mpi}[${i}] = 1; };
            ${i} = ${i} + 1;
        };
        if (${count} == 0) { cube::metric::set::visits(\"value\", \"VOID\"); };
    }";
    let mask = "${is_mpi}[${calculation::callpath::id}] * metric::time(e)";
    assert_eq!(value(init, mask), Ok(vec![6.0, 8.0]));
    assert_eq!(
        value(init, "${is_mpi}[0] * metric::time(e)"),
        Ok(vec![0.0; 2])
    );
    // A variable that is not global is unknown to other programs.
    assert_eq!(value(init, "${i} + 1"), Ok(vec![1.0; 2]));
    let mut state = State::default();
    let program = names().parse(init).unwrap();
    let facts = Facts::new(&profile());
    let done = program.initialise(&facts, &mut state, &Job::default());
    assert!(done.is_ok() && state.kinds[&MetricId(1)] == "VOID");
    let job = Job::default();
    job.cancel();
    let endless = names().parse("{ while (1) { ${i} = 1; }; }").unwrap();
    let done = endless.initialise(&facts, &mut state, &job);
    assert!(matches!(done, Err(Failure::Read(_))));
    let at = (Some(CallPathId(1)), Scope::Exclusive);
    let mut fetch = |_, _| Ok(vec![0.0; 2]);
    let done = endless.evaluate((&facts, &state), at, 2, &mut fetch, &job);
    assert!(matches!(done, Err(Failure::Read(_))));
}

#[test]
fn variables_hold_a_limited_number_of_values() {
    let times = vec![6.0; 1 << 20];
    let assignments = |name: fn(usize) -> String| -> String {
        let all = (0..5).map(|at| format!("{} = metric::time(); ", name(at)));
        all.collect()
    };
    let list = assignments(|at| format!("${{a}}[{at}]"));
    let error = value_of("", &format!("{{ {list} return 1; }}"), &times).unwrap_err();
    assert!(error.contains("hold more than 4194304 values"), "{error}");
    // Values that replace others take no more memory.
    let single = assignments(|_| "${a}".into());
    let ones = value_of("", &format!("{{ {single} return 1; }}"), &times);
    assert_eq!(ones, Ok(vec![1.0; 1 << 20]));
}

#[test]
fn unsupported_parts_are_errors_with_a_position() {
    for (text, expected) in [
        ("", "0: expected a value, got the end"),
        ("1 +", "3: expected a value, got the end"),
        ("metric::unknown()", "8: there is no metric `unknown`"),
        ("metric::time(i, e)", "13: a scope of the machine"),
        ("metric::fixed::time()", "0: `metric::fixed::`"),
        ("metric::time", "12: expected `(`"),
        ("sin(2)", "0: `sin` is not supported"),
        ("1 2", "2: expected the end of the program, got `2`"),
        ("min(1)", "5: expected `,`"),
        ("1..2", "0: `1..2` is not a number"),
        (
            "${cube::region::name}",
            "2: `${cube::region::name}` needs an index",
        ),
        ("${cube::region::name}[9]", "22: there is no region 9"),
        ("${x}[0 - 1]", "5: -1 is not an index"),
        ("\"a\" =~ /(/", "8: the regular expression is not supported"),
        ("{ foreach(1) {}; }", "2: expected a statement"),
        (
            "{ cube::metric::set::time(\"uom\", \"s\"); }",
            "26: setting the property `uom`",
        ),
    ] {
        let error = value("", text).unwrap_err();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
    let global = "{ global(g); }";
    let error = value(global, "{ ${g} = 1; return ${g}; }").unwrap_err();
    assert!(error.starts_with("2: assigning a global"), "{error}");
    for deep in [
        "(".repeat(100_000),
        "-".repeat(100_000),
        "{ if (1) ".repeat(10_000),
    ] {
        assert!(value("", &deep).is_err());
    }
    let long = format!("{}1", "1+".repeat(100_000));
    assert_eq!(value("", &long), Ok(vec![100_001.0; 2]));
    let problem = Problem::new(9, "x");
    assert_eq!(problem.position("a\nb c\nd\u{e9}f", 1), (3, 4));
}
