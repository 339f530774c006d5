"""Reads all tables of the BP4 files in a folder through ADIOS2 and prints one line: answers, then costs.

python3 adios.py FOLDER

Rows become no events here: names are looked up for the sum of their lengths alone.
"""

import pathlib
import resource
import sys
import time

import adios2
import numpy

TABLES = {"event_timestamps": "timer_event_count", "counter_values": "counter_event_count", "comm_timestamps": "comm_count"}


def main():
    wall, cpu = time.perf_counter(), time.process_time()
    events, stamps, letters, steps = 0, 0, 0, 0
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.bp")):
        with adios2.Stream(str(path), "r") as stream:
            timers = {}
            for _ in stream.steps():
                steps += 1
                for name, attribute in stream.available_attributes().items():
                    if name.startswith("timer "):
                        timers[int(name.split()[1])] = len(attribute["Value"].strip('"'))
                there = stream.available_variables()
                for table, count in TABLES.items():
                    if table not in there or int(stream.read(count)) == 0:
                        continue
                    shape = stream.inquire_variable(table).shape()
                    rows = stream.read(table, [0, 0], shape)
                    if table == "event_timestamps":
                        lengths = numpy.array([timers.get(number, -1) for number in range(int(rows[:, 4].max()) + 1)])
                        lengths = lengths[rows[:, 4].astype(numpy.int64)]
                        # Rows of timers without a name are no events.
                        rows, lengths = rows[lengths >= 0], lengths[lengths >= 0]
                        letters += int(lengths.sum())
                    events += len(rows)
                    stamps += int(rows[:, -1].sum())
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"events={events} stamps={stamps % 2**64} letters={letters} cpu_s={cpu:.4f} wall_s={wall:.4f} rss_kb={peak}")


main()
