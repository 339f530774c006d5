//! Tests of the examples. They are one program, because each test program is linked separately.

mod cookbook_golden;
mod golden;
mod instrument;
mod walkthrough_golden;
