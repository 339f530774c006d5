//! Small synthetic traces with known properties, for examples and for tests of analyses.
//!
//! ```
//! use perf_core::samples::{cosmo, device};
//! let trace = cosmo::trace();
//! assert_eq!(trace.definitions().system.locations().len(), cosmo::RANKS as usize);
//! assert_eq!(device::trace().links().len(), 6);
//! ```

pub mod cosmo;
pub mod device;
