"""Rotary position embedding of queries and keys, with angles from a table."""

import torch
import triton
import triton.language as tl


# A few heads more or less, another batch or a longer table need no code of their own. The sizes of a head are
# specialised, since multiples of 16 are loaded in wide pieces.
@triton.jit(do_not_specialize=["q_heads", "k_heads", "positions", "table", "q_blocks", "blocks"])
def rotary_kernel(
    Q,
    K,
    P,
    T,
    Q_OUT,
    K_OUT,
    q_heads,
    k_heads,
    head_dim,
    half,  # pairs of a head; a row of T has as many cosines, then as many sines
    rest,  # elements of a head that are in no pair
    positions,  # how many there are; token t has position t modulo that
    table,  # rows of T
    q_blocks,
    blocks,  # head blocks of one token: those of Q, then those of K
    HEADS: tl.constexpr,
    HALF: tl.constexpr,
    REST: tl.constexpr,  # 0 if there is none
    INTERLEAVED: tl.constexpr,
):
    """One program rotates HEADS heads of one token, of Q or of K."""
    token = (tl.program_id(0) // blocks).to(tl.int64)
    block = tl.program_id(0) % blocks
    position = tl.load(P + token % positions)
    pair = tl.arange(0, HALF)
    mask = (pair < half) & (position >= 0) & (position < table)
    angles = T + position * half * 2 + pair
    cos = tl.load(angles, mask=mask, other=float("nan"))[None, :]
    sin = tl.load(angles + half, mask=mask, other=float("nan"))[None, :]
    if block < q_blocks:
        _rotate(Q, Q_OUT, cos, sin, token, block, q_heads, head_dim, half, rest, HEADS, HALF, REST, INTERLEAVED)
    else:
        block -= q_blocks  # of K
        _rotate(K, K_OUT, cos, sin, token, block, k_heads, head_dim, half, rest, HEADS, HALF, REST, INTERLEAVED)


@triton.jit
def _rotate(
    X,
    Y,
    cos,
    sin,
    token,
    block,
    heads,
    head_dim,
    half,
    rest,
    HEADS: tl.constexpr,
    HALF: tl.constexpr,
    REST: tl.constexpr,
    INTERLEAVED: tl.constexpr,
):
    """Rotates one block of the heads of a token."""
    head = block * HEADS + tl.arange(0, HEADS)
    in_heads = (head < heads)[:, None]
    first = ((token * heads + head) * head_dim)[:, None]
    if INTERLEAVED:
        # Pairs are taken apart in registers, so that memory is read and written in order.
        offset = first + tl.arange(0, 2 * HALF)[None, :]
        mask = in_heads & (tl.arange(0, 2 * HALF) < 2 * half)[None, :]
        x = tl.load(X + offset, mask=mask, other=0.0).to(tl.float32)
        a, b = tl.split(tl.reshape(x, [HEADS, HALF, 2]))
        y = tl.join(a * cos - b * sin, b * cos + a * sin)
        tl.store(Y + offset, tl.reshape(y, [HEADS, 2 * HALF]), mask=mask)
    else:
        offset = first + tl.arange(0, HALF)[None, :]
        mask = in_heads & (tl.arange(0, HALF) < half)[None, :]
        a = tl.load(X + offset, mask=mask, other=0.0).to(tl.float32)
        b = tl.load(X + offset + half, mask=mask, other=0.0).to(tl.float32)
        tl.store(Y + offset, a * cos - b * sin, mask=mask)
        tl.store(Y + offset + half, b * cos + a * sin, mask=mask)
    if REST > 0:
        offset = first + 2 * half + tl.arange(0, REST)[None, :]
        mask = in_heads & (tl.arange(0, REST) < rest)[None, :]
        tl.store(Y + offset, tl.load(X + offset, mask=mask), mask=mask)


def reference(
    q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor, cos_sin: torch.Tensor, interleaved: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """In float32, rounded once at the end."""
    outside = (positions < 0) | (positions >= cos_sin.shape[0])
    angles = cos_sin[positions.masked_fill(outside, 0)].masked_fill(outside[..., None], float("nan"))
    cos, sin = angles[..., None, :].chunk(2, dim=-1)  # the same for all heads

    def rotate(x: torch.Tensor) -> torch.Tensor:
        pairs, rest = x.float().tensor_split([cos_sin.shape[1]], dim=-1)
        if interleaved:
            a, b = pairs.unflatten(-1, (cos.shape[-1], 2)).unbind(-1)
            rotated = torch.stack([a * cos - b * sin, b * cos + a * sin], dim=-1).flatten(-2)
        else:
            a, b = pairs.chunk(2, dim=-1)
            rotated = torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)
        return torch.cat([rotated, rest], dim=-1).to(x.dtype)

    return rotate(q), rotate(k)
