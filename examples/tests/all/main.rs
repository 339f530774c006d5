//! Tests of the examples, one program: each program is linked by itself.

mod cookbook_golden;
mod golden;
mod instrument;
