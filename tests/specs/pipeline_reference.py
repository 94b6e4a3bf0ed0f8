import torch.nn.functional as F


def plain(x, scale=1.0):
    positive = (x > 0).sum(-1, keepdim=True)
    y = (x.float() - x.float().mean(-1, keepdim=True)) * positive * scale
    return y.to(x.dtype), F.pad(positive.flatten(1), (0, 1)).amax(1).int()
