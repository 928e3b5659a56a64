"""Writes the files beside it: run `python3 reference.py` with numpy. PyTorch is not needed.

- inception.json: the units of Inception v3 at 1/16 of its width, and the features of two images by
  numpy, for weights that `value` gives: an implementation that shares nothing with the Rust one;
- archive.pt, stream.pt: the same few tensors in the two layouts of torch.save, written by Python's
  own pickle with stand-ins for PyTorch's classes.
"""

import collections
import io
import json
import pickle
import struct
import sys
import types
import zipfile

import numpy as np

DIVISOR = 16


def value(name, count):
    """Numbers in [0, 1) from the name (FNV-1a) and the place (a mixing of 32 bits)."""
    seed = 2166136261
    for byte in name.encode():
        seed = (seed ^ byte) * 16777619 % 2**32
    x = (seed + np.arange(count, dtype=np.uint64) * 2654435761) % 2**32
    x ^= x >> 16
    x = x * 0x85EBCA6B % 2**32
    x ^= x >> 13
    return ((x >> 8).astype(np.float64)) / 2**24


UNITS = []


def unit(x, name, c_out, kernel, stride=1, padding=(0, 0)):
    c_out //= DIVISOR
    c_in = x.shape[1]
    kh, kw = kernel
    shape = (c_out, c_in, kh, kw)
    UNITS.append([name, list(shape)])
    count = c_out * c_in * kh * kw
    bound = (6.0 / (c_in * kh * kw)) ** 0.5
    weight = ((2 * value(name + ".conv.weight", count) - 1) * bound).astype(np.float32)
    gamma = (0.75 + 0.5 * value(name + ".bn.weight", c_out)).astype(np.float32)
    beta = (0.2 * value(name + ".bn.bias", c_out) - 0.1).astype(np.float32)
    mean = (0.2 * value(name + ".bn.running_mean", c_out) - 0.1).astype(np.float32)
    variance = (0.75 + 0.5 * value(name + ".bn.running_var", c_out)).astype(np.float32)
    ph, pw = padding
    x = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    windows = np.lib.stride_tricks.sliding_window_view(x, (kh, kw), axis=(2, 3))
    windows = windows[:, :, ::stride, ::stride]
    y = np.einsum("nchwij,ocij->nohw", windows, weight.reshape(shape).astype(np.float64), optimize=True)
    column = lambda v: v.astype(np.float64)[None, :, None, None]
    y = column(gamma) * (y - column(mean)) / np.sqrt(column(variance) + 0.001) + column(beta)
    return np.maximum(y, 0)


def windows3(x, stride, padding, fill):
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)), constant_values=fill)
    return np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))[:, :, ::stride, ::stride]


def max_pool(x, stride, padding=0):
    return windows3(x, stride, padding, -np.inf).max((4, 5))


def mean_pool(x, count_border):
    total = windows3(x, 1, 1, 0).sum((4, 5))
    if count_border:
        return total / 9
    return total / windows3(np.ones_like(x), 1, 1, 0).sum((4, 5))


def cat(*parts):
    return np.concatenate(parts, 1)


def block_a(x, n, pooled, pool):
    a = unit(x, n + ".branch1x1", 64, (1, 1))
    b = unit(x, n + ".branch5x5_1", 48, (1, 1))
    b = unit(b, n + ".branch5x5_2", 64, (5, 5), padding=(2, 2))
    c = unit(x, n + ".branch3x3dbl_1", 64, (1, 1))
    c = unit(c, n + ".branch3x3dbl_2", 96, (3, 3), padding=(1, 1))
    c = unit(c, n + ".branch3x3dbl_3", 96, (3, 3), padding=(1, 1))
    return cat(a, b, c, unit(pool(x), n + ".branch_pool", pooled, (1, 1)))


def block_b(x, n):
    a = unit(x, n + ".branch3x3", 384, (3, 3), 2)
    b = unit(x, n + ".branch3x3dbl_1", 64, (1, 1))
    b = unit(b, n + ".branch3x3dbl_2", 96, (3, 3), padding=(1, 1))
    b = unit(b, n + ".branch3x3dbl_3", 96, (3, 3), 2)
    return cat(a, b, max_pool(x, 2))


