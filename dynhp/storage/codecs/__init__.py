"""States as files without pickle: JSON for the structure, raw buffers for what is large."""

from dynhp.storage.codecs.registry import register_codec, register_dataclass
from dynhp.storage.codecs.state_file import decode, encode, read_state, write_state

__all__ = ["decode", "encode", "read_state", "register_codec", "register_dataclass", "write_state"]
