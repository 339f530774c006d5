//! [`profile`]: call-path profile of a recording that is distributed over ranks, merged to a
//! [`Whole`] from an encoded [`Piece`] of each rank.

use crate::{Error, Ranks, Reader, Result, Wire};
use perf_core::{
    CallPathId, CallTree, Job, LocationId, Merge, MetricId, Profile, Region, RegionId,
    ReplayCounts, SparseRows, TraceView, Value, ValueType,
};
use std::sync::Arc;

/// Computes the profile of the locations in the views of all ranks. Collective.
///
/// The result is the same on all ranks, as are the counted repairs of the replay. It equals
/// [`Profile::from_trace`] of all locations, including the numbers of call paths, if the locations
/// of each rank follow those of the previous rank, as in a [`Part`](crate::Part). Reports progress
/// on own locations in the phase `profile`.
///
/// Messages contain the call tree of each rank and the non-zero values of its locations.
///
/// ```no_run
/// use perf_core::Job;
/// use perf_formats::OpenOptions;
/// use perf_mpi::{Ranks, mpi, profile, read};
/// let universe = mpi::initialize().ok_or("MPI was initialised before")?;
/// let ranks = Ranks::new(&universe.world());
/// let part = read(&ranks, "run/traces.otf2".as_ref(), &OpenOptions::new(), &Job::default())?;
/// let (profile, counts) = profile(&ranks, part.view(), &Job::default())?;
/// assert!(profile.metric("exclusive time").is_some());
/// if ranks.is_root() {
///     println!("{} call paths, {} repairs", profile.calls().paths().len(), counts.repairs());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// - Returns [`Error::Core`] if [`Profile::from_trace`] fails.
/// - Returns [`Error::Differs`] if definitions differ between ranks.
pub fn profile(ranks: &Ranks, view: TraceView<'_>, job: &Job) -> Result<(Profile, ReplayCounts)> {
    let definitions = view.definitions();
    let shape = (
        definitions.system.locations().len(),
        definitions.regions.len(),
    );
    ranks.same("locations and regions", &shape)?;
    let own = Profile::from_trace(view, job).map_err(Error::from);
    let (own, counts) = ranks.agree(own)?;
    let locations: Vec<LocationId> = view.ids().collect();
    let piece = ranks.agree(Piece::of(&own, &locations, counts))?;
    let mut whole = Whole::new(&own, definitions.regions.len());
    for piece in ranks.all_gather(&piece)? {
        whole.add(&piece)?;
    }
    whole.finish(&own, &definitions.regions)
}

/// Profile of one rank.
#[derive(Debug)]
pub(crate) struct Piece {
    /// Parent and region of each call path.
    paths: Vec<(Option<u32>, u32)>,
    /// Metric, call path, location and value.
    values: Vec<(u32, u32, u32, u64)>,
    /// Counted repairs of the replay.
    counts: [u64; 6],
}

impl Piece {
    fn of(profile: &Profile, locations: &[LocationId], counts: ReplayCounts) -> Result<Self> {
        let calls = profile.calls();
        let all: Vec<CallPathId> = (0..calls.paths().len())
            .filter_map(CallPathId::from_index)
            .collect();
        let piece = Self::of_paths(profile, calls, all.len(), &all, locations)?;
        Ok(Piece {
            counts: [
                counts.top,
                counts.nearest,
                counts.implicit_closes,
                counts.renamed,
                counts.orphan,
                counts.open_at_end,
            ],
            ..piece
        })
    }

    /// Returns the profile of some locations. Its call paths are the first `count` of `calls`, in which `numbers` has
    /// the number of each call path of the profile.
    pub(crate) fn of_paths(
        profile: &Profile,
        calls: &CallTree,
        count: usize,
        numbers: &[CallPathId],
        locations: &[LocationId],
    ) -> Result<Self> {
        let paths = calls.paths().iter().take(count);
        let paths = paths.map(|path| (path.parent.map(|parent| parent.0), path.region.0));
        let mut values = Vec::new();
        for metric in (0..profile.metrics().len()).filter_map(MetricId::from_index) {
            for path in profile.rows().paths(metric) {
                let Some(row) = profile.rows().row(metric, path)? else {
                    continue;
                };
                for location in locations {
                    if let Some(Value::U64(value)) = row.get(*location)
                        && value != 0
                    {
                        let path = numbers[path.index()];
                        values.push((metric.0, path.0, location.0, value));
                    }
                }
            }
        }
        Ok(Piece {
            paths: paths.collect(),
            values,
            counts: [0; 6],
        })
    }

    /// Returns the position of a call path in the encoded piece.
    fn place_of_path(&self, number: usize) -> usize {
        let before = self.paths.iter().take(number);
        let sizes = before.map(|(parent, _)| 1 + 4 * usize::from(parent.is_some()) + 4);
        8 + sizes.sum::<usize>()
    }

    /// Returns the position of a value in the encoded piece.
    fn place_of_value(&self, number: usize) -> usize {
        self.place_of_path(self.paths.len()) + 8 + 20 * number
    }

    fn counts(&self) -> ReplayCounts {
        let [top, nearest, implicit_closes, renamed, orphan, open_at_end] = self.counts;
        ReplayCounts {
            top,
            nearest,
            implicit_closes,
            renamed,
            orphan,
            open_at_end,
        }
    }
}

