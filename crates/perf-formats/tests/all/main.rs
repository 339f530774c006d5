//! Tests of readers and writers, in one program to save link time.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it should"
)]

mod adios;
mod agreement;
#[path = "common/archives.rs"]
mod archives;
mod chrome;
mod chrome_back;
mod chrome_damage;
mod chrome_devices;
mod chrome_facts;
mod chrome_ids;
mod chunks;
mod cube;
mod cube_facts;
mod damage;
mod edges;
mod facts;
mod functions_and_clocks;
#[path = "common/gpu.rs"]
mod gpu;
#[path = "common/made.rs"]
mod made;
mod nsys;
mod otf2_print;
mod otf2_print_agrees;
mod otf2_round_trip;
mod paraver;
mod paraver_back;
mod paraver_clustered;
mod paraver_facts;
mod paraver_many;
mod perfetto;
mod resync;
mod rocprof;
#[path = "common/seen.rs"]
mod seen;
mod streams;
mod tau;
#[path = "common/two_tasks.rs"]
mod two_tasks;
