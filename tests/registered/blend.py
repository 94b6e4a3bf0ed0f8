import torch


def reference(
    x: torch.Tensor, y: torch.Tensor, weight: float = 0.5, repeats: int = 1, mode: str = "linear", swap: bool = False
) -> torch.Tensor:
    one, other = (y, x) if swap else (x, y)
    mixed = weight * one.float() + (1 - weight) * other.float()
    return mixed.to(x.dtype).repeat_interleave(repeats, dim=-1)
