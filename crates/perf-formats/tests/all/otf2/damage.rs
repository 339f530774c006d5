//! Tests of damaged archives: an error with its place or a counted repair, never a panic. The
//! numbers of events, of cancellation checks and of allocated bytes are bounded by the size of the
//! files.

use crate::common::archives;

use perf_core::Members as Ranks;
use perf_core::{Job, Limits, Ticks, TimeRange};
use perf_core::{Paradigm, RegionRole};
use perf_formats::otf2::{MemoryArchive, Reader, WriteOptions, rules};
use perf_formats::{Error, OpenOptions};
use perf_testdata::damage::below;
use perf_testdata::many_ranks;
use perf_testdata::xorshift::Xorshift;
use std::ops::ControlFlow;

/// Returns small archives, as (name, bytes): real ones if the corpus is available, and a written
/// one.
fn archives() -> Vec<(String, MemoryArchive)> {
    let trace = many_ranks::trace(3, 400);
    let options = WriteOptions::default().with_chunks(2048, 1 << 12);
    let names = [
        "pipit-pingpong",
        "casita-1_scorep-ompt-host-nested",
        "casita-4_mpi_ls_barr",
    ];
    archives::with_corpus(&trace, &options, &names)
}

/// Reads in all ways. The result must be small: an event takes at least one byte, and a
/// cancellation check is made for each file and for many events.
fn survive(members: &MemoryArchive, what: &str) {
    let size: usize = members.iter().map(|(_, bytes)| bytes.len()).sum();
    let job = Job::stopping_after(u64::MAX);
    let window = TimeRange::new(Ticks(5_000), Ticks(1 << 60));
    for options in [
        OpenOptions::new().threads(1),
        OpenOptions::new().strict(true).threads(1),
        OpenOptions::new().window(window).threads(1),
    ] {
        let reader = match Reader::new(members, &options, &job) {
            Ok(reader) => reader,
            Err(error) => {
                assert!(located(&error), "{what}: {error}");
                continue;
            }
        };
        let (mut told, mut merged_ones) = (0, 0);
        match reader.read() {
            Ok((trace, _)) => assert!(trace.memory() < 64 * size, "{what}: too much memory"),
            Err(error) => assert!(located(&error), "{what}: {error}"),
        }
        if let Ok(mut merged) = reader.merged() {
            let mut last = Ticks(0);
            while let Ok(Some((_, at, _))) = merged.next() {
                assert!(last <= at, "{what}: the stream goes back");
                last = at;
                merged_ones += 1;
            }
        }
        for id in reader.definitions().system.location_ids() {
            let _ = reader.records(id, |event| {
                let _ = event.fields();
                told += 1;
                ControlFlow::Continue(())
            });
        }
        assert!(told.max(merged_ones) < size, "{what}: too many events");
    }
    let checks = job.checks_made().unwrap();
    assert!(
        checks < size as u64,
        "{what}: {checks} checks, {size} bytes"
    );
}

fn located(error: &Error) -> bool {
    error.place().is_some_and(|place| !place.file.is_empty())
}

fn names(members: &MemoryArchive) -> Vec<String> {
    members.iter().map(|(name, _)| name.to_string()).collect()
}

#[test]
fn files_that_end_anywhere() {
    for (archive, members) in archives() {
        let mut random = Xorshift::new(7);
        // Anchor and definitions, and the files of two locations.
        let mut names = names(&members);
        names.sort_by_key(|name| name.contains('/'));
        for name in names.into_iter().take(6) {
            let whole = members.get(&name).unwrap().to_vec();
            let mut ends: Vec<usize> = (0..whole.len().min(30)).collect();
            ends.extend((0..10).map(|_| below(&mut random, whole.len())));
            for end in ends {
                let mut cut = members.clone();
                cut.get_mut(&name).unwrap().truncate(end);
                survive(&cut, &format!("{archive}, {name} cut at {end}"));
            }
        }
    }
}

