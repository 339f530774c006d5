//! Tests of the live server and its clients, one program: each program is linked by itself.

mod common;
mod hub;
mod kill;
mod labels;
#[path = "common/labels.rs"]
mod labels_shared;
mod simulate;
mod views;
mod web;
mod wire;
