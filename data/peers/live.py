"""Plays many ranks to a parameter server and prints one line: answers, then what the server cost.

python3 live.py PERFKIT_LIVE RECORDING RANKS UPDATES

The server has the first core to itself, the ranks that are played the second. Each tells an update a second, and the
simulator ends with an error if the server does not have each update once. Processor time and memory are those of the
server, wall time is that of the ranks.
"""

import os
import re
import subprocess
import sys
import tempfile

TICKS = os.sysconf("SC_CLK_TCK")


def main():
    program, recording, ranks, updates = sys.argv[1:5]
    with tempfile.TemporaryDirectory() as folder:
        database = os.path.join(folder, "run.sqlite")
        serve = ["taskset", "-c", "0", program, "serve", database, "--listen", "127.0.0.1:0"]
        server = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True)
        try:
            url = server.stdout.readline().split()[-1]
            told = played(program, url, database, recording, ranks, updates)
            cpu, peak = costs(server.pid)
        finally:
            server.kill()
            server.wait()
    wall = float(found(r"in ([\d.]+) s:", told))
    done = found(r"updates (\d+),", told)
    print(f"updates={done} ranks={ranks} cpu_s={cpu:.2f} wall_s={wall} rss_kb={peak}")


def played(program, url, database, recording, ranks, updates):
    """What the simulator says."""
    simulate = ["taskset", "-c", "1", program, "simulate", url, "--token-file", database + ".token"]
    simulate += ["--from", recording, "--ranks", ranks, "--updates", updates, "--connections", "1024"]
    text = subprocess.run(simulate, check=True, stdout=subprocess.PIPE, text=True).stdout
    # For people: times are in the table, the rest is not.
    print(text, file=sys.stderr)
    return text


def costs(process):
    """Seconds of processor time, and KiB at most, of a process that runs. Who calls `taskset` becomes what it calls."""
    with open(f"/proc/{process}/stat") as file:
        # The name of the program, in brackets, may hold blanks.
        fields = file.read().rsplit(") ", 1)[1].split()
    with open(f"/proc/{process}/status") as file:
        peak = found(r"VmHWM:\s+(\d+)", file.read())
    return (int(fields[11]) + int(fields[12])) / TICKS, peak


def found(pattern, text):
    match = re.search(pattern, text)
    if not match:
        sys.exit(f"no `{pattern}` in: {text}")
    return match.group(1)


main()
