//! [`Verdict`]: result of reading damaged input: a value, counted repairs, an error with its
//! location, or one without, which is a fault.

use perfkit::formats::Error;

/// Result of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was read without findings.
    Value,
    /// It was read, and repairs, losses or remarks were counted.
    Repair,
    /// An error that names its location.
    Refused,
    /// An error that does not name its location, which is a fault.
    Unlocated(String),
}

impl Verdict {
    /// Returns the verdict on an error of a reader. Truncated or malformed content must be located
    /// by a byte or record, other errors by a file.
    pub fn of(error: &Error) -> Self {
        let is_located = error.place().is_some_and(|place| {
            let is_content = matches!(error, Error::Truncated { .. } | Error::Malformed { .. });
            let inside = place.offset.is_some() || place.record.is_some();
            !place.file.is_empty() && (inside || !is_content)
        });
        if is_located {
            Verdict::Refused
        } else {
            Verdict::Unlocated(error.to_string())
        }
    }

    /// Returns the verdict on an error of a profile. Rows are loaded on request, so it may be an
    /// error of a reader.
    pub fn of_row(error: &perfkit::core::Error) -> Self {
        if let perfkit::core::Error::Read(source) = error
            && let Some(error) = source.downcast_ref::<Error>()
        {
            return Verdict::of(error);
        }
        Verdict::Unlocated(error.to_string())
    }

    /// Returns the worse of two verdicts.
    pub fn and(self, other: Verdict) -> Self {
        match (&self, &other) {
            (Verdict::Unlocated(_), _) => self,
            (_, Verdict::Unlocated(_)) | (Verdict::Value, _) => other,
            _ => self,
        }
    }
}
