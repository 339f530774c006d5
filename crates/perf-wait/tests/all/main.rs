//! Tests of waiting, one program: each program is linked by itself.

mod activity;
mod cancel;
mod causes;
mod clocks;
mod common;
mod damage;
mod efficiency;
mod efficiency_epoch;
mod findings;
mod graph;
mod hybrid;
mod imbalance;
mod planted;
mod profiles;
mod programs;
mod stragglers;
mod synthetic;
mod threads;
mod training;
mod waits;
mod whatif;