#[test]
fn bytes_that_are_flipped() {
    for (archive, members) in archives() {
        let names = names(&members);
        let mut random = Xorshift::new(11);
        for round in 0..150 {
            let mut bad = members.clone();
            let mut what = format!("{archive}, round {round}");
            for _ in 0..1 + below(&mut random, 4) {
                // The anchor and the definitions are small and the most important.
                let some = if below(&mut random, 2) == 0 {
                    2
                } else {
                    names.len()
                };
                let mut order: Vec<&String> = names.iter().collect();
                order.sort_by_key(|name| name.contains('/'));
                let name = order[below(&mut random, some)];
                let bytes = bad.get_mut(name).unwrap();
                let at = below(&mut random, bytes.len());
                let value =
                    [0, 1, 0x7F, 0x80, 0xFF, below(&mut random, 256) as u8][below(&mut random, 6)];
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = value;
                    what += &format!(", {name} byte {at} = {value:#x}");
                }
            }
            survive(&bad, &what);
        }
    }
}

/// Returns a definition file of these records after a chunk header.
fn definitions(records: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = vec![3, 0x42];
    bytes.resize(18, 0);
    for (id, payload) in records {
        bytes.extend([*id, 0xFF]);
        bytes.extend((payload.len() as u64).to_le_bytes());
        bytes.extend(payload);
    }
    bytes.extend([2, 1]);
    bytes
}

fn own_with(records: &[(u8, Vec<u8>)]) -> MemoryArchive {
    let (_, mut members) = archives().swap_remove(0);
    members.insert("traces.def", definitions(records));
    // An anchor whose chunk size fits them.
    let mut anchor = members.get("traces.otf2").unwrap().to_vec();
    anchor[20..28].copy_from_slice(&(1_u64 << 24).to_le_bytes());
    members.insert("traces.otf2", anchor);
    members
}

fn open(members: &MemoryArchive) -> Reader<'_> {
    Reader::new(members, &OpenOptions::new(), &Job::default()).unwrap()
}

fn number(value: u32) -> Vec<u8> {
    let mut bytes = vec![4];
    bytes.extend(value.to_le_bytes());
    bytes
}

#[test]
fn counts_beyond_the_record_are_not_believed() {
    // Group 0 with four billion members, three of which exist.
    let mut group = vec![0, 0, 0];
    group.extend(number(u32::MAX));
    group.extend([0, 0, 0]);
    // ProgramBegin and MappingTable have counts too, in the files of a location.
    let mut mapping = vec![3];
    mapping.extend(number(u32::MAX));
    mapping.extend([0, 1, 1]);
    let mut members = own_with(&[(18, group), (10, b"\0no end".to_vec())]);
    members.insert("traces/0.def", definitions(&[(5, mapping)]));
    let reader = open(&members);
    assert_eq!(reader.diagnostics().count(rules::DAMAGED_RECORD), 2);
    survive(&members, "counts");
}

#[test]
fn regions_of_the_first_version_have_one_type() {
    // Without canonical name, role and paradigm: OMP_BARRIER, MPI_COLL_ALL2ALL, FUNCTION and one too many.
    let region = |id: u8, kind: u8| (15, vec![1, id, 0, 0, kind, 0, 1, 5, 1, 9]);
    let all = [region(1, 14), region(2, 25), region(3, 1), region(4, 36)];
    let members = own_with(&all);
    let options = OpenOptions::new().unify(perf_formats::Unify::Never);
    let reader = Reader::new(&members, &options, &Job::default()).unwrap();
    let regions = &reader.definitions().regions;
    let known = regions.iter().map(|it| (it.role, it.paradigm));
    assert_eq!(
        known.collect::<Vec<_>>(),
        [
            (RegionRole::Barrier, Paradigm::OpenMp),
            (RegionRole::Collective, Paradigm::Mpi),
            (RegionRole::Function, Paradigm::Unknown),
            (RegionRole::Unknown, Paradigm::Unknown),
        ]
    );
    assert_eq!(reader.diagnostics().count(rules::UNKNOWN_VALUE), 1);
}

#[test]
fn a_record_longer_than_its_file_ends_there() {
    let mut bytes = definitions(&[]);
    bytes.truncate(18);
    bytes.extend([10, 0xFF]);
    bytes.extend(u64::MAX.to_le_bytes());
    bytes.extend([0; 40]);
    let mut members = own_with(&[]);
    members.insert("traces.def", bytes);
    assert_eq!(open(&members).diagnostics().count(rules::TRUNCATED), 1);
    survive(&members, "length");
}

