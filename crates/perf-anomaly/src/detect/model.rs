//! [`Model`]: knowledge of a detector about all functions, which can be sent, merged and stored;
//! [`ScoredHistogram`]: entry of a function of the histogram detectors.

use super::{Functions, Histogram, Sketch};
use crate::format_version::{Reader, Writer};
use crate::{Error, FunctionId, Moments, Result};
use perf_core::Merge;

/// First bytes of an encoded model.
const MAGIC: u32 = u32::from_le_bytes(*b"PKAM");
const VERSION: u16 = 2;

/// Histogram of a function's run times, and the threshold on its scores.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ScoredHistogram {
    /// Histogram.
    histogram: Histogram,
    /// Threshold of the last judgement; after a merge the higher of both.
    threshold: f64,
}

impl Default for ScoredHistogram {
    fn default() -> Self {
        ScoredHistogram {
            histogram: Histogram::default(),
            threshold: 1.00001_f64.log2(),
        }
    }
}

impl ScoredHistogram {
    /// Creates a model from a histogram and a threshold.
    pub fn new(histogram: Histogram, threshold: f64) -> Self {
        ScoredHistogram {
            histogram,
            threshold,
        }
    }

    /// Returns the histogram of run times in microseconds.
    pub fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    /// Returns the threshold of the last judgement, initially `log2(1.00001)`. It is the highest
    /// threshold so far if [`StrictParams::keep_threshold`](crate::StrictParams::keep_threshold) is
    /// on. A merge keeps the higher one.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    pub(crate) fn add(&mut self, batch: &Histogram) {
        self.histogram.merge(batch);
    }

    pub(crate) fn set_threshold(&mut self, threshold: f64) {
        self.threshold = threshold;
    }

    fn encode(&self, to: &mut Writer) {
        to.f64(self.threshold);
        self.histogram.encode(to);
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self> {
        let threshold = from.f64("a threshold")?;
        if threshold.is_finite() {
            Ok(Self::new(Histogram::decode(from)?, threshold))
        } else {
            Err(from.error(8, "a finite threshold").into())
        }
    }
}

impl Merge for ScoredHistogram {
    fn merge(&mut self, other: &Self) {
        self.histogram.merge(&other.histogram);
        self.threshold = self.threshold.max(other.threshold);
    }
}

/// Knowledge of a detector about each function: a snapshot, a delta for a parameter server, or a
/// view of the server.
///
/// The order of merges, and thus sharing between several detectors instead of using one, has these
/// effects:
///
/// | model | merge |
/// |---|---|
/// | [`Tail`](Self::Tail) | exact: counts are added, any order gives the same bytes |
/// | [`Sstd`](Self::Sstd) | exact up to rounding, about 1e-12 relative |
/// | [`Hbos`](Self::Hbos), [`Copod`](Self::Copod) | totals, extremes and thresholds exact; each merge moves a count by up to one bin |
/// | [`Own`](Self::Own) | nothing to merge |
///
/// ```
/// use perf_anomaly::{Detector, FunctionId, Model, Sample, Sstd};
/// use perf_core::Nanos;
/// let mut rank = Sstd::default();
/// rank.learn(&[Sample { function: FunctionId(3), runtime: Nanos(5_000), first: false }]);
/// let bytes = rank.take_delta().encode();
/// let mut server = Model::decode(&bytes)?;
/// server.merge(&Model::decode(&bytes)?)?;
/// let Model::Sstd(moments) = &server else { unreachable!() };
/// assert_eq!(moments.get(FunctionId(3)).map(|m| (m.count(), m.mean())), Some((2, 5.0)));
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Model {
    /// Model of [`Tail`](crate::Tail): a sketch of run times in nanoseconds.
    Tail(Functions<Sketch>),
    /// Model of [`Sstd`](crate::Sstd): moments of run times in microseconds.
    Sstd(Functions<Moments>),
    /// Model of [`Hbos`](crate::Hbos): a histogram of run times in microseconds.
    Hbos(Functions<ScoredHistogram>),
    /// Model of [`Copod`](crate::Copod): a histogram of run times in microseconds.
    Copod(Functions<ScoredHistogram>),
    /// Model of a detector that does not share it, such as a user-defined one: it has no functions
    /// and cannot be merged.
    Own,
}

