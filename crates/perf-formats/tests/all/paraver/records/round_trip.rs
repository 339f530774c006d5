//! Tests that records are written as they were read, and of damaged records.

use super::*;

#[test]
fn odd_text_is_written_as_it_stood() {
    let texts = [
        "new format\n#Paraver (1/1/20 at 1:00):30_us:0:1:1(1:1)\n1:0:1:1:1:0:30:1\n",
        "#Paraver (1/1/20 at 1:00):30:2:2:1(1:1),1(1:2),0 \r\n1:0:1:1:1:0:30:1\r\n\r\n# x\r\n",
        "#Paraver (x):9_ms:0:1:1(1:1)\nC:1:1:1:1\nI:1:2:1:1:1:1\ni:1:2:1:1:1:1\n\n  \n4:1:2:3\n\
         2:0:1:1:1:007:00:-0:8:-9223372036854775808:9:18446744073709551615\n1:0:1:1:1:0:30:1",
    ];
    for text in texts {
        let mut reader = Reader::new(
            text.as_bytes(),
            "x.prv",
            &OpenOptions::new(),
            &Job::default(),
        )
        .unwrap();
        let mut writer = Writer::new(Vec::new(), "y.prv");
        let mut one_by_one = Writer::new(Vec::new(), "y.prv");
        writer.text(reader.header_text()).unwrap();
        one_by_one.text(reader.header_text()).unwrap();
        while let Some(batch) = reader.next_batch().unwrap() {
            writer.batch(batch).unwrap();
            for index in 0..batch.len() {
                one_by_one.record(batch, index).unwrap();
            }
        }
        assert_eq!(reader.diagnostics().count(rules::BAD_LINE), 0, "{text}");
        assert_eq!(String::from_utf8(writer.finish().unwrap()).unwrap(), text);
        assert_eq!(one_by_one.finish().unwrap(), text.as_bytes());
    }
}

/// A record that owns its lists, in contrast to those of a batch.
#[derive(Clone, Debug)]
enum Own {
    State(OnCpu, u64, u64, u32),
    Events(OnCpu, u64, Vec<Pair>),
    Message(Communication),
    Comm(u32, Vec<u32>, bool),
    Comment(String),
    Blank,
}

fn at() -> impl Strategy<Value = OnCpu> {
    (any::<u32>(), 0u32..3, 0u32..3, any::<u32>()).prop_map(|(cpu, application, task, thread)| {
        let object = Object {
            application,
            task,
            thread,
        };
        OnCpu { cpu, object }
    })
}

fn pair() -> impl Strategy<Value = Pair> {
    let small = (any::<u32>(), 0u64..1000).prop_map(|(kind, value)| Pair::new(kind, value));
    let large = (any::<u32>(), any::<u64>()).prop_map(|(kind, value)| Pair::new(kind, value));
    let signed = (any::<u32>(), any::<i64>()).prop_map(|(kind, value)| Pair::signed(kind, value));
    prop_oneof![small, large, signed]
}

fn own() -> impl Strategy<Value = Own> {
    let ends = (at(), at(), any::<[u64; 5]>(), any::<i64>());
    prop_oneof![
        (at(), any::<u64>(), any::<u64>(), any::<u32>())
            .prop_map(|(at, begin, end, state)| Own::State(at, begin, end, state)),
        (at(), any::<u64>(), prop::collection::vec(pair(), 1..9))
            .prop_map(|(at, time, pairs)| Own::Events(at, time, pairs)),
        ends.prop_map(|(sender, receiver, [a, b, c, d, size], tag)| {
            Own::Message(Communication {
                sender,
                receiver,
                logical_send: Ticks(a),
                physical_send: Ticks(b),
                logical_receive: Ticks(c),
                physical_receive: Ticks(d),
                size,
                tag,
            })
        }),
        (
            any::<u32>(),
            prop::collection::vec(any::<u32>(), 0..5),
            any::<bool>()
        )
            .prop_map(|(id, tasks, is_upper)| Own::Comm(id, tasks, is_upper)),
        "#[ -~]{0,20}".prop_map(Own::Comment),
        Just(Own::Blank),
    ]
}

fn borrowed(own: &Own) -> Record<'_> {
    match own {
        Own::State(at, begin, end, state) => Record::State {
            at: *at,
            begin: Ticks(*begin),
            end: Ticks(*end),
            state: *state,
        },
        Own::Events(at, time, pairs) => Record::Events {
            at: *at,
            time: Ticks(*time),
            pairs,
        },
        Own::Message(message) => Record::Communication(message),
        Own::Comm(id, tasks, is_upper) => Record::Communicator {
            application: 1,
            id: *id,
            tasks,
            is_upper: *is_upper,
        },
        Own::Comment(text) => Record::Comment(text.as_bytes()),
        Own::Blank => Record::Blank,
    }
}

