"""Writes streams of events as TAU's trace plug-in does, as BP4 through ADIOS2, and as a table beside them.

python3 streams.py FOLDER [--ranks N] [--steps N] [--calls N]

FOLDER gets a file `tau-metrics-miniapp-RANK.bp` a rank and `miniapp.tsv` with the same events in the
order in which a reader gives them. Nothing in them is measured: a generator with a fixed seed makes
them. Beside plain calls, messages and counters they have what readers stumble over: EXIT has the lower
number, names come in the step that needs them first, tables without rows are left out, one table comes in two
blocks, one row has a timer that nobody named.
"""

import argparse
import pathlib

import adios2
import numpy

TABLES = {"event_timestamps": 6, "counter_values": 6, "comm_timestamps": 8}
COUNTS = ["program_count", "comm_rank_count", "thread_count", "event_type_count", "timer_count", "counter_count"]
EVENTS = ["timer_event_count", "counter_event_count", "comm_count"]
# In the order in which they were first seen.
KINDS = ["EXIT", "ENTRY", "SEND", "RECV"]
TIMERS = [".TAU application", "solve(double*, int) [{solve.cpp} {12,1}-{40,1}]", "MPI_Send()", "MPI_Recv()", "kernel"]
COUNTERS = ["Heap Memory Used (KB)", "Correlation ID", "Message size sent to all nodes"]
START = 1_559_662_194_000_000
SOLVE, SEND, RECV, KERNEL = 1, 2, 3, 4
DEVICE = 1


class Random:
    """A generator that is the same everywhere."""

    def __init__(self, seed):
        self.state = seed * 2654435761 % 2**32 + 1

    def below(self, n):
        self.state = (self.state * 1664525 + 1013904223) % 2**32
        return (self.state >> 8) % n


class Rank:
    """The events of a rank, step by step: rows of tables."""

    def __init__(self, rank, ranks, calls):
        self.rank, self.ranks, self.calls = rank, ranks, calls
        self.random, self.now, self.id = Random(rank + 1), START + 7 * rank, 0

    def step(self, number, last):
        host, device, counters, messages = [], [], [], []
        random = self.random

        def function(kind, timer, at, rows=host, thread=0):
            rows.append([0, self.rank, thread, KINDS.index(kind), timer, at])

        if number == 0:
            function("ENTRY", 0, self.now)
        # In step 2 nothing is sent.
        to = (self.rank + 1) % self.ranks
        for call in range(self.calls):
            self.now += 5 + random.below(20)
            function("ENTRY", SOLVE, self.now)
            counters.append([0, self.rank, 0, 0, 2048 + random.below(512), self.now])
            # Launches a kernel on the device.
            self.id += 1
            counters.append([0, self.rank, 0, 1, self.id, self.now + 3])
            begin = self.now + 10 + random.below(10)
            function("ENTRY", KERNEL, begin, device, DEVICE)
            counters.append([0, self.rank, DEVICE, 1, self.id, begin])
            function("EXIT", KERNEL, begin + 30 + random.below(9), device, DEVICE)
            self.now += 60 + random.below(40) * (1 + 50 * (random.below(40) == 0))
            function("EXIT", SOLVE, self.now)
            if number != 2:
                self.now += 2
                function("ENTRY", SEND, self.now)
                size = 1024 * (1 + random.below(4))
                messages.append([0, self.rank, 0, KINDS.index("SEND"), call, to, size, self.now + 1])
                counters.append([0, self.rank, 0, 2, size, self.now + 1])
                self.now += 4
                function("EXIT", SEND, self.now)
                function("ENTRY", RECV, self.now)
                source = (self.rank - 1) % self.ranks
                self.now += 8 + random.below(8)
                messages.append([0, self.rank, 0, KINDS.index("RECV"), call, source, size, self.now])
                function("EXIT", RECV, self.now)
        if number == 1 and self.rank == 0:
            function("ENTRY", 99, self.now)
        if last:
            self.now += 3
            function("EXIT", 0, self.now)
        by_time = lambda rows: sorted(rows, key=lambda row: row[-1])
        return host + device, by_time(counters), by_time(messages)


def attributes(rank, number):
    named = {}
    if number == 0:
        named["program_name 0"] = "miniapp"
        named.update({f"event_type {i}": name for i, name in enumerate(KINDS[:2])})
        named[f"MetaData:{rank}:0:Hostname"] = f"node{rank}"
        named[f"MetaData:{rank}:{DEVICE}:CUDA Device"] = "0"
        named[f"MetaData:{rank}:{DEVICE}:CUDA Context"] = "1"
        named[f"MetaData:{rank}:{DEVICE}:CUDA Stream"] = "7"
        named["timer 0"], named["timer 4"] = TIMERS[0], TIMERS[4]
        named["counter 1"] = COUNTERS[1]
        named["timer 1"], named["counter 0"] = TIMERS[1], COUNTERS[0]
        named.update({f"event_type {i}": KINDS[i] for i in (2, 3)})
        named.update({f"timer {i}": TIMERS[i] for i in (2, 3)})
        named["counter 2"] = COUNTERS[2]
    if number == 1:
        named[f"MetaData:{rank}:0:Local Time"] = "2019-06-04T15:29:54:00"
    return named