def block_c(x, n, c7, pool):
    a = unit(x, n + ".branch1x1", 192, (1, 1))
    b = unit(x, n + ".branch7x7_1", c7, (1, 1))
    b = unit(b, n + ".branch7x7_2", c7, (1, 7), padding=(0, 3))
    b = unit(b, n + ".branch7x7_3", 192, (7, 1), padding=(3, 0))
    c = unit(x, n + ".branch7x7dbl_1", c7, (1, 1))
    c = unit(c, n + ".branch7x7dbl_2", c7, (7, 1), padding=(3, 0))
    c = unit(c, n + ".branch7x7dbl_3", c7, (1, 7), padding=(0, 3))
    c = unit(c, n + ".branch7x7dbl_4", c7, (7, 1), padding=(3, 0))
    c = unit(c, n + ".branch7x7dbl_5", 192, (1, 7), padding=(0, 3))
    return cat(a, b, c, unit(pool(x), n + ".branch_pool", 192, (1, 1)))


def block_d(x, n):
    a = unit(x, n + ".branch3x3_1", 192, (1, 1))
    a = unit(a, n + ".branch3x3_2", 320, (3, 3), 2)
    b = unit(x, n + ".branch7x7x3_1", 192, (1, 1))
    b = unit(b, n + ".branch7x7x3_2", 192, (1, 7), padding=(0, 3))
    b = unit(b, n + ".branch7x7x3_3", 192, (7, 1), padding=(3, 0))
    b = unit(b, n + ".branch7x7x3_4", 192, (3, 3), 2)
    return cat(a, b, max_pool(x, 2))


def block_e(x, n, pool):
    a = unit(x, n + ".branch1x1", 320, (1, 1))
    b = unit(x, n + ".branch3x3_1", 384, (1, 1))
    b1 = unit(b, n + ".branch3x3_2a", 384, (1, 3), padding=(0, 1))
    b2 = unit(b, n + ".branch3x3_2b", 384, (3, 1), padding=(1, 0))
    c = unit(x, n + ".branch3x3dbl_1", 448, (1, 1))
    c = unit(c, n + ".branch3x3dbl_2", 384, (3, 3), padding=(1, 1))
    c1 = unit(c, n + ".branch3x3dbl_3a", 384, (1, 3), padding=(0, 1))
    c2 = unit(c, n + ".branch3x3dbl_3b", 384, (3, 1), padding=(1, 0))
    return cat(a, b1, b2, c1, c2, unit(pool(x), n + ".branch_pool", 192, (1, 1)))


def resize(images, side):
    place = np.clip((np.arange(299) + 0.5) * side / 299 - 0.5, 0, None)
    low = np.floor(place).astype(int)
    high = np.minimum(low + 1, side - 1)
    w = place - low
    rows = images[:, low] * (1 - w)[None, :, None] + images[:, high] * w[None, :, None]
    return rows[:, :, low] * (1 - w) + rows[:, :, high] * w


def features(fid):
    side = 28
    images = value("images", 2 * side * side).astype(np.float32).astype(np.float64)
    x = 2 * resize(images.reshape(2, side, side), side) - 1
    x = np.repeat(x[:, None], 3, 1)
    pool = lambda x: mean_pool(x, not fid)
    last = (lambda x: max_pool(x, 1, 1)) if fid else pool
    x = unit(x, "Conv2d_1a_3x3", 32, (3, 3), 2)
    x = unit(x, "Conv2d_2a_3x3", 32, (3, 3))
    x = unit(x, "Conv2d_2b_3x3", 64, (3, 3), padding=(1, 1))
    x = max_pool(x, 2)
    x = unit(x, "Conv2d_3b_1x1", 80, (1, 1))
    x = unit(x, "Conv2d_4a_3x3", 192, (3, 3))
    x = max_pool(x, 2)
    x = block_a(x, "Mixed_5b", 32, pool)
    x = block_a(x, "Mixed_5c", 64, pool)
    x = block_a(x, "Mixed_5d", 64, pool)
    x = block_b(x, "Mixed_6a")
    x = block_c(x, "Mixed_6b", 128, pool)
    x = block_c(x, "Mixed_6c", 160, pool)
    x = block_c(x, "Mixed_6d", 160, pool)
    x = block_c(x, "Mixed_6e", 192, pool)
    x = block_d(x, "Mixed_7a")
    x = block_e(x, "Mixed_7b", pool)
    x = block_e(x, "Mixed_7c", last)
    return [float(f"{v:.7g}") for v in x.mean((2, 3)).ravel()]


