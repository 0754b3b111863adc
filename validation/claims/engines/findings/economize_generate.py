"""economize 0.3.2: `model.generate` raises under transformers 5.24, which it allows.

Run in an environment with that package: `python economize_generate.py`.
"""

import torch


def main():
    import economize
    from economize.errors import ConfigError
    from economize.techniques.lookup import LookupConfig
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    network = LlamaForCausalLM(LlamaConfig(vocab_size=8, bos_token_id=None, eos_token_id=None, **sizes)).eval()
    model = economize.apply(network, LookupConfig())
    prompt = torch.tensor([[1, 2, 3]])
    print("decode_batch:", model.decode_batch([prompt[0]], 4)[0].tokens.tolist())
    for options in ({}, {"use_cache": False}):
        try:
            print(f"generate, {options}:", model.generate(prompt, max_new_tokens=4, pad_token_id=0, **options).tolist())
        except ConfigError as error:
            print(f"generate, {options}: ConfigError: {error}")


if __name__ == "__main__":
    main()
