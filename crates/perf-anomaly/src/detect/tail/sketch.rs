//! [`Sketch`]: counts of run times in buckets with a relative width of at most 1/64.

use crate::Result;
use crate::format_version::{Reader, Writer};
use perf_core::{Merge, Nanos};

/// Number of buckets in an octave, as a power of two.
const BITS: u32 = 6;
const PER_OCTAVE: usize = 1 << BITS;
/// Number of buckets for all 64-bit values.
pub(in crate::detect) const BUCKETS: usize = (65 - BITS as usize) << BITS;

/// Quantile sketch of run times: counts in buckets with a relative width of at most 1/64.
///
/// A run time `t` is counted as the value `t + resolution`, so that times below the resolution,
/// which are indistinguishable, share few buckets. The error of a quantile is at most half a
/// bucket, `(t + resolution) / 128`. Merging adds counts; it is exact and independent of the order.
/// As long as at most eight buckets are occupied, the shortest and the longest call of each are known too,
/// within 1/65,536 of its width.
/// The buckets cover the range from the shortest to the longest call. There are at most 3,776 (30
/// KB); a function whose calls differ by a factor of 30 takes 2.5 KB.
///
/// ```
/// use perf_anomaly::Sketch;
/// use perf_core::Nanos;
/// let mut sketch = Sketch::new(Nanos(1000));
/// (1..=1000).for_each(|us| sketch.push(Nanos(us * 1000)));
/// let median = sketch.quantile(0.5).expect("it is not empty");
/// assert!((median.0 - 500_000).abs() < 501_000 / 128);
/// ```
#[derive(Clone, Debug)]
pub struct Sketch {
    /// Resolution in nanoseconds.
    resolution: u64,
    /// Index of the bucket of the first count.
    first: u32,
    /// Counts of consecutive buckets.
    counts: Vec<u64>,
    /// Occupied buckets in ascending order, each with its shortest and longest value as
    /// [offsets](offset); empty unless `is_exact`.
    extremes: Vec<(usize, [u16; 2])>,
    /// `true` if there were never more than [`EXACT`] occupied buckets.
    is_exact: bool,
    /// Total count.
    total: u64,
}

/// Returns the bucket of a value.
#[inline]
pub(in crate::detect) fn bucket(value: u64) -> usize {
    if value < PER_OCTAVE as u64 {
        return value as usize;
    }
    let shift = 63 - value.leading_zeros() - BITS;
    ((shift as usize) << BITS) + (value >> shift) as usize
}

/// Largest number of occupied buckets whose extremes are known. Times that are about constant, and a few
/// anomalies, take no more. The number of all sketches that are merged decides, in any order.
const EXACT: usize = 8;
/// First number of an encoded sketch with extremes, which is no resolution.
const WITH_EXTREMES: u64 = 0;

/// Returns the logarithm of the width of a bucket to the base of two.
#[inline]
fn log_width(bucket: usize) -> u32 {
    ((bucket >> BITS) as u32).saturating_sub(1)
}

/// Returns the distance of a value from the smallest one of its bucket, in units that make the
/// largest one at most 65,535.
#[inline]
fn offset(value: u64, bucket: usize) -> u16 {
    let width = log_width(bucket);
    ((value & ((1 << width) - 1)) >> width.saturating_sub(16)) as u16
}

/// Returns the offsets of a whole bucket.
fn whole(bucket: usize) -> [u16; 2] {
    [0, offset(u64::MAX, bucket)]
}

/// Returns the smallest value of a bucket; that of the index after the last bucket is 2^64.
pub(in crate::detect) fn edge(bucket: usize) -> f64 {
    if bucket < PER_OCTAVE {
        return bucket as f64;
    }
    let shift = (bucket >> BITS) as u64 - 1;
    let digits = (bucket & (PER_OCTAVE - 1)) + PER_OCTAVE;
    // The bits of 2^shift.
    digits as f64 * f64::from_bits((1023 + shift.min(1023)) << 52)
}

impl Default for Sketch {
    /// Returns an empty sketch with a resolution of 1 ns. Merging a non-empty sketch into it
    /// replaces its resolution.
    fn default() -> Self {
        Sketch {
            resolution: 1,
            first: 0,
            counts: Vec::new(),
            extremes: Vec::new(),
            is_exact: true,
            total: 0,
        }
    }
}

impl Sketch {
    /// Creates an empty sketch. Times closer than `resolution` (at least 1 ns) are
    /// indistinguishable.
    pub fn new(resolution: Nanos) -> Self {
        Sketch {
            resolution: resolution.0.max(1) as u64,
            ..Sketch::default()
        }
    }

    /// Creates an empty sketch of counts alone, without extremes of buckets.
    pub(in crate::detect) fn counting(resolution: Nanos) -> Self {
        Sketch {
            is_exact: false,
            ..Sketch::new(resolution)
        }
    }

