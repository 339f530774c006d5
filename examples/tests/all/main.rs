//! Tests of the examples, one program: each program is linked by itself.

mod golden;
mod instrument;
