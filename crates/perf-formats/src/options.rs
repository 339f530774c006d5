//! How a recording is opened.

use crate::{Error, Result};
use perf_core::{Diagnostics, Limits, TimeRange, Unify};

/// How a recording is opened: what to read of it, and what to put up with.
///
/// ```
/// use perf_core::{Limits, Ticks, TimeRange};
/// use perf_formats::OpenOptions;
/// let first_second = TimeRange::new(Ticks(0), Ticks(1_000_000_000));
/// let options = OpenOptions::new()
///     .strict(true)
///     .window(first_second)
///     .limits(Limits::default().with_memory(1 << 30));
/// assert!(options.is_strict());
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    strict: bool,
    limits: Limits,
    window: Option<TimeRange>,
    locations: Option<Vec<u64>>,
    threads: usize,
    unify: Unify,
}

impl OpenOptions {
    /// All of the recording, tolerantly, on all cores.
    pub fn new() -> Self {
        OpenOptions::default()
    }

    /// Whether the first repair or loss is an error, [`Error::Strict`]. Default: false, and all of
    /// them are counted.
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// What the recording may cost. Default: [`Limits::default`].
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Keeps only events inside a window of corrected time. Default: all.
    ///
    /// **Calls that began before the window are unknown.** What lies before is skipped without being
    /// decoded, so that a call which spans the whole window leaves no event in it, and one that ends
    /// in it is a leave without its enter. To have the frames that are open at the edges, read
    /// everything and look through [`TraceView::between`](perf_core::TraceView::between), or
    /// [cut](crate::otf2::cut) the archive, which enters and leaves them at the edges.
    pub fn window(mut self, window: impl Into<Option<TimeRange>>) -> Self {
        self.window = window.into();
        self
    }

    /// Keeps only events of these locations, by their [`key`](perf_core::Location::key); the other
    /// ones stay defined and are absent. Default: all.
    pub fn locations(mut self, keys: impl Into<Option<Vec<u64>>>) -> Self {
        self.locations = keys.into().map(|mut keys| {
            keys.sort_unstable();
            keys
        });
        self
    }

    /// Number of threads to read with; 0, the default, is as many as there are cores. What is read
    /// does not depend on it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Sets the rule that decides which regions are one, for formats in which each rank may define its own:
    /// OTF2, whose reader also keeps regions of different paradigms and mangled names apart. Default:
    /// [`Unify::Location`].
    pub fn unify(mut self, unify: Unify) -> Self {
        self.unify = unify;
        self
    }

    /// See [`strict`](Self::strict).
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// See [`limits`](Self::limits).
    pub fn get_limits(&self) -> &Limits {
        &self.limits
    }

    /// See [`window`](Self::window): all of time unless one was set.
    pub fn get_window(&self) -> TimeRange {
        self.window.unwrap_or(TimeRange::ALL)
    }

    /// See [`threads`](Self::threads).
    pub fn get_threads(&self) -> usize {
        self.threads
    }

    /// See [`unify`](Self::unify).
    pub fn get_unify(&self) -> Unify {
        self.unify
    }

    /// Whether the location called `key` is to be read.
    pub fn wants(&self, key: u64) -> bool {
        let keys = self.locations.as_ref();
        keys.is_none_or(|keys| keys.binary_search(&key).is_ok())
    }
}

/// What readers do with the options, those of a format of your own too.
impl OpenOptions {
    /// In strict mode, the first repair or loss as an error. A reader calls it when it is done, with all
    /// that it found.
    ///
    /// ```
    /// use perf_core::{Diagnostics, Place, Rule, Weight};
    /// use perf_formats::OpenOptions;
    /// const CUT: Rule = Rule { name: "cut", what: "the last line is cut", weight: Weight::Loss };
    /// let mut found = Diagnostics::default();
    /// found.add(CUT, Place::file("jobs.txt").at(118));
    /// assert!(OpenOptions::new().judge(&found).is_ok());
    /// let error = OpenOptions::new().strict(true).judge(&found).expect_err("one line is cut");
    /// assert_eq!(error.to_string(), "jobs.txt, byte 118: the last line is cut (cut)");
    /// ```
    ///
    /// # Errors
    /// [`Error::Strict`].
    pub fn judge(&self, found: &Diagnostics) -> Result<()> {
        match self.strict {
            true => judge(found),
            false => Ok(()),
        }
    }
}

/// The first repair or loss, as an error.
pub(crate) fn judge(found: &Diagnostics) -> Result<()> {
    let mut bad = found.iter().filter(|(rule, _)| rule.weight.is_repair());
    match bad.next() {
        Some((rule, finding)) => Err(Error::Strict {
            rule,
            place: finding.places.first().cloned().unwrap_or_default(),
        }),
        None => Ok(()),
    }
}
