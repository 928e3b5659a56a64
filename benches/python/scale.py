"""Time and memory of a private copy, by its records: of a table of 64 numbers in Parquet parts of 2^16 records a group, or
with `--images` of grey images of 28 x 28 pixels in an NPZ archive, as 64 cosine frequencies.

For each size one run of `sliver synth` in a process of its own. "Read" ends where the program says how many records there
are: all values are checked and coded by then. "Released" ends where the last noisy values are in the run's folder. What
follows, the fit and 100000 synthetic records or as many samples as images, works on those values alone. The peak of memory
is that until then, and that of the whole run; with `--stop` a run ends at its release. `--most` is the size of the largest
input, from 10^4 by tenfolds.

    pip install numpy==2.3.2 pyarrow==26.0.1
    python3 benches/python/scale.py --sliver target/release/sliver --most 10000000
    python3 benches/python/scale.py --sliver target/release/sliver --most 1000000 --images
    python3 benches/python/scale.py --sliver target/release/sliver --most 10000000 --images --stop
"""

import argparse
import os
import subprocess
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
COLUMNS, GROUP, PART = 64, 1 << 16, 500_000
SIDE, CLASSES = 28, 10


def table(place, records):
    """Correlated normal numbers of three decimals, cut at 4; its files, how it is copied, and the last release."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    schema, folder = pa.schema([(f"x{j}", pa.float32()) for j in range(COLUMNS)]), place / "table"
    folder.mkdir()
    rng = np.random.default_rng(1)
    mix = rng.normal(size=(8, COLUMNS)) / 3
    for number, start in enumerate(range(0, records, PART)):
        with pq.ParquetWriter(folder / f"part-{number:03d}.parquet", schema, use_dictionary=False) as parts:
            left = min(PART, records - start)
            while left:
                count = min(left, GROUP)
                x = rng.normal(size=(count, 8)) @ mix + rng.normal(size=(count, COLUMNS)) / 2
                x = np.round(x.clip(-4, 4), 3).astype(np.float32)
                parts.write_table(pa.table(list(x.T.copy()), schema=schema))
                left -= count
    columns = "".join(
        f'[[column]]\nname = "x{j}"\nkind = "numeric"\nmin = -4\nmax = 4\ndecimals = 3\npublic = true\n\n'
        for j in range(COLUMNS))
    (place / "schema.toml").write_text(columns)
    return list(folder.iterdir()), ["table", folder, "--schema", place / "schema.toml", "--count", "100000"], "pairs.bin"


def images(place, records):
    """Stripes, of a direction a class and of any width, phase and contrast, with noise; likewise."""
    rng, (y, x) = np.random.default_rng(1), np.mgrid[:SIDE, :SIDE].astype(np.float32)
    labels = rng.integers(0, CLASSES, records, dtype=np.uint8)
    path = place / "images.npz"
    with zipfile.ZipFile(path, "w") as archive:
        with archive.open("labels.npy", "w") as entry:
            np.save(entry, labels)
        with archive.open("images.npy", "w", force_zip64=True) as entry:
            header = {"descr": "|u1", "fortran_order": False, "shape": (records, SIDE, SIDE)}
            np.lib.format.write_array_header_1_0(entry, header)
            for start in range(0, records, 10_000):
                some = labels[start:start + 10_000]
                angle, one = some * np.float32(np.pi / CLASSES), (len(some), 1, 1)
                pace, phase, height = (rng.uniform(*ends, one).astype(np.float32) for ends in [(0.3, 0.6), (0, 6.3), (0.3, 1)])
                waves = np.cos(pace * (x * np.cos(angle).reshape(one) + y * np.sin(angle).reshape(one)) + phase)
                entry.write((112 * (1 + height * waves) + rng.integers(0, 32, waves.shape, np.uint8)).astype(np.uint8).tobytes())
    flags = ["images", path, "--classes", str(CLASSES), "--public", "none", "--latent", "64", "--cells", "4"]
    return [path], flags, "cells.bin"


def run(sliver, arguments, last, place, stop):
    """Seconds until the records were read, the values released, and the run ended; and peaks of memory in MiB, until the
    release and of all."""
    out = place / "run"
    command = [sliver, "synth", *arguments, "--score-share", "0", "--out", out]
    start, began, read, before = time.perf_counter(), time.time(), None, 0
    with open(place / "said", "w+") as said:
        process = subprocess.Popen([str(part) for part in command], stdout=said)
        while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            if read is None and "\ndata " in "\n" + (place / "said").read_text():
                read = time.perf_counter() - start
            if not (out / last).exists():
                status = Path(f"/proc/{process.pid}/status").read_text().split("VmHWM:")
                before = int(status[1].split()[0]) / 1024 if len(status) > 1 else before
            elif stop:
                process.kill()
            time.sleep(0.02)
    whole, (_, status, usage) = time.perf_counter() - start, ended
    if status and not stop:
        raise SystemExit("sliver failed")
    return read, (out / last).stat().st_mtime - began, whole, before, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sliver", type=Path, default=ROOT / "target/release/sliver", help="our program")
    parser.add_argument("--most", type=int, default=10_000_000)
    parser.add_argument("--images", action="store_true")
    parser.add_argument("--stop", action="store_true")
    flags = parser.parse_args()
    print("| records | MB | read, s | released, s | whole run, s | peak until the release, MiB | of all |\n|"
          + "---|" * 7, flush=True)
    records = 10_000
    while records <= flags.most:
        with tempfile.TemporaryDirectory() as place:
            files, arguments, last = (images if flags.images else table)(Path(place), records)
            size = sum(file.stat().st_size for file in files) / 1e6
            read, released, whole, before, peak = run(flags.sliver, arguments, last, Path(place), flags.stop)
            print(f"| {records} | {size:.0f} | {read:.1f} | {released:.1f} | {whole:.0f} | {before:.0f} | {peak:.0f} |",
                  flush=True)
        records *= 10


main()
