"""Facts with their sources: GPUs and models, one TOML table each in `data/`."""

from specsim.catalog.hardware import Hardware, hardware, hardware_names
from specsim.catalog.model_shape import ModelShape, model, model_names

__all__ = ["Hardware", "ModelShape", "hardware", "hardware_names", "model", "model_names"]
