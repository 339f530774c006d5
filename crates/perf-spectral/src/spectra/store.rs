//! [`Store`]: spectra by number, in memory or in a file that is written once, with a header before
//! and a table of views behind them.

use crate::Result;
use crate::fft::Transform;
use crate::real::{Aligned, Real};
use crate::spectra::View;
use crate::spectra::file::{Counts, HEADER, checksum, header, table};
use perf_core::Job;
use std::fs::File;

/// Spectra by number, all of the same length.
#[derive(Debug)]
pub(crate) enum Store<T> {
    /// Spectra in memory.
    Memory(Vec<Aligned<T>>),
    /// Spectra in a file.
    File(Spill),
}

/// File of spectra, one after the other behind a header, see [`table`](crate::table).
#[derive(Debug)]
pub(crate) struct Spill {
    /// The file.
    file: File,
    /// Number of spectra written.
    count: u64,
}

impl<T: Real> Store<T> {
    /// Starts a new file.
    pub(crate) fn in_file(file: File, header: &[u8]) -> Result<Self> {
        let spill = Spill { file, count: 0 };
        spill.write(header, 0)?;
        Ok(Store::File(spill))
    }

    /// Wraps an existing file with some spectra.
    pub(crate) fn opened(file: File, count: u64) -> Self {
        Store::File(Spill { file, count })
    }

    /// Writes the table of views behind the spectra, and then the header that refers to it.
    pub(crate) fn save(&self, plan: &Transform<T>, views: &[View]) -> Result<()> {
        let Store::File(spill) = self else {
            return Ok(());
        };
        let bytes = table(views);
        let counts = Counts {
            spectra: spill.count,
            views: views.len() as u64,
            table: place(spill.count, plan.len() * size_of::<T>()),
            bytes: bytes.len() as u64,
            sum: checksum(&bytes),
        };
        spill.write(&bytes, counts.table)?;
        // The file may have existed before and be longer.
        spill.file.set_len(counts.table + counts.bytes)?;
        spill.file.sync_data()?;
        spill.write(&header::<T>(&plan.layout, &counts), 0)?;
        Ok(())
    }

    /// Appends a spectrum and returns its number.
    pub(crate) fn push(&mut self, mut spectrum: Aligned<T>, job: &Job) -> Result<usize> {
        match self {
            Store::Memory(all) => {
                all.push(spectrum);
                Ok(all.len() - 1)
            }
            Store::File(spill) => {
                let values = spectrum.get_mut();
                T::little_endian(values);
                let bytes: &[u8] = bytemuck::cast_slice(values);
                let from = place(spill.count, bytes.len());
                for piece in job.checks().pieces(0..bytes.len()) {
                    let piece = piece?;
                    spill.write(&bytes[piece.clone()], from + piece.start as u64)?;
                }
                spill.count += 1;
                Ok(spill.count as usize - 1)
            }
        }
    }

    /// Returns a spectrum by number: in place, or read into `space`.
    pub(crate) fn get<'a>(
        &'a self,
        at: usize,
        space: &'a mut Aligned<T>,
        job: &Job,
    ) -> Result<&'a [T]> {
        match self {
            Store::Memory(all) => Ok(all.get(at).map_or(&[], Aligned::get)),
            Store::File(spill) => {
                let values = space.get_mut();
                let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
                let from = place(at as u64, bytes.len());
                for piece in job.checks().pieces(0..bytes.len()) {
                    let piece = piece?;
                    let at = from + piece.start as u64;
                    read(&spill.file, &mut bytes[piece], at)?;
                }
                T::little_endian(values);
                Ok(values)
            }
        }
    }

    /// Returns the size of the buffer that [`get`](Self::get) needs for spectra of `len`, in
    /// numbers.
    pub(crate) fn space(&self, len: usize) -> usize {
        match self {
            Store::Memory(_) => 0,
            Store::File(_) => len,
        }
    }
}

impl Spill {
    #[cfg(unix)]
    fn write(&self, bytes: &[u8], at: u64) -> std::io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.file, bytes, at)
    }

    #[cfg(windows)]
    fn write(&self, mut bytes: &[u8], mut at: u64) -> std::io::Result<()> {
        while !bytes.is_empty() {
            let done = std::os::windows::fs::FileExt::seek_write(&self.file, bytes, at)?;
            bytes = &bytes[done..];
            at += done as u64;
        }
        Ok(())
    }
}

/// Returns the byte offset of a spectrum of `bytes` bytes.
fn place(number: u64, bytes: usize) -> u64 {
    HEADER as u64 + number * bytes as u64
}

/// Fills `bytes` from an offset in a file.
#[cfg(unix)]
pub(crate) fn read(file: &File, bytes: &mut [u8], at: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

/// Fills `bytes` from an offset in a file.
#[cfg(windows)]
pub(crate) fn read(file: &File, mut bytes: &mut [u8], mut at: u64) -> std::io::Result<()> {
    while !bytes.is_empty() {
        let done = std::os::windows::fs::FileExt::seek_read(file, bytes, at)?;
        if done == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        bytes = &mut bytes[done..];
        at += done as u64;
    }
    Ok(())
}
