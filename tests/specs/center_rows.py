def reference(x, weight=None, axes=(-1,), scale=1.0):
    mean = x.float().mean(axes, keepdim=True)
    y = (x.float() - mean) * scale
    if weight is not None:
        y = y * weight.float()
    return y.to(x.dtype), mean
