//! Tests of tracking on planted and recorded series.

mod epoch;
mod hold_out;
mod planted;
mod presence;
