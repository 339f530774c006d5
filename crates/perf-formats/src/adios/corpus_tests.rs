//! Tests that the steps, names and declared numbers of rows in the BP files of the corpus are those
//! of its `facts.json`.

use super::bp_file::{Ahead, BpFile};
use super::names::{Kind, Names};
use perf_core::Diagnostics;
use perf_testdata::corpus::corpus;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Variables with the declared numbers of rows, and the arrays of the rows.
const TABLES: [(&str, &str); 3] = [
    ("timer_event_count", "event_timestamps"),
    ("counter_event_count", "counter_values"),
    ("comm_count", "comm_timestamps"),
];

#[test]
fn names_and_declared_rows_of_the_corpus_are_read() {
    let Some(folder) = corpus("streams") else {
        return;
    };
    let text = std::fs::read_to_string(folder.join("facts.json")).unwrap();
    let facts: Value = serde_json::from_str(&text).unwrap();
    for (name, facts) in facts["files"].as_object().unwrap() {
        let mut file = BpFile::open(&folder.join(name)).unwrap();
        let (mut names, mut notes) = (Names::default(), Diagnostics::default());
        let (mut attributes, mut with_attributes) = (BTreeSet::new(), Vec::new());
        let mut steps = Vec::new();
        while let Ahead::Step(number) = file.index.look().unwrap() {
            let step = file.whole_step().unwrap();
            names.learn(&step, u32::MAX, &mut notes);
            if !step.attributes.is_empty() {
                with_attributes.push(number);
            }
            attributes.extend(step.attributes.iter().map(|one| one.name.to_string()));
            let find = |name: &str| step.variables.iter().find(|one| *one.name == *name);
            let declared = TABLES.map(|(count, _)| {
                let values = find(count).into_iter().flat_map(|one| &one.blocks);
                values.map(|block| block.value.unwrap()).sum::<u64>()
            });
            let is_present = TABLES.map(|(_, rows)| find(rows).is_some());
            steps.push((number, declared, is_present));
            file.index.skip();
        }
        assert!(notes.is_empty(), "{name}: {notes}");
        assert_eq!(facts["attributes"], attributes.len(), "{name}");
        assert_eq!(facts["steps"], steps.len(), "{name}");
        if facts["check"] == "library only" {
            continue;
        }
        for (step, facts) in steps.iter().zip(facts["per_step"].as_array().unwrap()) {
            assert_eq!(facts["step"], step.0, "{name}");
            assert_eq!(facts["declared"], json!(step.1), "{name} step {}", step.0);
            assert_eq!(
                facts["array_present"],
                json!(step.2),
                "{name} step {}",
                step.0
            );
        }
        let count = |is_there: &dyn Fn(u64) -> bool| (0..4096).filter(|at| is_there(*at)).count();
        assert_eq!(facts["timers"], count(&|at| names.timers.get(at).is_some()));
        assert_eq!(
            facts["counters"],
            count(&|at| names.counters.get(at).is_some())
        );
        let mut kinds = Map::new();
        for at in 0..16 {
            if let Some(kind) = names.kinds.get(at) {
                let name = match kind.unwrap() {
                    Kind::Enter => "ENTRY",
                    Kind::Exit => "EXIT",
                    Kind::Send => "SEND",
                    Kind::Receive => "RECV",
                };
                kinds.insert(at.to_string(), name.into());
            }
        }
        assert_eq!(facts["event_types"], Value::Object(kinds), "{name}");
        let programs = (0..16).filter_map(|at| Some((at.to_string(), names.programs.get(at)?)));
        let programs = programs.map(|(at, name)| (at, Value::from(&**name)));
        assert_eq!(
            facts["programs"],
            Value::Object(programs.collect()),
            "{name}"
        );
        if facts["engine"] == "BP5" {
            assert_eq!(facts["attr_steps"], json!(with_attributes), "{name}");
            let is_active = file.index.is_active().unwrap();
            assert_eq!(facts["active"] == 1, is_active, "{name}");
        }
    }
}
