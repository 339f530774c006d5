//! Labels of many ranks that share over HTTP equal those of one detector of all calls.
#![cfg(all(feature = "server", feature = "client"))]

use crate::labels_shared as labels;

#[test]
fn labels_of_80_ranks_are_those_of_one() {
    labels::compare(80, 120, "80");
}
