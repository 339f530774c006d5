//! Tests of bursts: extraction, metrics, and recorded programs.

mod extraction;
mod metrics;
mod naive;
mod recorded;
