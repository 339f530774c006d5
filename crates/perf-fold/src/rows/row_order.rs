//! [`RowOrder`]: order by name, behaviour or time in which [`Groups`] sort their rows; also
//! devices first, and blocks of rows for recordings with many locations.

use crate::{Group, GroupBy, GroupId, Groups, Result, State, Timelines, Usage};
use perf_core::{Job, LocationKind, TimeRange};
use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};

/// Order of the rows, and of the members of each group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RowOrder {
    /// Order of the recording.
    #[default]
    Recorded,
    /// By label; numbers in labels compare as numbers.
    Name,
    /// Rows that spend their time in the same states are neighbours.
    Behaviour,
    /// Largest busy share first.
    Busy,
    /// Most time in MPI first. MPI contains the time in which ranks wait for others.
    Wait,
}

/// Number of steps of the power iteration. Rows that it does not separate hardly differ.
const POWER_STEPS: usize = 24;
/// Upper bound on the mean number of parts in which a row is sorted. Parts that are not split any more
/// stay sorted along the last axis.
const MOST_VISITS: usize = 64;

impl Groups {
    /// Sorts the rows, and the members of each group, by `order`. Orders by states use the states in `window`.
    ///
    /// [`RowOrder::Behaviour`] splits the rows repeatedly at the largest gap along the principal
    /// axis of their time shares. Rows of equal shares keep the order of the recording. All orders
    /// are deterministic.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_fold::{GroupBy, Groups, RegionMap, RowOrder, Timelines};
    /// let trace = perf_core::samples::cosmo::trace();
    /// let map = RegionMap::by_name(trace.definitions())?;
    /// let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
    /// let groups = Groups::by(&timelines, GroupBy::Process);
    /// let sorted = groups.ordered(RowOrder::Behaviour, &timelines, timelines.range(), &Job::default())?;
    /// // The four ranks with more work end up next to each other.
    /// let slow = |id: &perf_fold::GroupId| sorted.get(*id).is_some_and(|it| it.streams[0] < 4);
    /// let places: Vec<_> = (0..40).filter(|at| slow(&sorted.rows()[*at])).collect();
    /// assert_eq!(places[3] - places[0], 3);
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn ordered(
        mut self,
        order: RowOrder,
        timelines: &Timelines,
        window: TimeRange,
        job: &Job,
    ) -> Result<Self> {
        if order == RowOrder::Recorded {
            return Ok(self);
        }
        let usage: Vec<Usage> = match order {
            RowOrder::Name => Vec::new(),
            _ => {
                let rows = self.groups.iter().map(|group| {
                    // Only the busy share of a device needs the union of its busy intervals.
                    let is_device = group.kind == LocationKind::AcceleratorStream;
                    let has_union = order == RowOrder::Busy && is_device;
                    (group.streams.as_slice(), has_union)
                });
                let rows: Vec<(&[u32], bool)> = rows.collect();
                Usage::of_rows(timelines, &rows, window, || {}, job)?
            }
        };
        let sort = |groups: &Groups, ids: &mut Vec<GroupId>| match order {
            RowOrder::Behaviour => {
                let rows: Vec<&Usage> = ids.iter().filter_map(|id| usage.get(id.index())).collect();
                let order = similar_rows(&rows).into_iter();
                *ids = order.filter_map(|at| ids.get(at).copied()).collect();
            }
            RowOrder::Name => ids.sort_by_cached_key(|id| {
                natural(groups.get(*id).map_or("", |group| group.label.as_str()))
            }),
            _ => ids.sort_by_key(|id| {
                // Each id is of a group; an unknown one would be last.
                let kind = groups.get(*id).map(|group| group.kind).unwrap_or_default();
                let key = usage.get(id.index()).map_or(0, |usage| match order {
                    // Shares are not negative, so their bits have their order.
                    RowOrder::Busy => usage.busy_share(kind).to_bits(),
                    _ => mpi(usage, timelines),
                });
                Reverse(key)
            }),
        };
        let mut rows = std::mem::take(&mut self.rows);
        sort(&self, &mut rows);
        self.rows = rows;
        for at in 0..self.groups.len() {
            job.check()?;
            let mut children = std::mem::take(&mut self.groups[at].children);
            sort(&self, &mut children);
            self.groups[at].children = children;
        }
        Ok(self)
    }

