//! Format of a file of spectra that can be reopened: encodes and parses its header of [`HEADER`]
//! bytes and the table of views behind the spectra. All numbers are little-endian.
//!
//! | header, byte | what |
//! |---|---|
//! | 0 | `PKSPEC`, 0, and the version |
//! | 8 | bytes of a number, numbers in a row, axes (u32 each) |
//! | 20 | the real axis, or all ones (u32) |
//! | 24 | spectra, views, where the table starts, its bytes, its checksum (u64 each) |
//! | 64 | length of each axis, then whether it is outer, inner or neither (u32 each) |
//! | 192 | checksum of the bytes before it |
//!
//! The offset of the table is 0 until it has been written, which distinguishes an interrupted run
//! from a complete one.

use crate::fft::layout::Layout;
use crate::real::Real;
use crate::spectra::View;
use crate::{Error, Result};

/// Byte offset of the spectra.
pub(crate) const HEADER: usize = 4096;
const MAGIC: [u8; 8] = *b"PKSPEC\0\x01";
const AXES: usize = perf_topology::MAX_AXES;
const SUM: usize = 64 + 8 * AXES;
const NONE: u64 = u64::MAX;
/// Largest number of points accepted for a file without a spectrum, whose length does not confirm
/// its shape.
const EMPTY: u64 = 1 << 24;

/// Numbers in the header that do not follow from the shape.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Number of spectra.
    pub(crate) spectra: u64,
    /// Number of views.
    pub(crate) views: u64,
    /// Byte offset of the table.
    pub(crate) table: u64,
    /// Length of the table in bytes.
    pub(crate) bytes: u64,
    /// Checksum of the table.
    pub(crate) sum: u64,
}

/// Computes a 64-bit checksum (FNV-1a) that detects damage.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

fn wrong(at: usize, expected: impl Into<String>, found: impl ToString) -> Error {
    Error::Store {
        at: at as u64,
        expected: expected.into(),
        found: found.to_string(),
    }
}

/// Builds the header for spectra of this shape.
pub(crate) fn header<T: Real>(layout: &Layout, counts: &Counts) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER);
    bytes.extend(MAGIC);
    let real = layout.real_axis.map_or(u32::MAX, |axis| axis as u32);
    for number in [size_of::<T>(), layout.width, layout.dims.len()] {
        bytes.extend((number as u32).to_le_bytes());
    }
    bytes.extend(real.to_le_bytes());
    let Counts {
        spectra,
        views,
        table,
        bytes: length,
        sum,
    } = *counts;
    for number in [spectra, views, table, length, sum] {
        bytes.extend(number.to_le_bytes());
    }
    for axis in 0..AXES {
        // Axes that the grid does not have are written as 0.
        let len = layout.dims.get(axis).copied().unwrap_or_default();
        bytes.extend((len as u32).to_le_bytes());
    }
    for axis in 0..AXES {
        bytes.extend(side(layout, axis).to_le_bytes());
    }
    bytes.extend(checksum(&bytes).to_le_bytes());
    bytes.resize(HEADER, 0);
    bytes
}

/// Returns the code of an axis: outer, inner or neither. The split determines the order of numbers in a
/// spectrum.
fn side(layout: &Layout, axis: usize) -> u32 {
    if layout.outer_axes.contains(&axis) {
        1
    } else if layout.inner_axes.contains(&axis) {
        2
    } else {
        0
    }
}

