"""The interfaces of TensorRT that a plugin may implement; here alone, since the command line imports it at once."""

from enum import Enum


class PluginApi(Enum):
    """An interface, as a spec names it."""

    V3 = "v3"  # IPluginV3
    V2 = "v2"  # IPluginV2DynamicExt
