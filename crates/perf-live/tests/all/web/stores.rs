//! Stores of a client that send their records to a server.

use super::Served;
use perf_anomaly::provenance::{Entry, ModelRecord, Record, Store};
use perf_live::client::{Link, Who};
use perf_live::hub::Hub;
use perf_live::web::Service;

/// Returns a model and a record that refers to it.
fn kept(id: u64, function: &str) -> [Entry; 2] {
    let mut model = ModelRecord::default();
    (model.id, model.function) = (id, function.into());
    let mut record = Record::default();
    record.call.function = function.into();
    record.function = function.into();
    record.model = id;
    [Entry::Model(model), Entry::Call(Box::new(record))]
}

/// Several stores of a client, and a resumed client: bundles and models are numbered on.
#[test]
fn stores_of_one_client_do_not_conflict() {
    let served = Served::new("stores");
    let link = Link::open(&served.target(), Who::new(0, 0)).expect("it answers");
    let again = || Link::open_as(&served.target(), Who::new(0, 0), link.client());
    let mut stores = vec![link.store(), link.clone().store()];
    for (at, function) in ["first", "second", "third"].into_iter().enumerate() {
        // A restart of the client does not know of the two.
        if at == 2 {
            stores.push(again().expect("it answers").store());
        }
        for entry in kept(1, function) {
            stores[at].put(&entry).expect("there is room");
        }
        stores[at].commit().expect("it answers");
    }
    let counts = served.hub.counts();
    assert_eq!((counts.bundles, counts.records, counts.repeated), (3, 6, 0));
    let rows = served.json("/api/records?order=entry")["rows"].clone();
    let rows = rows.as_array().expect("rows");
    assert_eq!(rows.len(), 3);
    for row in rows {
        let found = served.json(&format!("/api/record?id={}", row[0]));
        assert_eq!(found["model"]["function"], row[6]);
    }
}

/// A permanently rejected record is dropped and reported once; later ones are accepted.
#[test]
fn permanently_rejected_records_are_reported_once() {
    let web = Service::params().body(1 << 14).bodies(1 << 14);
    let served = Served::with("for-good", Hub::params(), web);
    let link = Link::open(&served.target(), Who::new(0, 0)).expect("it answers");
    let mut store = link.store();
    let large = "a".repeat(1 << 15);
    for function in ["before", &large, "after"] {
        for entry in kept(1, function) {
            store.put(&entry).expect("there is room");
        }
    }
    let said = store.commit().expect_err("it is too large").to_string();
    assert!(said.contains("413") && said.contains("lost: 2"), "{said}");
    assert_eq!((link.lost(), served.hub.counts().records), (2, 4));
    store.commit().expect("nothing waits");
}
