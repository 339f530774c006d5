//! Entries as lines of text: the same bytes in all versions.

use perf_anomaly::provenance::Entry;
use perf_anomaly::{Error, Label};

/// A line of each type, with all fields and with the fewest possible.
const LINES: [&str; 8] = [
    r#"{"type":"run","format":1,"version":"0.1.0","detector":"tail","facts":{"ignored":"MPI_*","threshold":"0.1"}}"#,
    r#"{"type":"run","format":1,"version":"","detector":""}"#,
    r#"{"type":"stream","program":1,"rank":2,"thread":4294967295,"facts":{"Hostname":"n\"7\\","a/b":"\u0000\u0008\u000c\u001f\n\r\té😀"}}"#,
    r#"{"type":"stream","program":0,"rank":0,"thread":0}"#,
    r#"{"type":"model","id":18446744073709551615,"program":0,"function":"main / solve","step":7,"detector":"tail","facts":{"a":0.1,"b":-0.0,"c":1e-5,"calls":1200.0,"d":1e16,"e":1000000000000000.0,"f":5e-324,"g":null,"mean":2000.0,"share":0.00012},"text":"a 0.1; b -0; c 0; 1200 calls; d 10000000000000000; e 1000000000000000; f 0; g NaN; mean 2.00 us; share 0.01 %"}"#,
    r#"{"type":"model","id":1,"program":0,"function":"","step":0,"detector":"","facts":{},"text":""}"#,
    r#"{"type":"anomaly","label":"beyond experience","function":"solve","program":1,"rank":2,"thread":3,"step":4,"host":"n7","score":1.7976931348623157e308,"severity":5,"expected":-6,"runtime":7,"exclusive":8,"first":true,"model":9,"repair":"closed at end","call":{"id":"2:4:1","function":"solve","number":10,"caller":9,"entry":-9223372036854775808,"exit":9223372036854775807,"anomaly":true},"stack":[{"id":"2:4:0","function":"main","number":9,"entry":0}],"before":[{"id":"","function":"a","number":0,"entry":0},{"id":"","function":"b","number":1,"entry":0,"exit":1}],"after":[{"id":"","function":"c","number":11,"entry":0,"anomaly":true}],"messages":[{"at":1,"kind":"send","rank":4,"tag":5,"bytes":6},{"at":2,"kind":"receive","rank":4,"tag":5,"bytes":0}],"counters":[{"at":1,"name":"u","value":18446744073709551615},{"at":2,"name":"i","value":-1},{"at":3,"name":"f","value":1.0},{"at":4,"name":"n","value":null}],"node":[{"at":5,"name":"load","value":0.5}],"accelerator":{"CUDA Device":"1"},"launch":{"id":"2:3:0","thread":1,"entry":12,"path":["main","launch"],"correlation":13,"left_out":14},"left_out":{"frames":1,"messages":2,"counters":3,"node":4}}"#,
    r#"{"type":"normal","label":"normal","function":"","program":0,"rank":0,"thread":0,"step":0,"score":null,"severity":0,"runtime":0,"exclusive":0,"call":{"id":"","function":"","number":0,"entry":0},"launch":{"id":"","thread":0,"entry":0,"correlation":0},"left_out":{"node":1}}"#,
];

#[test]
fn lines_are_written_as_they_were_read() {
    for line in LINES {
        let entry: Entry = line
            .parse()
            .unwrap_or_else(|error: Error| panic!("{error}: {line}"));
        assert_eq!(entry.to_string(), line);
    }
}

#[test]
fn fields_that_are_not_known_are_skipped() {
    let line = r#"{"later":[{"a":1}],"rank":2,"type":"stream","thread":0,"program":1}"#;
    let entry: Entry = line.parse().expect("the order does not matter");
    assert_eq!(
        entry.to_string(),
        r#"{"type":"stream","program":1,"rank":2,"thread":0}"#
    );
}

#[test]
fn labels_have_the_names_of_the_lines() {
    let all = [
        Label::Normal,
        Label::TooSlow,
        Label::BeyondExperience,
        Label::TooFast,
        Label::NotEnoughData,
        Label::Ignored,
    ];
    for label in all {
        let line = LINES[7].replace(r#""label":"normal""#, &format!(r#""label":"{label}""#));
        let entry: Entry = line.parse().expect("a label");
        let Entry::Call(record) = &entry else {
            panic!("a call");
        };
        assert_eq!(
            (record.label, label.to_string()),
            (label, label.name().into())
        );
        assert_eq!(entry.to_string(), line);
    }
    let line = LINES[7].replace(r#""label":"normal""#, r#""label":"odd""#);
    assert!(line.parse::<Entry>().is_err());
}
