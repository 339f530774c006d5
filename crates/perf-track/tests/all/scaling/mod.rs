//! Tests of scaling models on generated and recorded values.

mod generated;
mod recorded;
