"""DP-SGD on MNIST by Opacus: a small network of two convolutions (16 and 32 filters) and two linear layers
(hidden 32), Poisson sampling, SGD. Prints one line of JSON for each mode: accuracy on the test set, epsilon by both
of Opacus's accountants, the median and the least time of a step (without loading its batch) by the clock, the
median of processor, and the peak of memory of the process. Several modes take their steps turn by turn, so that
their times can be compared. Needs opacus (1.6.0, with torch) and the four gzipped idx files of MNIST:

    pip install opacus==1.6.0
    python3 benches/python/opacus_mnist.py --data DATA/mnist --epsilon 1 --batch 2048 --epochs 20 --lr 2
    python3 benches/python/opacus_mnist.py --data DATA/mnist --noise 1 --batch 256 --steps 40 \\
        --mode plain hooks ghost functorch

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
    parser.add_argument("--mode", nargs="+", choices=["hooks", "ghost", "functorch", "plain"], default=["hooks"])
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


def training(mode, train, flags, steps, noise):
    """The model, and its steps one by one: the loss, seconds by the clock, of processor, and of loading."""
    torch.manual_seed(flags.seed)
    model, criterion = network(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=flags.lr)
    loader = DataLoader(train, batch_size=flags.batch, shuffle=mode == "plain")
    if mode != "plain":
        wrapped = PrivacyEngine().make_private(
            module=model, optimizer=optimizer, data_loader=loader, criterion=criterion,
            noise_multiplier=noise, max_grad_norm=flags.clip, grad_sample_mode=mode)
        if mode == "ghost":
            model, optimizer, criterion, loader = wrapped
        else:
            model, optimizer, loader = wrapped

    def run():
        model.train()
        for x, y, loading in batches(loader, steps):
            start, processor = time.perf_counter(), time.process_time()
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            yield loss.item(), time.perf_counter() - start, time.process_time() - processor, loading

    return model, run()


def accuracy(model, test):
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in DataLoader(test, batch_size=1000))
    return right / len(test)


def main():
    flags = arguments()
    # Of its dense gradients and of a generator that is not that of the operating system.
    warnings.filterwarnings("ignore")
    torch.set_num_threads(flags.threads)
    train, test = read(flags.data, "train"), read(flags.data, "t10k")
    passes = math.ceil(len(train) / flags.batch)
    rate, steps = 1 / passes, flags.steps or (flags.epochs or 10) * passes
    noise = flags.noise or 1.0
    if flags.epsilon is not None:
        noise = get_noise_multiplier(
            target_epsilon=flags.epsilon, target_delta=flags.delta, sample_rate=rate, steps=steps,
            accountant=flags.accountant)
    epsilons = {}
    for name in ("prv", "rdp"):
        accountant = create_accountant(name)
        accountant.history = [(noise, rate, steps)]
        epsilons[name] = accountant.get_epsilon(flags.delta)

    before = peak_mib()
    trainings = {mode: training(mode, train, flags, steps, noise) for mode in flags.mode}
    taken = {mode: [] for mode in flags.mode}
    for _ in range(steps):
        for mode, (_, run) in trainings.items():
            taken[mode].append(next(run))
    peak = peak_mib()

    for mode, (model, _) in trainings.items():
        private = mode != "plain"
        # The first steps pay for what is set up once.
        losses, wall, processor, loading = zip(*taken[mode][min(3, steps - 1) :])
        result = {
            "mode": mode, "seed": flags.seed, "batch": flags.batch, "steps": steps, "lr": flags.lr,
            "weights": sum(p.numel() for p in model.parameters()),
            "clip": flags.clip if private else None, "noise_multiplier": noise if private else None,
            "delta": flags.delta if private else None, "epsilon": epsilons if private else None,
            "accuracy": accuracy(model, test), "last_loss": losses[-1],
            "step_s": statistics.median(wall), "step_least_s": min(wall),
            "step_processor_s": statistics.median(processor), "load_s": statistics.median(loading),
            "peak_mib": round(peak, 1), "peak_before_mib": round(before, 1),
            "torch": torch.__version__, "threads": flags.threads,
        }
        print(json.dumps(result), flush=True)


main()
