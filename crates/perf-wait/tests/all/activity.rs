//! Calls, messages and collectives of made and recorded traces.

use crate::common::corpus;
use crate::synthetic::{Rank, trace};
use perf_core::{Job, LocationId, Profile, Ticks, TimeRange};
use perf_wait::Error;
use perf_wait::activity::{Activities, CallId};
use perf_wait::efficiency::{Efficiencies, IdealNetwork};

fn activities(ranks: &[Rank]) -> Activities {
    Activities::of(trace(ranks).view(), &Job::default()).expect("it can be read")
}

fn id(location: u32, index: u32) -> CallId {
    CallId {
        location: LocationId(location),
        index,
    }
}

#[test]
fn non_blocking_messages_know_their_four_calls() {
    let sender = Rank::default()
        .isend(5, 6, 1, 0, 8, 1)
        .call("MPI_Test", 7, 8)
        .wait_send("MPI_Wait", 10, 20, 1);
    let receiver = Rank::default()
        .irecv(1, 2, 5)
        .wait_receive("MPI_Waitall", 3, 9, 0, 8, 5);
    let found = activities(&[sender, receiver]);
    let message = found.messages()[0];
    assert_eq!((message.send(), message.sent()), (id(0, 0), Some(id(0, 2))));
    assert_eq!((message.post(), message.receive()), (id(1, 0), id(1, 1)));
    assert_eq!(found.call(id(1, 1)).map(|call| call.leave), Some(Ticks(9)));
}

#[test]
fn sends_without_completion_complete_in_the_next_wait() {
    // The request is never completed, as in recordings of EZTrace.
    let sender = Rank::default()
        .isend(5, 6, 1, 0, 8, 1)
        .call("MPI_Waitall", 7, 8)
        .call("MPI_Wait", 9, 10);
    let receiver = Rank::default().recv(1, 20, 0, 8);
    let found = activities(&[sender, receiver]);
    assert_eq!(found.messages()[0].sent(), Some(id(0, 1)));
}

#[test]
fn records_outside_of_calls_are_calls_of_no_length() {
    let sender = Rank::default().user("work", 0, 9).bare_send(10, 1, 8);
    let receiver = Rank::default().recv(1, 20, 0, 8);
    let found = activities(&[sender, receiver]);
    let send = found.call(found.messages()[0].send()).expect("it exists");
    assert_eq!(
        (send.enter, send.leave, send.path()),
        (Ticks(10), Ticks(10), None)
    );
}

#[test]
fn call_paths_are_those_of_the_profile() {
    for name in [
        "casita-10_scorep_mpi_tags",
        "sstmacro-otf2",
        "tracer-stencil4d-32",
    ] {
        let Some(trace) = corpus(&format!("otf2/{name}")) else {
            return;
        };
        let found = Activities::of(trace.view(), &Job::default()).expect("it can be read");
        let (profile, _) = Profile::from_trace(trace.view(), &Job::default()).expect("likewise");
        assert_eq!(found.paths().paths(), profile.calls().paths(), "{name}");
        let inside = found
            .calls()
            .filter(|(_, call)| call.path().is_none())
            .count();
        assert_eq!(inside, 0, "{name}");
    }
}

#[test]
fn calls_that_wait_for_each_other_are_an_error_with_their_place() {
    // Each rank receives before it sends what the other one receives: no program can have done this.
    let rank = |other| Rank::default().recv(1, 5, other, 8).send(6, 8, other, 8);
    let trace = trace(&[rank(1), rank(0)]);
    let found = Efficiencies::of(trace.view(), &IdealNetwork::default(), &Job::default());
    let Err(Error::Cycle {
        place: Some(place), ..
    }) = found
    else {
        panic!("{found:?}");
    };
    assert_eq!(
        (place.region.as_str(), place.location, place.enter),
        ("MPI_Recv", LocationId(0), Ticks(1))
    );
}

#[test]
fn a_window_is_refused() {
    let trace = perf_testdata::ring::trace(4, 10);
    let range = trace.range().expect("it has events");
    let middle = Ticks(range.start.0 / 2 + range.end.0 / 2);
    let half = TimeRange::new(range.start, middle).expect("a range");
    let refused = Activities::of(trace.view().between(half), &Job::default());
    assert!(matches!(refused, Err(Error::Window)));
    assert!(Activities::of(trace.view().between(TimeRange::ALL), &Job::default()).is_ok());
}
