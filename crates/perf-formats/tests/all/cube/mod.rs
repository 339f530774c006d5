//! Tests with synthetic Cube archives: pitfalls of the format, derived metrics, and damage.

#![cfg(feature = "cube")]
mod archive_bytes;
mod derived_metrics;
mod document_forms;
mod facts;
mod kinds;
mod remapping;
mod writing;

use archive_bytes::{archive, data, index, member, read, row, seal};
use flate2::Compression;
use flate2::write::GzEncoder;
use perf_core::Job;
use perf_core::*;
use perf_formats::cube::{Cube, Layout, WriteOptions, property, rules, write};
use perf_formats::{Error, OpenOptions};
use perf_testdata::corpus::corpus;
use std::io::Write;
use std::sync::Arc;

/// Returns an anchor with two locations, call paths 0 > (1, 2), and these metrics.
fn anchor(metrics: &str, attributes: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?><cube version=\"4.4\">{attributes}<metrics>{metrics}</metrics>\
         <program><region id=\"5\" mod=\"\" begin=\"-1\" end=\"-1\"><name>a & b</name></region>\
         <cnode id=\"0\" calleeId=\"5\"><parameter partype=\"numeric\" parkey=\"n\" parvalue=\"3\"/>\
         <cnode id=\"1\" line=\"7\" calleeId=\"5\"></cnode>\
         <cnode id=\"2\" calleeId=\"5\"></cnode></cnode></program><system>\
         <systemtreenode Id=\"0\"><name>m</name><class>machine</class>\
         <locationgroup Id=\"0\"><name>r</name><rank>0</rank><type>process</type>\
         <location Id=\"1\"><name>gpu</name><rank>1</rank><type>gpu</type></location>\
         <location Id=\"0\"><name>t</name><rank>0</rank><type>thread</type></location>\
         </locationgroup></systemtreenode>\
         <topologies><cart name=\"g\" ndims=\"1\"><dim size=\"2\" periodic=\"true\"/>\
         <coord locId=\"0\">1</coord><coord locId=\"1\">2</coord><coord lgId=\"0\">0</coord>\
         <coord stnId=\"0\">0</coord><coord locId=\"9\">0</coord></cart></topologies>\
         </system></cube>"
    )
}

fn metric(id: u32, kind: &str, name: &str, more: &str) -> String {
    format!(
        "<metric id=\"{id}\" type=\"{kind}\"><uniq_name>{name}</uniq_name>\
         <dtype>DOUBLE</dtype><uom>sec</uom>{more}</metric>"
    )
}

/// Rows 0 and 2 of metric 0.
fn time() -> Vec<Vec<u8>> {
    vec![
        member("0.index", &index(&[0, 2])),
        member("0.data", &data(&[5.0, 6.0, 1.0, 2.0])),
    ]
}

/// Reads an archive of `time` with an anchor and further members.
fn with(anchor: &str, more: &[Vec<u8>]) -> Cube {
    let mut members = time();
    members.extend_from_slice(more);
    members.push(member("anchor.xml", anchor.as_bytes()));
    read(archive(&members)).unwrap()
}

fn plain() -> String {
    anchor(&metric(0, "EXCLUSIVE", "time", ""), "")
}

#[test]
fn a_plain_archive_is_read() {
    let cube = with(&plain(), &[]);
    let profile = cube.profile();
    assert_eq!(row(&cube, 0, 0), Some(vec![5.0, 6.0]));
    assert_eq!(row(&cube, 0, 1), None);
    assert_eq!(row(&cube, 0, 2), Some(vec![1.0, 2.0]));
    // Columns follow the ids, regardless of the order of the document.
    assert_eq!(profile.system().locations()[0].name, "t");
    assert_eq!(
        profile.system().locations()[1].kind,
        LocationKind::AcceleratorStream
    );
    assert_eq!(profile.regions()[0].name, "a & b");
    let parameter = ("cube.parameter:numeric:n".to_string(), "3".to_string());
    assert_eq!(profile.calls().properties(CallPathId(0)), [parameter]);
    let found = cube.diagnostics();
    // One coordinate does not fit, one refers to no location; the others are of three kinds.
    assert_eq!(found.count(rules::BAD_COORDINATES), 1);
    assert_eq!(found.count(rules::UNRESOLVED), 1);
    assert_eq!(found.count(rules::MIXED_TOPOLOGY), 1);
    let of: Vec<_> = profile
        .topologies()
        .iter()
        .map(|topology| topology.of)
        .collect();
    assert_eq!(
        of,
        [
            CartMembers::Locations,
            CartMembers::Groups,
            CartMembers::Nodes
        ]
    );
    assert!(profile.topologies()[0].dimensions[0].periodic);
}

