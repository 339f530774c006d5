//! Tests of the conversion of event streams to calls: repairs, damage and replay.

mod calls;
mod calls_laws;
mod damage;
mod iterations;
mod replay;
mod streams;
mod times;
