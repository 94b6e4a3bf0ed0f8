"""ROI Align in plain PyTorch, and torchvision's way of calling it."""

from collections.abc import Sequence

import torch


def roi_align(
    input: torch.Tensor,
    boxes: torch.Tensor | Sequence[torch.Tensor],
    output_size: int | tuple[int, int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> torch.Tensor:
    """What torchvision.ops.roi_align returns.

    `boxes` is (K, 5), each row an index into the batch and x1, y1, x2, y2; or a sequence of (L, 4), one for each
    element of the batch.
    """
    if isinstance(boxes, torch.Tensor):
        batch_indices, rois = boxes[:, 0].int(), boxes[:, 1:]
    else:
        rois = torch.cat(list(boxes))
        batch_indices = torch.cat([each.new_full((len(each),), i, dtype=torch.int32) for i, each in enumerate(boxes)])
    height, width = (output_size, output_size) if isinstance(output_size, int) else output_size
    return torch.ops.trtplug_ops.roi_align(
        input, rois, batch_indices, spatial_scale, height, width, sampling_ratio, aligned
    )


def reference(
    input: torch.Tensor,
    rois: torch.Tensor,
    batch_indices: torch.Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> torch.Tensor:
    """The average of the samples in each cell; (K, C, pooled_height, pooled_width) for K boxes."""
    pooled = [
        _one(input[int(index)], box, spatial_scale, (pooled_height, pooled_width), sampling_ratio, aligned)
        for box, index in zip(rois, batch_indices, strict=True)
    ]
    if not pooled:
        return input.new_empty(0, input.shape[1], pooled_height, pooled_width)
    return torch.stack(pooled)


def _one(
    image: torch.Tensor,
    box: torch.Tensor,
    scale: float,
    size: tuple[int, int],
    sampling_ratio: int,
    aligned: bool,
) -> torch.Tensor:
    """The averages of one box in an image of (C, H, W)."""
    x1, y1, x2, y2 = (float(corner) * scale - 0.5 * aligned for corner in box)
    height, width = y2 - y1, x2 - x1
    if not aligned:
        height, width = max(height, 1.0), max(width, 1.0)
    ys, rows = _samples(y1, height, size[0], sampling_ratio, image.shape[1], image.device)
    xs, columns = _samples(x1, width, size[1], sampling_ratio, image.shape[2], image.device)
    samples = ys @ image.float() @ xs.T
    cells = samples.reshape(image.shape[0], size[0], rows, size[1], columns)
    return (cells.sum((2, 4)) / max(rows * columns, 1)).to(image.dtype)


def _samples(
    start: float, length: float, cells: int, sampling_ratio: int, size: int, device: torch.device
) -> tuple[torch.Tensor, int]:
    """The weights of the pixels of one axis in each sample, (cells * count, size), and the count in a cell."""
    count = sampling_ratio if sampling_ratio > 0 else max(-int(-(length / cells) // 1), 0)
    offsets = (torch.arange(cells * count, device=device, dtype=torch.float32) + 0.5) * (length / cells / max(count, 1))
    at = start + offsets
    inside = (at >= -1) & (at <= size)
    at = at.clamp(0, size - 1)
    low = at.floor().long().clamp(max=size - 1)
    high = (low + 1).clamp(max=size - 1)
    weights = torch.zeros(cells * count, size, device=device)
    weights.scatter_add_(1, low[:, None], (1 - (at - low))[:, None])
    weights.scatter_add_(1, high[:, None], (at - low)[:, None])
    return weights * inside[:, None], count