#[test]
fn containers_may_be_odd() {
    // Aligned and empty members, with and without the superfluous block.
    let more = [
        member("free", &[7; 512]),
        member("empty", &[]),
        member("two", &[1; 1024]),
    ];
    let cube = with(&plain(), &more);
    assert_eq!(cube.members().collect::<Vec<_>>(), ["empty", "free", "two"]);
    assert_eq!(cube.member("free").unwrap(), Some(vec![7; 512]));
    let mut tight = member("free", &[7; 512]);
    tight.truncate(1024);
    assert_eq!(with(&plain(), &[tight]).members().count(), 1);
    // The anchor comes first.
    let mut members = vec![member("anchor.xml", plain().as_bytes())];
    members.extend(time());
    assert_eq!(
        row(&read(archive(&members)).unwrap(), 0, 0),
        Some(vec![5.0, 6.0])
    );
    // Sizes in base 256 and in an extended header.
    let mut base = member("free", &[7; 5]);
    base[124..136].copy_from_slice(&[0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5]);
    seal(&mut base);
    assert_eq!(
        with(&plain(), &[base]).member("free").unwrap(),
        Some(vec![7; 5])
    );
    let mut extended = member("PaxHeader", b"9 size=5\n");
    extended[156] = b'x';
    seal(&mut extended);
    let mut wrong = member("free", &[7; 5]);
    wrong[124..135].copy_from_slice(b"00000000000");
    seal(&mut wrong);
    let cube = with(&plain(), &[extended, wrong]);
    assert_eq!(cube.member("free").unwrap(), Some(vec![7; 5]));
    // The whole archive and the anchor are compressed.
    let mut members = time();
    let packed = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    members.push(member("anchor.xml", &packed(plain().as_bytes())));
    let cube = read(packed(&archive(&members))).unwrap();
    assert_eq!(row(&cube, 0, 2), Some(vec![1.0, 2.0]));
    let few = OpenOptions::new().limits(Limits::default().with_memory(100));
    let bomb = Cube::from_bytes(packed(&archive(&members)), "b", &few, &Job::default());
    assert!(matches!(bomb, Err(Error::Limit { .. })));
}

#[test]
fn documents_may_be_odd() {
    let odd = plain()
        .replace("ndims=\"1\"", "ndims=1")
        .replace("type=\"EXCLUSIVE\"", "type=EXCLUSIVE")
        .replace("</rank><type>process", "</wrong></rank><type>process");
    let cube = with(&odd, &[]);
    assert_eq!(row(&cube, 0, 0), Some(vec![5.0, 6.0]));
    assert_eq!(cube.diagnostics().count(rules::BAD_NESTING), 1);
    for (from, to) in [
        ("<metric id=\"0\"", "<metric id=\"x\""),
        ("<cnode id=\"1\"", "<cnode id=\"0\""),
        ("<location Id=\"1\"", "<location Id=\"0\""),
        ("</cube>", ""),
        ("<cube version", "<other version"),
    ] {
        let mut members = time();
        members.push(member("anchor.xml", plain().replace(from, to).as_bytes()));
        let error = read(archive(&members)).unwrap_err();
        let place = error.place().unwrap();
        assert!(place.offset.is_some(), "{error}");
        assert_eq!(&*place.file, "test.cubex/anchor.xml", "{error}");
    }
    let deep = plain().replace("<cnode id=\"2\"", &"<x>".repeat(5000));
    let error = read(archive(&[member("anchor.xml", deep.as_bytes())])).unwrap_err();
    assert!(matches!(error, Error::Limit { .. }), "{error}");
    // An undefined region, and columns with a gap.
    let lost = plain()
        .replace("line=\"7\" calleeId=\"5\"", "calleeId=\"6\"")
        .replace("<location Id=\"1\"", "<location Id=\"4\"");
    let cube = with(&lost, &[]);
    assert_eq!(cube.diagnostics().count(rules::SPARSE_LOCATIONS), 1);
    assert_eq!(cube.profile().regions().len(), 2);
}

