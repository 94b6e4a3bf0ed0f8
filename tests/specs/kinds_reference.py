import torch


def plain(
    n,
    x,
    rows,
    dtype,
    w=None,
    eps=None,
    flag=None,
    mode=None,
    sizes=None,
    pads=(),
    scales=(),
    mask=None,
    other=None,
    label="",
):
    source = x.reshape(-1, x.shape[-1])
    positive = source.repeat(-(-rows // source.shape[0]), 1)[:rows] > 0
    y = x.float()
    if w is not None:
        y = y * w.float()
    if mask is not None:
        y = torch.where(mask, y, -2.0)
    y = y.reshape(-1, x.shape[-1])
    y = y.repeat(-(-rows // y.shape[0]), 1)[:rows]
    y = torch.nn.functional.pad(y, (0, sum(pads)), value=0.0 if mask is None else -2.0)
    y = {"tanh": torch.tanh(y), "": 2 * y, "two  words": 3 * y}.get(mode, y)
    y = -y if flag is False else y
    y = y + (label == "tanh") + 2 * (n is None)
    number = (7 if n is None else n) % 1000 + sum((5, 6) if sizes is None else sizes) % 1000
    number += len(sizes or ()) + len(scales)
    y = y + min((0.25 if eps is None else eps) * 1e12, 4.0) + number % 50
    code = torch.arange(rows, device=x.device) - number % 50
    return y.to(dtype if other is None else other), positive, code.to(torch.int8)
