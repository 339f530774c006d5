//! Statistics of counters: those of a naive sum, while the server runs, after a restart, and of a finished run.

use super::{Served, TOKEN, get, settle};
use crate::common::{CALLS, Rank};
use perf_core::{Nanos, Value};
use perf_live::hub::{Finished, Hub};
use perf_live::web::Service;

/// Values of a counter of a rank in a step.
fn values(rank: u32, step: i64) -> impl Iterator<Item = f64> {
    (0..5).map(move |at| (step * 7 + at * at) as f64 + f64::from(rank) * 1000.0)
}

#[test]
fn counters_are_those_of_a_naive_sum_after_a_restart_too() {
    let mut served = Served::new("counters");
    let name = format!("Message size <b> of {}", "a long name ".repeat(40));
    let mut ranks: Vec<Rank> = (0..3).map(|rank| served.rank(rank / 2, rank % 2)).collect();
    let empty = served.json("/api/counters");
    assert_eq!(
        (&empty["count"], &empty["counters"]),
        (&0.into(), &serde_json::json!([]))
    );
    for step in 0..12 {
        for (rank, own) in (0..3).zip(&mut ranks) {
            let watch = &mut own.watch;
            let [size, id, cycles] =
                [name.as_str(), "Correlation ID", "cycles"].map(|one| watch.counter(one));
            for (at, value) in values(rank, step).enumerate() {
                let now = Nanos(step * 1_000_000 + at as i64);
                watch.count(0, size, Value::F64(value), now);
                watch.count(0, id, Value::U64(at as u64), now);
                let all = Value::U64(1000 * (step as u64 * 5 + at as u64));
                watch.count(0, cycles, all, now);
                if at == 3 {
                    watch.count(0, size, Value::F64(f64::NAN), now);
                }
            }
            own.step();
            assert!(own.error().is_none());
        }
    }
    for rank in ranks {
        rank.watch.into_sink().finish().expect("all of it was sent");
    }
    settle();
    let found = served.json("/api/counters");
    assert_eq!(
        (&found["count"], &found["dropped"]),
        (&4.into(), &36.into())
    );
    let all = served.json("/api/counters?program=0&limit=1")["counters"].clone();
    assert_eq!(all.as_array().map(Vec::len), Some(1));
    let one = &all[0];
    assert_eq!(
        (&one["counter"], &one["program"]),
        (&name.as_str().into(), &0.into())
    );
    let naive: Vec<f64> = (0..2)
        .flat_map(|rank| (0..12).flat_map(move |step| values(rank, step)))
        .collect();
    let number = |of: &serde_json::Value, name: &str| of[name].as_f64().expect("a number");
    let mean = naive.iter().sum::<f64>() / naive.len() as f64;
    let power = |p| {
        naive
            .iter()
            .map(|value| (value - mean).powi(p))
            .sum::<f64>()
    };
    let count = naive.len() as f64;
    let deviation = (power(2) / (count - 1.0)).sqrt();
    for (found, naive) in [
        (number(&one["values"], "count"), count),
        (number(&one["values"], "sum"), mean * count),
        (number(&one["values"], "mean"), mean),
        (number(&one["values"], "deviation"), deviation),
        (number(&one["values"], "minimum"), 0.0),
        (number(&one["values"], "maximum"), 1093.0),
        (
            number(one, "skewness"),
            power(3) / count / (power(2) / count).powf(1.5),
        ),
        (number(&one["highest"], "rank"), 1.0),
        (number(&one["highest"]["values"], "count"), 60.0),
    ] {
        assert!(
            (found - naive).abs() <= 1e-9 * naive.abs().max(1.0),
            "{found}, {naive}"
        );
    }
    let all = found["counters"].as_array().expect("a list");
    let is_own = |one: &&serde_json::Value| one["counter"] == "cycles" && one["program"] == 0;
    let cycles = all.iter().find(is_own);
    let cycles = cycles.expect("it has values");
    assert_eq!(
        (&cycles["counter"], &cycles["accumulates"]),
        (&"cycles".into(), &true.into())
    );
    assert_eq!(number(cycles, "increase"), 2.0 * 59_000.0);
    // After a restart of the server, and from the closed database.
    served.service.take();
    served.hub.close();
    served.hub = Hub::open(&served.path, Default::default()).expect("it is free");
    let web = || Service::params().token(TOKEN).check().expect("in range");
    served.service = Some(Service::start(served.hub.clone(), web()).expect("it can listen"));
    assert_eq!(served.json("/api/counters"), found);
    assert_eq!(served.json("/api/run")["total"]["calls"], 3 * 12 * CALLS);
    served.hub.close();
    let finished = Finished::open(&served.path, Default::default()).expect("it can be read");
    let over = Service::start(finished, web()).expect("it can listen");
    let (status, text) = get(&over.address().to_string(), "/api/counters");
    assert_eq!(status, 200);
    let over: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(over, found);
    assert_eq!(served.get("/api/counters?rank=1").0, 400);
}
