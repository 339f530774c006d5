//! The comparison of `labels` with as many ranks as a large job has.
#![cfg(all(feature = "server", feature = "client"))]

#[path = "all/common/mod.rs"]
mod common;
#[path = "all/common/labels.rs"]
mod labels;

#[test]
fn labels_of_2560_ranks_are_those_of_one() {
    labels::compare(2560, 40, "2560");
}
