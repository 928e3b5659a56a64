"""The squared sliced Wasserstein distance as a loss of PyTorch, computed on the host."""

import torch

from .transport import sliced_w2_squared_and_gradient


class _SlicedW2Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, u, v, slices):
        for name, points in (("u", u), ("v", v)):
            if not points.is_floating_point():
                raise TypeError(f"{name} has dtype {points.dtype}, expected a floating type")
        arrays = [points.detach().to("cpu", torch.float32).contiguous().numpy() for points in (u, v)]
        value, gradient = sliced_w2_squared_and_gradient(*arrays, slices)
        gradients = [torch.from_numpy(gradient).to(u), None]
        if ctx.needs_input_grad[1]:
            _, gradient = sliced_w2_squared_and_gradient(*reversed(arrays), slices)
            gradients[1] = torch.from_numpy(gradient).to(v)
        ctx.gradients = gradients
        return u.new_tensor(value)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, above):
        return *(None if gradient is None else above * gradient for gradient in ctx.gradients), None


def sliced_w2_squared(u, v, slices):
    """The squared sliced 2-Wasserstein distance between `u`, [n, d], and `v`, [m, d]: a tensor of one number.

    Differentiable once in `u` and in `v`, on any device and in any floating type; points are rounded to float32. Arguments
    and errors as of `sliver_dp.transport.sliced_w2_squared`.
    """
    return _SlicedW2Squared.apply(u, v, slices)
