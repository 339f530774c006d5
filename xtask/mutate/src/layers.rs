//! [`Layer`]: part of a file that is damaged by itself: the file, members of tar archives, and data
//! compressed with gzip. The damaged part is packed again, so that the damage reaches the reader
//! behind the container.

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use std::io::{Read, Write};
use std::ops::Range;

/// Bytes of a file, or of a part of it.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Name in reports; empty for the whole file.
    pub name: String,
    /// Bytes to damage.
    pub bytes: Vec<u8>,
    way: Way,
}

/// Conversion of a layer into a file.
#[derive(Clone, Debug)]
enum Way {
    Whole,
    Gzip,
    /// Header and data of a member of a tar archive.
    Tar {
        header: usize,
        data: Range<usize>,
    },
}

/// Maximum number of bytes that are unpacked. In larger files only the outer layer is damaged.
const UNPACKED: u64 = 64 << 20;

impl Layer {
    /// Returns the whole file, and the layers inside of it.
    pub fn all(file: &[u8]) -> Vec<Layer> {
        let whole = Layer {
            name: String::new(),
            bytes: file.to_vec(),
            way: Way::Whole,
        };
        let mut layers = vec![whole];
        if file.starts_with(&[0x1f, 0x8b]) {
            let mut bytes = Vec::new();
            let unpacked = MultiGzDecoder::new(file)
                .take(UNPACKED)
                .read_to_end(&mut bytes);
            if unpacked.is_ok() && (bytes.len() as u64) < UNPACKED {
                layers.push(Layer {
                    name: "unpacked ".into(),
                    bytes,
                    way: Way::Gzip,
                });
            }
        }
        for (name, header, data) in members(file) {
            layers.push(Layer {
                name: format!("{name} "),
                bytes: file.get(data.clone()).unwrap_or_default().to_vec(),
                way: Way::Tar { header, data },
            });
        }
        layers
    }

    /// Returns the file with `bytes` in place of this layer.
    pub fn file(&self, whole: &[u8], bytes: Vec<u8>) -> Vec<u8> {
        match &self.way {
            Way::Whole => bytes,
            Way::Gzip => {
                let mut packed = GzEncoder::new(Vec::new(), Compression::none());
                let written = packed.write_all(&bytes);
                let finished = packed.finish();
                // Writing to memory cannot fail.
                written.and(finished).unwrap_or_default()
            }
            Way::Tar { header, data } => {
                let mut file = whole.get(..*header).unwrap_or_default().to_vec();
                let mut head = whole.get(*header..data.start).unwrap_or_default().to_vec();
                resize(&mut head, bytes.len());
                file.extend(head);
                let padding = bytes.len().next_multiple_of(512) - bytes.len();
                file.extend(bytes);
                file.extend(std::iter::repeat_n(0, padding));
                let rest = data.end.next_multiple_of(512);
                file.extend(whole.get(rest..).unwrap_or_default());
                file
            }
        }
    }
}

/// Returns the name, the start of the header and the range of the data of each member of a tar
/// archive.
pub fn members(file: &[u8]) -> Vec<(String, usize, Range<usize>)> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(header) = file.get(at..at + 512) {
        if header.get(257..262) != Some(b"ustar") {
            break;
        }
        let field = |range: Range<usize>| {
            let text = header.get(range).unwrap_or_default();
            let end = text.iter().position(|byte| *byte == 0);
            String::from_utf8_lossy(text.get(..end.unwrap_or(text.len())).unwrap_or_default())
                .trim()
                .to_string()
        };
        let Ok(size) = usize::from_str_radix(&field(124..136), 8) else {
            break;
        };
        let data = at + 512..(at + 512).saturating_add(size);
        if data.end > file.len() {
            break;
        }
        at = data.end.next_multiple_of(512);
        all.push((field(0..100), data.start - 512, data));
    }
    all
}

/// Writes another size into the header of a member, and the matching checksum.
fn resize(header: &mut [u8], size: usize) {
    let digits = format!("{size:011o}\0");
    if let Some(field) = header.get_mut(124..136) {
        field.copy_from_slice(digits.as_bytes());
    }
    if let Some(field) = header.get_mut(148..156) {
        field.fill(b' ');
    }
    let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
    let digits = format!("{sum:06o}\0 ");
    if let Some(field) = header.get_mut(148..156) {
        field.copy_from_slice(digits.as_bytes());
    }
}
