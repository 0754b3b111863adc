"""Speculative decoding of real models, round by round, judged by the verifiers of specsim.

`loop.decode` plays rounds (`round.play`) of a target (`sequence.SequenceModel`: `model.CachedModel` around a
Hugging Face model, or `table_model.TableModel`) and of a proposer (`proposers`). Importing this package, the
loop, the table model and the proposers does not import torch.
"""