class Writer:
    """A BP4 file with the variables of the plug-in."""

    def __init__(self, path):
        self.adios = adios2.Adios()
        self.io = self.adios.declare_io("TAU_trace_data")
        self.io.set_engine("BP4")
        define = self.io.define_variable
        self.scalars = {name: define(name, numpy.array(0, dtype=numpy.int32)) for name in COUNTS}
        self.scalars.update({name: define(name, numpy.array(0, dtype=numpy.uint64)) for name in EVENTS})
        rows = lambda width: numpy.zeros((1, width), dtype=numpy.uint64)
        self.tables = {name: define(name, rows(width), [1, width], [0, 0], [1, width]) for name, width in TABLES.items()}
        self.engine = self.io.open(str(path), adios2.bindings.Mode.Write)

    def step(self, rank, number, tables):
        self.engine.begin_step()
        for name, value in attributes(rank, number).items():
            self.io.define_attribute(name, value)
        totals = [1, 1, 2, len(KINDS), len(TIMERS), len(COUNTERS)]
        for name, value in zip(COUNTS, totals):
            self.engine.put(self.scalars[name], numpy.array(value, dtype=numpy.int32))
        for name, rows in zip(EVENTS, tables):
            self.engine.put(self.scalars[name], numpy.array(len(rows), dtype=numpy.uint64))
        for name, rows in zip(TABLES, tables):
            if not rows:
                continue
            rows = numpy.array(rows, dtype=numpy.uint64)
            variable = self.tables[name]
            variable.set_shape(list(rows.shape))
            # Counters of step 1 come in two blocks, the second one first.
            half = len(rows) // 2 if (number, name) == (1, "counter_values") else 0
            parts = [(half, rows[half:])] + [(0, rows[:half])] * (half > 0)
            kept = [numpy.ascontiguousarray(part) for _, part in parts]
            for (start, _), part in zip(parts, kept):
                variable.set_selection([[start, 0], list(part.shape)])
                self.engine.put(variable, part, adios2.bindings.Mode.Sync)
        self.engine.end_step()


def lines(number, tables):
    """The rows of a table of a step as a reader gives them: by thread, in time, messages and counters within calls."""
    functions, counters, messages = tables
    threads = sorted({row[2] for rows in tables for row in rows})
    for thread in threads:
        notes = sorted((row for row in counters + messages if row[2] == thread), key=lambda row: row[-1])
        for row in (row for row in functions if row[2] == thread):
            is_exit = KINDS[row[3]] == "EXIT"
            while notes and (notes[0][-1] < row[-1] or is_exit and notes[0][-1] == row[-1]):
                yield line(number, notes.pop(0))
            if row[4] < len(TIMERS):
                yield line(number, row)
        yield from (line(number, row) for row in notes)


def line(step, row):
    program, rank, thread, *rest, at = row
    name, tag, partner, size, value = "", "", "", "", ""
    if len(row) == 8:
        kind, tag, partner, size = KINDS[rest[0]], *rest[1:]
    elif isinstance(row, Counter):
        kind, name, value = "COUNTER", COUNTERS[rest[0]], rest[1]
    else:
        kind, name = KINDS[rest[0]], TIMERS[rest[1]]
    return "\t".join(map(str, [step, at, program, rank, thread, kind, name, tag, partner, size, value]))


class Counter(list):
    """A row of counters, to tell it from one of functions."""


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--ranks", type=int, default=2)
    arguments.add_argument("--steps", type=int, default=4)
    arguments.add_argument("--calls", type=int, default=6)
    given = arguments.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    ranks = [Rank(rank, given.ranks, given.calls) for rank in range(given.ranks)]
    paths = [given.folder / f"tau-metrics-miniapp-{rank.rank}.bp" for rank in ranks]
    writers = [Writer(path) for path in paths]
    with open(given.folder / "miniapp.tsv", "w") as table:
        table.write("step\tts_us\tprogram\trank\tthread\tkind\tname\ttag\tpartner\tbytes\tvalue\n")
        for number in range(given.steps):
            for rank, writer in zip(ranks, writers):
                functions, counters, messages = rank.step(number, number == given.steps - 1)
                tables = functions, [Counter(row) for row in counters], messages
                writer.step(rank.rank, number, tables)
                table.writelines(text + "\n" for text in lines(number, tables))
    for path, writer in zip(paths, writers):
        writer.engine.close()
        # How long writing took is of no use to a reader.
        (path / "profiling.json").unlink(missing_ok=True)


main()
