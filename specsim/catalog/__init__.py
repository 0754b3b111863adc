"""Facts with their sources: GPUs, models and published acceptance, one TOML file each in `data/`."""

from specsim.catalog.attention import AttentionBlock, LatentAttention, LinearAttention
from specsim.catalog.experts import Experts
from specsim.catalog.hardware import Hardware, hardware, hardware_names
from specsim.catalog.hardware_file import hardware_from, read_hardware
from specsim.catalog.matrix import Matrix
from specsim.catalog.model_shape import ModelShape
from specsim.catalog.models import model, model_from, model_names
from specsim.catalog.published import PublishedAcceptance, published_acceptance, published_rows, rank_vector
from specsim.catalog.quantisation import WeightFormat

__all__ = [
    "AttentionBlock",
    "Experts",
    "Hardware",
    "LatentAttention",
    "LinearAttention",
    "Matrix",
    "ModelShape",
    "PublishedAcceptance",
    "WeightFormat",
    "hardware",
    "hardware_from",
    "hardware_names",
    "model",
    "model_from",
    "model_names",
    "published_acceptance",
    "published_rows",
    "rank_vector",
    "read_hardware",
]
