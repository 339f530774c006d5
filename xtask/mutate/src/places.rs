//! Boundaries between the parts of a file, at which a killed program may have stopped writing.

use crate::layers::members;
use perfkit::core::Job;
use perfkit::formats::OpenOptions;
use perfkit::formats::otf2::Reader;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

/// Maximum number of boundaries in unstructured bytes. In shorter files every byte is a boundary.
const EVERY: usize = 2048;

/// Returns the boundaries inside of a file of any kind: members, lines, tags, and in other text
/// also fields. In binary data every byte is a boundary, up to the maximum number.
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
        // Fields of messages, packed profiles and indices may begin at any byte; pages of databases
        // begin at multiples of a power of two.
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
    // A cut at the end of the file would be no damage.
    let inner = places.filter(|(at, byte)| is_edge(**byte) && at + 1 < bytes.len());
    inner.map(|(at, _)| at + 1).collect()
}

/// Returns the starts of records in the members of an OTF2 archive, by their path below its folder.
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
