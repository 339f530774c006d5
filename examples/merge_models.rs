//! Merges the models of many shards.

use perfkit::anomaly::{Detector, FunctionId, Model};
use perfkit::prelude::*;
use std::collections::BTreeMap;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let trace = open_trace("data/recordings/nwchem-md-4")?;
    let mut shards = Vec::new();
    for rank in trace.definitions().system.location_ids() {
        let mut monitor = Monitor::default();
        let only = [rank];
        let mut replay = Replay::in_steps(trace.view().only(&only), 10);
        while replay.next_step(&mut monitor, &Job::default())? {}
        let report = monitor.finish()?;
        let model = report.detector.snapshot();
        let name = |id| (id, report.calls.function_name(id));
        let names: BTreeMap<FunctionId, String> = model.functions().into_iter().map(name).collect();
        shards.push((names, model.encode()));
    }

    // Each shard has its own numbers of functions. Here each name gets one common number.
    let mut numbers: BTreeMap<String, FunctionId> = BTreeMap::new();
    let mut all = Tail::default().snapshot();
    for (names, bytes) in &shards {
        for name in names.values() {
            let next = FunctionId(numbers.len() as u32);
            numbers.entry(name.clone()).or_insert(next);
        }
        let model = Model::decode(bytes)?;
        all.merge(&model.renumbered(|id| numbers.get(names.get(&id)?).copied()))?;
    }

    let mut judge = Tail::default();
    judge.restore(&all)?;
    let barrier = numbers.get("MPI_Barrier").ok_or("no barrier")?;
    // The first call on each rank is not learned, because start-up may make it slow.
    for (fact, value) in judge.describe(*barrier).iter().take(1) {
        println!("MPI_Barrier on {} shards: {value} {fact}", shards.len());
    }
    println!("a shard sends {} bytes", shards[0].1.len());
    Ok(())
}
