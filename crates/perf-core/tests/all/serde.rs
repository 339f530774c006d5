//! Serialized types with the feature `serde`, and validation on reading.

#![cfg(feature = "serde")]
use perf_core::*;

fn tree() -> SystemTree {
    let node = SystemNode {
        name: "host".into(),
        ..Default::default()
    };
    let process = LocationGroup {
        parent: Some(SystemNodeId(0)),
        ..Default::default()
    };
    let thread = |key| Location {
        group: Some(LocationGroupId(0)),
        key,
        ..Default::default()
    };
    let threads = vec![thread(30), thread(20)];
    SystemTree::new(vec![node], vec![process], threads, &Limits::default()).unwrap()
}

#[test]
fn a_system_tree_comes_back() {
    let stored = serde_json::to_string(&tree()).unwrap();
    let back: SystemTree = serde_json::from_str(&stored).unwrap();
    assert_eq!(back, tree());
    assert_eq!(back.by_key(20), Some(LocationId(1)));
}

#[test]
fn a_system_tree_that_is_wrong_is_refused() {
    let stored = serde_json::to_value(tree()).unwrap();
    let refused = |at: &str, value: u32| {
        let mut wrong = stored.clone();
        *wrong.pointer_mut(at).unwrap() = value.into();
        let read: Result<SystemTree, _> = serde_json::from_value(wrong);
        read.unwrap_err().to_string()
    };
    assert!(refused("/locations/0/key", 20).contains("defined twice"));
    assert!(refused("/locations/0/group", 9).contains("not defined"));
    assert!(refused("/nodes/0/parent", 0).contains("its own ancestor"));
}

#[test]
fn diagnostics_are_a_list_of_rules() {
    const RULE: Rule = Rule {
        name: "a",
        what: "found",
        weight: Weight::Repair,
    };
    let mut found = Diagnostics::default();
    found.add_many(RULE, 3, Place::file("f").at(7));
    assert_eq!(
        serde_json::to_value(&found).unwrap(),
        serde_json::json!([{
            "rule": {"name": "a", "what": "found", "weight": "Repair"},
            "finding": {
                "count": 3,
                "places": [{"file": "f", "offset": 7, "record": null}],
            },
        }])
    );
}
