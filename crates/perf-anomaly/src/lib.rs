//! Which calls, on which rank, are abnormal, right now?
//!
//! A [`Sample`] is a completed call; a detector answers with a [`Judgement`].

mod error;
mod sample;

pub use error::{Error, Result};
pub use sample::{FunctionId, Judgement, Label, Sample};
