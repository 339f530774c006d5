//! A header with three threads in two tasks, and names for their events.

#![cfg(feature = "paraver")]

pub(crate) const HEADER: &str = "#Paraver (09/10/2019 at 16:09):1000_ns:1(4):1:2(2:1,1:1),1\n";
pub(crate) const PCF: &str = "\
EVENT_TYPE
9   50000001    MPI Point-to-point
VALUES
1   MPI_Send
2   MPI_Recv
0   Outside MPI

EVENT_TYPE
0    60000019    User function
VALUES
0   End
1   solve
2   ste..lon [stencil_long]

EVENT_TYPE
0    60000119    User function line
VALUES
1   12 (solve.c)

EVENT_TYPE
0    70000001    Caller at level 1
0    70000002    Caller at level 2
VALUES
0   End
1   inner
2   main

EVENT_TYPE
0    80000001    Caller line at level 1
0    80000002    Caller line at level 2
VALUES
1   7 (a.c, prog)
2   99 (b.c, prog)

EVENT_TYPE
7  42000050 PAPI_TOT_INS [Instr completed]
7  77 mine
";
