//! Event records.

use super::{Count, Field, Kind, Record, Space, bare, field, id, list, record};

const REGION: Field = id("region", Space::Region);
const COMM: Field = id("comm", Space::Comm);
const WIN: Field = id("win", Space::RmaWin);
const HANDLE: Field = id("handle", Space::IoHandle);
const CONTEXT: Field = id("calling_context", Space::CallingContext);
const PARAMETER: Field = id("parameter", Space::Parameter);
const REQUEST: Field = field("request", Kind::U64);
const MATCHING: Field = field("matching", Kind::U64);
const TASK: Field = field("task", Kind::U64);
const SENT: Field = field("sent", Kind::U64);
const RECEIVED: Field = field("received", Kind::U64);
const BYTES: Field = field("bytes", Kind::U64);
const LOCK_64: Field = field("lock", Kind::U64);

const OP: Field = byte("op");
const SYNC_LEVEL: Field = byte("sync_level");
const MODEL: Field = byte("model");
const LOCK_TYPE: Field = byte("lock_type");
const MODE: Field = byte("mode");
const ROOT: Field = narrow("root");
const REMOTE: Field = narrow("remote");
const THREADS: Field = narrow("threads");
const LOCK: Field = narrow("lock");
const ORDER: Field = narrow("order");
const UNWIND: Field = narrow("unwind_distance");
const STATUS: Field = narrow("status_flags");

const fn byte(name: &'static str) -> Field {
    field(name, Kind::U8)
}

const fn narrow(name: &'static str) -> Field {
    field(name, Kind::U32)
}

const SEND: &[Field] = &[
    narrow("receiver"),
    COMM,
    narrow("tag"),
    field("length", Kind::U64),
];
const ISEND: &[Field] = &[
    narrow("receiver"),
    COMM,
    narrow("tag"),
    field("length", Kind::U64),
    REQUEST,
];
const RECV: &[Field] = &[
    narrow("sender"),
    COMM,
    narrow("tag"),
    field("length", Kind::U64),
];
const IRECV: &[Field] = &[
    narrow("sender"),
    COMM,
    narrow("tag"),
    field("length", Kind::U64),
    REQUEST,
];
const METRIC: &[Field] = &[
    id("metric", Space::Metric),
    // A value is stored as 64 bits of its type, also for floats. Attribute values are stored
    // differently.
    list(
        "values",
        Count::U8,
        &[byte("type"), field("bits", Kind::U64)],
    ),
];
const RMA_LOCK: &[Field] = &[WIN, REMOTE, LOCK_64, LOCK_TYPE];
const RMA_ACCESS: &[Field] = &[WIN, REMOTE, BYTES, MATCHING];
const RMA_DONE: &[Field] = &[WIN, MATCHING];
const THREAD_LOCK: &[Field] = &[MODEL, LOCK, ORDER];
const THREAD_TASK: &[Field] = &[COMM, narrow("creating_thread"), narrow("generation")];
const THREAD: &[Field] = &[COMM, field("sequence", Kind::U64)];
const IO_STEP: &[Field] = &[HANDLE, MATCHING];
const IO_LOCK: &[Field] = &[HANDLE, LOCK_TYPE];