    /// Adds a run time. Negative run times count as 0.
    pub fn push(&mut self, runtime: Nanos) {
        self.add(self.value(runtime), 1);
    }

    /// Returns the value that represents a run time: the run time plus the resolution, in
    /// nanoseconds.
    #[inline]
    pub(crate) fn value(&self, runtime: Nanos) -> u64 {
        runtime.0.max(0) as u64 + self.resolution
    }

    #[inline]
    pub(crate) fn add(&mut self, value: u64, count: u64) {
        let bucket = bucket(value);
        self.count_in(bucket, count);
        if self.is_exact {
            self.extend(bucket, [offset(value, bucket); 2]);
        }
    }

    /// Removes a value that was added, unless its bucket is empty because counts were [halved](Self::halve). Extremes
    /// of an occupied bucket remain.
    pub(crate) fn remove(&mut self, value: u64) {
        let bucket = bucket(value);
        let at = bucket.wrapping_sub(self.first as usize);
        let count = self.counts.get_mut(at).filter(|count| **count > 0);
        let Some(count) = count else {
            return;
        };
        *count -= 1;
        self.total -= 1;
        if *count == 0 {
            self.extremes.retain(|one| one.0 != bucket);
        }
    }

    /// Counts values of a bucket.
    #[inline]
    fn count_in(&mut self, bucket: usize, count: u64) {
        let at = bucket.wrapping_sub(self.first as usize);
        self.total += count;
        match self.counts.get_mut(at) {
            Some(counted) => *counted += count,
            None => self.widen(bucket, count),
        }
    }

    /// Extends the extremes of a bucket.
    fn extend(&mut self, bucket: usize, [low, high]: [u16; 2]) {
        let known = self.extremes.iter_mut().find(|one| one.0 == bucket);
        if let Some((_, known)) = known {
            *known = [known[0].min(low), known[1].max(high)];
        } else if self.extremes.len() < EXACT {
            let at = self.extremes.partition_point(|one| one.0 < bucket);
            self.extremes.insert(at, (bucket, [low, high]));
        } else {
            self.is_exact = false;
            self.extremes = Vec::new();
        }
    }

    /// Extends the counts to a bucket with some reserve, because the calls of a function are
    /// similar.
    #[cold]
    fn widen(&mut self, bucket: usize, count: u64) {
        const SPARE: usize = 15;
        let end = self.first as usize + self.counts.len();
        let (first, end) = if self.counts.is_empty() {
            (bucket & !SPARE, (bucket | SPARE) + 1)
        } else {
            (
                (bucket & !SPARE).min(self.first as usize),
                end.max((bucket | SPARE) + 1),
            )
        };
        let mut counts = vec![0; end - first];
        let old = self.first as usize - first.min(self.first as usize);
        if !self.counts.is_empty() {
            counts[old..old + self.counts.len()].copy_from_slice(&self.counts);
        }
        counts[bucket - first] += count;
        self.first = first as u32;
        self.counts = counts;
    }

    /// Returns the heap memory in bytes.
    pub(crate) fn heap(&self) -> usize {
        self.counts.capacity() * size_of::<u64>()
            + self.extremes.capacity() * size_of::<(usize, [u16; 2])>()
    }

    /// Returns the number of run times, without those that were dropped when counts were halved.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Returns the smallest distinguishable difference of times.
    pub fn resolution(&self) -> Nanos {
        Nanos(self.resolution as i64)
    }

    /// Returns the quantile `q` of the run times, with an error of at most `(t + resolution) /
    /// 128`; `None` without run times. `q` is clamped to `0.0..=1.0`.
    pub fn quantile(&self, q: f64) -> Option<Nanos> {
        let before = (q.clamp(0.0, 1.0) * self.total.saturating_sub(1) as f64).floor() as u64;
        let mut sum = 0;
        let (bucket, _) = self.filled().find(|(_, count)| {
            sum += count;
            sum > before
        })?;
        let value = (edge(bucket) + edge(bucket + 1)) / 2.0 - self.resolution as f64;
        Some(Nanos(value.max(0.0) as i64))
    }

    /// Returns the distribution: non-empty ranges of run times in nanoseconds in ascending order,
    /// each with its count.
    ///
    /// ```
    /// use perf_anomaly::Sketch;
    /// use perf_core::Nanos;
    /// let mut sketch = Sketch::new(Nanos(1));
    /// [70, 9_000, 9_000].into_iter().for_each(|time| sketch.push(Nanos(time)));
    /// let all: Vec<_> = sketch.counts().collect();
    /// assert!(all[0].0.contains(&70.0) && all[1].0.contains(&9_000.0));
    /// assert_eq!((all[0].1, all[1].1), (1, 2));
    /// ```
    pub fn counts(&self) -> impl Iterator<Item = (std::ops::Range<f64>, u64)> {
        let time = |value: f64| (value - self.resolution as f64).max(0.0);
        self.filled()
            .map(move |(bucket, count)| (time(edge(bucket))..time(edge(bucket + 1)), count))
    }

