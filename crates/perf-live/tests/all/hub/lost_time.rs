//! Time lost by rank and step: it adds up to the total, also after a restart and if steps were dropped.

use super::{Place, open, push, pushes};
use perf_live::hub::{Finished, Hub};
use perf_live::web::{Offline, Service, Source};
use serde_json::Value;

/// Returns the answer to the query for the time lost by rank and step.
fn lost(source: impl Into<Source>) -> Value {
    let web = Service::params().token("a-token-of-a-test").check();
    let web = Offline::new(source, web.expect("in range")).expect("it has a runtime");
    let reply = web.answer("GET", "/api/lost", &[("host", b"localhost")], Vec::new());
    serde_json::from_slice(&reply.body).expect("it is JSON")
}

/// Returns the time lost in abnormal calls, in nanoseconds: that of all cells, and that of no cell.
fn sums(lost: &Value) -> (i64, i64) {
    let number = |value: &Value| value.as_i64().expect("a number");
    let cells = lost["cells"].as_array().expect("cells");
    let calls = cells.iter().map(|cell| number(&cell[3])).sum();
    (calls, number(&lost["missing"]))
}

fn total(hub: &Hub) -> i64 {
    // Overviews are cached for a moment.
    std::thread::sleep(std::time::Duration::from_millis(210));
    hub.overview().total.time.0
}

#[test]
fn time_lost_is_the_same_after_a_restart() {
    let place = Place::new("lost-restart");
    let all = [0, 1, 2].map(|rank| pushes(0, rank, 100 + u64::from(rank), 12));
    // The state is stored on the way, so that a part of the steps is in the log only.
    let hub = open(&place, Hub::params().log(1 << 10));
    for one in all.iter().flat_map(|all| &all[..8]) {
        push(&hub, one).expect("it is sound");
        push(&hub, one).expect("a repeated message counts once");
    }
    let (before, lost_before) = (total(&hub), lost(hub.clone()));
    assert!(before > 0);
    assert_eq!(sums(&lost_before), (before, 0));
    hub.close();
    drop(hub);

    let hub = open(&place, Hub::params());
    assert_eq!(lost(hub.clone()), lost_before);
    for one in all.iter().flatten() {
        push(&hub, one).expect("it is sound");
    }
    let after = total(&hub);
    assert!(after > before);
    let lost_after = lost(hub.clone());
    assert_eq!(sums(&lost_after), (after, 0));
    hub.close();
    let finished = Finished::open(&place.0, Default::default()).expect("it is there");
    assert_eq!(lost(finished), lost_after);
}

/// A batch that cannot be stored does not stay in the matrix.
#[test]
fn time_lost_in_a_failed_batch_counts_once() {
    let place = Place::new("lost-failure");
    let hub = open(&place, Hub::params());
    let all = pushes(0, 0, 5, 12);
    let other = rusqlite::Connection::open(&place.0).expect("it is there");
    for (at, one) in all.iter().enumerate() {
        if at == 9 {
            other
                .execute_batch("begin immediate")
                .expect("nobody writes just now");
            assert!(push(&hub, one).is_err());
            other.execute_batch("rollback").expect("it can");
        }
        push(&hub, one).expect("it can be stored again");
    }
    let total = total(&hub);
    assert!(total > 0);
    assert_eq!(sums(&lost(hub.clone())), (total, 0));
    hub.close();
}

/// Steps that the database dropped are in no cell after a restart, which is stated.
#[test]
fn time_lost_in_dropped_steps_is_stated() {
    let place = Place::new("lost-dropped");
    let params = || Hub::params().keep_steps(4);
    let hub = open(&place, params());
    for one in pushes(0, 0, 7, 40) {
        push(&hub, &one).expect("it is sound");
    }
    let before = total(&hub);
    assert_eq!(sums(&lost(hub.clone())), (before, 0));
    hub.close();
    drop(hub);
    let hub = open(&place, params());
    assert_eq!(total(&hub), before);
    let (calls, missing) = sums(&lost(hub.clone()));
    assert!(
        missing > 0 && calls + missing == before,
        "{calls} {missing} {before}"
    );
    hub.close();
}
