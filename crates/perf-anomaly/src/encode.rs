//! The bytes of models and messages: [`perf_core::codec`], with what differs between versions.

pub(crate) use perf_core::codec::Writer;

/// Takes numbers from bytes of some version.
pub(crate) type Reader<'a> = perf_core::codec::Reader<'a, Format>;

/// Properties of a version. The default is those of the latest one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    /// Losses have a count of calls beyond experience: those of earlier versions have none.
    pub(crate) has_beyond_experience: bool,
}

impl Default for Format {
    fn default() -> Self {
        Format {
            has_beyond_experience: true,
        }
    }
}
