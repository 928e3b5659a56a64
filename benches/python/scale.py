"""Time and memory of a private copy of a table, by its records: 64 numbers in Parquet parts of 2^16 records a group.

For each size one run of `sliver synth table FOLDER` in a process of its own. "Read" ends where the program says how many
records there are: all values are checked and coded by then. "Released" ends where the last noisy counts are in the run's
folder. What follows, the fit and its 100000 synthetic records, works on those counts alone. The peak of memory is that of
the whole run. `--most` is the size of the largest table, from 10^4 by tenfolds.

    pip install numpy==2.3.2 pyarrow==26.0.1
    python3 benches/python/scale.py --sliver target/release/sliver --most 10000000
"""

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[2]
COLUMNS, GROUP, PART = 64, 1 << 16, 500_000
SCHEMA = pa.schema([(f"x{j}", pa.float32()) for j in range(COLUMNS)])


def write(folder, records):
    """Correlated normal numbers of three decimals, cut at 4."""
    folder.mkdir()
    rng = np.random.default_rng(1)
    mix = rng.normal(size=(8, COLUMNS)) / 3
    for number, start in enumerate(range(0, records, PART)):
        with pq.ParquetWriter(folder / f"part-{number:03d}.parquet", SCHEMA, use_dictionary=False) as parts:
            left = min(PART, records - start)
            while left:
                count = min(left, GROUP)
                x = rng.normal(size=(count, 8)) @ mix + rng.normal(size=(count, COLUMNS)) / 2
                x = np.round(x.clip(-4, 4), 3).astype(np.float32)
                parts.write_table(pa.table(list(x.T.copy()), schema=SCHEMA))
                left -= count
    columns = "".join(
        f'[[column]]\nname = "x{j}"\nkind = "numeric"\nmin = -4\nmax = 4\ndecimals = 3\npublic = true\n\n'
        for j in range(COLUMNS))
    (folder.parent / "schema.toml").write_text(columns)


def run(sliver, folder):
    """Seconds until the records were read, the counts released, and the run ended; and its peak of memory in MiB."""
    out = folder.parent / "run"
    command = [sliver, "synth", "table", folder, "--schema", folder.parent / "schema.toml", "--score-share", "0",
               "--rows", "100000", "--out", out]
    start, began, read = time.perf_counter(), time.time(), None
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.startswith("data "):
            read = time.perf_counter() - start
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("sliver failed")
    released = (out / "pairs.bin").stat().st_mtime - began
    return read, released, time.perf_counter() - start, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sliver", type=Path, default=ROOT / "target/release/sliver", help="our program")
    parser.add_argument("--most", type=int, default=10_000_000)
    flags = parser.parse_args()
    print("| records | MB of Parquet | read, s | released, s | released over read | whole run, s | peak, MiB |\n|"
          + "---|" * 7, flush=True)
    records = 10_000
    while records <= flags.most:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "table"
            write(folder, records)
            size = sum(part.stat().st_size for part in folder.iterdir()) / 1e6
            read, released, whole, peak = run(flags.sliver, folder)
            print(f"| {records} | {size:.0f} | {read:.1f} | {released:.1f} | {released / read:.2f} | {whole:.0f} "
                  f"| {peak:.0f} |", flush=True)
        records *= 10


main()
