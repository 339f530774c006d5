//! The errors of this crate.

/// What can be wrong with parameters, snapshots or stores. Events are never an error: what is
/// wrong with a stream is repaired and counted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter out of its range.
    #[error("{name} is {value}, but must be {range}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: String,
        /// What is allowed.
        range: &'static str,
    },
    /// Bytes that are no snapshot or delta, or end too early.
    #[error("byte {at}: expected {expected}")]
    Decode {
        /// Where.
        at: usize,
        /// What should be there.
        expected: &'static str,
    },
    /// A model of another detector.
    #[error("expected a model of {expected}, but got one of {found}")]
    OtherModel {
        /// The detector that asks.
        expected: &'static str,
        /// The detector that made the model.
        found: &'static str,
    },
}

/// Results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
