import torch


def plain(x, n, w, alpha=0.5, negate=False, mode="relu", shifts=(1, -2), scales=(), beta=2.0, mask=(True,)):
    rows, columns = max(x.shape[0], 2), x.shape[1]
    padded = torch.cat([x.float(), x.new_zeros(rows - x.shape[0], columns, dtype=torch.float32)])
    y = (padded * alpha + w.reshape(-1) * beta + sum(shifts) + len(mask)) * (len(scales) + 1)
    y = -y if negate else y
    y = y.clamp(min=0) if mode == "relu" else y
    sign_shape = (columns, -(-x.shape[0] // 2) + 1, x.shape[0] // 3 + 2)
    sign = torch.arange(columns).repeat(-(-torch.Size(sign_shape).numel() // columns))[: torch.Size(sign_shape).numel()]
    return y.repeat_interleave(n, 0).reshape(rows, columns * n).to(x.dtype), sign.int().reshape(sign_shape).to(x.device)
