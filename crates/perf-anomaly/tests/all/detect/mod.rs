//! Tests of the detectors: rates of false alarms, recall, laws, and labels of Chimbuko.

mod again;
mod calibration;
mod drift;
mod experience;
mod laws;
mod oracle;
mod own;
mod power;
mod programs;
mod scenarios;
mod sizes;
