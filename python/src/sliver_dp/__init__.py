"""Differential privacy accounting, audits and sliced Wasserstein distances, in Rust.

- `sliver_dp.accounting`: what a mechanism costs, as an upper bound on epsilon; calibration of noise, steps and batches
- `sliver_dp.audit`: what an attack proves of a mechanism, as a lower bound on epsilon
- `sliver_dp.transport`: sliced Wasserstein distances with gradients, plans on a line, Sinkhorn
- `sliver_dp.synth`: private copies of tables and of images; imported by itself, with `pip install sliver-dp[synth]`
- `sliver_dp.classifiers`: private classifiers of images, of rows and of tables, as scikit-learn has them; imported by itself
- `sliver_dp.torch`: the distance as a loss of PyTorch; imported by itself, where torch is installed
"""

from . import accounting, audit, transport

__all__ = ["accounting", "audit", "transport"]
