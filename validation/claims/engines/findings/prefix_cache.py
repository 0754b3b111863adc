"""mini-infer 0.2.5: a prompt whose beginning is in the prefix cache is decoded as if it began after it.

Run in an environment with that package: `python prefix_cache.py`. `InferenceEngine.step` forwards what is left of the
prompt with `past_key_values=None`: neither the cached blocks nor their positions reach the model. It then writes those
keys and values over the shared blocks from their first slot on (`start_token_idx=0`).
"""

import torch

V, N = 4, 2_000
PROMPT = [number % 3 for number in range(16)] + [3, 1]  # one block of 16, and two tokens more


def network():
    from mini_infer.models import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = Qwen2Config(vocab_size=V, num_key_value_heads=2, head_dim=8, tie_word_embeddings=False, **sizes)
    model = Qwen2ForCausalLM(config).eval().requires_grad_(False)
    for weight in model.parameters():
        if weight.ndim == 2:
            weight *= 4  # as they come, laws are all but flat
    return model


def law(model, ids):
    return model(torch.tensor([ids]))[0][0, -1].softmax(-1)


def measured(model, *, caching):
    from mini_infer.engine import InferenceEngine

    engine = InferenceEngine(model, model.config, enable_prefix_caching=caching, device=torch.device("cpu"))
    counts = torch.zeros(V)
    for number in range(N):
        sequence = engine.add_request(PROMPT, max_tokens=1, temperature=1.0)
        while engine.scheduler.has_unfinished_sequences():
            engine.step()
        if number:  # the first one fills the cache
            counts[sequence.output_token_ids[0]] += 1
    return counts / (N - 1)


def main():
    model = network()
    for name, values in (
        ("exact law after the prompt          ", law(model, PROMPT)),
        ("law after its last two tokens alone ", law(model, PROMPT[16:])),
        ("measured without prefix cache       ", measured(model, caching=False)),
        ("measured with prefix cache, default ", measured(model, caching=True)),
    ):
        print(name, [round(float(x), 3) for x in values])


if __name__ == "__main__":
    main()