#[test]
fn indices_and_data_may_be_odd() {
    let one = |index: &[u8], data: &[u8]| {
        let anchor = member("anchor.xml", plain().as_bytes());
        let members = [member("0.index", index), member("0.data", data), anchor];
        read(archive(&members))
    };
    // No rows, and the end directly after the kind.
    let empty = one(&index(&[])[..18], &data(&[])).unwrap();
    assert!(empty.profile().paths(MetricId(0)).is_empty());
    // The last row is truncated.
    let cut = one(&index(&[0, 1, 2]), &data(&[1.0, 2.0, 3.0])).unwrap();
    assert_eq!(cut.profile().paths(MetricId(0)), [CallPathId(0)]);
    assert_eq!(cut.diagnostics().count(rules::MISSING_ROWS), 2);
    // Rows without a call path, and duplicate rows.
    let stray = one(&index(&[0, 7, 0]), &data(&[1.0; 6])).unwrap();
    assert_eq!(stray.diagnostics().count(rules::BAD_ROWS), 2);
    assert_eq!(row(&stray, 0, 0), Some(vec![1.0, 1.0]));
    let mut kind = index(&[0]);
    kind[17] = 2;
    assert!(matches!(
        one(&kind, &data(&[])),
        Err(Error::Unsupported { .. })
    ));
    let mut order = index(&[0]);
    order[11] = 3;
    assert!(matches!(
        one(&order, &data(&[])),
        Err(Error::Malformed { .. })
    ));
    assert!(one(&index(&[0]), b"CUBEX.DOTA").is_err());
    let mut huge = index(&[0]);
    huge[18..22].fill(0xff);
    let error = one(&huge, &data(&[])).unwrap_err();
    assert!(matches!(error, Error::Truncated { .. }), "{error}");
    assert!(error.to_string().contains("0.index"), "{error}");
    // Only one of the two members.
    let anchor = member("anchor.xml", plain().as_bytes());
    let half = read(archive(&[member("0.index", &index(&[])), anchor])).unwrap();
    assert_eq!(half.diagnostics().count(rules::HALF_METRIC), 1);
    assert!(read(archive(&[])).is_err());
    assert!(read(b"something else".to_vec()).is_err());
    assert!(read(Vec::new()).is_err());
}

#[test]
fn metrics_may_be_of_no_values_and_hidden() {
    let metrics = metric(0, "EXCLUSIVE", "time", "")
        + &metric(1, "INCLUSIVE", "void", "<val>VOID</val>")
        + &metric(2, "SIMPLE", "simple", "").replacen(" type", " viztype=\"GHOST\" type", 1)
        + &metric(3, "EXCLUSIVE", "odd", "").replace("DOUBLE", "QUATERNION");
    let more = [
        member("ghost_2.index", &index(&[1])),
        member("ghost_2.data", &data(&[8.0, 9.0])),
        member("1.index", &index(&[1])),
        member("1.data", &data(&[8.0, 9.0])),
    ];
    let on = "<attr key=\"CLUSTERING\" value=\"ON\"/>";
    let cube = with(&anchor(&metrics, on), &more);
    assert_eq!(row(&cube, 2, 1), Some(vec![8.0, 9.0]));
    assert_eq!(row(&cube, 1, 1), None);
    assert_eq!(cube.diagnostics().count(rules::CLUSTERING), 1);
    assert_eq!(cube.diagnostics().count(rules::UNKNOWN_TYPE), 1);
    let mut bytes = Vec::new();
    write(
        cube.profile(),
        &mut bytes,
        &WriteOptions::new(),
        &Job::default(),
    )
    .unwrap();
    let back = read(bytes).unwrap();
    assert_eq!(row(&back, 2, 1), Some(vec![8.0, 9.0]));
    assert_eq!(back.profile().metrics()[2], cube.profile().metrics()[2]);
}

