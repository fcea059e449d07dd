"""States as files without pickle: JSON for the structure, raw buffers for what is large."""

from dynhp.storage.codecs.registry import register_codec, register_dataclass
from dynhp.storage.codecs.state_file import decode, encode

__all__ = ["decode", "encode", "register_codec", "register_dataclass"]