/// Event records, by ascending id.
pub const EVENTS: &[Record] = &[
    record(10, "BufferFlush", &[field("stop", Kind::Fixed64)]),
    record(11, "MeasurementOnOff", &[MODE]),
    bare(12, "Enter", &[REGION]),
    bare(13, "Leave", &[REGION]),
    record(14, "MpiSend", SEND),
    record(15, "MpiIsend", ISEND),
    bare(16, "MpiIsendComplete", &[REQUEST]),
    bare(17, "MpiIrecvRequest", &[REQUEST]),
    record(18, "MpiRecv", RECV),
    record(19, "MpiIrecv", IRECV),
    bare(20, "MpiRequestTest", &[REQUEST]),
    bare(21, "MpiRequestCancelled", &[REQUEST]),
    record(22, "MpiCollectiveBegin", &[]),
    record(23, "MpiCollectiveEnd", &[OP, COMM, ROOT, SENT, RECEIVED]),
    bare(24, "OmpFork", &[THREADS]),
    record(25, "OmpJoin", &[]),
    record(26, "OmpAcquireLock", &[LOCK, ORDER]),
    record(27, "OmpReleaseLock", &[LOCK, ORDER]),
    bare(28, "OmpTaskCreate", &[TASK]),
    bare(29, "OmpTaskSwitch", &[TASK]),
    bare(30, "OmpTaskComplete", &[TASK]),
    record(31, "Metric", METRIC),
    record(
        32,
        "ParameterString",
        &[PARAMETER, id("string", Space::String)],
    ),
    record(33, "ParameterInt", &[PARAMETER, field("value", Kind::I64)]),
    record(
        34,
        "ParameterUnsignedInt",
        &[PARAMETER, field("value", Kind::U64)],
    ),
    record(35, "RmaWinCreate", &[WIN]),
    record(36, "RmaWinDestroy", &[WIN]),
    record(37, "RmaCollectiveBegin", &[]),
    record(
        38,
        "RmaCollectiveEnd",
        &[OP, SYNC_LEVEL, WIN, ROOT, SENT, RECEIVED],
    ),
    record(
        39,
        "RmaGroupSync",
        &[SYNC_LEVEL, WIN, id("group", Space::Group)],
    ),
    record(40, "RmaRequestLock", RMA_LOCK),
    record(41, "RmaAcquireLock", RMA_LOCK),
    record(42, "RmaTryLock", RMA_LOCK),
    record(43, "RmaReleaseLock", &[WIN, REMOTE, LOCK_64]),
    record(44, "RmaSync", &[WIN, REMOTE, byte("sync_type")]),
    record(45, "RmaWaitChange", &[WIN]),
    record(46, "RmaPut", RMA_ACCESS),
    record(47, "RmaGet", RMA_ACCESS),
    record(
        48,
        "RmaAtomic",
        &[WIN, REMOTE, byte("atomic_type"), SENT, RECEIVED, MATCHING],
    ),
    record(49, "RmaOpCompleteBlocking", RMA_DONE),
    record(50, "RmaOpCompleteNonBlocking", RMA_DONE),
    record(51, "RmaOpTest", RMA_DONE),
    record(52, "RmaOpCompleteRemote", RMA_DONE),
    record(53, "ThreadFork", &[MODEL, THREADS]),
    record(54, "ThreadJoin", &[MODEL]),
    record(55, "ThreadTeamBegin", &[COMM]),
    record(56, "ThreadTeamEnd", &[COMM]),
    record(57, "ThreadAcquireLock", THREAD_LOCK),
    record(58, "ThreadReleaseLock", THREAD_LOCK),
    record(59, "ThreadTaskCreate", THREAD_TASK),
    record(60, "ThreadTaskSwitch", THREAD_TASK),
    record(61, "ThreadTaskComplete", THREAD_TASK),
    record(62, "ThreadCreate", THREAD),
    record(63, "ThreadBegin", THREAD),
    record(64, "ThreadWait", THREAD),
    record(65, "ThreadEnd", THREAD),
    record(66, "CallingContextEnter", &[CONTEXT, UNWIND]),
    record(67, "CallingContextLeave", &[CONTEXT]),
    record(
        68,
        "CallingContextSample",
        &[
            CONTEXT,
            UNWIND,
            id("interrupt_generator", Space::InterruptGenerator),
        ],
    ),
    record(
        69,
        "IoCreateHandle",
        &[HANDLE, MODE, narrow("creation_flags"), STATUS],
    ),
    record(70, "IoDestroyHandle", &[HANDLE]),
    record(
        71,
        "IoDuplicateHandle",
        &[
            id("old_handle", Space::IoHandle),
            id("new_handle", Space::IoHandle),
            STATUS,
        ],
    ),
    record(
        72,
        "IoSeek",
        &[
            HANDLE,
            field("offset", Kind::I64),
            byte("whence"),
            field("result", Kind::U64),
        ],
    ),
    record(73, "IoChangeStatusFlags", &[HANDLE, STATUS]),
    record(
        74,
        "IoDeleteFile",
        &[byte("paradigm"), id("file", Space::IoFile)],
    ),
    record(
        75,
        "IoOperationBegin",
        &[HANDLE, MODE, narrow("flags"), BYTES, MATCHING],
    ),
    record(76, "IoOperationTest", IO_STEP),
    record(77, "IoOperationIssued", IO_STEP),
    record(78, "IoOperationComplete", &[HANDLE, BYTES, MATCHING]),
    record(79, "IoOperationCancelled", IO_STEP),
    record(80, "IoAcquireLock", IO_LOCK),
    record(81, "IoReleaseLock", IO_LOCK),
    record(82, "IoTryLock", IO_LOCK),
    record(
        83,
        "ProgramBegin",
        &[
            id("name", Space::String),
            list("arguments", Count::U32, &[id("argument", Space::String)]),
        ],
    ),
    record(84, "ProgramEnd", &[field("exit_status", Kind::I64)]),
    record(85, "NonBlockingCollectiveRequest", &[REQUEST]),
    record(
        86,
        "NonBlockingCollectiveComplete",
        &[OP, COMM, ROOT, SENT, RECEIVED, REQUEST],
    ),
    record(87, "CommCreate", &[COMM]),
    record(88, "CommDestroy", &[COMM]),
];