/// Contents of the format without a field in the profile are preserved.
#[test]
fn what_stands_around_a_profile_is_kept() {
    let document = anchor(
        &(metric(0, "EXCLUSIVE", "time", "<val>VOID</val>").replacen(
            "type",
            "cacheable=\"false\" convertible=\"no\" type",
            1,
        ) + &metric(
            1,
            "POSTDERIVED",
            "twice",
            "<cubepl rowwise=false>2 * metric::time()</cubepl>",
        )),
        "<attr key=\"a\" value=\"b\"/><doc><mirrors><murl>http://one/?a&amp;b</murl>\
         <murl>file:///two</murl></mirrors></doc>",
    );
    let document = document
        .replacen("<metrics>", "<metrics title=\"m &lt; n\">", 1)
        .replacen("<system>", "<system title=\"\">", 1)
        .replacen(
            "</name></region>",
            "</name><url>@mirror@r</url><descr>what &amp; why</descr></region>",
            1,
        );
    let texts: Vec<Vec<u8>> = vec![vec![b'x'; 1024], b"spec".to_vec(), vec![]];
    let long = "n".repeat(101);
    let more = [
        member("remapping.spec", &texts[0]),
        member("other.bin", &texts[1]),
        member("empty", &texts[2]),
        // Names that rows of other metrics may get.
        member("17.data", b"CUBEX.DATA"),
        member("ghost_3.index", b"CUBEX.INDEX"),
    ];
    let cube = with(&document, &more);
    let has = |cube: &Cube, name: &str, value: &str| {
        let own = (name.to_string(), value.to_string());
        cube.profile().properties().contains(&own)
    };
    for (name, value) in [
        ("a", "b"),
        ("cube.murl", "http://one/?a&b"),
        ("cube.murl", "file:///two"),
        ("cube.title:metrics", "m < n"),
        ("cube.title:system", ""),
        ("cube.region_url:0", "@mirror@r"),
        ("cube.descr:0", "what & why"),
        ("cube.member", "remapping.spec"),
    ] {
        assert!(has(&cube, name, value), "{name}");
    }
    let mut bytes = Vec::new();
    let lost = cube
        .write(
            cube.profile(),
            &mut bytes,
            &WriteOptions::new(),
            &Job::default(),
        )
        .unwrap();
    let counts = |lost: &Diagnostics| {
        [rules::MEMBER_NOT_WRITTEN, rules::MEMBER_LENGTHENED].map(|rule| lost.count(rule))
    };
    assert_eq!(counts(&lost), [2, 1], "{lost}");
    let back = read(bytes).unwrap();
    assert_eq!(back.profile().metrics(), cube.profile().metrics());
    let spec = back.member("remapping.spec").unwrap().unwrap();
    assert_eq!(spec, [&texts[0][..], b"\n"].concat());
    assert_eq!(back.member("other.bin").unwrap().as_ref(), Some(&texts[1]));
    assert_eq!(back.member("empty").unwrap().as_ref(), Some(&texts[2]));
    let properties = cube.profile().properties().iter();
    let kept = properties.filter(|(_, value)| value != "17.data" && value != "ghost_3.index");
    assert!(kept.eq(back.profile().properties()));
    // Without the archive they are not available.
    let lost = write(
        cube.profile(),
        Vec::new(),
        &WriteOptions::new(),
        &Job::default(),
    )
    .unwrap();
    assert_eq!(counts(&lost), [5, 0], "{lost}");
    // A name that is too long for a header.
    let mut bytes = member("anchor.xml", anchor("", "").as_bytes());
    let record = format!("{} path={long}\n", long.len() + 10);
    let mut pax = member("x", record.as_bytes());
    pax[156] = b'x';
    seal(&mut pax[..512]);
    bytes.extend(pax);
    bytes.extend(member("short", b"1"));
    let cube = read(archive(&[bytes])).unwrap();
    assert_eq!(cube.members().collect::<Vec<_>>(), [long.as_str()]);
    let lost = cube
        .write(
            cube.profile(),
            Vec::new(),
            &WriteOptions::new(),
            &Job::default(),
        )
        .unwrap();
    assert_eq!(counts(&lost), [1, 0], "{lost}");
}

