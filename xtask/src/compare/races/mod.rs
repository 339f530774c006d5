//! Races of perfkit and established tools, one module for each kind of input or method.

pub(super) mod adios;
pub(super) mod anomaly;
pub(super) mod cluster;
pub(super) mod cube;
pub(super) mod gpu;
pub(super) mod live;
pub(super) mod otf2;
pub(super) mod paraver;
pub(super) mod spectral;
