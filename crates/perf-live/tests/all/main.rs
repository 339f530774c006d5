//! Tests of the live server and its clients in one program, which is linked only once.

mod common;
mod crashes;
mod hub;
mod labels;
#[path = "common/labels.rs"]
mod labels_shared;
mod simulate;
mod views;
mod web;
mod wire;
