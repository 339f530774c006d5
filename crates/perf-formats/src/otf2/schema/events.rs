//! [`EVENTS`]: table of all OTF2 event records, each with its id, name, and names and kinds of
//! fields.

use super::{Count, Field, Kind, Record, Space};

/// Event records, by ascending id.
pub const EVENTS: &[Record] = records! {
    10 BufferFlush { stop: fixed64 }
    11 MeasurementOnOff { mode: u8 }
    12 Enter(region: Region)
    13 Leave(region: Region)
    14 MpiSend { receiver: u32, comm: Comm, tag: u32, length: u64 }
    15 MpiIsend { receiver: u32, comm: Comm, tag: u32, length: u64, request: u64 }
    16 MpiIsendComplete(request: u64)
    17 MpiIrecvRequest(request: u64)
    18 MpiRecv { sender: u32, comm: Comm, tag: u32, length: u64 }
    19 MpiIrecv { sender: u32, comm: Comm, tag: u32, length: u64, request: u64 }
    20 MpiRequestTest(request: u64)
    21 MpiRequestCancelled(request: u64)
    22 MpiCollectiveBegin {}
    23 MpiCollectiveEnd { op: u8, comm: Comm, root: u32, sent: u64, received: u64 }
    24 OmpFork(threads: u32)
    25 OmpJoin {}
    26 OmpAcquireLock { lock: u32, order: u32 }
    27 OmpReleaseLock { lock: u32, order: u32 }
    28 OmpTaskCreate(task: u64)
    29 OmpTaskSwitch(task: u64)
    30 OmpTaskComplete(task: u64)
    // A value is stored as 64 bits of its type, also for floats. Attribute values are stored
    // differently.
    31 Metric { metric: Metric, values: [u8; type: u8, bits: u64] }
    32 ParameterString { parameter: Parameter, string: String }
    33 ParameterInt { parameter: Parameter, value: i64 }
    34 ParameterUnsignedInt { parameter: Parameter, value: u64 }
    35 RmaWinCreate { win: RmaWin }
    36 RmaWinDestroy { win: RmaWin }
    37 RmaCollectiveBegin {}
    38 RmaCollectiveEnd { op: u8, sync_level: u8, win: RmaWin, root: u32, sent: u64, received: u64 }
    39 RmaGroupSync { sync_level: u8, win: RmaWin, group: Group }
    40 RmaRequestLock { win: RmaWin, remote: u32, lock: u64, lock_type: u8 }
    41 RmaAcquireLock { win: RmaWin, remote: u32, lock: u64, lock_type: u8 }
    42 RmaTryLock { win: RmaWin, remote: u32, lock: u64, lock_type: u8 }
    43 RmaReleaseLock { win: RmaWin, remote: u32, lock: u64 }
    44 RmaSync { win: RmaWin, remote: u32, sync_type: u8 }
    45 RmaWaitChange { win: RmaWin }
    46 RmaPut { win: RmaWin, remote: u32, bytes: u64, matching: u64 }
    47 RmaGet { win: RmaWin, remote: u32, bytes: u64, matching: u64 }
    48 RmaAtomic {
        win: RmaWin, remote: u32, atomic_type: u8, sent: u64, received: u64, matching: u64
    }
    49 RmaOpCompleteBlocking { win: RmaWin, matching: u64 }
    50 RmaOpCompleteNonBlocking { win: RmaWin, matching: u64 }
    51 RmaOpTest { win: RmaWin, matching: u64 }
    52 RmaOpCompleteRemote { win: RmaWin, matching: u64 }
    53 ThreadFork { model: u8, threads: u32 }
    54 ThreadJoin { model: u8 }
    55 ThreadTeamBegin { comm: Comm }
    56 ThreadTeamEnd { comm: Comm }
    57 ThreadAcquireLock { model: u8, lock: u32, order: u32 }
    58 ThreadReleaseLock { model: u8, lock: u32, order: u32 }
    59 ThreadTaskCreate { comm: Comm, creating_thread: u32, generation: u32 }
    60 ThreadTaskSwitch { comm: Comm, creating_thread: u32, generation: u32 }
    61 ThreadTaskComplete { comm: Comm, creating_thread: u32, generation: u32 }
    62 ThreadCreate { comm: Comm, sequence: u64 }
    63 ThreadBegin { comm: Comm, sequence: u64 }
    64 ThreadWait { comm: Comm, sequence: u64 }
    65 ThreadEnd { comm: Comm, sequence: u64 }
    66 CallingContextEnter { calling_context: CallingContext, unwind_distance: u32 }
    67 CallingContextLeave { calling_context: CallingContext }
    68 CallingContextSample {
        calling_context: CallingContext, unwind_distance: u32,
        interrupt_generator: InterruptGenerator
    }
    69 IoCreateHandle { handle: IoHandle, mode: u8, creation_flags: u32, status_flags: u32 }
    70 IoDestroyHandle { handle: IoHandle }
    71 IoDuplicateHandle { old_handle: IoHandle, new_handle: IoHandle, status_flags: u32 }
    72 IoSeek { handle: IoHandle, offset: i64, whence: u8, result: u64 }
    73 IoChangeStatusFlags { handle: IoHandle, status_flags: u32 }
    74 IoDeleteFile { paradigm: u8, file: IoFile }
    75 IoOperationBegin { handle: IoHandle, mode: u8, flags: u32, bytes: u64, matching: u64 }
    76 IoOperationTest { handle: IoHandle, matching: u64 }
    77 IoOperationIssued { handle: IoHandle, matching: u64 }
    78 IoOperationComplete { handle: IoHandle, bytes: u64, matching: u64 }
    79 IoOperationCancelled { handle: IoHandle, matching: u64 }
    80 IoAcquireLock { handle: IoHandle, lock_type: u8 }
    81 IoReleaseLock { handle: IoHandle, lock_type: u8 }
    82 IoTryLock { handle: IoHandle, lock_type: u8 }
    83 ProgramBegin { name: String, arguments: [u32; argument: String] }
    84 ProgramEnd { exit_status: i64 }
    85 NonBlockingCollectiveRequest { request: u64 }
    86 NonBlockingCollectiveComplete {
        op: u8, comm: Comm, root: u32, sent: u64, received: u64, request: u64
    }
    87 CommCreate { comm: Comm }
    88 CommDestroy { comm: Comm }
};
