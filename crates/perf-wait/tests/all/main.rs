//! Tests of waiting, one program: each program is linked by itself.

mod activity;
mod cancel;
mod clocks;
mod common;
mod damage;
mod efficiency;
mod findings;
mod profiles;
mod synthetic;
mod threads;
mod waits;
mod whatif;
