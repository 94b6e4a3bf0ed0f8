from collections.abc import Sequence

import torch


def reference(
    x: torch.Tensor,
    y: torch.Tensor,
    weight: float = 0.5,
    repeats: int = 1,
    mode: str = "linear",
    swap: bool = False,
    curve: Sequence[float] = (),
) -> torch.Tensor:
    one, other = (y, x) if swap else (x, y)
    for power, factor in enumerate(curve, 2):
        one = one + factor * one**power
    mixed = weight * one.float() + (1 - weight) * other.float()
    return mixed.to(x.dtype).repeat_interleave(repeats, dim=-1)
