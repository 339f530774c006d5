//! [`Verdict`]: what became of an input.

use perfkit::formats::Error;

/// What became of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was read.
    Value,
    /// It was read, and what was repaired, lost or noted was counted.
    Repair,
    /// An error with its place.
    Refused,
    /// An error without its place: a fault.
    Unlocated(String),
}

impl Verdict {
    /// The verdict about an error of a reader: content that is cut off or wrong needs a byte or a
    /// record, all else a file.
    pub fn of(error: &Error) -> Self {
        let is_located = error.place().is_some_and(|place| {
            let is_content = matches!(error, Error::Truncated { .. } | Error::Malformed { .. });
            let inside = place.offset.is_some() || place.record.is_some();
            !place.file.is_empty() && (inside || !is_content)
        });
        match is_located {
            true => Verdict::Refused,
            false => Verdict::Unlocated(error.to_string()),
        }
    }

    /// The verdict about an error of a profile: rows are read late, so it may be one of a reader.
    pub fn of_row(error: &perfkit::core::Error) -> Self {
        if let perfkit::core::Error::Read(source) = error
            && let Some(error) = source.downcast_ref::<Error>()
        {
            return Verdict::of(error);
        }
        Verdict::Unlocated(error.to_string())
    }

    /// The worse of two.
    pub fn and(self, other: Verdict) -> Self {
        match (&self, &other) {
            (Verdict::Unlocated(_), _) => self,
            (_, Verdict::Unlocated(_)) | (Verdict::Value, _) => other,
            _ => self,
        }
    }
}