#[test]
fn trees_that_bite_their_tail_are_cut() {
    let node = |id: u8, parent: u8| (12, vec![1, id, 0xFF, 0xFF, 1, parent]);
    let context = |id: u8, parent: u8| (34, vec![1, id, 1, 9, 0xFF, 1, parent]);
    let members = own_with(&[
        node(1, 2),
        node(2, 3),
        node(3, 1),
        node(4, 4),
        node(5, 99),
        context(1, 2),
        context(2, 1),
    ]);
    let reader = open(&members);
    assert_eq!(reader.diagnostics().count(rules::CYCLE), 3);
    assert_eq!(reader.definitions().contexts.paths().len(), 2);
    survive(&members, "cycles");
}

/// Many definitions can share one long string or group. A copy for each of them would need far more
/// memory than the file has bytes.
#[test]
fn what_is_shared_in_the_file_does_not_explode_in_memory() {
    let mut long = vec![0];
    long.extend(vec![b'x'; 60_000]);
    long.push(0);
    let mut records = vec![(10, long)];
    for id in 0..20_000_u32 {
        // A region named by the long string, with its own paradigm and name.
        let mut region = number(id);
        region.extend([0, 0xFF, 0, 0xFF, 0, 0]);
        region.extend(number(1 + id));
        region.extend([1, 1, 0]);
        records.push((15, region));
        let mut name = number(1 + id);
        name.extend(id.to_string().bytes());
        name.push(0);
        records.push((10, name));
    }
    let mut group = vec![0, 0, 0];
    group.extend(number(100_000));
    group.extend(vec![0; 100_000]);
    group.extend([1, 4, 1, 4, 0]);
    records.push((18, group));
    for id in 0..1_000_u32 {
        let mut comm = number(id);
        comm.extend([0, 0, 0xFF, 0]);
        records.push((22, comm));
    }
    let members = own_with(&records);
    let reader = open(&members);
    let found = reader.diagnostics();
    assert!(found.count(rules::LONG_TEXT) > 0);
    assert!(found.count(rules::LONG_LISTS) > 0);
    let regions = &reader.definitions().regions;
    assert_eq!(regions.len(), 20_000);
    let text: usize = regions.iter().map(|region| region.name.len()).sum();
    assert!(text < 200 << 20, "{text}");
    let ranks = reader
        .definitions()
        .comms
        .iter()
        .map(|comm| match &comm.members {
            Ranks::Ranks(ranks) => ranks.len(),
            _ => 0,
        });
    assert!(ranks.sum::<usize>() <= 1 << 24);
}

#[test]
fn limits_are_errors_that_name_them() {
    let strings: Vec<_> = (0..20).map(|id| (10, vec![1, id, b'a', 0])).collect();
    let members = own_with(&strings);
    let limits = Limits::default().with_definitions(9);
    let error = Reader::new(
        &members,
        &OpenOptions::new().limits(limits),
        &Job::default(),
    )
    .unwrap_err();
    assert!(matches!(error, Error::Limit { limit: 9, .. }), "{error}");
    assert!(located(&error));
}

#[test]
fn what_is_not_supported_is_said() {
    let (_, members) = archives().swap_remove(0);
    let anchor = members.get("traces.otf2").unwrap().to_vec();
    for (at, value, expected) in [
        (28, 2, "SION"),
        (29, 2, "compressed"),
        (8, 9, "trace format 9"),
    ] {
        let mut other = anchor.clone();
        other[at] = value;
        let mut members = members.clone();
        members.insert("traces.otf2", other);
        let error = Reader::new(&members, &OpenOptions::new(), &Job::default()).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }));
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn an_error_of_the_anchor_names_it_once() {
    let folder = std::env::temp_dir().join(format!("perfkit-anchor-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("cut.otf2");
    std::fs::write(&file, b"OTF2").unwrap();
    let [of_file, of_folder] = [&file, &folder].map(|path| {
        let error = Reader::open(path, &OpenOptions::new(), &Job::default()).unwrap_err();
        error.to_string()
    });
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(
        of_file.starts_with(&format!("{}, byte ", file.display())),
        "{of_file}"
    );
    let member = format!("{}: cut.otf2, byte ", folder.display());
    assert!(of_folder.starts_with(&member), "{of_folder}");
}