impl Wire for Piece {
    const LEAST: usize = 8 + 8 + 48;

    fn write(&self, to: &mut Vec<u8>) {
        self.paths.write(to);
        self.values.write(to);
        self.counts.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        Ok(Piece {
            paths: Wire::read(from)?,
            values: Wire::read(from)?,
            counts: Wire::read(from)?,
        })
    }
}

/// Merged profile of all ranks.
pub(crate) struct Whole {
    /// Merged call tree.
    calls: CallTree,
    /// Merged values.
    rows: SparseRows,
    /// Merged counts of repairs.
    counts: ReplayCounts,
    /// Region of bytes outside of any region. Its number follows those of the recording, and its
    /// call path comes last.
    outside: u32,
    /// Metric, location and value of bytes outside of any region.
    bytes_outside: Vec<(MetricId, LocationId, u64)>,
}

impl Whole {
    pub(crate) fn new(own: &Profile, regions: usize) -> Self {
        let types = vec![ValueType::U64; own.metrics().len()];
        Whole {
            calls: CallTree::default(),
            rows: SparseRows::new(own.system().locations().len(), types),
            counts: ReplayCounts::default(),
            outside: u32::try_from(regions).unwrap_or(u32::MAX),
            bytes_outside: Vec::new(),
        }
    }

    /// Adds the profile of one rank. New call paths are appended in the order of the ranks, as if
    /// one process had read all locations.
    pub(crate) fn add(&mut self, piece: &Piece) -> Result<()> {
        let mut numbers: Vec<Option<CallPathId>> = Vec::with_capacity(piece.paths.len());
        for (parent, region) in &piece.paths {
            if *region == self.outside {
                numbers.push(None);
                continue;
            }
            let parent = match parent {
                None => None,
                Some(parent) => match numbers.get(*parent as usize) {
                    Some(Some(parent)) => Some(*parent),
                    _ => {
                        return Err(Error::Decode {
                            at: piece.place_of_path(numbers.len()),
                            expected: "a call path after its parent",
                        });
                    }
                },
            };
            numbers.push(Some(self.calls.child(parent, RegionId(*region))?));
        }
        for (number, (metric, path, location, value)) in piece.values.iter().enumerate() {
            let (metric, location) = (MetricId(*metric), LocationId(*location));
            match numbers.get(*path as usize) {
                Some(Some(path)) => self.rows.push(metric, *path, location, Value::U64(*value)),
                Some(None) => self.bytes_outside.push((metric, location, *value)),
                None => {
                    return Err(Error::Decode {
                        at: piece.place_of_value(number),
                        expected: "a value of one of the call paths",
                    });
                }
            }
        }
        self.counts.merge(&piece.counts());
        Ok(())
    }

    pub(crate) fn finish(
        mut self,
        own: &Profile,
        regions: &[Region],
    ) -> Result<(Profile, ReplayCounts)> {
        let mut regions = regions.to_vec();
        if !self.bytes_outside.is_empty() {
            regions.push(Region::named("(outside regions)"));
            let region = RegionId(self.outside);
            let path = self.calls.child(None, region)?;
            for (metric, location, value) in self.bytes_outside {
                self.rows.push(metric, path, location, Value::U64(value));
            }
        }
        // The job of the caller is not used, because ranks that have agreed to continue must end in
        // the same way.
        let rows = self
            .rows
            .finish(self.calls.paths().len(), &Job::default())
            .map_err(perf_core::Error::from)?;
        let rows = Arc::new(rows);
        let (system, metrics) = (own.system().clone(), own.metrics().to_vec());
        let profile = Profile::new(system, regions, self.calls, metrics, rows)?;
        let profile = profile.with_topologies(own.topologies().to_vec());
        Ok((profile, self.counts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(piece: &Piece) -> Result<()> {
        let bytes = piece.to_bytes();
        let mut whole = Whole {
            calls: CallTree::default(),
            rows: SparseRows::new(2, vec![ValueType::U64]),
            counts: ReplayCounts::default(),
            outside: 9,
            bytes_outside: Vec::new(),
        };
        whole.add(&Piece::from_bytes(&bytes)?)
    }

    #[test]
    fn wrong_call_paths_are_errors_at_their_position() {
        let piece = |paths: &[(Option<u32>, u32)], path: u32| Piece {
            paths: paths.to_vec(),
            values: vec![(0, 0, 1, 7), (0, path, 1, 7)],
            counts: [0; 6],
        };
        assert!(added(&piece(&[(None, 3), (Some(0), 4)], 1)).is_ok());
        let position = |piece: Piece| match added(&piece) {
            Err(Error::Decode { at, .. }) => at,
            other => panic!("{other:?}"),
        };
        // After the number of paths, 8 bytes, and a path without a parent, 5 bytes.
        assert_eq!(position(piece(&[(None, 3), (Some(1), 4)], 0)), 13);
        assert_eq!(position(piece(&[(None, 9), (Some(0), 4)], 0)), 13);
        // After both paths, 14 bytes, the number of values and a value of 20 bytes.
        assert_eq!(position(piece(&[(None, 3), (Some(0), 4)], 2)), 50);
    }
}
