"""One flow step in PyTorch on two threads, to compare with `just bench-table --only flow`.

Once as in the public code of paper 000 (torch.quantile, then interpolation of the CDF and of the
quantiles), once with a sort, for which the target's quantiles are given. Needs torch.
"""

import math
import time

import torch

torch.set_num_threads(2)
n, d, k = 30000, 8, 70
torch.manual_seed(0)

def interp(x, y, xn):
    x, y = x.expand(xn.shape[0], -1).contiguous(), y.expand(xn.shape[0], -1).contiguous()
    i = (torch.searchsorted(x, xn.contiguous()) - 1).clamp(0, x.shape[1] - 2)
    slope = (y[:, 1:] - y[:, :-1]) / (torch.finfo(y.dtype).eps + x[:, 1:] - x[:, :-1])
    return y.gather(1, i) + slope.gather(1, i) * (xn - x.gather(1, i))

@torch.inference_mode()
def paper(x, y, sigma, h, lam, percentiles):
    th = torch.nn.functional.normalize(torch.randn(k, d), dim=1)
    t = torch.normal((y @ th.T).T, sigma) if sigma > 0 else (y @ th.T).T
    tq = torch.quantile(t, percentiles, dim=1).T
    u = torch.normal((x @ th.T).T, sigma) if sigma > 0 else (x @ th.T).T
    uq = torch.quantile(u, percentiles, dim=1).T
    cdf = interp(uq, percentiles[None], u)
    q = interp(percentiles[None], tq, cdf)
    nabla = ((u - q)[:, None, :] * th[:, :, None]).mean(0).T
    return x - h * nabla + math.sqrt(2 * h * lam) * torch.randn_like(x)

@torch.inference_mode()
def lean(x, tq, th, sigma, h, lam):
    """argsort and scatter; target quantiles given."""
    u = (x @ th.T).T
    if sigma > 0: u = u + sigma * torch.randn_like(u)
    s, o = torch.sort(u, dim=1)
    rho = torch.empty_like(u).scatter_(1, o, s - tq)
    x = x - h * (rho.T @ th) / k
    return x + math.sqrt(2 * h * lam) * torch.randn_like(x) if lam > 0 else x

def best(f, reps):
    f()
    t, c = [], time.process_time()
    for _ in range(reps):
        a = time.perf_counter(); f(); t.append(time.perf_counter() - a)
    return f"wall, best {min(t) * 1e3:.1f} ms, cpu {(time.process_time() - c) / reps * 1e3:.1f}"

x = torch.randn(n, d)
p = torch.linspace(0, 1, n)
for m in (250, 30000):
    y = torch.nn.functional.normalize(torch.randn(m, d), dim=1)
    for sigma in (1.0, 0.0):
        print(f"paper's step, m={m}, sigma={sigma}: {best(lambda: paper(x, y, sigma, 3.0, 1e-3, p), 4)} ms", flush=True)
th = torch.nn.functional.normalize(torch.randn(k, d), dim=1)
tq = (torch.randn(n, d) @ th.T).T.sort(1).values
for sigma in (1.0, 0.0):
    print(f"lean sort step, sigma={sigma}: {best(lambda: lean(x, tq, th, sigma, 3.0, 1e-3), 8)} ms", flush=True)
