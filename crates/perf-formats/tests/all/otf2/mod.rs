//! Tests of OTF2 archives: real and synthetic ones, damaged ones, and ones written by this crate.

#![cfg(feature = "otf2")]

mod agreement;
mod chunks;
mod damage;
mod facts;
mod functions_and_clocks;
mod print;
mod print_agrees;
mod resync;
mod round_trip;
mod unusual_archives;
