"""Reads every record of a Paraver trace, line by line, and prints one line: answers, then costs.

python3 paraver.py FILE

No tool that reads whole traces is packaged; this is what analysis scripts do.
"""

import resource
import sys
import time


def main():
    wall, cpu = time.perf_counter(), time.process_time()
    records, total = 0, 0
    with open(sys.argv[1], "rb") as lines:
        next(lines)
        for line in lines:
            records += 1
            if line.startswith(b"2:"):
                total += sum(map(int, line.split(b":")[7::2]))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"records={records} sum={total} cpu_s={cpu:.4f} wall_s={wall:.4f} rss_kb={peak}")


main()
