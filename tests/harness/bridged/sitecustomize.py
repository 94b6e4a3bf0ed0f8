"""With this folder on PYTHONPATH every Python process has the bridge of tests.harness.rtx_bridge from its start.

So the tests of a generated package run as they are, and so do the fresh processes that they start. Each network that
such a process makes takes one plugin.
"""

from tests.harness import rtx_bridge

rtx_bridge.mend_for_torch_tensorrt_2_11()
rtx_bridge.install(plugins=1)