#[test]
fn damage_is_an_error_or_counted() {
    let mut texts = vec![(
        "own".to_string(),
        format!(
            "{HEADER}c:1:1:2:1:2\n1:1:1:1:1:0:10:1\n2:1:1:1:1:10:42000050:5:50000001:1:70000001:1\n\
             1:1:1:1:1:10:20:4\n3:1:1:1:1:10:10:3:1:2:1:11:15:80:1\n2:1:1:1:1:20:50000001:0\n"
        )
        .into_bytes(),
    )];
    if let Some(path) = corpus("paraver/lulesh/test2.prv") {
        texts.push(("test2".into(), std::fs::read(path).unwrap()));
    }
    let pcf = Pcf::parse(PCF.as_bytes());
    let limits = Limits::default()
        .with_memory(1 << 26)
        .with_definitions(1 << 12);
    for (name, text) in &texts {
        for damaged in damage::all(text, 2_000, 7) {
            for strict in [false, true] {
                let options = OpenOptions::new().strict(strict).limits(limits).threads(1);
                let reader = Reader::new(damaged.as_slice(), name, &options, &Job::default());
                let result = reader.and_then(|reader| into_trace(reader, &pcf, &Row::default()));
                if let Err(error) = result {
                    assert!(!error.to_string().is_empty());
                }
            }
        }
        for damaged in damage::all(PCF.as_bytes(), 300, 8) {
            let pcf = Pcf::parse(&damaged);
            assert_eq!(pcf.text(), damaged);
            let reader =
                Reader::new(text.as_slice(), name, &OpenOptions::new(), &Job::default()).unwrap();
            into_trace(reader, &pcf, &Row::parse(&damaged)).unwrap();
        }
    }
}

#[test]
fn packed_damage_is_an_error_with_its_place() {
    use std::io::Write as _;
    let body = "1:1:1:1:1:0:10:1\n".repeat(5_000);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed
        .write_all(format!("{HEADER}{body}").as_bytes())
        .unwrap();
    let packed = packed.finish().unwrap();
    for cut in [packed.len() / 2, packed.len() - 4] {
        let mut damaged = packed.clone();
        damaged.truncate(cut);
        let read = || -> Result<(), Error> {
            let mut reader = Reader::new(
                damaged.as_slice(),
                "x.prv.gz",
                &OpenOptions::new(),
                &Job::default(),
            )?;
            while reader.next_batch()?.is_some() {}
            Ok(())
        };
        let error = read().unwrap_err();
        assert!(matches!(error, Error::Truncated { .. }), "{cut}: {error}");
        assert!(error.place().unwrap().offset.is_some());
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(all in prop::collection::vec(own(), 1..60)) {
        let mut batch = Batch::default();
        let mut writer = Writer::new(Vec::new(), "y.prv");
        writer.text(HEADER.as_bytes()).unwrap();
        for own in &all {
            batch.push(borrowed(own)).unwrap();
        }
        writer.batch(&batch).unwrap();
        // At least one record, because a trace without records counts as truncated.
        writer.text(b"1:1:1:1:1:0:1:1\n").unwrap();
        let text = writer.finish().unwrap();
        let mut reader = Reader::new(text.as_slice(), "y.prv", &OpenOptions::new().strict(true), &Job::default()).unwrap();
        let mut index = 0;
        while let Some(batch) = reader.next_batch().unwrap() {
            for (number, record) in batch.iter().enumerate() {
                prop_assert_eq!(batch.line(number), index as u64 + 2);
                if let Some(own) = all.get(index) {
                    prop_assert_eq!(record, borrowed(own));
                }
                index += 1;
            }
        }
        prop_assert_eq!(index, all.len() + 1);
    }

    #[test]
    fn sweeps_nest_whatever_comes(
        all in prop::collection::vec((0u64..40, 0u32..2, 0u64..4, 0u32..6, 0u64..12), 1..80),
    ) {
        // States, calls and functions in arbitrary order of time.
        let mut lines: Vec<(u64, String)> = all.iter().map(|(time, task, value, what, length)| {
            let who = format!("1:1:{}:1:{time}", task + 1);
            (*time, match what {
                0 | 1 => format!("1:{who}:{}:{value}\n", time + length),
                2 => format!("2:{who}:50000001:{value}:50000001:{}\n", value / 2),
                3 => format!("2:{who}:60000019:{value}\n"),
                4 => format!("2:{who}:60000018:{value}:50000002:{value}\n"),
                _ => format!("2:{who}:42000050:{value}:70000001:{value}\n"),
            })
        }).collect();
        lines.sort_by_key(|line| line.0);
        let body: String = lines.into_iter().map(|line| line.1).collect();
        let (trace, _) = read(&body, &OpenOptions::new()).unwrap();
        for location in trace.view().locations() {
            struct Nothing;
            impl perf_core::Visitor for Nothing {
                fn enter(&mut self, _: Ticks, _: perf_core::RegionId, _: usize) {}
                fn leave(&mut self, _: Ticks, _: perf_core::RegionId, _: usize, _: perf_core::Close) {}
            }
            let counts = perf_core::replay(location, &mut Nothing, &Job::default()).unwrap();
            prop_assert_eq!(counts.repairs(), counts.open_at_end, "{}", body);
        }
    }
}
