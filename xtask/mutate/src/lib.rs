//! What must survive any input: readers, decoders and the analyses of what they read. The program of
//! this package damages recordings for it, the fuzzers invent them.

pub mod analyse;
pub mod layers;
pub mod live;
pub mod made;
pub mod places;
pub mod recordings;
pub mod seeds;
pub mod verdict;
