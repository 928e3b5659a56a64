# Writes the Parquet files beside it, with pyarrow 26.0.1: python reference.py .
import sys, datetime as dt, decimal, pyarrow as pa, pyarrow.parquet as pq
out = sys.argv[1]
D = decimal.Decimal
n = None
t = pa.table({
    "whole": pa.array([1, -2, n], pa.int64()),
    "small": pa.array([7, n, -8], pa.int8()),
    "unsigned": pa.array([4_000_000_000, 0, n], pa.uint32()),
    "real": pa.array([0.1, n, 5.0], pa.float64()),
    "single": pa.array([0.1, -2.5, n], pa.float32()),
    "text": pa.array([" a, b ", n, "é"], pa.string()),
    "word": pa.array(["red", "red", n]).dictionary_encode(),
    "truth": pa.array([True, False, n]),
    "day": pa.array([dt.date(1999, 12, 31), dt.date(1, 1, 1), n]),
    "milli": pa.array([dt.datetime(2020, 1, 1, 10, 30, 59), n, dt.datetime(1969, 12, 31, 23, 59)], pa.timestamp("ms")),
    "micro": pa.array([dt.datetime(2020, 1, 1), n, dt.datetime(2020, 1, 2)], pa.timestamp("us", "UTC")),
    "nano": pa.array([dt.datetime(2020, 1, 1, 23, 59), n, dt.datetime(2020, 1, 2)], pa.timestamp("ns")),
    "money": pa.array([D("-0.05"), D("1234.50"), n], pa.decimal128(9, 2)),
    "large": pa.array([D("12345678901234567890.123"), D("-1.000"), n], pa.decimal128(30, 3)),
    "list": pa.array([[1], n, []], pa.list_(pa.int64())),
    "bytes": pa.array([b"\xff", n, b""], pa.binary()),
    "nothing": pa.array([n, n, n], pa.null()),
})
pq.write_table(t, out + "/types.parquet", compression="snappy", row_group_size=2, store_schema=False)
pq.write_table(t.select(["whole", "micro"]), out + "/int96.parquet", use_deprecated_int96_timestamps=True, compression="zstd", store_schema=False)
pq.write_table(t.select(["whole"]), out + "/lz4.parquet", compression="lz4", store_schema=False)
pq.write_table(t.select(["whole"]).slice(0, 0), out + "/empty.parquet", store_schema=False)
