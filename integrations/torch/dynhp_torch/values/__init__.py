"""Where values live beside the optimiser: batches, clipping, weights of losses and samplers."""

from dynhp_torch.values.augmentation import augmentation
from dynhp_torch.values.batches import batch_size
from dynhp_torch.values.clipping import gradient_clip
from dynhp_torch.values.sampling import sampler_weight
from dynhp_torch.values.tensors import tensor_value

__all__ = ["augmentation", "batch_size", "gradient_clip", "sampler_weight", "tensor_value"]