/// Parses the shape and counts of a header, for a file of `length` bytes.
pub(crate) fn read_header<T: Real>(bytes: &[u8], length: u64) -> Result<(Vec<usize>, Counts)> {
    let mut reader = FileReader {
        bytes,
        at: 0,
        start: 0,
    };
    let magic = reader.take(8)?;
    if magic[..7] != MAGIC[..7] {
        return Err(wrong(
            0,
            "a file of spectra, which starts with PKSPEC",
            text(magic),
        ));
    }
    if magic[7] != MAGIC[7] {
        return Err(wrong(7, format!("version {}", MAGIC[7]), magic[7]));
    }
    let stored = FileReader {
        bytes,
        at: SUM,
        start: 0,
    }
    .u64()?;
    let sum = checksum(&bytes[..SUM]);
    if stored != sum {
        return Err(wrong(
            SUM,
            format!("checksum {sum:016x} of the header"),
            format!("{stored:016x}"),
        ));
    }
    let size = reader.u32()? as usize;
    if size != size_of::<T>() {
        return Err(wrong(
            8,
            format!("{} bytes a number ({})", size_of::<T>(), T::NAME),
            size,
        ));
    }
    let width = reader.u32()? as usize;
    if width != T::COLUMNS {
        return Err(wrong(12, format!("rows of {} numbers", T::COLUMNS), width));
    }
    let axes = reader.u32()? as usize;
    if axes == 0 || axes > AXES {
        return Err(wrong(16, format!("1 to {AXES} axes"), axes));
    }
    reader.at = 24;
    let counts = Counts {
        spectra: reader.u64()?,
        views: reader.u64()?,
        table: reader.u64()?,
        bytes: reader.u64()?,
        sum: reader.u64()?,
    };
    let mut dims = Vec::with_capacity(axes);
    let mut cells = 1_usize;
    for axis in 0..axes {
        let (at, len) = (reader.at, reader.u32()? as usize);
        if len == 0 {
            return Err(wrong(at, format!("points along axis {axis}"), len));
        }
        cells = cells.saturating_mul(len);
        if cells > perf_topology::MAX_CELLS {
            let expected = format!("a grid of at most {} points", perf_topology::MAX_CELLS);
            return Err(wrong(at, expected, format!("{len} along axis {axis}")));
        }
        dims.push(len);
    }
    if counts.table == 0 {
        return Err(wrong(
            40,
            "where the table of views starts",
            "0: the file was never saved",
        ));
    }
    let points = dims
        .iter()
        .try_fold(size as u64, |all, len| all.checked_mul(*len as u64));
    let spectra = points.and_then(|points| points.checked_mul(counts.spectra));
    let table = spectra.and_then(|bytes| bytes.checked_add(HEADER as u64));
    if table != Some(counts.table) {
        let expected = format!("a table after {} spectra of shape {dims:?}", counts.spectra);
        return Err(wrong(40, expected, format!("one at byte {}", counts.table)));
    }
    let points = points.map_or(u64::MAX, |bytes| bytes / size as u64);
    if counts.spectra == 0 && points > EMPTY {
        let expected = format!("a spectrum, or a shape of at most {EMPTY} points");
        return Err(wrong(24, expected, format!("{points} points")));
    }
    let end = counts.table.checked_add(counts.bytes);
    if end.is_none_or(|end| end > length) {
        let expected = format!("a table of {} bytes at byte {}", counts.bytes, counts.table);
        return Err(Error::Store {
            at: length,
            expected,
            found: "the end of the file".into(),
        });
    }
    Ok((dims, counts))
}

/// Returns an error unless the plan stores spectra in the order that the header states.
pub(crate) fn check_order(bytes: &[u8], layout: &Layout) -> Result<()> {
    let real = layout.real_axis.map_or(u32::MAX, |axis| axis as u32);
    let found = FileReader {
        bytes,
        at: 20,
        start: 0,
    }
    .u32()?;
    if found != real {
        return Err(wrong(20, format!("real axis {real}"), found));
    }
    let mut reader = FileReader {
        bytes,
        at: 64 + 4 * AXES,
        start: 0,
    };
    for axis in 0..AXES {
        let (at, found) = (reader.at, reader.u32()?);
        if found != side(layout, axis) {
            let expected = format!("axis {axis} on side {}", side(layout, axis));
            return Err(wrong(at, expected, found));
        }
    }
    Ok(())
}

