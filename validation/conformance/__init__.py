"""Real decoders as sources for `specsim.conformance`: transformers and vLLM, and a table model for any package.

`table_model` is a transformers model whose law is a table's, so that whatever takes such models can be held to exact
probabilities; `hf` is a decoder and an oracle around `generate`; `vllm` around its offline `LLM`.
"""
