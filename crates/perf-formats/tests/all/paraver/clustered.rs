//! Tests of the files of the established burst clustering, and of recoloured trace files.

use perf_core::{Job, Limits, Nanos, Ticks};
use perf_formats::paraver::clustered::{Data, Definition, Role, Source};
use perf_formats::paraver::{
    Cluster, Coloured, Object, Pcf, Reader, Writer, colours, recolour, recolour_files, rules,
};
use perf_formats::{Error, OpenOptions};
use perf_testdata::corpus::corpus;
use perf_testdata::damage;
use std::path::PathBuf;

const HEADER: &str = "#Paraver (09/10/2019 at 16:09):30_ns:1(1):1:1(1:1)\n";

fn burst(begin: u64, end: u64, cluster: Cluster) -> Coloured {
    Coloured {
        object: Object {
            application: 1,
            task: 1,
            thread: 1,
        },
        begin: Ticks(begin),
        end: Ticks(end),
        cluster,
    }
}

fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn lines_that_are_no_records_are_copied() {
    let text = format!(
        "{HEADER}oops\n1:1:1:1:1:0:10:1\n2:1:1:1:1:5\nmore: of it\n1:1:1:1:1:10:30:1\nlast\n"
    );
    let mut reader = Reader::new(
        text.as_bytes(),
        "x.prv",
        &OpenOptions::new(),
        &Job::default(),
    )
    .unwrap();
    let mut writer = Writer::new(Vec::new(), "y.prv");
    let bursts = [burst(0, 10, Cluster::Id(1))];
    let done = recolour(&mut reader, &bursts, &mut writer).unwrap();
    assert_eq!((done.copied, done.inserted), (4, 2));
    assert_eq!(reader.diagnostics().count(rules::BAD_LINE), 4);
    let expected = format!(
        "{HEADER}oops\n1:1:1:1:1:0:10:1\n2:1:1:1:1:5\nmore: of it\n2:1:1:1:1:0:90000001:6\n\
         1:1:1:1:1:10:30:1\nlast\n2:1:1:1:1:10:90000001:0\n"
    );
    assert_eq!(
        String::from_utf8(writer.finish().unwrap()).unwrap(),
        expected
    );
    // More invalid lines than are stored in detail.
    let many = "no record\n".repeat(100);
    let text = format!("{HEADER}{many}1:1:1:1:1:0:30:1\n{many}");
    let mut reader = Reader::new(
        text.as_bytes(),
        "x.prv",
        &OpenOptions::new(),
        &Job::default(),
    )
    .unwrap();
    let mut writer = Writer::new(Vec::new(), "y.prv");
    let done = recolour(&mut reader, &[], &mut writer).unwrap();
    assert_eq!(done.copied, 200);
    assert_eq!(writer.finish().unwrap(), text.as_bytes());
}

#[test]
fn files_are_packed_by_their_name_and_have_companions() {
    let folder = folder("recoloured");
    let from = folder.join("a.prv");
    std::fs::write(&from, format!("{HEADER}1:1:1:1:1:0:30:1\n")).unwrap();
    std::fs::write(folder.join("a.pcf"), "STATES\n1    Running\n").unwrap();
    std::fs::write(folder.join("a.row"), "LEVEL THREAD SIZE 1\nTHREAD 1.1.1\n").unwrap();
    let bursts = [burst(0, 30, Cluster::Id(7))];
    for (to, is_packed) in [("b.prv", false), ("c.prv.gz", true)] {
        let to = folder.join(to);
        let (done, found) =
            recolour_files(&from, &to, &bursts, &OpenOptions::new(), &Job::default()).unwrap();
        assert_eq!((done.inserted, found.is_empty()), (2, true));
        let bytes = std::fs::read(&to).unwrap();
        assert_eq!(bytes.starts_with(&[0x1f, 0x8b]), is_packed);
        let mut reader = Reader::open(&to, &OpenOptions::new(), &Job::default()).unwrap();
        assert_eq!(colours(&mut reader).unwrap(), bursts);
        let stem = to.file_name().unwrap().to_string_lossy().replace(".gz", "");
        let beside = |end: &str| std::fs::read(folder.join(stem.replace("prv", end))).unwrap();
        let pcf = Pcf::parse(&beside("pcf"));
        assert_eq!(pcf.value(90_000_001, 12), Some("Cluster 7"));
        assert_eq!(pcf.state(1), Some("Running"));
        assert_eq!(beside("row"), std::fs::read(folder.join("a.row")).unwrap());
    }
    // Neither the trace nor its companions are overwritten, regardless of the spelling of the path.
    for to in ["a.prv", "a.prv.gz", "./b/../a.prv"] {
        std::fs::create_dir_all(folder.join("b")).unwrap();
        let done = recolour_files(
            &from,
            &folder.join(to),
            &bursts,
            &OpenOptions::new(),
            &Job::default(),
        );
        assert!(matches!(done, Err(Error::Usage { .. })), "{to}");
    }
    assert!(
        recolour_files(
            &folder.join("no.prv"),
            &from,
            &[],
            &OpenOptions::new(),
            &Job::default()
        )
        .is_err()
    );
}

