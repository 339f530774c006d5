//! Efficiencies of EPOCH against those the tools of the BSC published.

use crate::common::{corpus, facts};
use perf_core::Job;
use perf_wait::efficiency::{BroadcastRule, Efficiencies, IdealNetwork, Scaling, Series};
use serde_json::Value;

fn run(processes: u32, network: &IdealNetwork) -> Option<Efficiencies> {
    let trace = corpus(&format!("paraver/epoch/epoch_{processes}proc.prv.gz"))?;
    let found = Efficiencies::of(trace.view(), network, &Job::default());
    Some(found.expect("EPOCH can be replayed"))
}

fn number(facts: &Value, processes: u32, name: &str) -> f64 {
    let value = &facts["runs"][processes.to_string()][name];
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{name} of {processes}"))
}

#[test]
fn efficiencies_are_the_published_ones() {
    let Some(facts) = facts("pop/epoch.json") else {
        return;
    };
    for processes in [2, 4, 16] {
        let Some(found) = run(processes, &IdealNetwork::default()) else {
            return;
        };
        let mut checks = vec![
            ("Runtime (us)", found.runtime.0 as f64 / 1e3, 0.01),
            ("Runtime (ideal)", found.ideal.runtime.0 as f64 / 1e3, 0.01),
            (
                "Useful duration (ideal, max)",
                found.ideal.max_computation().0 as f64 / 1e3,
                0.01,
            ),
            ("Useful duration (average)", found.mean_useful() / 1e3, 0.01),
            (
                "Useful duration (maximum)",
                found.max_useful().0 as f64 / 1e3,
                0.01,
            ),
            ("Useful duration (total)", found.total_useful() / 1e3, 0.01),
            (
                "Useful instructions (total)",
                found.instructions().expect("counted"),
                0.0,
            ),
            (
                "Useful cycles (total)",
                found.cycles().expect("counted"),
                0.0,
            ),
            ("Average IPC", found.ipc().expect("counted"), 1e-6),
            (
                "Average frequency (GHz)",
                found.frequency().expect("counted"),
                1e-6,
            ),
        ];
        let factors = [
            ("Parallel efficiency", found.parallel_efficiency()),
            ("Load balance", found.load_balance()),
            ("Communication efficiency", found.communication_efficiency()),
            ("Serialization efficiency", found.serialisation_efficiency()),
            ("Transfer efficiency", found.transfer_efficiency()),
        ];
        checks.extend(factors.map(|(name, value)| (name, value * 100.0, 1e-5)));
        for (name, value, tolerance) in checks {
            let published = number(&facts, processes, name);
            let off = (value - published).abs();
            println!("{processes:>2} {name:<30} {value:>20.6} {published:>20.6} {off:.7}");
            assert!(
                off <= tolerance,
                "{processes} {name}: {value}, published {published}"
            );
        }
    }
}

#[test]
fn scaling_between_runs_is_the_published_one() {
    let Some(facts) = facts("pop/epoch.json") else {
        return;
    };
    let runs = [2, 4, 16].map(|processes| run(processes, &IdealNetwork::default()));
    let Some(runs) = runs.into_iter().collect::<Option<Vec<_>>>() else {
        return;
    };
    let series = Series::of(&runs, Scaling::Strong).expect("there are runs");
    for (row, processes) in series.rows.iter().zip([2, 4, 16]) {
        let checks = [
            ("Computation scalability", Some(row.computation_scaling)),
            (
                "Global efficiency",
                Some(row.global / series.rows[0].global),
            ),
            ("IPC scalability", row.ipc_scaling),
            ("Instruction scalability", row.instruction_scaling),
            ("Frequency scalability", row.frequency_scaling),
            ("Speedup", Some(row.speedup)),
        ];
        for (name, value) in checks {
            let published = number(&facts, processes, name) / number(&facts, 2, name);
            let value = value.expect("counters are there");
            // Published factors have six decimals, so that their ratio is known to about 1e-6 of it.
            let off = (value / published - 1.0).abs();
            assert!(off < 1e-6, "{processes} {name}: {value}, {published}");
        }
        let product = [
            row.ipc_scaling,
            row.instruction_scaling,
            row.frequency_scaling,
        ];
        let product: f64 = product.iter().flatten().product();
        assert!((product - row.computation_scaling).abs() < 1e-9);
    }
    let table = series.table();
    assert_eq!(
        (
            table.rows(),
            table.text_of(0, "computation scaling").as_str()
        ),
        (3, "100.0 %")
    );
}

#[test]
fn other_rules_miss_the_published_run_time() {
    let Some(facts) = facts("pop/epoch.json") else {
        return;
    };
    let published = number(&facts, 16, "Runtime (ideal)");
    let off = |network: IdealNetwork| {
        run(16, &network).map(|found| found.ideal.runtime.0 as f64 / 1e3 - published)
    };
    let params = IdealNetwork::params;
    let controls = [
        (params().eager_limit(u64::MAX), -386.0),
        (params().init_is_barrier(false), -173.0),
        (params().finalize_is_barrier(true), 297.0),
        (params().broadcast(BroadcastRule::Root), -3_210.0),
    ];
    for (params, expected) in controls {
        let Some(off) = off(params.check().expect("valid")) else {
            return;
        };
        assert!(
            (off - expected).abs() < 1.0,
            "{off} us, expected {expected}"
        );
    }
    let Some(found) = run(16, &IdealNetwork::default()) else {
        return;
    };
    let ratio = found.ideal.runtime.0 as f64 / found.runtime.0 as f64;
    let off = (ratio - found.transfer_efficiency()).abs() * 100.0;
    assert!((off - 0.875).abs() < 0.001, "{off} points");
}
