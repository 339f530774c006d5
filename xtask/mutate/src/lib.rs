//! Robustness tests: readers, decoders and analyses must survive any input. The program of this
//! package damages recordings; the fuzzers generate inputs.

pub mod analyse;
pub mod generated;
pub mod layers;
pub mod live;
pub mod places;
pub mod recordings;
pub mod seeds;
pub mod verdict;
