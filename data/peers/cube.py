"""Reads a Cube profile with pycubexr and prints one line: answers, then costs.

python3 cube.py read FILE            every value of every metric
python3 cube.py view FILE METRIC ID  one view: metric by place, call path by id
"""

import resource
import sys
import time

import pycubexr
from pycubexr.utils.exceptions import MissingMetricError


def main():
    mode, path = sys.argv[1:3]
    # Importing numpy is no reading.
    wall, cpu = time.perf_counter(), time.process_time()
    total, values = 0.0, 0
    with pycubexr.CubexParser(path) as cube:
        roots = cube.get_metrics()
        metrics = [metric for root in roots for metric in root.get_all_children()]
        metrics.sort(key=lambda metric: metric.id)
        paths = cube.all_cnodes()
        if mode == "view":
            metrics = [metrics[int(sys.argv[3])]]
            paths = [path for path in paths if path.id == int(sys.argv[4])]
        for metric in metrics:
            try:
                stored = cube.get_metric_values(metric, cache=False)
            except MissingMetricError:
                continue
            for path in paths:
                if path.id in stored.cnode_indices:
                    row = stored.cnode_values(path)
                    # Smallest and largest values are of a class of their own.
                    total += float((row if hasattr(row, "dtype") else row.astype(float)).sum())
                    values += len(row)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"values={values} sum={total / 1e3:.0f} cpu_s={cpu:.4f} wall_s={wall:.4f} rss_kb={peak}")


main()
