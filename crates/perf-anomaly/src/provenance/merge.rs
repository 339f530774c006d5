//! Stores of several ranks as one.

use super::lines::{Lines, failed};
use super::record::Entry;
use super::store::Store;
use crate::Result;
use perf_core::CancelToken;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Opens a store that is there, of whatever kind: its first bytes tell.
///
/// # Errors
/// [`Error::Store`](crate::Error::Store) if it cannot be read, or is a database and the feature
/// `sqlite` is off.
pub fn open(path: impl AsRef<Path>) -> Result<Box<dyn Store>> {
    let path = path.as_ref();
    let mut head = Vec::new();
    let file = File::open(path).map_err(|error| failed(path, &error))?;
    let read = file.take(16).read_to_end(&mut head);
    read.map_err(|error| failed(path, &error))?;
    if head == b"SQLite format 3\0" {
        #[cfg(feature = "sqlite")]
        return Ok(Box::new(super::Sqlite::open(path)?));
        #[cfg(not(feature = "sqlite"))]
        return Err(crate::Error::Store {
            file: path.display().to_string(),
            what: "it is a database, and the feature `sqlite` is off".into(),
        });
    }
    Ok(Box::new(Lines::open(path)?))
}

/// Puts all entries of several stores into one, such as those of all ranks of a run; tells how many.
/// Models get new numbers, so that each record refers to its own.
///
/// # Errors
/// Those of the stores.
pub fn merge(stores: &mut [Box<dyn Store>], into: &mut dyn Store) -> Result<u64> {
    merge_until(stores, into, &CancelToken::new())
}

/// As [`merge`], and stops soon after somebody cancelled.
///
/// # Errors
/// As [`merge`], and [`Error::Cancelled`](crate::Error::Cancelled): `into` then has a part, which was not committed.
pub fn merge_until(
    stores: &mut [Box<dyn Store>],
    into: &mut dyn Store,
    cancel: &CancelToken,
) -> Result<u64> {
    let (mut count, mut first) = (0, 0);
    let mut runs = Vec::new();
    for store in stores {
        let mut last = 0;
        store.each(&mut |mut entry| {
            cancel.check()?;
            match &mut entry {
                Entry::Model(model) => {
                    last = last.max(model.id);
                    model.id = model.id.saturating_add(first);
                }
                Entry::Call(record) if record.model > 0 => {
                    record.model = record.model.saturating_add(first);
                }
                // What was the same for all ranks is told once, in whatever order.
                Entry::Run(own) => {
                    let mut facts = own.facts.clone();
                    facts.sort();
                    let told = (own.version.clone(), own.detector.clone(), facts);
                    if runs.contains(&told) {
                        return Ok(());
                    }
                    runs.push(told);
                }
                _ => {}
            }
            into.put(&entry)?;
            count += 1;
            Ok(())
        })?;
        first += last;
    }
    into.commit()?;
    Ok(count)
}