#[test]
fn definitions_of_the_corpus() {
    for (name, eps, least, filter) in [("c01", 0.01, 10.0, 0), ("epoch1ms", 0.04, 4.0, 1_000_000)] {
        let Some(path) = corpus(&format!("paraver/reference/{name}.xml")) else {
            return;
        };
        let found = Definition::parse(&std::fs::read(path).unwrap(), name).unwrap();
        assert_eq!(found.algorithm.name, "DBSCAN");
        assert_eq!(found.algorithm.parameters["epsilon"], eps);
        assert_eq!(found.algorithm.parameters["min_points"], least);
        assert_eq!(found.min_duration, Nanos(filter));
        assert!(found.normalise && found.apply_log && found.all_counters && !found.use_duration);
        let [instructions, ipc] = &found.axes[..] else {
            panic!("two axes");
        };
        assert_eq!(instructions.source, Source::Single(42_000_050));
        assert!(instructions.log && !ipc.log);
        assert_eq!(ipc.source, Source::Mixed(42_000_050, '/', 42_000_059));
        assert_eq!((ipc.name.as_str(), ipc.factor, ipc.low), ("IPC", 1.0, None));
    }
}

#[test]
fn definitions_by_hand_and_damaged() {
    let text = "<?xml version='1.0'?><clustering_definition use_duration='yes' duration_filter='2m' \
                threshold_filter='5'><clustering_algorithm name='DBSCAN'><epsilon>1e-2</epsilon>\
                </clustering_algorithm><clustering_parameters><single_event name='a'>\
                <event_type>7</event_type><range_min>1</range_min><range_max>9</range_max>\
                <factor>2</factor></single_event></clustering_parameters>\
                <extrapolation_parameters><single_event name='b'><event_type>8</event_type>\
                </single_event></extrapolation_parameters></clustering_definition>";
    let found = Definition::parse(text.as_bytes(), "x").unwrap();
    assert_eq!(found.min_duration, Nanos(2_000_000));
    assert!((found.min_share - 0.05).abs() < 1e-12 && found.use_duration);
    let axis = &found.axes[0];
    assert_eq!(
        (axis.low, axis.high, axis.factor),
        (Some(1.0), Some(9.0), 2.0)
    );
    assert_eq!((found.axes.len(), found.extrapolated.len()), (1, 1));
    for (from, to) in [
        ("clustering_definition", "html"),
        ("2m", "2x"),
        ("1e-2", "small"),
        (">7<", "><"),
        ("threshold_filter='5'", "threshold_filter='500'"),
        ("<event_type>7</event_type>", ""),
        ("</clustering_definition>", ""),
    ] {
        let wrong = text.replace(from, to);
        assert!(Definition::parse(wrong.as_bytes(), "x").is_err(), "{from}");
    }
    let deep = format!("<clustering_definition>{}", "<a>".repeat(10_000));
    assert!(matches!(
        Definition::parse(deep.as_bytes(), "x"),
        Err(Error::Limit { .. })
    ));
    for damaged in damage::all(text.as_bytes(), 200, 1) {
        let _ = Definition::parse(&damaged, "x");
    }
}

#[test]
fn tables_of_the_corpus() {
    for (name, rows, clusters) in [
        ("e2.DATA.csv", 158, 7),
        ("e16.DATA.csv", 582, 19),
        ("b10k_01.DATA.csv.gz", 10_000, 12),
    ] {
        let Some(path) = corpus(&format!("paraver/reference/{name}")) else {
            return;
        };
        assert!(Data::is_one(&path));
        let data = Data::open(&path, &Limits::default()).unwrap();
        assert_eq!(data.rows.len(), rows);
        let most = data.rows.iter().map(|row| row.cluster).max();
        assert_eq!(most, Some(Cluster::Id(clusters)));
        let raw = data.columns.iter().filter(|of| of.role == Role::Raw);
        let names: Vec<&str> = raw.map(|of| of.name.as_str()).collect();
        assert_eq!(names, ["PAPI_TOT_INS", "IPC"]);
        assert!(data.columns.iter().all(|of| of.values.len() == rows));
    }
}

#[test]
fn tables_by_hand_and_damaged() {
    let head =
        "# Instance,TaskId,ThreadId,Begin_Time,End_Time,Duration, Line, d_a, n_a,ClusterID\n";
    let read = |body: &str| {
        let text = format!("{head}{body}");
        Data::read(text.as_bytes(), "x", &Limits::default())
    };
    assert!(read("").unwrap().rows.is_empty());
    let data = read("0, 1 ,0,5,7,2,9,-1e3, nan,5\n\n1,0,0,5,5,0,9,0,0,1").unwrap();
    assert_eq!(data.rows[0].cluster, Cluster::Noise);
    assert_eq!(data.rows[1].cluster, Cluster::MissingData);
    assert!(data.columns[1].values[0].is_nan());
    for wrong in [
        "0,1,0,5,7,2,9,1,1,0\n",
        "0,1,0,5,7,2,9,1,1\n",
        "0,1,0,5,7,2,9,1,1,6,6\n",
        "0,1,0,7,5,2,9,1,1,6\n",
        "0,-1,0,5,7,2,9,1,1,6\n",
        "0,1,0,5,7,2,9,one,1,6\n",
    ] {
        let error = read(wrong).unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
    }
    assert!(Data::read(&b"a,b\n1,2\n"[..], "x", &Limits::default()).is_err());
    assert!(Data::read(&b""[..], "x", &Limits::default()).is_err());
    let text = format!("{head}0,1,0,5,7,2,9,1,1,6\n");
    for damaged in damage::all(text.as_bytes(), 200, 1) {
        let _ = Data::read(&damaged[..], "x", &Limits::default());
    }
}
