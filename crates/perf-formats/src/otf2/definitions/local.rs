//! [`LocalDefinitions`]: maps the ids of one location to global ones; [`Correction`]: converts its
//! times to global times by a piecewise linear clock correction.

use super::DefinitionFile;
use crate::otf2::rules;
use crate::otf2::schema::{Space, local_definition};
use crate::otf2::wire::{Cursor, Read};
use perf_core::{Diagnostics, Ticks};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, Weak};

/// Mapping tables and clock correction of one location.
///
/// ```
/// use perf_core::{Job, LocationId, Ticks};
/// use perf_formats::{OpenOptions, otf2::{MemoryArchive, Reader, schema::Space, write}};
/// # let trace = perf_core::samples::cosmo::trace();
/// # let mut archive = MemoryArchive::default();
/// # write(trace.view(), &mut archive, &Default::default(), &Job::default())?;
/// let reader = Reader::new(archive, &OpenOptions::new(), &Job::default())?;
/// let local = reader.local_definitions(LocationId(3))?;
/// // This archive has neither tables nor offsets: ids and times stay as they are.
/// assert_eq!((local.mapping_tables(), local.clock_offsets()), (0, 0));
/// assert_eq!((local.global(Space::Region, 2), local.correct(90)), (2, Ticks(90)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct LocalDefinitions {
    /// Mapping tables by space.
    maps: Vec<(Space, Mapping)>,
    /// Clock correction.
    clock: Correction,
    /// Number of clock offsets.
    offsets: usize,
}

#[derive(Clone, Debug)]
enum Mapping {
    /// Table indexed by local id. Locations with equal tables share one.
    Dense(Arc<Vec<u32>>),
    /// Like `Dense`, with ids of 64 bits.
    Wide(Vec<u64>),
    Sparse(HashMap<u64, u64>),
}

/// The dense mapping tables in use, by hash. A table is dropped with the last location that uses
/// it.
#[derive(Debug, Default)]
pub(crate) struct Tables(Mutex<HashMap<u64, Weak<Vec<u32>>>>);

impl Tables {
    fn share(&self, table: &mut Arc<Vec<u32>>) {
        let mut hasher = DefaultHasher::new();
        table.hash(&mut hasher);
        let Ok(mut known) = self.0.lock() else {
            return;
        };
        let slot = known.entry(hasher.finish()).or_default();
        match slot.upgrade() {
            Some(same) if same == *table => *table = same,
            _ => *slot = Arc::downgrade(table),
        }
    }
}

impl LocalDefinitions {
    /// Parses a local definition file. Damaged records are counted.
    pub(crate) fn parse(file: &DefinitionFile, found: &mut Diagnostics) -> Self {
        let mut local = LocalDefinitions::default();
        let mut offsets = Vec::new();
        for record in file.records() {
            let mut cursor = Cursor::new(record.payload, file.byte_order());
            let read = match record.id {
                5 => local.mapping(&mut cursor),
                6 => offset(&mut cursor).map(|(time, offset)| {
                    offsets.push((time, offset));
                    true
                }),
                id => {
                    let known = local_definition(id).is_some();
                    let rule = if known {
                        rules::LOCAL_DEFINITION
                    } else {
                        rules::UNKNOWN_RECORD
                    };
                    found.add(rule, file.place(record.offset));
                    continue;
                }
            };
            let rule = match read {
                Ok(true) => continue,
                Ok(false) => rules::DUPLICATE_DEFINITION,
                Err(_) => rules::DAMAGED_RECORD,
            };
            let name = local_definition(record.id).map_or("record", |record| record.name);
            found.add(rule, file.place(record.offset).record(name));
        }
        local.offsets = offsets.len();
        let in_order = Correction::in_order(&mut offsets);
        if in_order > 0 {
            found.add_many(rules::CLOCK_OFFSETS, in_order, file.place(0));
        }
        local.clock = Correction::new(&offsets);
        local
    }