# Stand-ins whose pickles read like PyTorch's.
torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
sys.modules.update({"torch": torch, "torch._utils": utils})


def stand_in(module, name):
    def call(*arguments):
        raise NotImplementedError

    call.__module__, call.__qualname__, call.__name__ = module.__name__, name, name
    setattr(module, name, call)
    return call


rebuild = stand_in(utils, "_rebuild_tensor_v2")
parameter = stand_in(utils, "_rebuild_parameter")
kinds = {k: stand_in(torch, k) for k in ("FloatStorage", "DoubleStorage", "LongStorage")}
CODES = {"FloatStorage": "<f4", "DoubleStorage": "<f8", "LongStorage": "<i8"}


class Storage:
    def __init__(self, key, kind, numbers):
        self.key, self.kind, self.numbers = key, kind, np.array(numbers, CODES[kind])


class Tensor:
    def __init__(self, storage, offset, shape, strides, trained=False):
        self.parts = (storage, offset, shape, strides, False, collections.OrderedDict())
        self.trained = trained

    def __reduce__(self):
        if self.trained:
            return parameter, (Tensor(*self.parts[:4]), True, collections.OrderedDict())
        return rebuild, self.parts


class Pickler(pickle.Pickler):
    def __init__(self, file, stream):
        super().__init__(file, protocol=2)
        self.stream = stream

    def persistent_id(self, it):
        if not isinstance(it, Storage):
            return None
        name = ("storage", kinds[it.kind], it.key, "cpu", len(it.numbers))
        return name + (None,) if self.stream else name


def checkpoint(storages):
    f, d, i = storages
    state = collections.OrderedDict()
    state["plain"] = Tensor(f, 0, (2, 3), (3, 1))
    state["transposed"] = Tensor(f, 0, (3, 2), (1, 3), trained=True)
    state["part"] = Tensor(f, 7, (2,), (2,))
    state["double"] = Tensor(d, 1, (2,), (1,))
    state["scalar"] = Tensor(d, 0, (), ())
    state["counter"] = Tensor(i, 0, (), ())
    state._metadata = collections.OrderedDict([("", {"version": 1})])
    return {"epoch": 3, "rate": 0.5, "model": state}


def dumps(it, stream):
    file = io.BytesIO()
    Pickler(file, stream).dump(it)
    return file.getvalue()


def write_torch():
    storages = [
        Storage("0", "FloatStorage", [0.5 * n for n in range(10)]),
        Storage("1", "DoubleStorage", [-1.25, 2.5, 3.75]),
        Storage("2", "LongStorage", [7]),
    ]
    with zipfile.ZipFile("archive.pt", "w", zipfile.ZIP_STORED) as archive:
        def put(name, content):
            archive.writestr(zipfile.ZipInfo("archive/" + name, (1980, 1, 1, 0, 0, 0)), content)

        put("data.pkl", dumps(checkpoint(storages), False))
        put("byteorder", "little")
        for s in storages:
            put("data/" + s.key, s.numbers.tobytes())
        put("version", "3\n")
    with open("stream.pt", "wb") as file:
        plain = lambda it: file.write(pickle.dumps(it, protocol=2))
        plain(0x1950A86A20F9469CFC6C)
        plain(1001)
        plain({"protocol_version": 1001, "little_endian": True, "type_sizes": {"int": 4}})
        file.write(dumps(checkpoint(storages), True))
        plain([s.key for s in storages])
        for s in storages:
            file.write(struct.pack("<q", len(s.numbers)) + s.numbers.tobytes())


if __name__ == "__main__":
    write_torch()
    torchvision = features(False)
    units, UNITS[:] = list(UNITS), []
    text = {"units": units, "torchvision": torchvision, "fid": features(True)}
    with open("inception.json", "w") as file:
        file.write("{\n" + ",\n".join(f'"{k}": {json.dumps(v, separators=(",", ":"))}' for k, v in text.items()) + "\n}\n")
