//! Tests of pages and pictures. They are one program, because each test program is linked
//! separately.

#[cfg(feature = "anomaly")]
mod anomaly;
#[cfg(feature = "fold")]
mod calls;
#[cfg(all(feature = "track", feature = "anomaly"))]
mod contrast;
#[cfg(feature = "fold")]
mod counters;
#[cfg(all(
    feature = "fold",
    feature = "spectral",
    feature = "track",
    feature = "anomaly"
))]
mod golden;
#[cfg(feature = "fold")]
mod message_sizes;
mod sparse_threads;
mod synthetic;
#[cfg(feature = "fold")]
mod timeline;
#[cfg(feature = "spectral")]
mod topology;
#[cfg(feature = "track")]
mod track;
