//! Tests of Chrome traces: synthetic ones, those of the corpus, and ones written by this crate.

#![cfg(feature = "chrome")]

mod damage;
mod devices;
mod facts;
mod ids;
mod phases;
mod round_trip;
