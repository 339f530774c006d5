//! Conversion of the codes of OTF2 for kinds, roles, paradigms and modes, in both directions.

use perf_core::{GroupKind, LocationKind, MetricMode, Paradigm, RegionRole};

pub(crate) fn group_kind(code: u8) -> GroupKind {
    match code {
        1 => GroupKind::Process,
        2 => GroupKind::Accelerator,
        _ => GroupKind::Unknown,
    }
}

pub(crate) fn of_group_kind(kind: GroupKind) -> u8 {
    match kind {
        GroupKind::Process => 1,
        GroupKind::Accelerator => 2,
        _ => 0,
    }
}

pub(crate) fn location_kind(code: u8) -> LocationKind {
    match code {
        1 => LocationKind::CpuThread,
        2 => LocationKind::AcceleratorStream,
        3 => LocationKind::Metric,
        _ => LocationKind::Unknown,
    }
}

pub(crate) fn of_location_kind(kind: LocationKind) -> u8 {
    match kind {
        LocationKind::CpuThread => 1,
        LocationKind::AcceleratorStream => 2,
        LocationKind::Metric => 3,
        _ => 0,
    }
}

/// Codes of region roles. If several codes map to one role, the first is written.
const ROLES: [(u8, RegionRole); 16] = [
    (0, RegionRole::Unknown),
    (1, RegionRole::Function),
    (2, RegionRole::Wrapper),
    (3, RegionRole::Loop),
    (5, RegionRole::Parallel),
    (15, RegionRole::Barrier),
    (16, RegionRole::Barrier),
    (20, RegionRole::Task),
    (23, RegionRole::Collective),
    (24, RegionRole::Collective),
    (25, RegionRole::Collective),
    (26, RegionRole::Collective),
    (27, RegionRole::FileIo),
    (28, RegionRole::PointToPoint),
    (29, RegionRole::Rma),
    (30, RegionRole::DataTransfer),
];

pub(crate) fn role(code: u8) -> RegionRole {
    let found = ROLES.iter().find(|(number, _)| *number == code);
    found.map_or(RegionRole::Other(code), |(_, role)| *role)
}

pub(crate) fn of_role(role: RegionRole) -> u8 {
    match role {
        RegionRole::Other(code) => code,
        role => ROLES
            .iter()
            .find(|(_, other)| *other == role)
            .map_or(0, |(code, _)| *code),
    }
}

/// Role and paradigm for each region type of version 1.0. A function there could belong to any
/// paradigm, and the type does not record it.
const OLD_REGIONS: [(u8, u8); 36] = [
    (0, 0),
    (1, 0),
    (3, 1),
    (1, 0),
    (27, 1),
    (5, 3),
    (3, 3),
    (6, 3),
    (7, 3),
    (8, 3),
    (9, 3),
    (11, 3),
    (12, 3),
    (14, 3),
    (15, 3),
    (16, 3),
    (17, 3),
    (13, 3),
    (10, 3),
    (2, 3),
    (20, 3),
    (22, 3),
    (15, 4),
    (23, 4),
    (24, 4),
    (25, 4),
    (26, 4),
    (4, 1),
    (4, 1),
    (4, 1),
    (3, 1),
    (1, 1),
    (3, 1),
    (21, 3),
    (18, 3),
    (19, 3),
];

/// Returns role and paradigm of a region type of version 1.0, or `None` if there is no such type.
pub(crate) fn old_region(code: u8) -> Option<(u8, u8)> {
    OLD_REGIONS.get(usize::from(code)).copied()
}

const PARADIGMS: [(u8, Paradigm); 14] = [
    (0, Paradigm::Unknown),
    (1, Paradigm::User),
    (2, Paradigm::Compiler),
    (3, Paradigm::OpenMp),
    (4, Paradigm::Mpi),
    (5, Paradigm::Cuda),
    (6, Paradigm::Measurement),
    (7, Paradigm::Pthread),
    (13, Paradigm::Shmem),
    (18, Paradigm::OpenAcc),
    (19, Paradigm::OpenCl),
    (21, Paradigm::Sampling),
    (23, Paradigm::Hip),
    (24, Paradigm::Kokkos),
];

pub(crate) fn paradigm(code: u8) -> Paradigm {
    let found = PARADIGMS.iter().find(|(number, _)| *number == code);
    found.map_or(Paradigm::Other(code), |(_, paradigm)| *paradigm)
}

pub(crate) fn of_paradigm(paradigm: Paradigm) -> u8 {
    match paradigm {
        Paradigm::Other(code) => code,
        known => PARADIGMS
            .iter()
            .find(|(_, other)| *other == known)
            .map_or(0, |(code, _)| *code),
    }
}

/// Converts a metric mode. The low four bits give the reference of a value, the high ones the time
/// span that it covers. All spans are accepted on reading; the usual one is written.
pub(crate) fn metric_mode(code: u8) -> MetricMode {
    match (code & 15, code >> 4) {
        (0, 0..=3) => MetricMode::Accumulated,
        (1, 0..=3) => MetricMode::Absolute,
        (2, 0..=3) => MetricMode::Relative,
        _ => MetricMode::Other(code),
    }
}

/// Codes for values accumulated from the start, absolute at this point, and relative to the last
/// sample.
pub(crate) fn of_metric_mode(mode: MetricMode) -> u8 {
    match mode {
        MetricMode::Accumulated => 0,
        MetricMode::Absolute => 1 | 1 << 4,
        MetricMode::Relative => 2 | 2 << 4,
        MetricMode::Other(code) => code,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written() {
        for code in 0..=u8::MAX {
            let known = role(code);
            assert_eq!(role(of_role(known)), known);
            assert_eq!(of_paradigm(paradigm(code)), code);
            assert_eq!(
                metric_mode(of_metric_mode(metric_mode(code))),
                metric_mode(code)
            );
            assert_eq!(
                group_kind(of_group_kind(group_kind(code))),
                group_kind(code)
            );
            assert_eq!(
                location_kind(of_location_kind(location_kind(code))),
                location_kind(code)
            );
        }
    }
}
