//! Where the parts of a file begin: where a program that was killed may have stopped.

use crate::layers::members;
use perfkit::core::Job;
use perfkit::formats::OpenOptions;
use perfkit::formats::otf2::Reader;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

/// Most places at which bytes without structure end: of fewer bytes each is one.
const EVERY: usize = 2048;

/// Boundaries inside bytes of any kind: members, lines, tags; in text that is neither also fields. Else all
/// bytes, or as many as there are places for.
pub fn inside(bytes: &[u8]) -> Vec<usize> {
    let members = members(bytes);
    if !members.is_empty() {
        let edges = members
            .into_iter()
            .flat_map(|(_, header, data)| [header, data.start, data.end]);
        return edges.collect();
    }
    let head = bytes.get(..bytes.len().min(4096)).unwrap_or_default();
    if head.contains(&0) {
        // Fields of messages, packed profiles and indices lie anywhere; pages of databases are multiples.
        let step = bytes.len().div_ceil(EVERY).next_power_of_two();
        return (0..bytes.len()).step_by(step).collect();
    }
    let starts = head.trim_ascii_start();
    let is_xml = starts.starts_with(b"<");
    let is_json = starts.starts_with(b"{") || starts.starts_with(b"[");
    let is_edge = |byte: u8| match byte {
        b'\n' => true,
        b'<' | b'>' => is_xml,
        b'{' | b'}' | b'[' | b']' | b',' => is_json,
        b':' | b'\t' => !is_json && !is_xml,
        _ => false,
    };
    let places = bytes.iter().enumerate();
    // The end is no damage.
    let inner = places.filter(|(at, byte)| is_edge(**byte) && at + 1 < bytes.len());
    inner.map(|(at, _)| at + 1).collect()
}

/// Where records begin in the members of an OTF2 archive, by their name below its folder.
pub fn of_archive(anchor: &Path) -> BTreeMap<String, Vec<usize>> {
    let mut all = BTreeMap::new();
    let options = OpenOptions::new().threads(1);
    let Ok(reader) = Reader::open(anchor, &options, &Job::default()) else {
        return all;
    };
    let records = reader.definition_file();
    let offsets = records.records().map(|record| record.offset as usize);
    all.insert(records.name().to_string(), offsets.collect());
    for location in reader.definitions().system.location_ids() {
        if let Ok(Some(file)) = reader.local_file(location) {
            let offsets = file.records().map(|record| record.offset as usize);
            all.insert(file.name().to_string(), offsets.collect());
        }
        let system = &reader.definitions().system;
        let Some(key) = system.location(location).map(|location| location.key) else {
            continue;
        };
        let mut offsets = Vec::new();
        let _ = reader.records(location, |event| {
            offsets.push(event.offset as usize);
            ControlFlow::Continue(())
        });
        all.insert(format!("{}/{key}.evt", reader.name()), offsets);
    }
    all
}
