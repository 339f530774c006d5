//! Byte encoding of messages and servers: damaged and impossible input.

use super::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Damaged bytes cause an error with an offset, or a message that the server takes or rejects
    /// as a whole.
    #[test]
    fn damaged_messages_do_no_harm(at in 0.0..1.0_f64, to in any::<u8>(), is_cut in any::<bool>()) {
        let mut local = Local::new(server(Server::params()));
        let first = delta();
        local.send(&first).expect("it is sound");
        let view = local.receive().expect("it answers").expect("it answers");
        for bytes in [first.encode(), view.encode(), local.server(|server| server.encode()).expect("nobody panicked")] {
            let mut bytes = bytes;
            let place = (at * bytes.len() as f64) as usize;
            if is_cut {
                bytes.truncate(place);
            } else {
                bytes[place] = to;
            }
            if let Ok(delta) = Delta::decode(&bytes) {
                let before = local.server(|server| server.encode()).expect("nobody panicked");
                if local.send(&delta).is_err() {
                    prop_assert_eq!(local.server(|server| server.encode()).expect("nobody panicked"), before);
                }
            }
            let _ = View::decode(&bytes);
            let _ = Server::decode(Default::default(), &bytes);
        }
    }
}

#[test]
fn steps_that_cannot_be_counted_on_from_are_refused_with_their_place() {
    for (step, is_read) in [(1 << 63, true), ((1 << 63) + 1, false), (u64::MAX, false)] {
        let mut one = delta();
        one.steps[0].step = step;
        let bytes = one.encode();
        let read = Delta::decode(&bytes);
        assert_eq!(read.is_ok(), is_read, "{step}");
        if let Err(error) = read {
            let Error::Decode { at, expected } = error else {
                panic!("{error}")
            };
            assert_eq!((bytes[at] & 0x7f) as u64, step & 0x7f);
            assert!(expected.contains("2^63"));
        }
    }
}

#[test]
fn messages_come_back_from_bytes() {
    let delta = delta();
    assert_eq!(
        Delta::decode(&delta.encode()).expect("it was just written"),
        delta
    );
    let mut local = Local::new(server(Server::params()));
    local.send(&delta).expect("it is sound");
    let view = local.receive().expect("it answers").expect("it answers");
    assert_eq!(
        View::decode(&view.encode()).expect("it was just written"),
        view
    );
    assert_eq!((view.merged, view.names.len()), (1, 2));
    let again = local.server(|server| {
        let params = Server::params().check().expect("defaults");
        let other = Server::decode(params, &server.encode()).expect("it was just written");
        assert_eq!(other.encode(), server.encode());
        assert_eq!(other.names(), server.names());
        server.take(&delta).map(|view| view.merged)
    });
    assert_eq!(again.expect("nobody panicked").expect("it is sound"), 1);
    let calls = local.server(|server| server.functions()[0].1.loss.calls);
    assert_eq!(
        calls.expect("nobody panicked"),
        41,
        "a delta that came twice counts once"
    );
}

#[test]
fn invalid_messages_are_rejected_as_a_whole() {
    let delta = delta();
    let mut server = server(Server::params());
    server.take(&delta).expect("it is sound");
    let before = server.encode();
    let mut other = delta.clone();
    (other.sequence, other.session, other.known) = (2, 1, 9);
    assert!(matches!(server.take(&other), Err(Error::Decode { .. })));
    other.known = 0;
    other.session = 5;
    assert!(matches!(
        server.take(&other),
        Err(Error::OtherSession { session: 1 })
    ));
    other.session = 1;
    other.model = Sstd::default().snapshot();
    let error = server.take(&other).expect_err("another detector");
    assert_eq!(
        error.to_string(),
        "expected a model of tail, but got one of sstd"
    );
    assert_eq!(server.encode(), before);
    // Numbers beyond the names are invalid.
    let mut other = delta.clone();
    (other.sequence, other.names) = (2, Vec::new());
    assert!(matches!(server.take(&other), Err(Error::Decode { .. })));
    assert_eq!(server.encode(), before);
}

#[test]
fn a_server_whose_views_have_no_next_number_is_refused() {
    let params = || Server::params().check().expect("defaults");
    let mut bytes = Server::new(params()).encode();
    // After a magic number, a version and a session.
    let number = 14..22;
    bytes[number.clone()].copy_from_slice(&u64::MAX.to_le_bytes());
    match Server::decode(params(), &bytes) {
        Err(Error::Decode { at, expected }) => {
            assert_eq!((at, expected), (14, "the number of a view, at most 2^63"));
        }
        other => panic!("{other:?}"),
    }
    bytes[number].copy_from_slice(&(1_u64 << 63).to_le_bytes());
    let mut server = Server::decode(params(), &bytes).expect("there is a next one");
    server.go_on_from(u64::MAX);
    assert_eq!(server.latest(), 1 << 63);
}
