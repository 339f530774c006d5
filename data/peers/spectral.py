"""Correlates views in the frequency domain with FFTW (pyfftw) and prints one line: answers, then costs.

python3 spectral.py correlate FILE SHAPE VIEWS f32|f64 lanes|inside|scipy THREADS
    view 0 of FILE against VIEWS of the others, cycled: product, inverse transform, extremes
python3 spectral.py forward FILE SHAPE VIEWS f32|f64 lanes|inside|scipy THREADS
    transforms of views

FILE holds views as doubles, one after the other. Threads share the views (`lanes`) or each transform (`inside`);
with `scipy`, its transforms with as many workers take the place of FFTW's. Axes are sorted, the longest last: FFTW
is faster so. Planning and reading are not timed.
"""

import os
import resource
import sys
import threading
import time

# Threads of the library below NumPy look for work a while after their last, on cores that FFTW needs.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy
import pyfftw

def power_of(spectrum):
    """Parseval without the mean: places that stand for their opposite as well count twice."""
    wide = spectrum.astype("complex128")
    wide.flat[0] = 0
    ends = wide[..., [0, -1]].ravel()
    return 2 * numpy.vdot(wide, wide).real - numpy.vdot(ends, ends).real


def on_lanes(count, lanes, work):
    """Calls work(lane, number) for each number; lanes take numbers in turns."""
    numbers = iter(range(count))
    lock = threading.Lock()

    def run(lane):
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            work(lane, number)

    threads = [threading.Thread(target=run, args=(lane,)) for lane in range(lanes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main():
    mode, path, shape, views, kind, split, threads = sys.argv[1:8]
    dims, views, threads = [int(length) for length in shape.split("x")], int(views), int(threads)
    real, compl = {"f32": ("float32", "complex64"), "f64": ("float64", "complex128")}[kind]
    order = sorted(range(len(dims)), key=lambda axis: dims[axis])
    given = numpy.memmap(path, dtype="<f8", mode="r").reshape([-1] + dims)
    sizes = [dims[axis] for axis in order]
    half = sizes[:-1] + [sizes[-1] // 2 + 1]
    axes = tuple(range(len(sizes)))
    lanes, inside = (threads, 1) if split == "lanes" else (1, threads)
    is_scipy = split == "scipy"
    if is_scipy:
        import scipy.fft

    def plan(backward):
        one, two = pyfftw.empty_aligned(sizes, real), pyfftw.empty_aligned(half, compl)
        source, target = (two, one) if backward else (one, two)
        flags = ["FFTW_MEASURE"] + (["FFTW_DESTROY_INPUT"] if backward else [])
        direction = "FFTW_BACKWARD" if backward else "FFTW_FORWARD"
        return pyfftw.FFTW(source, target, axes=axes, direction=direction, flags=flags, threads=inside)

    def view(number):
        values = given[number].transpose(order)
        values = values - values.mean()
        return (values / numpy.abs(values).max()).astype(real)

    forward = plan(False)
    if mode == "forward":
        # Each lane a plan and a view of its own.
        plans = [forward] + [plan(False) for _ in range(lanes - 1)]
        for one in plans:
            one.input_array[...] = view(1)
        values = view(1)

        def transform(lane, _):
            if is_scipy:
                scipy.fft.rfftn(values, workers=threads)
            else:
                plans[lane].execute()

        start = time.perf_counter(), time.process_time()
        on_lanes(views, lanes, transform)
        finish(start, f"views={views}")
        return

    def spectrum(number):
        forward.input_array[...] = view(number)
        forward.execute()
        result = pyfftw.empty_aligned(half, compl)
        result[...] = forward.output_array
        return result, power_of(result)

    first, power = spectrum(0)
    reference = pyfftw.empty_aligned(half, compl)
    reference[...] = first.conj()
    # The filter that lets all axes pass takes the mean away.
    reference.flat[0] = 0
    others = [spectrum(number) for number in range(1, len(given))]
    plans = [plan(True) for _ in range(lanes)]
    best = [0.0] * lanes

    def correlate(lane, number):
        other, energy = others[number % len(others)]
        inverse = plans[lane]
        numpy.multiply(reference, other, out=inverse.input_array)
        # pyfftw's execute leaves the sum without 1/|T|, and so does the power.
        norm = (power * energy) ** 0.5
        if is_scipy:
            out = scipy.fft.irfftn(inverse.input_array, sizes, norm="forward", workers=threads).reshape(-1)
        else:
            inverse.execute()
            out = inverse.output_array.reshape(-1)
        high, low = out.argmax(), out.argmin()
        peak = max(abs(float(out[high])), abs(float(out[low]))) / norm
        best[lane] = max(best[lane], peak)

    start = time.perf_counter(), time.process_time()
    on_lanes(views, lanes, correlate)
    finish(start, f"views={views} best={max(best):.3f}")


def finish(start, answers):
    wall, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{answers} cpu_s={cpu:.4f} wall_s={wall:.4f} rss_kb={peak}")


main()
