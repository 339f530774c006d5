//! [`read`]: reads a packed profile of ParaProf (`.ppk`, binary and big-endian) into [`Tables`] of
//! functions, user events and threads.

use super::rules;
use super::tables::{Entry, EventEntry, Function, Key, Tables, Thread};
use crate::bytes::Bytes;
use crate::read_context::ReadContext;
use crate::{Error, Result};
use perf_core::{Diagnostics, Place};
use std::collections::HashSet;
use std::sync::Arc;

pub(super) const MAGIC: [u8; 6] = *b"\0P\0P\0K";

struct PackedReader<'a> {
    /// Bytes of the file.
    bytes: &'a [u8],
    /// Read position.
    at: usize,
    /// Name for errors.
    name: &'a Arc<str>,
    /// Limit on definitions.
    definitions: u32,
}

impl<'a> PackedReader<'a> {
    fn place(&self) -> Place {
        Place::file(Arc::clone(self.name)).at(self.at as u64)
    }

    fn take(&mut self, count: usize, what: &str) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let taken = rest.get(..count).ok_or_else(|| Error::Truncated {
            place: self.place(),
            expected: what.into(),
        })?;
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, what)?);
        Ok(array)
    }

    fn integer(&mut self, what: &str) -> Result<i32> {
        self.array(what).map(i32::from_be_bytes)
    }

    fn float(&mut self, what: &str) -> Result<f64> {
        self.array(what).map(f64::from_be_bytes)
    }

    fn malformed(&self, expected: String, got: i32) -> Error {
        Error::Malformed {
            place: self.place(),
            expected,
            got: got.to_string(),
        }
    }

    /// Reads a count of elements with at least `size` bytes each, which must fit the rest of the
    /// file.
    fn count(&mut self, size: usize, what: &'static str) -> Result<usize> {
        let count = self.integer(what)?;
        let rest = self.bytes.len() - self.at;
        let fits = usize::try_from(count).ok();
        let fits = fits.filter(|count| count.checked_mul(size).is_some_and(|all| all <= rest));
        let Some(fits) = fits else {
            let expected = format!("number of {what} that fits into {rest} bytes");
            return Err(self.malformed(expected, count));
        };
        if fits > self.definitions as usize {
            return Err(Error::Limit {
                place: self.place(),
                what,
                got: fits as u64,
                limit: self.definitions.into(),
            });
        }
        Ok(fits)
    }

    fn index(&mut self, count: usize, what: &str) -> Result<u32> {
        let index = self.integer(what)?;
        let fits = usize::try_from(index).is_ok_and(|index| index < count);
        if fits {
            Ok(index.cast_unsigned())
        } else {
            Err(self.malformed(format!("{what} below {count}"), index))
        }
    }

    fn number(&mut self, what: &str) -> Result<u32> {
        let number = self.integer(what)?;
        u32::try_from(number).map_err(|_| self.malformed(format!("{what} of at least 0"), number))
    }

    fn text(&mut self) -> Result<String> {
        let size = u16::from_be_bytes(self.array("the length of a text")?);
        let bytes = self.take(size.into(), "a text")?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    fn texts(&mut self, what: &'static str) -> Result<Vec<String>> {
        let count = self.count(2, what)?;
        (0..count).map(|_| self.text()).collect()
    }

    fn pairs(&mut self) -> Result<Vec<(String, String)>> {
        let count = self.count(4, "facts")?;
        (0..count)
            .map(|_| Ok((self.text()?, self.text()?)))
            .collect()
    }

    fn key(&mut self) -> Result<Key> {
        Ok(Key {
            node: self.number("a node")?,
            context: self.number("a context")?,
            thread: self.number("a thread")?,
        })
    }
}

