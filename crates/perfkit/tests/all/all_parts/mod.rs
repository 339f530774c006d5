//! Tests of all readers and analyses: cancellation, numbers of threads, and builds without threads.

mod cancel;
#[cfg(feature = "linfa")]
mod linfa;
mod results;
mod serial;
mod threads;
mod work;
