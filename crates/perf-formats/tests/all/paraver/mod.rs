//! Tests of Paraver traces: synthetic ones, those of the corpus, and ones written by this crate.

#![cfg(feature = "paraver")]

mod clustered;
mod export;
mod facts;
mod many_elements;
mod records;