    /// Joins neighbouring rows, and neighbouring members of each group, to at most `blocks` blocks
    /// if there are more than `most` of them. The members of an unfolded row then fit on a screen.
    ///
    /// A block has rows of one kind of locations only, so there may be one more block for each
    /// change of the kind. Members of a block are joined to blocks in turn if there are more than `most` of them.
    /// `blocks` is raised to at least 2, and `most` to at least `blocks`.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_fold::{GroupBy, Groups, RegionMap, Timelines};
    /// let trace = perf_core::samples::cosmo::trace();
    /// let map = RegionMap::by_name(trace.definitions())?;
    /// let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
    /// let groups = Groups::by(&timelines, GroupBy::Process).in_blocks(16, 8);
    /// assert_eq!(groups.rows().len(), 8);
    /// let first = groups.get(groups.rows()[0]).expect("a row");
    /// assert_eq!((first.streams.len(), first.children.len()), (5, 5));
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    pub fn in_blocks(mut self, most: usize, blocks: usize) -> Self {
        let blocks = blocks.max(2);
        let most = most.max(blocks);
        let rows = std::mem::take(&mut self.rows);
        self.rows = self.blocks_of(rows, most, blocks);
        let mut at = 0;
        // Blocks are added behind the groups and are split in turn.
        while at < self.groups.len() {
            let children = std::mem::take(&mut self.groups[at].children);
            self.groups[at].children = self.blocks_of(children, most, blocks);
            at += 1;
        }
        self
    }

    fn blocks_of(&mut self, ids: Vec<GroupId>, most: usize, blocks: usize) -> Vec<GroupId> {
        if ids.len() <= most {
            return ids;
        }
        let size = ids.len().div_ceil(blocks);
        let kind = |groups: &Groups, id: &GroupId| groups.get(*id).map(|group| group.kind);
        let alike = ids.chunk_by(|a, b| kind(self, a) == kind(self, b));
        let pieces: Vec<Vec<GroupId>> = alike
            .flat_map(|alike| alike.chunks(size).map(<[GroupId]>::to_vec))
            .collect();
        pieces.into_iter().map(|piece| self.block(piece)).collect()
    }

    fn block(&mut self, members: Vec<GroupId>) -> GroupId {
        if let [only] = members[..] {
            return only;
        }
        let of = |id: &GroupId| self.get(*id);
        let first = members.first().and_then(of);
        let last = members.last().and_then(of);
        let (first, last) = (first.map_or("", label), last.map_or("", label));
        let start = without_id(first);
        let text = match (number(start), number(without_id(last))) {
            (Some((head, a)), Some((same, b)))
                if head == same && b.checked_sub(a) == Some(members.len() as u64 - 1) =>
            {
                format!("{start} to {b}")
            }
            _ => format!("{first} and {} more", members.len() - 1),
        };
        let kind = members.first().and_then(of).map(|group| group.kind);
        let mut streams: Vec<u32> = members
            .iter()
            .filter_map(of)
            .flat_map(|group| group.streams.iter().copied())
            .collect();
        streams.sort_unstable();
        streams.dedup();
        self.push(text, kind.unwrap_or_default(), None, streams, members)
    }

    /// Moves rows of accelerator streams to the top and joins all other rows of one kind to one
    /// row, such as `All threads`. Annotations of the profiler, which Kineto stores as threads of
    /// processes without a number, follow in a row `All annotations`. Nothing changes without rows
    /// of accelerator streams.
    ///
    /// # Errors
    /// Returns the errors of [`join`](Self::join).
    pub fn devices_first(self) -> Result<Self> {
        let is_device = |id: &GroupId| {
            let group = self.get(*id);
            group.is_some_and(|group| group.kind == LocationKind::AcceleratorStream)
        };
        let (mut rows, others): (Vec<GroupId>, Vec<GroupId>) =
            self.rows.iter().copied().partition(is_device);
        if rows.is_empty() {
            return Ok(self);
        }
        let mut kinds: Vec<_> = others
            .iter()
            .filter_map(|id| Some(self.get(*id)?.kind))
            .collect();
        kinds.sort_unstable();
        kinds.dedup();
        for kind in kinds {
            let all = self.groups.iter().enumerate();
            let all = all.filter(|(_, of)| of.level == Some(GroupBy::All) && of.kind == kind);
            rows.extend(all.map(|(at, _)| GroupId(at as u32)));
        }
        self.with_rows(&rows)
    }
}

fn label(group: &Group) -> &str {
    // The part before a comma names the process, the part behind it only the kind of locations.
    group
        .label
        .split_once(", ")
        .map_or(&group.label, |(name, _)| name)
}

/// Splits a name into the text before its last number and that number.
fn number(name: &str) -> Option<(&str, u64)> {
    let head = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    Some((head, name.get(head.len()..)?.parse().ok()?))
}

/// Returns a name without the identifier of the process, which follows it in parentheses.
fn without_id(name: &str) -> &str {
    let parts = name
        .strip_suffix(')')
        .and_then(|name| name.rsplit_once(" ("));
    let is_id = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    parts
        .filter(|parts| is_id(parts.1))
        .map_or(name, |parts| parts.0)
}

/// Returns a sort key that orders numbers within a name by value.
fn natural(name: &str) -> Vec<(u64, String)> {
    let mut key = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let text = rest.find(|letter: char| letter.is_ascii_digit());
        let (text, tail) = rest.split_at(text.unwrap_or(rest.len()));
        let digits = tail.find(|letter: char| !letter.is_ascii_digit());
        let (digits, tail) = tail.split_at(digits.unwrap_or(tail.len()));
        key.push((0, text.to_owned()));
        key.push((digits.parse().unwrap_or(u64::MAX), String::new()));
        rest = tail;
    }
    key
}