    /// Parses a mapping table. Returns `false` if it replaces another one or has an unknown kind.
    fn mapping(&mut self, cursor: &mut Cursor<'_>) -> Read<bool> {
        let kind = cursor.u8("the kind of a mapping table")?;
        let count = cursor.v32("the size of a mapping table")?;
        let mode = cursor.u8("the mode of a mapping table")?;
        let Some(space) = Space::from_mapping(kind) else {
            return cursor.wrong("a known kind of mapping table");
        };
        // Both kinds of table grow while they are read, so that a wrong count ends at the end of
        // the record.
        let mapping = if mode == 0 {
            let mut dense = Vec::new();
            for _ in 0..count {
                dense.push(cursor.id(space, "a global id")?);
            }
            if space.is_wide() {
                Mapping::Wide(dense)
            } else {
                Mapping::Dense(Arc::new(dense.into_iter().map(|id| id as u32).collect()))
            }
        } else {
            let mut sparse = HashMap::new();
            for _ in 0..count {
                let local = cursor.id(space, "a local id")?;
                sparse.insert(local, cursor.id(space, "a global id")?);
            }
            Mapping::Sparse(sparse)
        };
        let before = self.maps.len();
        self.maps.retain(|(other, _)| *other != space);
        let is_new = self.maps.len() == before;
        self.maps.push((space, mapping));
        Ok(is_new)
    }

    /// Replaces tables by equal ones in `tables`, and adds new ones there.
    pub(crate) fn share(&mut self, tables: &Tables) {
        for (_, map) in &mut self.maps {
            if let Mapping::Dense(dense) = map {
                tables.share(dense);
            }
        }
    }

    /// Returns the global id of a local one. An id that is not in the table is already global.
    pub fn global(&self, space: Space, id: u64) -> u64 {
        let at = usize::try_from(id).unwrap_or(usize::MAX);
        let found = match self.table(space) {
            Some(Mapping::Dense(dense)) => dense.get(at).copied().map(u64::from),
            Some(Mapping::Wide(dense)) => dense.get(at).copied(),
            Some(Mapping::Sparse(sparse)) => sparse.get(&id).copied(),
            None => None,
        };
        found.unwrap_or(id)
    }

    fn table(&self, space: Space) -> Option<&Mapping> {
        let mut maps = self.maps.iter();
        maps.find(|(other, _)| *other == space).map(|(_, map)| map)
    }

    /// Returns `true` if the space has a mapping table.
    pub(crate) fn maps(&self, space: Space) -> bool {
        self.table(space).is_some()
    }

    /// Returns the global ids of local ids 0, 1, ... as far as the table is nearly gapless. Other
    /// ids need [`global`](Self::global).
    pub(crate) fn low_ids(&self, space: Space) -> Vec<u64> {
        match self.table(space) {
            Some(Mapping::Dense(dense)) => dense.iter().copied().map(u64::from).collect(),
            Some(Mapping::Wide(dense)) => dense.clone(),
            Some(Mapping::Sparse(sparse)) => {
                let most = 4 * sparse.len() as u64;
                let end = sparse.keys().filter(|id| **id < most).max();
                let end = end.map_or(0, |id| id + 1);
                (0..end).map(|id| self.global(space, id)).collect()
            }
            None => Vec::new(),
        }
    }

    /// Returns the number of mapping tables.
    pub fn mapping_tables(&self) -> usize {
        self.maps.len()
    }

    /// Returns the number of clock offsets.
    pub fn clock_offsets(&self) -> usize {
        self.offsets
    }

    /// Converts a time of the local clock to global time.
    pub fn correct(&self, time: u64) -> Ticks {
        Ticks(self.clock.apply(time))
    }

    pub(crate) fn clock(&self) -> &Correction {
        &self.clock
    }
}

fn offset(cursor: &mut Cursor<'_>) -> Read<(u64, i64)> {
    let time = cursor.u64("the time of a clock offset")?;
    let offset = cursor.v64("a clock offset")?.cast_signed();
    cursor.u64("the deviation of a clock offset")?;
    Ok((time, offset))
}

/// Piecewise linear clock correction of a location.
#[derive(Clone, Debug, Default)]
pub(crate) struct Correction {
    /// Segments in order of time.
    segments: Vec<Segment>,
}

/// `T = t + offset + rint(slope * (t - base))` for `t` up to `until`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Segment {
    /// First time of the segment.
    from: u64,
    /// Last time of the segment.
    until: u64,
    /// Time of the first offset.
    base: u64,
    /// First offset in ticks.
    offset: i64,
    /// Change of the offset for each tick.
    slope: f64,
}

impl Segment {
    /// The segment of a clock that needs no correction.
    pub(crate) const NONE: Segment = Segment {
        from: 0,
        until: u64::MAX,
        base: 0,
        offset: 0,
        slope: 0.0,
    };

    /// A segment that contains no time.
    pub(crate) const NOWHERE: Segment = Segment {
        from: u64::MAX,
        until: 0,
        ..Segment::NONE
    };

    #[inline]
    pub(crate) fn holds(&self, time: u64) -> bool {
        self.from <= time && time <= self.until
    }

