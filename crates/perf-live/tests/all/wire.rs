//! Messages can be decoded, and damaged ones are errors with an offset.

use crate::common;

use perf_live::wire::{Answer, Bundle, Hello, NO_VIEW, Push, Welcome};
use proptest::prelude::*;

fn push() -> Push {
    let (deltas, entries) = common::recorded(1, 3, 77, 8);
    assert!(entries.len() > 4, "there are anomalies");
    Push {
        client: 77,
        view: NO_VIEW,
        delta: deltas.into_iter().next(),
        records: Some(Bundle {
            sequence: 5,
            entries,
        }),
    }
}

fn hello() -> Hello {
    Hello {
        client: u64::MAX,
        program: 2,
        rank: 9,
        name: "lammps \u{e4}".into(),
        host: "n17".into(),
    }
}

fn answer() -> Answer {
    Answer {
        session: 1,
        delta: 2,
        records: 3,
        number: 4,
        view: Some(vec![1, 2, 3]),
    }
}

#[test]
fn messages_come_back_from_bytes() {
    // Properties of a run are decoded in order of their names.
    let push = Push::decode(&push().encode()).expect("it was just written");
    assert!(Push::decode(&push.encode()).is_ok_and(|again| again == push));
    let part = Push {
        records: None,
        ..push.clone()
    };
    assert_eq!(
        Push::decode(&part.encode()).expect("it was just written"),
        part
    );
    let part = Push {
        delta: None,
        ..push
    };
    assert_eq!(
        Push::decode(&part.encode()).expect("it was just written"),
        part
    );
    assert_eq!(
        Hello::decode(&hello().encode()).expect("it was just written"),
        hello()
    );
    assert_eq!(
        Answer::decode(&answer().encode()).expect("it was just written"),
        answer()
    );
    let welcome = Welcome {
        session: 1,
        delta: 2,
        records: 3,
        most: 4,
    };
    assert_eq!(
        Welcome::decode(&welcome.encode()).expect("it was just written"),
        welcome
    );
}

#[test]
fn invalid_messages_are_errors_with_their_offset() {
    let said = |outcome: perf_live::Result<Push>| outcome.err().map(|error| error.to_string());
    let wrong = said(Push::decode(&hello().encode()));
    assert_eq!(
        wrong.as_deref(),
        Some("byte 0 of a message: expected a push")
    );
    let mut newer = push().encode();
    newer[4] = 2;
    let wrong = said(Push::decode(&newer));
    assert_eq!(
        wrong.as_deref(),
        Some("byte 4 of a message: expected version 1 of a message")
    );
    // A delta of another client.
    let other = Push {
        client: 78,
        ..push()
    };
    assert!(
        said(Push::decode(&other.encode())).is_some_and(|what| what.contains("of this client"))
    );
    // Neither delta nor records.
    let empty = Push {
        delta: None,
        records: None,
        ..push()
    };
    assert!(Push::decode(&empty.encode()).is_err());
    // A name that is too long is truncated by the writer, and rejected by the reader.
    let long = Hello {
        name: "\u{e4}".repeat(500),
        ..hello()
    };
    let read = Hello::decode(&long.encode()).expect("it was cut");
    assert_eq!(read.name.len(), 256);
    // A count of records that the bytes cannot hold.
    let mut many = Push {
        delta: None,
        records: Some(Bundle {
            sequence: 1,
            entries: Vec::new(),
        }),
        ..push()
    };
    many.client = 1;
    let mut bytes = many.encode();
    let end = bytes.len();
    bytes[end - 4..].fill(0xff);
    assert!(said(Push::decode(&bytes)).is_some_and(|what| what.contains("expected a record")));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_messages_are_errors_or_messages(at in 0.0..1.0_f64, to in any::<u8>(), is_cut in any::<bool>()) {
        let small = Push { records: None, ..push() };
        for bytes in [small.encode(), hello().encode(), answer().encode()] {
            let mut bytes = bytes;
            let place = (at * bytes.len() as f64) as usize;
            if is_cut { bytes.truncate(place) } else { bytes[place] = to }
            let whole = [
                Push::decode(&bytes).is_ok(),
                Hello::decode(&bytes).is_ok(),
                Answer::decode(&bytes).is_ok(),
                Welcome::decode(&bytes).is_ok(),
            ];
            prop_assert!(!is_cut || whole == [false; 4]);
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in prop::sample::select(b"hpwa".to_vec())) {
        let mut bytes = bytes;
        let head = [b'P', b'K', b'L', kind, 1, 0];
        let most = bytes.len().min(6);
        bytes[..most].copy_from_slice(&head[..most]);
        let _ = (Push::decode(&bytes), Hello::decode(&bytes), Answer::decode(&bytes), Welcome::decode(&bytes));
    }
}
