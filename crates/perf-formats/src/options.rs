//! [`OpenOptions`]: options for opening a recording: the events to read, the limits, the number of
//! threads, and the treatment of damage.

use crate::{Error, Result};
use perf_core::{Diagnostics, Limits, TimeRange, Unify};

perf_core::parameters! {
    /// Options for opening a recording: the events to read, the limits, and the treatment of damaged
    /// input.
    ///
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
    #[derive(Clone, Debug)]
    pub struct OpenOptions {
        /// Sets strict mode, in which the first repair or loss is an [`Error::Strict`]. Default: false;
        /// repairs and losses are counted.
        strict: bool = false,
        /// Reads a truncated Paraver trace as far as it goes, and counts the truncation. Default: false; a
        /// truncated trace is an [`Error::Truncated`], because an analysis of a part may mislead.
        lenient: bool = false,
        /// Sets the limits on the resources that reading may take. Default: [`Limits::default`].
        limits: Limits = Limits::default(),
        /// Keeps only events inside a window of corrected time. Default: all.
        ///
        /// **Calls that began before the window are unknown.** Events before the window are skipped
        /// without being decoded. A call that spans the whole window therefore leaves no event in it,
        /// and a call that ends in it appears as a leave without its enter. To obtain the frames that
        /// are open at the edges, read everything and use
        /// [`TraceView::between`](perf_core::TraceView::between), or [cut](crate::otf2::cut) the
        /// archive, which adds enters and leaves at the edges.
        window: Option<TimeRange> = None => |window: impl Into<Option<TimeRange>>| window.into(),
        /// Sets the number of reading threads. 0, the default, means one for each core. The result does
        /// not depend on it.
        threads: usize = 0,
        /// Sets the rule by which equal regions of several ranks are unified. It applies to formats in
        /// which each rank may define its own regions: OTF2, whose reader also keeps regions of
        /// different paradigms and mangled names apart. Default: [`Unify::Location`].
        unify: Unify = Unify::default(),
    } and {
        /// Keys of the selected locations; `None` for all.
        locations: Option<Vec<u64>> = None,
    }
}

impl OpenOptions {
    /// Returns the defaults: all of the recording, repairing damage, on all cores.
    pub fn new() -> Self {
        OpenOptions::default()
    }

    /// Keeps only events of the locations with these [keys](perf_core::Location::key). The other
    /// locations stay defined and are absent. Default: all.
    pub fn locations(mut self, keys: impl Into<Option<Vec<u64>>>) -> Self {
        self.locations = keys.into().map(|mut keys| {
            keys.sort_unstable();
            keys
        });
        self
    }

    /// Returns `true` in strict mode; see [`strict`](Self::strict).
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// Returns `true` if truncated recordings are read as far as they go.
    pub fn is_lenient(&self) -> bool {
        self.lenient
    }

    /// Returns the limits; see [`limits`](Self::limits).
    pub fn get_limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the window; see [`window`](Self::window). Unless one was set, it covers all of time.
    pub fn get_window(&self) -> TimeRange {
        self.window.unwrap_or(TimeRange::ALL)
    }

    /// Returns the number of threads; see [`threads`](Self::threads).
    pub fn get_threads(&self) -> usize {
        self.threads
    }

    /// Returns the rule of unification; see [`unify`](Self::unify).
    pub fn get_unify(&self) -> Unify {
        self.unify
    }

    /// Returns `true` if the location with this key is to be read.
    pub fn wants(&self, key: u64) -> bool {
        let keys = self.locations.as_ref();
        keys.is_none_or(|keys| keys.binary_search(&key).is_ok())
    }
}

/// Accessors for readers, including those of formats outside this crate.
impl OpenOptions {
    /// Returns the first repair or loss as an error in strict mode. A reader calls this at its end
    /// with all of its diagnostics.
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
    ///
    /// Returns [`Error::Strict`] in strict mode if `found` contains a repair or a loss.
    pub fn judge(&self, found: &Diagnostics) -> Result<()> {
        if self.strict { judge(found) } else { Ok(()) }
    }
}

/// Returns the first repair or loss as an error.
pub(crate) fn judge(found: &Diagnostics) -> Result<()> {
    let mut bad = found.iter().filter(|(rule, _)| rule.weight.is_repair());
    match bad.next() {
        Some((rule, finding)) => Err(Error::Strict {
            rule,
            // Findings merged beyond the kept places have none.
            place: finding.places.first().cloned().unwrap_or_default(),
        }),
        None => Ok(()),
    }
}
