"""Asks Holistic Trace Analysis how busy the devices of a file are and prints one line: answers, then costs.

python3 gpu.py FILE

All profiler steps count, and times are rounded to whole microseconds as it does by itself. Costs are of the whole process,
with what it imports.
"""

import os

os.environ["HTA_LOG_LEVEL"] = "CRITICAL"

import logging
import resource
import sys
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

from hta.trace_analysis import TraceAnalysis


def main():
    path = os.path.abspath(sys.argv[1])
    analysis = TraceAnalysis(trace_files={0: path}, trace_dir=os.path.dirname(path), include_last_profiler_step=True)
    found = analysis.get_temporal_breakdown(visualize=False).iloc[0]
    idle, compute, other, whole = (round(found[f"{key}_time(us)"]) for key in ("idle", "compute", "non_compute", "kernel"))
    costs = resource.getrusage(resource.RUSAGE_SELF)
    cpu = costs.ru_utime + costs.ru_stime
    wall = time.time() - start_of_process()
    print(f"busy_us={whole - idle} compute_us={compute} non_compute_us={other} span_us={whole} cpu_s={cpu:.4f} wall_s={wall:.4f} rss_kb={costs.ru_maxrss}")


def start_of_process():
    """Seconds since 1970, from the clock ticks since the system began."""
    with open("/proc/self/stat") as stat, open("/proc/stat") as system:
        ticks = int(stat.read().rsplit(")", 1)[1].split()[19])
        began = next(int(line.split()[1]) for line in system if line.startswith("btime"))
    return began + ticks / os.sysconf("SC_CLK_TCK")


main()