/// Encodes the table of views.
pub(crate) fn table(views: &[View]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let number = |number: Option<usize>| number.map_or(NONE, |number| number as u64);
    for view in views {
        for value in [view.mean, view.scale, view.total, view.varying] {
            bytes.extend(value.to_le_bytes());
        }
        for value in [view.missing as u64, number(view.same_as), number(view.slot)] {
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend((view.roots.len() as u32).to_le_bytes());
        bytes.extend((view.name.len() as u32).to_le_bytes());
        view.energies
            .iter()
            .for_each(|energy| bytes.extend(energy.to_le_bytes()));
        view.roots
            .iter()
            .for_each(|root| bytes.extend(root.to_le_bytes()));
        bytes.extend(view.name.as_bytes());
    }
    bytes
}

/// Parses the views of a table that starts at byte `counts.table`, for spectra with `axes` axes.
pub(crate) fn read_table(bytes: &[u8], counts: &Counts, axes: usize) -> Result<Vec<View>> {
    let start = counts.table as usize;
    let sum = checksum(bytes);
    if sum != counts.sum {
        let expected = format!("a table of views with checksum {:016x}", counts.sum);
        return Err(wrong(start, expected, format!("{sum:016x}")));
    }
    let mut reader = FileReader {
        bytes,
        at: 0,
        start,
    };
    let mut views: Vec<View> = Vec::new();
    for number in 0..counts.views as usize {
        let mut value = || reader.u64().map(f64::from_bits);
        let (mean, scale, total, varying) = (value()?, value()?, value()?, value()?);
        let missing = reader.u64()? as usize;
        let same_as = reader.below(number as u64, "the number of an earlier view")?;
        let slot = reader.below(counts.spectra, "the number of a spectrum")?;
        let (roots, name) = (reader.u32()? as usize, reader.u32()? as usize);
        let energies = reader.take(8 * axes)?.as_chunks::<8>().0.iter();
        let energies = energies.map(|bytes| f64::from_le_bytes(*bytes)).collect();
        let of_blocks = reader
            .take(roots.saturating_mul(4))?
            .as_chunks::<4>()
            .0
            .iter();
        let roots = of_blocks.map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let name = text(reader.take(name)?);
        views.push(View {
            mean,
            scale,
            missing,
            same_as,
            energies,
            name,
            total,
            varying,
            roots,
            slot,
        });
    }
    if reader.at < bytes.len() {
        let found = format!("{} bytes", bytes.len() - reader.at);
        return Err(wrong(
            start + reader.at,
            "nothing after the last view",
            found,
        ));
    }
    Ok(views)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Reader of consecutive bytes of a file from `start` on.
struct FileReader<'a> {
    /// The bytes.
    bytes: &'a [u8],
    /// Current index into `bytes`.
    at: usize,
    /// Byte offset of `bytes` in the file.
    start: usize,
}

impl<'a> FileReader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        // Nothing is left behind the end.
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(bytes) = rest.get(..count) else {
            let expected = format!("{count} bytes");
            return Err(wrong(
                self.start + self.at,
                expected,
                format!("{} bytes", rest.len()),
            ));
        };
        self.at += count;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32> {
        let bytes = self.take(4)?.first_chunk();
        Ok(bytes.copied().map_or(0, u32::from_le_bytes))
    }

    fn u64(&mut self) -> Result<u64> {
        let bytes = self.take(8)?.first_chunk();
        Ok(bytes.copied().map_or(0, u64::from_le_bytes))
    }

    /// Reads a number below a limit, or the marker for none.
    fn below(&mut self, limit: u64, what: &str) -> Result<Option<usize>> {
        let at = self.start + self.at;
        match self.u64()? {
            NONE => Ok(None),
            number if number < limit => Ok(Some(number as usize)),
            number => Err(wrong(at, format!("{what}, below {limit}"), number)),
        }
    }
}