pub(super) fn read(bytes: Bytes, options: &ReadContext, found: &mut Diagnostics) -> Result<Tables> {
    let name = Arc::clone(bytes.name());
    let bytes = bytes.into_memory(&options.job)?;
    let mut reader = PackedReader {
        bytes: &bytes,
        at: 0,
        name: &name,
        definitions: options.get_limits().definitions,
    };
    let magic: [u8; 6] = reader.array("the magic number of a packed profile")?;
    if magic != MAGIC {
        return Err(Error::Malformed {
            place: Place::file(Arc::clone(&name)).at(0),
            expected: "a packed profile (PPK)".into(),
            got: format!("{:?}", String::from_utf8_lossy(&magic)),
        });
    }
    let version = reader.integer("a version")?;
    let compatible = reader.integer("a version")?;
    if compatible > 2 {
        return Err(Error::Unsupported {
            place: reader.place(),
            what: format!("version {version} of packed profiles"),
        });
    }
    let mut tables = Tables::default();
    let mut facts: Vec<(Key, Vec<(String, String)>)> = Vec::new();
    if version >= 2 {
        reader.integer("the size of the header")?;
        let skipped = reader.count(1, "bytes to skip")?;
        reader.take(skipped, "bytes to skip")?;
        tables.metadata = reader.pairs()?;
        for _ in 0..reader.count(16, "threads with metadata")? {
            facts.push((reader.key()?, reader.pairs()?));
        }
    }
    tables.metrics = reader.texts("metrics")?;
    let groups = reader.texts("groups")?;
    // Each function repeats the name of its group, so the total length is bounded.
    let limit = u64::from(options.get_limits().string) * 256;
    let mut bytes_of_groups = 0;
    for _ in 0..reader.count(6, "functions")? {
        let name = reader.text()?;
        let count = reader.count(4, "groups of a function")?;
        let mut own = Vec::new();
        for _ in 0..count {
            let index = reader.index(groups.len(), "a group")?;
            let group: &String = &groups[index as usize];
            bytes_of_groups += group.len() as u64;
            if bytes_of_groups > limit {
                return Err(Error::Limit {
                    place: reader.place(),
                    what: "names of groups in bytes",
                    got: bytes_of_groups,
                    limit,
                });
            }
            own.push(group.clone());
        }
        tables.functions.push(Function { name, groups: own });
    }
    tables.events = reader.texts("user events")?;
    let mut keys = HashSet::new();
    for _ in 0..reader.count(20, "threads")? {
        let place = reader.place();
        let thread = thread(&mut reader, &tables, found)?;
        let Key {
            node,
            context,
            thread: number,
        } = thread.key;
        if !keys.insert(thread.key) {
            return Err(Error::Malformed {
                place,
                expected: "a thread that is listed once".into(),
                got: format!("{node}, {context}, {number} again"),
            });
        }
        tables.threads.push(thread);
    }
    let rest = (bytes.len() - reader.at) as u64;
    found.add_many(rules::TRAILING, rest, reader.place());
    tables.threads.sort_by_key(|thread| thread.key);
    for (key, facts) in facts {
        let place = tables
            .threads
            .binary_search_by_key(&key, |thread| thread.key);
        if let Ok(place) = place {
            tables.threads[place].metadata = facts;
        }
    }
    Ok(tables)
}

fn thread(
    reader: &mut PackedReader<'_>,
    tables: &Tables,
    found: &mut Diagnostics,
) -> Result<Thread> {
    let mut thread = Thread {
        key: reader.key()?,
        ..Thread::default()
    };
    let metrics = tables.metrics.len();
    for _ in 0..reader.count(20 + 16 * metrics, "functions of a thread")? {
        let place = reader.place();
        let function = reader.index(tables.functions.len(), "a function")?;
        let mut negative = 0;
        let mut value = |reader: &mut PackedReader<'_>| {
            let place = reader.place();
            let value = reader.float("a value")?;
            if !value.is_finite() {
                return Err(Error::Malformed {
                    place,
                    expected: "a finite number".into(),
                    got: value.to_string(),
                });
            }
            negative += u64::from(value < 0.0);
            Ok::<_, Error>(value.max(0.0))
        };
        thread.entries.push(Entry {
            function,
            calls: value(reader)?,
            subroutines: value(reader)?,
        });
        for _ in 0..metrics {
            thread.values.push((value(reader)?, value(reader)?));
        }
        found.add_many(rules::NEGATIVE, negative, place);
    }
    for _ in 0..reader.count(40, "user events of a thread")? {
        thread.events.push(EventEntry {
            event: reader.index(tables.events.len(), "a user event")?,
            count: reader.integer("a count")?.into(),
            // The text format has these in the opposite order.
            min: reader.float("a value")?,
            max: reader.float("a value")?,
            mean: reader.float("a value")?,
            sum_of_squares: reader.float("a value")?,
        });
    }
    Ok(thread)
}
