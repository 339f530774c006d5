//! Generated recordings and the corpus, for the tests and benches of perfkit.
#![doc(html_root_url = "../")]

pub mod bundled;
pub mod cancel;
pub mod clusters;
pub mod corpus;
pub mod damage;
pub mod kineto;
pub mod many_ranks;
pub mod memory;
pub mod paraver;
pub mod planted;
pub mod random;
pub mod ring;
pub mod xorshift;