    /// Returns the occupied buckets with their counts.
    pub(crate) fn filled(&self) -> impl DoubleEndedIterator<Item = (usize, u64)> + Clone {
        let counts = self.counts.iter().enumerate();
        let filled = counts.filter(|(_, count)| **count > 0);
        filled.map(|(at, count)| (self.first as usize + at, *count))
    }

    /// Returns bounds of the values of an occupied bucket, which are narrower than the bucket if its
    /// values are.
    pub(crate) fn bounds(&self, bucket: usize) -> (f64, f64) {
        let known = self.extremes.iter().find(|one| one.0 == bucket);
        let [low, high] = known.map_or_else(|| whole(bucket), |one| one.1);
        let from = edge(bucket);
        let unit = ((edge(bucket + 1) - from) / 65_536.0).max(1.0);
        let high = from + f64::from(high) * unit + unit - 1.0;
        (from + f64::from(low) * unit, high)
    }

    /// Halves all counts; the remainder of an odd count is added to the next occupied bucket.
    pub(crate) fn halve(&mut self) {
        let mut over = 0;
        for count in self.counts.iter_mut().filter(|count| **count > 0) {
            let sum = *count + over;
            *count = sum / 2;
            over = sum % 2;
        }
        self.total = self.counts.iter().sum();
        let (first, counts) = (self.first as usize, &self.counts);
        self.extremes.retain(|one| counts[one.0 - first] > 0);
    }

    pub(crate) fn encode(&self, to: &mut Writer) {
        if self.is_exact {
            to.varint(WITH_EXTREMES);
        }
        to.varint(self.resolution);
        to.varint(self.filled().count() as u64);
        let mut next = 0;
        for (bucket, count) in self.filled() {
            to.varint((bucket - next) as u64);
            to.varint(count);
            if let Some((_, [low, high])) = self.extremes.iter().find(|one| one.0 == bucket) {
                to.varint((*low).into());
                to.varint(high.saturating_sub(*low).into());
            }
            next = bucket + 1;
        }
    }

    /// Smallest encoded size in bytes.
    pub(crate) const LEAST: usize = 2;

    pub(crate) fn decode(from: &mut Reader<'_>) -> Result<Self> {
        let mut resolution = from.varint("a resolution")?;
        let has_extremes = resolution == WITH_EXTREMES;
        if has_extremes {
            resolution = from.varint("a resolution")?;
        }
        if resolution == 0 || resolution > i64::MAX as u64 {
            return Err(from.error(1, "a resolution from 1 to 2^63").into());
        }
        let filled = from.varint("a number of buckets")?;
        if filled > BUCKETS as u64 {
            return Err(from.error(1, "a number of buckets").into());
        }
        let mut sketch = Sketch {
            resolution,
            is_exact: has_extremes,
            ..Sketch::default()
        };
        if has_extremes && filled > EXACT as u64 {
            return Err(from.error(1, "extremes of at most eight buckets").into());
        }
        // A first pass finds the range of buckets, so that memory is allocated once, at most 30 KB
        // for any bytes.
        let mut ahead = *from;
        let (mut range, mut next) = (None, 0);
        for _ in 0..filled {
            let (bucket, count, _) = read_bucket(&mut ahead, next, has_extremes)?;
            next = bucket + 1;
            let (first, _) = *range.get_or_insert((bucket, bucket));
            range = Some((first, bucket));
            sketch.total = match sketch.total.checked_add(count) {
                Some(total) if count > 0 && total < 1 << 53 => total,
                _ => {
                    return Err(ahead
                        .error(1, "counts that are less than 2^53 in sum")
                        .into());
                }
            };
        }
        if let Some((first, last)) = range {
            sketch.first = first as u32;
            sketch.counts = vec![0; last - first + 1];
            next = 0;
            for _ in 0..filled {
                let (bucket, count, extremes) = read_bucket(from, next, has_extremes)?;
                next = bucket + 1;
                sketch.counts[bucket - first] = count;
                if has_extremes {
                    sketch.extremes.push((bucket, extremes));
                }
            }
        }
        Ok(sketch)
    }
}

