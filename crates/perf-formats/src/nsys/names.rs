//! Names of copies, memory fills and waits for the codes of CUPTI; [`nvtx`]: codes of the kinds of
//! NVTX events.

/// Returns the name of a copy, as in Kineto.
pub(super) fn copy(kind: Option<i64>, from: Option<i64>, to: Option<i64>) -> String {
    let known = |kind: i64| {
        Some(match kind {
            1 => "HtoD",
            2 => "DtoH",
            3 => "HtoA",
            4 => "AtoH",
            5 => "AtoA",
            6 => "AtoD",
            7 => "DtoA",
            8 => "DtoD",
            9 => "HtoH",
            10 => "PtoP",
            11 => "unified HtoD",
            12 => "unified DtoH",
            13 => "unified DtoD",
            _ => return None,
        })
    };
    let mut name = String::from("Memcpy");
    if let Some(kind) = kind.and_then(known) {
        name += &format!(" {kind}");
    }
    if let (Some(from), Some(to)) = (from.and_then(memory), to.and_then(memory)) {
        name += &format!(" ({from} -> {to})");
    }
    name
}

/// Returns the name of a memory fill.
pub(super) fn set(kind: Option<i64>) -> String {
    match kind.and_then(memory) {
        Some(memory) => format!("Memset ({memory})"),
        None => "Memset".into(),
    }
}

fn memory(kind: i64) -> Option<&'static str> {
    Some(match kind {
        0 => "Pageable",
        1 => "Pinned",
        2 => "Device",
        3 => "Array",
        4 => "Managed",
        5 => "Device Static",
        6 => "Managed Static",
        _ => return None,
    })
}

/// Returns the name of a wait.
pub(super) fn wait(kind: Option<i64>) -> &'static str {
    match kind {
        Some(1) => "Event sync",
        Some(2) => "Stream wait sync",
        Some(3) => "Stream sync",
        Some(4) => "Context sync",
        _ => "Synchronization",
    }
}

/// Kinds of NVTX events.
pub(super) mod nvtx {
    pub(in crate::nsys) const CATEGORY: i64 = 33;
    pub(in crate::nsys) const MARK: i64 = 34;
    pub(in crate::nsys) const THREAD: i64 = 39;
    pub(in crate::nsys) const PUSH_POP: i64 = 59;
    pub(in crate::nsys) const START_END: i64 = 60;
    pub(in crate::nsys) const DOMAIN_CREATE: i64 = 75;
    pub(in crate::nsys) const DOMAIN_DESTROY: i64 = 76;
    /// Code of a mark from text files.
    pub(in crate::nsys) const TEXT_MARK: i64 = 65;
    pub(in crate::nsys) const TEXT_PUSH_POP: i64 = 70;
    pub(in crate::nsys) const TEXT_START_END: i64 = 71;
}
