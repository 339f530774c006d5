//! Byte encoding of models and messages: [`perf_core::codec`] with the differences between
//! versions.

pub(crate) use perf_core::codec::Writer;

/// Reader of bytes of a given version.
pub(crate) type Reader<'a> = perf_core::codec::Reader<'a, Format>;

/// Properties of a version. The default is the latest version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    /// `true` if losses contain the number of calls beyond experience, which earlier versions lack.
    pub(crate) has_beyond_experience: bool,
}

impl Default for Format {
    fn default() -> Self {
        Format {
            has_beyond_experience: true,
        }
    }
}