impl Model {
    /// Returns the name of the detector.
    pub fn name(&self) -> &'static str {
        match self {
            Model::Tail(_) => "tail",
            Model::Sstd(_) => "sstd",
            Model::Hbos(_) => "hbos",
            Model::Copod(_) => "copod",
            Model::Own => "own",
        }
    }

    /// Returns the number of functions.
    pub fn len(&self) -> usize {
        match self {
            Model::Tail(functions) => functions.len(),
            Model::Sstd(functions) => functions.len(),
            Model::Hbos(functions) | Model::Copod(functions) => functions.len(),
            Model::Own => 0,
        }
    }

    /// Returns the memory in bytes: for each function its entry, and the buckets of its sketch or
    /// the bins of its histogram. It depends on the number of functions and the spread of their run
    /// times, not on the number of calls. A detector has one model, and if it shares its knowledge
    /// also the part that has not been sent yet; see
    /// [`Server::memory`](crate::server::Server::memory) for a server.
    ///
    /// ```
    /// use perf_anomaly::{Detector, FunctionId, Sample, Tail};
    /// use perf_core::Nanos;
    /// let mut tail = Tail::default();
    /// let mut learn = |function| {
    ///     let call = |k: i64| Sample { function: FunctionId(function), runtime: Nanos(5_000 + k), first: false };
    ///     tail.learn(&(0..1_000).map(call).collect::<Vec<_>>());
    ///     tail.snapshot().memory()
    /// };
    /// let one = learn(0);
    /// assert_eq!(learn(0), one);
    /// assert!(learn(1) > one && one < 1_000, "{one}");
    /// # Ok::<(), perf_anomaly::Error>(())
    /// ```
    pub fn memory(&self) -> usize {
        match self {
            Model::Tail(functions) => functions.memory(Sketch::heap),
            Model::Sstd(functions) => functions.memory(|_| 0),
            Model::Hbos(functions) | Model::Copod(functions) => {
                functions.memory(|one| one.histogram.heap())
            }
            Model::Own => 0,
        }
    }

    /// Returns `true` if there are no functions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds the knowledge of another model.
    ///
    /// # Errors
    /// Returns [`Error::OtherModel`] if it belongs to another detector; the model is then
    /// unchanged.
    pub fn merge(&mut self, other: &Model) -> Result<()> {
        match (self, other) {
            (Model::Tail(mine), Model::Tail(theirs)) => mine.merge(theirs),
            (Model::Sstd(mine), Model::Sstd(theirs)) => mine.merge(theirs),
            (Model::Hbos(mine), Model::Hbos(theirs)) => mine.merge(theirs),
            (Model::Copod(mine), Model::Copod(theirs)) => mine.merge(theirs),
            (Model::Own, Model::Own) => {}
            (mine, theirs) => return Err(other_model(mine.name(), theirs)),
        }
        Ok(())
    }

    /// Returns the model with other function numbers, such as those of a server, which are common
    /// to all ranks. Functions with the same new number are merged; functions for which `number`
    /// returns `None` are dropped.
    pub fn renumbered(&self, number: impl Fn(FunctionId) -> Option<FunctionId>) -> Model {
        fn map<T: Merge>(
            functions: &Functions<T>,
            number: impl Fn(FunctionId) -> Option<FunctionId>,
        ) -> Functions<T> {
            let mut renumbered = Functions::default();
            for (function, entry) in functions.iter() {
                if let Some(function) = number(function) {
                    renumbered.entry(function, T::default).merge(entry);
                }
            }
            renumbered
        }
        match self {
            Model::Tail(functions) => Model::Tail(map(functions, number)),
            Model::Sstd(functions) => Model::Sstd(map(functions, number)),
            Model::Hbos(functions) => Model::Hbos(map(functions, number)),
            Model::Copod(functions) => Model::Copod(map(functions, number)),
            Model::Own => Model::Own,
        }
    }

    /// Returns an empty model of the same detector.
    pub fn emptied(&self) -> Model {
        match self {
            Model::Tail(_) => Model::Tail(Functions::default()),
            Model::Sstd(_) => Model::Sstd(Functions::default()),
            Model::Hbos(_) => Model::Hbos(Functions::default()),
            Model::Copod(_) => Model::Copod(Functions::default()),
            Model::Own => Model::Own,
        }
    }

    /// Replaces the entries of the functions that a newer model contains.
    pub(crate) fn replace(&mut self, newer: &Model) -> Result<()> {
        match (self, newer) {
            (Model::Tail(mine), Model::Tail(theirs)) => mine.replace(theirs),
            (Model::Sstd(mine), Model::Sstd(theirs)) => mine.replace(theirs),
            (Model::Hbos(mine), Model::Hbos(theirs)) => mine.replace(theirs),
            (Model::Copod(mine), Model::Copod(theirs)) => mine.replace(theirs),
            (Model::Own, Model::Own) => {}
            (mine, theirs) => return Err(other_model(mine.name(), theirs)),
        }
        Ok(())
    }

    /// Returns the knowledge about the functions for which `is_wanted` returns `true`.
    pub(crate) fn filtered(&self, is_wanted: impl Fn(FunctionId) -> bool) -> Model {
        match self {
            Model::Tail(functions) => Model::Tail(functions.filtered(is_wanted)),
            Model::Sstd(functions) => Model::Sstd(functions.filtered(is_wanted)),
            Model::Hbos(functions) => Model::Hbos(functions.filtered(is_wanted)),
            Model::Copod(functions) => Model::Copod(functions.filtered(is_wanted)),
            Model::Own => Model::Own,
        }
    }

    /// Returns `true` if the numbers of all functions are below `end`.
    pub(crate) fn is_below(&self, end: u64) -> bool {
        match self {
            Model::Tail(functions) => functions.is_below(end),
            Model::Sstd(functions) => functions.is_below(end),
            Model::Hbos(functions) | Model::Copod(functions) => functions.is_below(end),
            Model::Own => true,
        }
    }

    /// Calls `take` with each function, in unspecified order.
    pub(crate) fn each_function(&self, mut take: impl FnMut(FunctionId)) {
        match self {
            Model::Tail(functions) => functions.unordered().for_each(|(one, _)| take(one)),
            Model::Sstd(functions) => functions.unordered().for_each(|(one, _)| take(one)),
            Model::Hbos(functions) | Model::Copod(functions) => {
                functions.unordered().for_each(|(one, _)| take(one));
            }
            Model::Own => {}
        }
    }

    /// Returns the functions in ascending order.
    pub fn functions(&self) -> Vec<FunctionId> {
        fn ids<T>(functions: &Functions<T>) -> Vec<FunctionId> {
            functions.iter().map(|(function, _)| function).collect()
        }
        match self {
            Model::Tail(functions) => ids(functions),
            Model::Sstd(functions) => ids(functions),
            Model::Hbos(functions) | Model::Copod(functions) => ids(functions),
            Model::Own => Vec::new(),
        }
    }

    /// Halves the counts of each function until it has at most `calls` calls, so that old calls
    /// have less weight. A view that lives longer than a detector's
    /// [`memory`](crate::TailParams::memory) needs this after merges. Only [`Model::Tail`] is
    /// changed.
    pub fn forget(&mut self, calls: u64) {
        if let Model::Tail(functions) = self {
            for (_, sketch) in functions.entries_mut() {
                while sketch.count() > calls {
                    sketch.halve();
                }
            }
        }
    }

    /// Encodes the model: a magic number, a version, the kind, and the functions in order. Equal
    /// models give equal bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Writer::default();
        self.write(&mut to);
        to.0
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        let kind = match self {
            Model::Tail(_) => 0,
            Model::Sstd(_) => 1,
            Model::Hbos(_) => 2,
            Model::Copod(_) => 3,
            Model::Own => 4,
        };
        to.u32(MAGIC);
        to.u16(VERSION);
        to.u8(kind);
        match self {
            Model::Tail(functions) => functions.write(to, Sketch::encode),
            Model::Sstd(functions) => functions.write(to, Moments::encode),
            Model::Hbos(functions) | Model::Copod(functions) => {
                functions.write(to, ScoredHistogram::encode);
            }
            Model::Own => {}
        }
    }

    /// Decodes the bytes of [`encode`](Self::encode).
    ///
    /// # Errors
    /// Returns [`Error::Decode`] with the offset of the invalid bytes. No number in the bytes can
    /// cause an allocation larger than their content justifies.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut from = Reader::new(bytes);
        let model = Self::read(&mut from)?;
        from.end()?;
        Ok(model)
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self> {
        if from.u32("the signature of a model")? != MAGIC {
            return Err(from.error(4, "the signature of a model").into());
        }
        if from.u16("a version")? != VERSION {
            return Err(from.error(2, "version 2 of a model").into());
        }
        match from.u8("the kind of a model")? {
            0 => Functions::read(from, Sketch::LEAST, Sketch::decode).map(Model::Tail),
            1 => Functions::read(from, 1, Moments::decode).map(Model::Sstd),
            2 => Functions::read(from, 8, ScoredHistogram::decode).map(Model::Hbos),
            3 => Functions::read(from, 8, ScoredHistogram::decode).map(Model::Copod),
            4 => Ok(Model::Own),
            _ => Err(from.error(1, "the kind of a model").into()),
        }
    }

    pub(crate) fn as_tail(&self) -> Result<&Functions<Sketch>> {
        match self {
            Model::Tail(functions) => Ok(functions),
            other => Err(other_model("tail", other)),
        }
    }

    pub(crate) fn as_sstd(&self) -> Result<&Functions<Moments>> {
        match self {
            Model::Sstd(functions) => Ok(functions),
            other => Err(other_model("sstd", other)),
        }
    }

    pub(crate) fn as_hbos(&self) -> Result<&Functions<ScoredHistogram>> {
        match self {
            Model::Hbos(functions) => Ok(functions),
            other => Err(other_model("hbos", other)),
        }
    }

    pub(crate) fn as_copod(&self) -> Result<&Functions<ScoredHistogram>> {
        match self {
            Model::Copod(functions) => Ok(functions),
            other => Err(other_model("copod", other)),
        }
    }
}

fn other_model(expected: &'static str, found: &Model) -> Error {
    Error::OtherModel {
        expected,
        found: found.name(),
    }
}
