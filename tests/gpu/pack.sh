#!/usr/bin/env bash
# Packs the wheels that `python -m tests.gpu` needs on a GPU machine without a network, beside what such a machine has:
# PyTorch with CUDA, Triton, CuPy, onnx, onnxscript, pytest, build, and most of what trtplug requires.
#
# Here, in the repository's root:    tests/gpu/pack.sh
# There, in a copy of the repository: for part in .gpu/*/gather.sh; do bash "$part"; done
#                                     . .gpu/2/activate.sh && python -m tests.gpu
#
# .gpu/1 and .gpu/2 hold half each, so that they can be copied one after the other where a transfer is limited. The
# defaults fit Python 3.12, CUDA 13, PyTorch 2.11, and TensorRT-RTX 1.6, which runs its engines on compute capability
# 9.0, as 1.7 does not.
set -euo pipefail
python=${PYTHON_VERSION:-3.12}
rtx=${TENSORRT_RTX:-1.6.1.120}
torch_tensorrt=${TORCH_TENSORRT_RTX:-2.11.0}

version() { python3 -c "import importlib.metadata as m; print(m.version('$1'))"; }

rm -rf .gpu/1 .gpu/2 .gpu/wheels && mkdir -p .gpu/1 .gpu/2 .gpu/wheels
platforms=()
for glibc in 2_28 2_27 2_24 2_17; do platforms+=(--platform "manylinux_${glibc}_x86_64"); done
# What TensorRT-RTX and torch-tensorrt-rtx require is on that machine or named here: --no-deps keeps PyTorch as it is.
python3 -m pip download -q --no-deps --only-binary=:all: --python-version "$python" --implementation cp \
  "${platforms[@]}" -d .gpu/wheels \
  "tensorrt-rtx-cu13-libs==$rtx" "tensorrt-rtx-cu13-bindings==$rtx" "torch-tensorrt-rtx==$torch_tensorrt" dllist \
  hatchling tomlkit pathspec pluggy packaging trove-classifiers \
  "pydantic==$(version pydantic)" "pydantic-core==$(version pydantic-core)" annotated-types typing-extensions typing-inspection ruff "$@"
# The package that is imported is pure Python, published as source.
python3 -m pip wheel -q --no-deps -w .gpu/wheels "tensorrt-rtx==$rtx" "tensorrt-rtx-cu13==$rtx"

tar -C .gpu -cf .gpu/all.tar wheels && split -n 2 -a 1 --numeric-suffixes=1 .gpu/all.tar .gpu/half.
for part in 1 2; do
  mv ".gpu/half.$part" ".gpu/$part/half.$part"
  cat >".gpu/$part/gather.sh" <<'S'
mkdir -p /tmp/trtplug-gpu && cp "$(dirname "${BASH_SOURCE[0]}")"/half.* /tmp/trtplug-gpu/
S
done
rm -r .gpu/wheels .gpu/all.tar
cat >.gpu/2/activate.sh <<'S'
# Sourced: installs the wheels once, into a folder of their own, and puts that folder before all others.
if [ ! -e /tmp/trtplug-gpu/ready ]; then
  cat /tmp/trtplug-gpu/half.1 /tmp/trtplug-gpu/half.2 | tar -C /tmp/trtplug-gpu -xf - &&
    python3 -m pip install -q --no-index --no-deps --no-compile --target /tmp/trtplug-gpu/site /tmp/trtplug-gpu/wheels/*.whl &&
    rm -rf /tmp/trtplug-gpu/site/tensorrt_rtx/plugin && # Torch-TensorRT would import it, and it cannot be imported
    ln -sf libtensorrt_rtx.so.1 /tmp/trtplug-gpu/site/tensorrt_rtx_libs/libtensorrt_rtx.so && # the parser opens this name
    touch /tmp/trtplug-gpu/ready
fi
export PYTHONPATH=/tmp/trtplug-gpu/site${PYTHONPATH:+:$PYTHONPATH}
export PATH=/tmp/trtplug-gpu/site/bin:$PATH
export LD_LIBRARY_PATH=/tmp/trtplug-gpu/site/tensorrt_rtx_libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
S
du -sh .gpu/1 .gpu/2