#[test]
fn documents_of_version_3_may_be_odd() {
    let Some(path) = corpus("cube/cube3/test0.0.cube") else {
        return;
    };
    let text = std::fs::read_to_string(path).unwrap();
    let read = |text: String| {
        Cube::from_bytes(text.into_bytes(), "c", &OpenOptions::new(), &Job::default())
    };
    let short = read(text.replacen("4\n0\n", "4\n", 1)).unwrap();
    assert_eq!(short.diagnostics().count(rules::SHORT_ROW), 1);
    assert_eq!(row(&short, 0, 0), Some(vec![4.0, 0.0]));
    assert!(read(text.replacen("4\n0\n", "4\n0\n1\n", 1)).is_err());
    let words = read(text.replacen("4\n0\n", "4\nx\n", 1)).unwrap();
    let error = words.profile().row(MetricId(0), CallPathId(0)).unwrap_err();
    assert!(matches!(error, perf_core::Error::Read(_)), "{error}");
    let lost = read(text.replacen("cnodeId=\"0\"", "cnodeId=\"99\"", 1)).unwrap();
    assert_eq!(lost.diagnostics().count(rules::UNRESOLVED), 1);
    let recording = OpenOptions::new().strict(true);
    let strict = Cube::from_bytes(
        text.replacen("4\n0\n", "4\n", 1).into_bytes(),
        "c",
        &recording,
        &Job::default(),
    );
    assert!(matches!(strict, Err(Error::Strict { .. })));
}

#[test]
fn damaged_files_are_no_panic() {
    let files = [
        "cube/pycubexr/cube-values_example.cubex",
        "cube/extrap/mm.x1y1z1.r1.cubex",
        "cube/metacg/spec-testcases-470.lbm.4.cubex",
        "cube/cubelib/test0.0.cubex",
        "cube/cube3/example.cube",
    ];
    for file in files {
        let Some(path) = corpus(file) else {
            return;
        };
        let bytes = std::fs::read(path).unwrap();
        let options = OpenOptions::new();
        for damaged in perf_testdata::damage::all(&bytes, 400, 11) {
            let Ok(cube) = Cube::from_bytes(damaged, "damaged", &options, &Job::default()) else {
                continue;
            };
            // An archive that opens must return rows or errors.
            let profile = cube.profile();
            for at in (0..profile.metrics().len() as u32).map(MetricId) {
                for path in profile.paths(at).into_iter().take(20) {
                    let _ = profile.row(at, path);
                    let _ = profile.scoped(at, path, Scope::Exclusive);
                    let _ = profile.scoped(at, path, Scope::Inclusive);
                }
            }
        }
    }
}

#[test]
fn negative_differences_of_counters_are_kept() {
    let Some(path) = corpus("cube/pycubexr/L2_DCM_negative.cubex") else {
        return;
    };
    let cube = Cube::open(path, &OpenOptions::new(), &Job::default()).unwrap();
    let profile = cube.profile();
    let mut negative = 0;
    for (about, at) in profile.metrics().iter().zip(0u32..) {
        let id = MetricId(at);
        if about.scope != Scope::Inclusive {
            continue;
        }
        let mut sum = 0.0;
        // A path without a row can have descendants with rows.
        for path in (0..profile.calls().paths().len() as u32).map(CallPathId) {
            let own = profile.scoped(id, path, Scope::Exclusive).unwrap();
            let Some(own) = own else { continue };
            if let Severities::I64(values) = &*own {
                negative += values.iter().filter(|value| **value < 0).count();
            }
            sum += own.to_f64().iter().sum::<f64>();
        }
        // The sum of all exclusive values equals the inclusive value of the root.
        let root = profile.row(id, CallPathId(0)).unwrap();
        let root: f64 = root.map_or(0.0, |row| row.to_f64().iter().sum());
        assert!(
            (sum - root).abs() <= 1e-9 * root.abs(),
            "{}",
            about.metric.name
        );
    }
    assert!(negative > 0);
}

#[test]
fn public_types_can_be_shared() {
    fn shared<T: Send + Sync + Unpin>() {}
    shared::<Cube>();
    shared::<Error>();
    shared::<WriteOptions>();
    shared::<Profile>();
}
