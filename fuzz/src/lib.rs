//! Fuzz targets: readers, decoders, and analyses of their results.

use perfkit::core::{EventSource, Job, Profile, Trace};
use perfkit::formats::adios::Adios;
use perfkit::formats::cube::Cube;
use perfkit::formats::otf2::{MemoryArchive, Reader};
use perfkit::formats::streams::{Streams, TraceBuilder};
use perfkit::formats::tau::Tau;
use perfkit::formats::{Error, OpenOptions, Recording, Result, chrome, nsys, paraver, rocprof};
use perfkit_mutate::verdict::Verdict;
use perfkit_mutate::{analyse, live, recordings, seeds};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

fn options() -> OpenOptions {
    OpenOptions::new().threads(1)
}

/// Returns `true` if the result of an input is analysed as well. This holds for one input in eight,
/// because analyses take far longer than readers. The choice depends on the input only, so it is
/// reproducible.
fn is_analysed(data: &[u8]) -> bool {
    let hash = data.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    (hash >> 32).is_multiple_of(8)
}

fn trace(data: &[u8], trace: &Trace) -> Verdict {
    if is_analysed(data) {
        analyse::trace(trace)
    } else {
        Verdict::Value
    }
}

/// Analyses a profile, or only reads its rows.
fn profile(data: &[u8], profile: &Profile) -> Verdict {
    if is_analysed(data) {
        analyse::profile(profile)
    } else {
        analyse::rows(profile)
    }
}

/// Panics for an error that does not name its location, so that the fuzzer reports it.
fn judge(verdict: Verdict) {
    if let Verdict::Unlocated(what) = verdict {
        panic!("an error without its place: {what}");
    }
}

fn judged(result: Result<Verdict>) {
    judge(result.unwrap_or_else(|error| Verdict::of(&error)));
}

/// Returns a folder of this process, for readers that need files.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let name = format!("perfkit-fuzz-{}", std::process::id());
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() {
            memory.to_path_buf()
        } else {
            std::env::temp_dir()
        };
        let folder = base.join(name);
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        folder
    })
}

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder().join(name);
    std::fs::write(&path, bytes).expect("a file can be written");
    path
}

