//! Where spectra are kept: in memory, or in a file that is written once.

use crate::Result;
use crate::real::{Aligned, Real};
use std::fs::File;

/// Spectra, by number, all of the same length.
#[derive(Debug)]
pub(crate) enum Store<T> {
    Memory(Vec<Aligned<T>>),
    File(Spill),
}

/// A file of spectra, one after the other, little-endian.
#[derive(Debug)]
pub(crate) struct Spill {
    file: File,
    /// Spectra written.
    count: u64,
}

impl<T: Real> Store<T> {
    pub(crate) fn in_file(file: File) -> Self {
        Store::File(Spill { file, count: 0 })
    }

    /// Keeps one more spectrum; its number.
    pub(crate) fn push(&mut self, spectrum: &mut Aligned<T>) -> Result<usize> {
        match self {
            Store::Memory(all) => {
                all.push(spectrum.clone());
                Ok(all.len() - 1)
            }
            Store::File(spill) => {
                let values = spectrum.get_mut();
                T::little_endian(values);
                let bytes: &[u8] = bytemuck::cast_slice(values);
                spill.write(bytes, spill.count * bytes.len() as u64)?;
                T::little_endian(values);
                spill.count += 1;
                Ok(spill.count as usize - 1)
            }
        }
    }

    /// The spectrum of a number: where it lies, or read into `space`.
    pub(crate) fn get<'a>(&'a self, at: usize, space: &'a mut Aligned<T>) -> Result<&'a [T]> {
        match self {
            Store::Memory(all) => Ok(all.get(at).map_or(&[], Aligned::get)),
            Store::File(spill) => {
                let values = space.get_mut();
                let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
                let from = at as u64 * bytes.len() as u64;
                spill.read(bytes, from)?;
                T::little_endian(values);
                Ok(values)
            }
        }
    }

    /// Numbers of space that [`get`](Self::get) needs for spectra of `len`.
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

    #[cfg(unix)]
    fn read(&self, bytes: &mut [u8], at: u64) -> std::io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, bytes, at)
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

    #[cfg(windows)]
    fn read(&self, mut bytes: &mut [u8], mut at: u64) -> std::io::Result<()> {
        while !bytes.is_empty() {
            let done = std::os::windows::fs::FileExt::seek_read(&self.file, bytes, at)?;
            if done == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            bytes = &mut bytes[done..];
            at += done as u64;
        }
        Ok(())
    }
}
