//! Archives built byte by byte.

use perf_core::{CallPathId, Job, MetricId};
use perf_formats::cube::Cube;
use perf_formats::{Error, OpenOptions};

/// Returns one member with the padding of CubeLib: one superfluous block after an aligned size.
pub(crate) fn member(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut header = vec![0u8; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
    header[148..156].fill(b' ');
    header[156] = b'0';
    header[257..263].copy_from_slice(b"ustar\0");
    seal(&mut header);
    header.extend(bytes);
    let blocks = match bytes.len() {
        0 => 0,
        size => (size / 512 + 1) * 512,
    };
    header.resize(512 + blocks, 0);
    header
}

pub(crate) fn seal(header: &mut [u8]) {
    header[148..156].fill(b' ');
    let sum: u32 = header[..512].iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
}

pub(crate) fn index(rows: &[u32]) -> Vec<u8> {
    let mut bytes = b"CUBEX.INDEX\x01\0\0\0\0\0\x01".to_vec();
    bytes.extend((rows.len() as u32).to_le_bytes());
    bytes.extend(rows.iter().flat_map(|row| row.to_le_bytes()));
    bytes
}

pub(crate) fn data(values: &[f64]) -> Vec<u8> {
    let mut bytes = b"CUBEX.DATA".to_vec();
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

pub(crate) fn archive(members: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = members.concat();
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

pub(crate) fn read(bytes: Vec<u8>) -> Result<Cube, Error> {
    Cube::from_bytes(bytes, "test.cubex", &OpenOptions::new(), &Job::default())
}

pub(crate) fn row(cube: &Cube, metric: u32, path: u32) -> Option<Vec<f64>> {
    let row = cube.profile().row(MetricId(metric), CallPathId(path));
    row.unwrap().map(|row| row.to_f64())
}