/// Reads the next occupied bucket, whose index is at least `next`, its count and its extremes.
fn read_bucket(
    from: &mut Reader<'_>,
    next: usize,
    has_extremes: bool,
) -> Result<(usize, u64, [u16; 2])> {
    let skipped = from.varint("buckets to skip")?;
    let bucket = (next as u64).saturating_add(skipped);
    if bucket >= BUCKETS as u64 {
        return Err(from.error(1, "a bucket of a sketch").into());
    }
    let bucket = bucket as usize;
    let count = from.varint("the count of a bucket")?;
    let whole = whole(bucket);
    if !has_extremes {
        return Ok((bucket, count, whole));
    }
    let low = from.varint("the shortest time of a bucket")?;
    let high = low.saturating_add(from.varint("the longest time of a bucket")?);
    if high > whole[1].into() {
        return Err(from.error(1, "times of a bucket").into());
    }
    Ok((bucket, count, [low as u16, high as u16]))
}

impl PartialEq for Sketch {
    /// Compares counts; the capacity is ignored, and so is the resolution of an empty sketch.
    fn eq(&self, other: &Self) -> bool {
        let same = self.resolution == other.resolution || self.total == 0;
        same && self.filled().eq(other.filled()) && self.extremes == other.extremes
    }
}

impl Merge for Sketch {
    /// Adds the counts of `other`. This is exact if both sketches have the same resolution.
    /// Otherwise the midpoints of the buckets of `other` are counted, which adds an error of up to
    /// one bucket.
    fn merge(&mut self, other: &Self) {
        if other.total == 0 {
            return;
        }
        if self.total == 0 {
            *self = other.clone();
            return;
        }
        self.merge_into_own(other);
    }
}

impl Sketch {
    /// Adds the counts of `other`, and keeps the resolution of `self`.
    pub(crate) fn merge_into_own(&mut self, other: &Self) {
        if other.total == 0 {
            return;
        }
        if self.resolution == other.resolution {
            let (first, last) = (other.first as usize, other.counts.len() - 1);
            // Allocates the whole range at once.
            for end in [first, first + last] {
                let at = end.wrapping_sub(self.first as usize);
                if self.counts.get(at).is_none() {
                    self.widen(end, 0);
                }
            }
            let own = &mut self.counts[first - self.first as usize..];
            for (own, count) in own.iter_mut().zip(&other.counts) {
                *own = own.saturating_add(*count);
            }
            if !other.is_exact {
                (self.is_exact, self.extremes) = (false, Vec::new());
            }
            for (bucket, extremes) in &other.extremes {
                if self.is_exact {
                    self.extend(*bucket, *extremes);
                }
            }
            self.total = self.total.saturating_add(other.total);
            return;
        }
        for (bucket, count) in other.filled() {
            let middle = (edge(bucket) + edge(bucket + 1)) / 2.0 - other.resolution as f64;
            let value = middle.max(0.0) as u64;
            let bucket = self::bucket(value.saturating_add(self.resolution));
            self.count_in(bucket, count);
            if self.is_exact {
                self.extend(bucket, whole(bucket));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_contiguous_and_narrow() {
        assert_eq!(bucket(0), 0);
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        for index in 0..BUCKETS - 1 {
            let (lower, upper) = (edge(index), edge(index + 1));
            assert_eq!(bucket(lower as u64), index, "first value of {index}");
            assert!(upper - lower < 1.5 || bucket(upper as u64 - 1) <= index);
            assert!(index < PER_OCTAVE || (upper - lower) / lower <= 1.0 / 64.0);
        }
    }

    #[test]
    fn extremes_of_buckets_are_exact() {
        for value in [0, 40, 1_235_000, 100_004_000, 1 << 40, u64::MAX] {
            let mut sketch = Sketch::new(Nanos(1));
            sketch.add(value, 3);
            let width = edge(bucket(value) + 1) - edge(bucket(value));
            let (low, high) = sketch.bounds(bucket(value));
            assert!(low <= value as f64 && value as f64 <= high, "{value}");
            assert!(high - low <= width / 65_536.0, "{value}: {low} to {high}");
            let mut to = Writer::default();
            sketch.encode(&mut to);
            let decoded = Sketch::decode(&mut Reader::new(&to.0)).expect("it was written");
            assert_eq!(decoded, sketch);
        }
        // Bytes of an earlier version have no extremes.
        let mut to = Writer::default();
        [1000, 1, 700, 5].into_iter().for_each(|one| to.varint(one));
        let sketch = Sketch::decode(&mut Reader::new(&to.0)).expect("an earlier version");
        assert_eq!(sketch.bounds(700), (edge(700), edge(701) - 1.0));
    }

    #[test]
    fn halving_keeps_about_half() {
        let mut sketch = Sketch::new(Nanos(1));
        (0..1000).for_each(|at| sketch.push(Nanos(1_000_000 + 20_000 * at)));
        sketch.halve();
        assert!((480..=520).contains(&sketch.count()), "{}", sketch.count());
        assert_eq!(
            sketch.count(),
            sketch.filled().map(|(_, count)| count).sum::<u64>()
        );
    }
}
