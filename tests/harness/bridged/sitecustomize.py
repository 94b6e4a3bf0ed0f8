"""With this folder on PYTHONPATH every Python process has the bridge of tests.harness.rtx_bridge from its start.

So the tests of a generated package run as they are, and so do the fresh processes that they start. Each network that
such a process makes takes one plugin, of as many outputs as the variable BRIDGED_OUTPUTS says; one that Torch-TensorRT
makes takes those of its graph.
"""

import os

from tests.harness import rtx_bridge

rtx_bridge.mend_for_torch_tensorrt_2_11()
rtx_bridge.install(int(os.environ.get("BRIDGED_OUTPUTS", "1")))