/// Name of a reader or decoder, maximum size of its inputs in bytes, and its function.
type Target = (&'static str, usize, fn(&[u8]));

/// All readers and decoders.
pub const TARGETS: &[Target] = &[
    ("otf2", 64 << 10, otf2),
    ("cube", 64 << 10, cube),
    ("cube3", 32 << 10, cube3),
    ("tau", 16 << 10, tau),
    ("ppk", 16 << 10, ppk),
    ("paraver", 32 << 10, paraver),
    ("pcf", 16 << 10, pcf),
    ("cluster", 16 << 10, cluster),
    ("adios", 64 << 10, adios),
    ("bp3", 64 << 10, bp3),
    ("streams", 16 << 10, streams),
    ("ndjson", 16 << 10, ndjson),
    ("chrome", 32 << 10, chrome),
    ("rocprof", 32 << 10, rocprof),
    ("nsys", 64 << 10, nsys),
    ("wire", 64 << 10, wire),
    ("live_wire", 64 << 10, live_wire),
    ("http", 32 << 10, http),
    ("store", 64 << 10, store),
    ("provenance", 64 << 10, provenance),
    ("spectra", 64 << 10, spectra),
];

/// Returns the target that `PERFKIT_FUZZ` names.
///
/// With `PERFKIT_FUZZ_LIST` all names are printed instead, each with the maximum size of its
/// inputs. With `PERFKIT_FUZZ_SEEDS` the initial inputs are written to that folder.
pub fn target() -> fn(&[u8]) {
    static TARGET: OnceLock<fn(&[u8])> = OnceLock::new();
    *TARGET.get_or_init(|| {
        if let Some(folder) = std::env::var_os("PERFKIT_FUZZ_SEEDS") {
            seeds::write(Path::new(&folder)).expect("seeds can be written");
            std::process::exit(0);
        }
        let name = std::env::var("PERFKIT_FUZZ").unwrap_or_default();
        if let Some(target) = TARGETS.iter().find(|target| target.0 == name) {
            return target.2;
        }
        for (name, most, _) in TARGETS {
            println!("{name} {most}");
        }
        let is_asked = std::env::var_os("PERFKIT_FUZZ_LIST").is_some();
        std::process::exit(if is_asked { 0 } else { 2 })
    })
}

/// Reads an OTF2 archive of one location.
pub fn otf2(data: &[u8]) {
    let [anchor, global, local, events] = seeds::split(data);
    let mut archive = MemoryArchive::default();
    archive.insert("traces.otf2", anchor.to_vec());
    archive.insert("traces.def", global.to_vec());
    // The definitions choose the number of the location; cover the usual ones.
    for key in [0, 1, 3] {
        archive.insert(format!("traces/{key}.def"), local.to_vec());
        archive.insert(format!("traces/{key}.evt"), events.to_vec());
    }
    judged(
        Reader::new(&archive, &options(), &Job::default()).and_then(|reader| {
            for id in reader.definitions().system.location_ids().take(3) {
                if let Err(error) = reader.records(id, |event| {
                    let _ = event.fields();
                    ControlFlow::Continue(())
                }) {
                    judge(Verdict::of(&error));
                }
            }
            let mut merged = reader.merged()?;
            while merged.next()?.is_some() {}
            let (read, _) = reader.read()?;
            Ok(trace(data, &read))
        }),
    );
}

/// Reads a CUBE4 archive.
pub fn cube(data: &[u8]) {
    let cube = Cube::from_bytes(data.to_vec(), "fuzz.cubex", &options(), &Job::default());
    judged(cube.map(|cube| profile(data, cube.profile())));
}

/// Reads a Cube3 document.
pub fn cube3(data: &[u8]) {
    let cube = Cube::from_bytes(data.to_vec(), "fuzz.cube", &options(), &Job::default());
    judged(cube.map(|cube| profile(data, cube.profile())));
}

/// Reads the TAU text profile of a thread.
pub fn tau(data: &[u8]) {
    let tau = Tau::from_text(data, "profile.0.0.0", &options(), &Job::default());
    judged(tau.map(|tau| profile(data, tau.profile())));
}

/// Reads a packed TAU profile.
pub fn ppk(data: &[u8]) {
    let tau = Tau::from_packed(data.to_vec(), "fuzz.ppk", &options(), &Job::default());
    judged(tau.map(|tau| profile(data, tau.profile())));
}

/// Reads a Paraver trace without names.
pub fn paraver(data: &[u8]) {
    let read = paraver::Reader::new(
        std::io::Cursor::new(data.to_vec()),
        "fuzz.prv",
        &options(),
        &Job::default(),
    );
    judged(read.and_then(|mut reader| {
        while reader.next_batch()?.is_some() {}
        let path = file("fuzz.prv", data);
        let (read, _) = paraver::read_trace(path, &options(), &Job::default())?;
        Ok(trace(data, &read))
    }));
}

/// Reads the names of a Paraver trace, and sets one of them.
pub fn pcf(data: &[u8]) {
    let mut pcf = paraver::Pcf::parse(data);
    pcf.set_kind(60_000_019, 0, "User function", &[(1, "main".into())]);
    let row = paraver::Row::parse(data);
    let _ = (pcf.text(), row.text(), row.label("THREAD", 1));
    let again = paraver::Pcf::parse(pcf.text());
    assert!(again.kind(60_000_019).is_some());
}

/// Reads a BP4 or BP5 folder.
pub fn adios(data: &[u8]) {
    let [index, metadata, formats, values] = seeds::split(data);
    for (name, bytes) in [
        ("md.idx", index),
        ("md.0", metadata),
        ("mmd.0", formats),
        ("data.0", values),
    ] {
        file(name, bytes);
    }
    judged(Adios::open(&[folder()], &options()).and_then(|source| events(data, source)));
}

/// Reads a BP3 file whose values are in the file itself.
pub fn bp3(data: &[u8]) {
    let path = file("fuzz.bp", data);
    judged(Adios::open(&[path], &options()).and_then(|source| events(data, source)));
}

fn events(data: &[u8], mut source: impl EventSource<Error = Error>) -> Result<Verdict> {
    let mut builder = TraceBuilder::default();
    while source.next_step(&mut builder, &Job::default())? {}
    Ok(trace(data, &builder.build()?))
}

/// Reads a table of events.
pub fn streams(data: &[u8]) {
    let from = std::io::Cursor::new(data.to_vec());
    judged(Streams::read("fuzz.tsv", from, &options()).and_then(|source| events(data, source)));
}

/// Reads events as lines of JSON.
pub fn ndjson(data: &[u8]) {
    let from = std::io::Cursor::new(data.to_vec());
    judged(Streams::read("fuzz.ndjson", from, &options()).and_then(|source| events(data, source)));
}

fn recorded(data: &[u8], found: Result<Recording>) {
    judged(found.map(|found| match found.trace() {
        Some(read) => trace(data, read),
        None => analyse::recording(&found),
    }));
}

/// Reads a Chrome trace, compressed or not.
pub fn chrome(data: &[u8]) {
    let from = std::io::Cursor::new(data.to_vec());
    recorded(
        data,
        chrome::read("fuzz.json", from, &options(), &Job::default()),
    );
}

/// Reads a recording of rocprofv3, compressed or not.
pub fn rocprof(data: &[u8]) {
    let from = std::io::Cursor::new(data.to_vec());
    recorded(
        data,
        rocprof::read("fuzz.json", from, &options(), &Job::default()),
    );
}

/// Reads a database of Nsight Systems.
pub fn nsys(data: &[u8]) {
    recorded(
        data,
        nsys::open(&[file("fuzz.sqlite", data)], &options(), &Job::default()),
    );
}

/// Reads tables, definitions and formulas of clusters.
pub fn cluster(data: &[u8]) {
    judge(recordings::clusters(data));
}

/// Decodes messages to and from an anomaly server.
pub fn live_wire(data: &[u8]) {
    judge(live::bodies(data));
}

/// Handles a request to an anomaly server, after HTTP was parsed.
pub fn http(data: &[u8]) {
    judge(live::request(&folder().join("fuzz.request"), data));
}

/// Opens the database of an anomaly server.
pub fn store(data: &[u8]) {
    judge(live::database(&file("fuzz.store", data)));
}

/// Decodes messages and state of the parameter server.
pub fn wire(data: &[u8]) {
    judge(recordings::wire(data));
}

/// Reads records of anomalies.
pub fn provenance(data: &[u8]) {
    judge(recordings::provenance(&file("fuzz.provenance", data)));
}

/// Reads a file of spectra.
pub fn spectra(data: &[u8]) {
    judge(recordings::spectra(&file("fuzz.spectra", data)));
}
