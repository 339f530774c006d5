//! [`Format`]: differences between the versions of the byte encoding of models and messages, which
//! each [`Reader`] carries.

pub(crate) use perf_core::codec::Writer;

/// Reader of bytes with the properties of their format version.
pub(crate) type Reader<'a> = perf_core::codec::Reader<'a, Format>;

/// Properties of a format version. The default is the latest version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    /// `true` if losses contain the number of calls beyond experience, which earlier versions lack.
    pub(crate) has_beyond_experience: bool,
    /// `true` if messages contain run times by step, function and rank, which earlier versions lack.
    pub(crate) has_times: bool,
    /// `true` if series of run times contain the function that lost the most time, which earlier
    /// versions lack.
    pub(crate) has_worst_functions: bool,
    /// `true` if that function has its expected time, which earlier versions lack.
    pub(crate) has_worst_times: bool,
    /// `true` if messages contain the time lost in new modes and that of functions by step, and run times the
    /// number of steps that are compared as one, which earlier versions lack.
    pub(crate) has_modes: bool,
    /// `true` if messages contain the calls of new modes, which earlier versions lack.
    pub(crate) has_mode_calls: bool,
    /// `true` if losses contain the time of waiting, which earlier versions count as time lost, and messages contain
    /// changes of functions.
    pub(crate) has_changes: bool,
    /// `true` if messages contain statistics of counters, which earlier versions lack.
    pub(crate) has_counters: bool,
    /// `true` if messages contain the slow calls outside of modes, which earlier versions lack.
    pub(crate) has_slow_calls: bool,
    /// `true` if a server has the number of ranks that reported each step, which later versions lack.
    pub(crate) has_reports: bool,
}

impl Default for Format {
    fn default() -> Self {
        Format {
            has_beyond_experience: true,
            has_times: true,
            has_worst_functions: true,
            has_worst_times: true,
            has_modes: true,
            has_mode_calls: true,
            has_changes: true,
            has_counters: true,
            has_slow_calls: true,
            has_reports: false,
        }
    }
}
