"""Kernels of no sense: names as people choose them, put together at random."""

from __future__ import annotations

from random import Random

_POINTERS = (
    "x_ptr y_ptr out_ptr X W B Out Q K V in_ptr0 index_ptr labels mask_ptr Mean input output a_ptr b_ptr c_ptr values "
    "dtype_ptr shape idx on y n_ptr ptr self_ptr X_shape no weight bias indices_ptr lse _a _0"
)
_NUMBERS = (
    "n_elements M N K n_cols n_rows stride_am stride_ak stride_xm stride x_row_stride stride_x stride_0 stride_1 eps p "
    "stride_row stride_col scale seed H W_ height width C batch num_heads head_dim N_CTX seq_len size length values_2 "
    "step out_height x_rows hidden_size E stream max min len sum strides list alpha x_stride_0 x_stride_1 stride_bn "
    "stride_bk stride_outm stride_on stride_om stride_qz stride_qh stride_qm stride_kz stride_kh stride_kn stride_kk "
    "stride_vz stride_vk stride_vn stride_lz int n m k b _n"
)
_CONSTEXPRS = (
    "BLOCK BLOCK_SIZE BLOCK_M BLOCK_N BLOCK_K GROUP_SIZE_M HAS_BIAS IS_CAUSAL ACT HEAD_DIM n N XBLOCK RBLOCK ROWS "
    "has_w eps DIM use_mask BLOCK_C causal x k D"
)


def random_kernel(random: Random) -> str:
    """A file with a `random_kernel` that loads from some of its parameters and stores to one or two, maybe in place."""
    pointers = random.sample(_POINTERS.split(), random.randint(2, 5))
    numbers = [name for name in random.sample(_NUMBERS.split(), random.randint(0, 8)) if name not in pointers]
    constexprs = [name for name in random.sample(_CONSTEXPRS.split(), 6) if name not in (*pointers, *numbers)]
    some = numbers or ["1"]
    axes = random.randint(0, 3)
    lines = [f"pid{axis} = tl.program_id({axis})" for axis in range(axes)]
    offsets = [f"o{i}" for i in range(random.randint(1, 3))]
    for offset in offsets:
        block = random.choice(constexprs)
        value = f"tl.arange(0, {block})"
        if axes and random.random() < 0.7:
            value = f"pid{random.randrange(axes)} * {random.choice([block, random.choice(some)])} + {value}"
        lines.append(
            f"{offset} = ({value}) % {random.choice(some)}" if random.random() < 0.2 else f"{offset} = {value}"
        )

    def address(pointer: str) -> str:
        forms = [random.choice(offsets), f"{offsets[0]}[:, None] * {random.choice(some)} + {offsets[-1]}[None, :]", "0"]
        if axes:
            program = f"pid{random.randrange(axes)}"
            forms += [program, f"{program} * {random.choice(some)} + {random.choice(offsets)}"]
        return f"{pointer} + {random.choice(forms)}"

    if random.random() < 0.2:
        lines.append(f"old = tl.load({address(pointers[0])})")
    loaded = [f"v{i}" for i in range(len(pointers) - 1)]
    for value, pointer in zip(loaded, pointers[1:], strict=True):
        index = f" + {loaded[0]}" if value != loaded[0] and random.random() < 0.2 else ""
        load = f"{value} = tl.load({address(pointer)}{index})"
        condition = random.choice([f"{pointer} is not None", random.choice(constexprs), None, None, None])
        lines += [f"{value} = 0", f"if {condition}:", f"    {load}"] if condition else [load]
    if random.random() < 0.3:
        lines.append(f"if {random.choice(constexprs)} == 'relu': v0 = v0 * 2")
    store = random.choice(["tl.store", "tl.store", "tl.atomic_add"])
    cast = random.choice(["", ".to(tl.int8)", ".to(tl.float16)", f" > {random.choice(some)}"])
    lines.append(f"{store}({address(pointers[0])}, ({' + '.join(loaded)}){cast})")
    if len(pointers) > 2 and random.random() < 0.2:
        lines.append(f"tl.store({address(pointers[1])}, 1)")

    plain = [*pointers, *numbers]
    random.shuffle(plain)
    defaults = [f" = {random.choice(['16', 'True', 'None', repr('a'), '-1.5'])}" for _ in constexprs]
    first = random.choice([len(constexprs), 1])  # that has a default
    given = [f"{name}: tl.constexpr{defaults[i] if i >= first else ''}" for i, name in enumerate(constexprs)]
    body = "".join(f"    {line}\n" for line in lines)
    head = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
    return f"{head}def random_kernel({', '.join([*plain, *given])}):\n{body}"
