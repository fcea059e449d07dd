"""The parts of a torch loop's state: how each kind of object is copied out and written back."""

from dynhp_torch.parts.attributes import attributes_part
from dynhp_torch.parts.contents import frozen, is_plain
from dynhp_torch.parts.generators import data_part, generator_part, torch_generators
from dynhp_torch.parts.modules import ModuleState, modes_part, module_part
from dynhp_torch.parts.optimizers import OptimizerState, optimizer_part
from dynhp_torch.parts.reading import read_state
from dynhp_torch.parts.tensors import cloned, filled, tensor_part
from dynhp_torch.parts.torch_part import require_whole, torch_part

__all__ = ["ModuleState", "OptimizerState", "cloned", "data_part", "filled", "generator_part"]
__all__ += ["modes_part", "module_part", "optimizer_part", "read_state", "require_whole"]
__all__ += ["attributes_part", "frozen", "is_plain"]
__all__ += ["tensor_part", "torch_generators", "torch_part"]
