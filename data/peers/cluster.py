"""Clusters points with scikit-learn or hdbscan and prints one line: answers, then costs.

python3 cluster.py dbscan FILE EPS MIN_POINTS
python3 cluster.py hdbscan FILE MIN_POINTS MIN_SIZE

FILE holds x, y pairs of little-endian 64-bit floats.
"""

import resource
import sys
import time

import numpy


def main():
    mode, path = sys.argv[1:3]
    points = numpy.fromfile(path, "<f8").reshape(-1, 2)
    if mode == "dbscan":
        from sklearn.cluster import DBSCAN

        method = DBSCAN(eps=float(sys.argv[3]), min_samples=int(sys.argv[4]))
    else:
        from hdbscan import HDBSCAN

        # The package counts neighbours without the point itself.
        method = HDBSCAN(
            min_samples=int(sys.argv[3]) - 1,
            min_cluster_size=int(sys.argv[4]),
            core_dist_n_jobs=1,
            approx_min_span_tree=False,
        )
    # Importing is no clustering.
    wall, cpu = time.perf_counter(), time.process_time()
    labels = method.fit_predict(points)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    clusters, noise = labels.max() + 1, (labels < 0).sum()
    print(
        f"points={len(points)} clusters={clusters} noise={noise} "
        f"cpu_s={cpu:.4f} wall_s={wall:.4f} rss_kb={peak}"
    )


main()
