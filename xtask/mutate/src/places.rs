//! Where the parts of a file begin: where a program that was killed may have stopped.

use crate::layers::members;
use perfkit::formats::OpenOptions;
use perfkit::formats::otf2::Reader;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

/// Boundaries inside bytes of any kind: members, lines, tags, else every 64 bytes.
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
        return (0..bytes.len()).step_by(64).collect();
    }
    let starts = head.trim_ascii_start();
    let is_xml = starts.starts_with(b"<");
    let is_json = starts.starts_with(b"{") || starts.starts_with(b"[");
    let is_edge = |byte: u8| match byte {
        b'\n' => true,
        b'<' | b'>' => is_xml,
        b'{' | b'}' | b'[' | b']' | b',' => is_json,
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
    let Ok(reader) = Reader::open(anchor, &options) else {
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
