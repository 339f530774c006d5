//! [`DataFiles`]: the data files of a BP file (`data.N`, or a single one), which contain the values
//! of its arrays; each is opened on first use.

use super::member::Member;
use crate::Result;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The data files of a BP file.
#[derive(Debug)]
pub(in crate::adios) struct DataFiles {
    /// Path of the data files.
    paths: Paths,
    /// Opened data files, by number.
    opened: HashMap<u32, Member>,
    /// `true` for big-endian files.
    pub(in crate::adios) is_big: bool,
    /// Number of bytes of tables read so far.
    pub(in crate::adios) taken: u64,
    /// `true` if tables have claimed more bytes than exist.
    pub(in crate::adios) is_spent: bool,
}

/// Paths of data files.
#[derive(Debug)]
enum Paths {
    /// One file for all numbers.
    One(PathBuf),
    /// The number of the file is appended to this path.
    Numbered(OsString),
}

impl DataFiles {
    /// Creates data files whose numbers are appended to `prefix`.
    pub(in crate::adios) fn numbered(prefix: &Path, is_big: bool) -> Self {
        DataFiles::new(Paths::Numbered(prefix.as_os_str().into()), is_big)
    }

    /// Creates data in a single file.
    pub(in crate::adios) fn one(path: &Path, is_big: bool) -> Self {
        DataFiles::new(Paths::One(path.into()), is_big)
    }

    fn new(paths: Paths, is_big: bool) -> Self {
        DataFiles {
            paths,
            opened: HashMap::new(),
            is_big,
            taken: 0,
            is_spent: false,
        }
    }

    /// Returns the number of bytes of the opened data files.
    pub(in crate::adios) fn len(&self) -> Result<u64> {
        let mut files = self.opened.values();
        files.try_fold(0_u64, |sum, file| Ok(sum.saturating_add(file.len()?)))
    }

    /// Returns a data file, and opens it if needed.
    pub(in crate::adios) fn get(&mut self, number: u32) -> Result<&mut Member> {
        let (number, path) = match &self.paths {
            Paths::One(path) => (0, path.clone()),
            Paths::Numbered(prefix) => {
                let mut path = prefix.clone();
                path.push(number.to_string());
                (number, path.into())
            }
        };
        match self.opened.entry(number) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(new) => Ok(new.insert(Member::open(&path)?)),
        }
    }
}
