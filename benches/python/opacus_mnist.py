"""DP-SGD on MNIST by Opacus: a small network of two convolutions (16 and 32 filters) and two linear layers
(hidden 32), Poisson sampling, SGD. Prints one line of JSON: accuracy on the test set, epsilon by both of
Opacus's accountants, the median time of a step (without loading its batch) by the clock and of processor, and
the peak of memory. Needs opacus (1.6.0, with torch) and the four gzipped idx files of MNIST:

    pip install opacus==1.6.0
    python3 benches/python/opacus_mnist.py --data DATA/mnist --epsilon 1 --batch 2048 --epochs 20 --lr 2
    python3 benches/python/opacus_mnist.py --data DATA/mnist --noise 1 --batch 256 --steps 40 --mode ghost

Time of processor counts threads that wait; with OMP_WAIT_POLICY=PASSIVE they sleep instead.
"""

import argparse
import gzip
import json
import math
import resource
import statistics
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from opacus import PrivacyEngine
from opacus.accountants import create_accountant
from opacus.accountants.utils import get_noise_multiplier
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

MEAN, DEVIATION = 0.1307, 0.3081


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the four idx files")
    parser.add_argument("--batch", type=int, default=600, help="expected size of a Poisson sample")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--epochs", type=int, help="length of the run in passes over the data")
    length.add_argument("--steps", type=int, help="length of the run in steps")
    noise = parser.add_mutually_exclusive_group()
    noise.add_argument("--epsilon", type=float, help="calibrates the noise to this epsilon")
    noise.add_argument("--noise", type=float, help="noise multiplier")
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--accountant", choices=["prv", "rdp"], default="prv", help="which one calibrates")
    parser.add_argument("--clip", type=float, default=1.0, help="bound on the norm of a record's gradient")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--mode", choices=["hooks", "ghost", "functorch", "plain"], default="hooks")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def idx(path):
    with gzip.open(path) as file:
        data = file.read()
    rank = data[3]
    shape = [int.from_bytes(data[4 + 4 * i : 8 + 4 * i], "big") for i in range(rank)]
    return np.frombuffer(data, dtype=np.uint8, offset=4 + 4 * rank).reshape(shape)


def read(folder, part):
    images = idx(folder / f"{part}-images-idx3-ubyte.gz").astype(np.float32) / 255
    labels = idx(folder / f"{part}-labels-idx1-ubyte.gz").astype(np.int64)
    x = torch.from_numpy((images - MEAN) / DEVIATION).unsqueeze(1)
    return TensorDataset(x, torch.from_numpy(labels))


def network():
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, stride=2, padding=3), nn.ReLU(), nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, stride=2), nn.ReLU(), nn.MaxPool2d(2, 1),
        nn.Flatten(), nn.Linear(32 * 4 * 4, 32), nn.ReLU(), nn.Linear(32, 10))


def batches(loader, steps):
    """So many batches, over as many passes as that takes, each with the seconds that loading it took."""
    done = 0
    while done < steps:
        start = time.perf_counter()
        for x, y in loader:
            yield x, y, time.perf_counter() - start
            done += 1
            if done == steps:
                return
            start = time.perf_counter()


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    flags = arguments()
    # Of its dense gradients and of a generator that is not that of the operating system.
    warnings.filterwarnings("ignore")
    torch.set_num_threads(flags.threads)
    torch.manual_seed(flags.seed)
    train, test = read(flags.data, "train"), read(flags.data, "t10k")
    loader = DataLoader(train, batch_size=flags.batch, shuffle=flags.mode == "plain")
    rate = 1 / len(loader)
    steps = flags.steps or (flags.epochs or 10) * len(loader)
    model, criterion = network(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=flags.lr)
    weights = sum(p.numel() for p in model.parameters())

    noise = None
    if flags.mode != "plain":
        noise = flags.noise
        if flags.epsilon is not None:
            noise = get_noise_multiplier(
                target_epsilon=flags.epsilon, target_delta=flags.delta, sample_rate=rate, steps=steps,
                accountant=flags.accountant)
        elif noise is None:
            noise = 1.0
        wrapped = PrivacyEngine().make_private(
            module=model, optimizer=optimizer, data_loader=loader, criterion=criterion,
            noise_multiplier=noise, max_grad_norm=flags.clip, grad_sample_mode=flags.mode)
        if flags.mode == "ghost":
            model, optimizer, criterion, loader = wrapped
        else:
            model, optimizer, loader = wrapped

    before = peak_mib()
    wall, processor, loading = [], [], []
    model.train()
    for x, y, seconds in batches(loader, steps):
        start, start_processor = time.perf_counter(), time.process_time()
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        wall.append(time.perf_counter() - start)
        processor.append(time.process_time() - start_processor)
        loading.append(seconds)

    peak = peak_mib()
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in DataLoader(test, batch_size=1000))

    epsilons = {}
    for name in ("prv", "rdp") if noise else ():
        accountant = create_accountant(name)
        accountant.history = [(noise, rate, steps)]
        epsilons[name] = accountant.get_epsilon(flags.delta)
    # The first steps pay for what is set up once.
    settled = slice(min(3, steps - 1), None)
    result = {
        "mode": flags.mode, "seed": flags.seed, "batch": flags.batch, "steps": steps, "lr": flags.lr,
        "clip": flags.clip, "weights": weights, "noise_multiplier": noise, "delta": flags.delta,
        "epsilon": epsilons, "accuracy": right / len(test),
        "step_s": statistics.median(wall[settled]),
        "step_least_s": min(wall[settled]),
        "step_processor_s": statistics.median(processor[settled]),
        "load_s": statistics.median(loading[settled]),
        "peak_mib": round(peak, 1), "peak_before_mib": round(before, 1),
        "loss": loss.item() if math.isfinite(loss.item()) else None,
        "torch": torch.__version__, "threads": flags.threads,
    }
    print(json.dumps(result), flush=True)


main()