fn mpi(usage: &Usage, timelines: &Timelines) -> u64 {
    let classes = timelines.classes();
    let is_mpi = |state: State| {
        state.class().is_some_and(|class| {
            let (paradigm, _) = classes.origin(class);
            paradigm == perf_core::Paradigm::Mpi || classes.name(class).starts_with("MPI")
        })
    };
    let times = usage.times.iter().filter(|(state, _)| is_mpi(*state));
    times.fold(0, |sum, (_, time)| sum.saturating_add(*time))
}

/// Returns the order of rows in which those with similar time shares are neighbours, as numbers of the rows. This is
/// the order of [`RowOrder::Behaviour`] for rows whose usage is known.
///
/// ```
/// use perf_core::Job;
/// use perf_fold::{RegionMap, Timelines, Usage, similar_rows};
/// let trace = perf_core::samples::cosmo::trace();
/// let map = RegionMap::by_name(trace.definitions())?;
/// let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
/// // Ranks 0 and 2 have more work than ranks 30 and 31.
/// let usage = [0, 30, 2, 31].map(|rank| Usage::of(&timelines, &[rank], timelines.range(), &Job::default()));
/// let usage: Vec<Usage> = usage.into_iter().collect::<Result<_, _>>()?;
/// let order = similar_rows(&usage.iter().collect::<Vec<_>>());
/// assert!(order == [0, 2, 1, 3] || order == [1, 3, 0, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn similar_rows(rows: &[&Usage]) -> Vec<usize> {
    let mut states: HashMap<State, usize> = HashMap::new();
    let shares: Vec<Vec<(usize, f64)>> = rows
        .iter()
        .map(|usage| {
            let shares = usage.shares().filter(|(_, share)| *share > 0.0);
            shares
                .map(|(state, share)| {
                    let next = states.len();
                    (*states.entry(state).or_insert(next), share)
                })
                .collect()
        })
        .collect();
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let mut open = VecDeque::from([(0, rows.len())]);
    let mut left = MOST_VISITS.saturating_mul(rows.len());
    while let Some((start, end)) = open.pop_front() {
        let Some(part) = order.get_mut(start..end).filter(|part| part.len() > 2) else {
            continue;
        };
        // Without clear groups, rows split off one by one, and the time would be quadratic.
        left = left.saturating_sub(part.len());
        if left == 0 {
            break;
        }
        let along = principal(&shares, part, states.len());
        let Some(along) = along else { continue };
        part.sort_by(|a, b| along[a].total_cmp(&along[b]).then(a.cmp(b)));
        let gap = |at: usize| along[&part[at]] - along[&part[at - 1]];
        let split = (1..part.len()).max_by(|a, b| gap(*a).total_cmp(&gap(*b)).then(b.cmp(a)));
        if let Some(split) = split {
            open.push_back((start, start + split));
            open.push_back((start + split, end));
        }
    }
    order
}

/// Returns the position of each row along the principal axis of the shares; `None` if all rows are equal.
fn principal(
    shares: &[Vec<(usize, f64)>],
    part: &[usize],
    states: usize,
) -> Option<HashMap<usize, f64>> {
    let rows: Vec<&Vec<(usize, f64)>> = part.iter().filter_map(|at| shares.get(*at)).collect();
    let mut mean = vec![0.0; states];
    for (state, share) in rows.iter().copied().flatten() {
        mean[*state] += share / rows.len() as f64;
    }
    let dot = |row: &[(usize, f64)], axis: &[f64]| {
        let own: f64 = row.iter().map(|(state, share)| share * axis[*state]).sum();
        let of_mean: f64 = mean.iter().zip(axis).map(|(a, b)| a * b).sum();
        own - of_mean
    };
    // The first axis is the deviation of the row that deviates most.
    let deviation = |row: &[(usize, f64)]| {
        let mut axis: Vec<f64> = mean.iter().map(|mean| -mean).collect();
        for (state, share) in row {
            axis[*state] += share;
        }
        axis
    };
    let length = |axis: &[f64]| axis.iter().map(|it| it * it).sum::<f64>().sqrt();
    let farthest = rows
        .iter()
        .max_by(|a, b| length(&deviation(a)).total_cmp(&length(&deviation(b))))?;
    let mut axis = deviation(farthest);
    for _ in 0..POWER_STEPS {
        let size = length(&axis);
        if size < 1e-9 {
            return None;
        }
        axis.iter_mut().for_each(|it| *it /= size);
        let mut next = vec![0.0; states];
        for row in &rows {
            let weight = dot(row, &axis);
            for (state, share) in *row {
                next[*state] += weight * share;
            }
            for (next, mean) in next.iter_mut().zip(&mean) {
                *next -= weight * mean;
            }
        }
        axis = next;
    }
    let size = length(&axis).max(f64::MIN_POSITIVE);
    axis.iter_mut().for_each(|it| *it /= size);
    let of = |at: &usize| Some((*at, dot(shares.get(*at)?, &axis)));
    Some(part.iter().filter_map(of).collect())
}