    /// Returns `true` if times stay unchanged.
    pub(crate) fn is_none(&self) -> bool {
        *self == Segment::NONE
    }

    #[inline]
    pub(crate) fn apply(&self, time: u64) -> u64 {
        let since = time.wrapping_sub(self.base).cast_signed() as f64;
        let shift = self.offset.saturating_add(rint(self.slope * since));
        time.saturating_add_signed(shift)
    }
}

impl Default for Segment {
    fn default() -> Self {
        Segment::NOWHERE
    }
}

/// Rounds half to even, as libotf2 does. Adding and subtracting 1.5 * 2^52 has this effect below
/// 2^51. The function of the standard library is a call on processors without a rounding
/// instruction.
#[inline]
fn rint(value: f64) -> i64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    if value.abs() < 2_251_799_813_685_248.0 {
        ((value + SHIFT) - SHIFT) as i64
    } else {
        value.round_ties_even() as i64
    }
}

impl Correction {
    /// Keeps the offsets with ascending times, and returns the number of the others.
    fn in_order(offsets: &mut Vec<(u64, i64)>) -> u64 {
        let before = offsets.len();
        let mut last = None;
        offsets.retain(|(time, _)| {
            let rises = last.is_none_or(|last| *time > last);
            if rises {
                last = Some(*time);
            }
            rises
        });
        (before - offsets.len()) as u64
    }

    /// Creates the segments between offsets, which must be in order of time. A single offset gives
    /// no correction.
    pub(crate) fn new(offsets: &[(u64, i64)]) -> Self {
        let mut segments: Vec<Segment> = Vec::new();
        for pair in offsets.windows(2) {
            let [(from, offset), (to, next)] = *pair else {
                continue;
            };
            segments.push(Segment {
                from: segments.last().map_or(0, |last| last.until + 1),
                until: to,
                base: from,
                offset,
                slope: (i128::from(next) - i128::from(offset)) as f64 / (to - from) as f64,
            });
        }
        if let Some(last) = segments.last_mut() {
            last.until = u64::MAX;
        }
        Correction { segments }
    }

    /// Returns the segment that corrects `time`, or one without a correction if there are no segments.
    pub(crate) fn segment(&self, time: u64) -> Segment {
        let at = self.segments.partition_point(|line| line.until < time);
        self.segments.get(at).copied().unwrap_or(Segment::NONE)
    }

    pub(crate) fn apply(&self, time: u64) -> u64 {
        self.segment(time).apply(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_tables_are_shared_as_long_as_they_are_used() {
        let tables = Tables::default();
        let table = |last| Arc::new(vec![1, 2, last]);
        let (mut one, mut same, mut other) = (table(3), table(3), table(4));
        for table in [&mut one, &mut same, &mut other] {
            tables.share(table);
        }
        assert!(Arc::ptr_eq(&one, &same) && !Arc::ptr_eq(&one, &other));
        assert_eq!(Arc::strong_count(&one), 2);
        drop((one, same));
        let mut later = table(3);
        tables.share(&mut later);
        assert_eq!(Arc::strong_count(&later), 1);
    }

    #[test]
    fn times_are_corrected_along_the_lines_and_beyond() {
        let clock = Correction::new(&[(100, -10), (200, 10), (300, 10)]);
        assert_eq!(clock.apply(100), 90);
        assert_eq!(clock.apply(150), 150);
        assert_eq!(clock.apply(200), 210);
        assert_eq!(clock.apply(250), 260);
        assert_eq!(clock.apply(400), 410, "the last line goes on");
        assert_eq!(clock.apply(50), 30, "the first line goes back");
        // 102 - 10 + 0.4 and 103 - 10 + 0.6: rounded, not truncated.
        assert_eq!((clock.apply(102), clock.apply(103)), (92, 94));
        assert_eq!(
            Correction::new(&[(100, 7)]).apply(5),
            5,
            "one offset says nothing"
        );
    }

    #[test]
    fn rounding_is_to_even_and_never_overflows() {
        for value in [
            0.5,
            1.5,
            2.5,
            -0.5,
            -1.5,
            0.499_999,
            1e15,
            3e18,
            -3e18,
            f64::MAX,
        ] {
            assert_eq!(rint(value), value.round_ties_even() as i64, "{value}");
        }
        let clock = Correction::new(&[(0, i64::MIN), (1, i64::MAX)]);
        let (low, high) = (clock.apply(0), clock.apply(u64::MAX));
        assert!(low <= high);
    }
}
