"""Greedy drafts judged as if they had been sampled: naive-speculate 0.1.0, flashspec 0.3.1.

Run from this checkout in an environment with either package:
`python -m validation.claims.engines.findings.greedy_drafts`. The draft is always the draft's likeliest token x,
but it is accepted with p(x) / q(x) and replaced from (p - q)+, as if it came from q. The law is then
a(x) = min(1, p(x) / q(x)) on x, and (1 - a(x)) times the residual elsewhere.
"""

import importlib.util

import torch

from validation.claims.engines.pypi.lazy_annotations import annotations_of

P, Q = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.6, 0.3, 0.1])
N = 20_000


def predicted():
    residual = (P - Q).clamp(min=0)
    accepted = min(1.0, float(P[0] / Q[0]))
    return [accepted if x == 0 else (1 - accepted) * float(residual[x] / residual.sum()) for x in range(3)]


def naive_speculate():
    with annotations_of("naive_speculate"):
        from naive_speculate.speculate.utils import speculative_sampling

    for _ in range(N):
        place, token = speculative_sampling(torch.stack([P, P]), Q[None], Q.argmax()[None])
        yield int(Q.argmax()) if int(place) else int(token)


def flashspec():
    from types import SimpleNamespace

    from flashspec import FlashSpecConfig, SamplingConfig, SpeculativeEngine
    from flashspec.engine import HuggingFaceDrafter, TargetModel

    class Model(torch.nn.Module):
        def __init__(self, law):
            super().__init__()
            self.law = law

        def forward(self, input_ids):
            return SimpleNamespace(logits=self.law.log().expand(*input_ids.shape, 3))

    cpu = torch.device("cpu")
    drafter = HuggingFaceDrafter("draft", cpu, temperature=0.0, model=Model(Q))
    config = FlashSpecConfig(device="cpu", sampling=SamplingConfig(gamma=1, temperature=1.0))
    engine = SpeculativeEngine(config, [drafter], TargetModel("target", cpu, model=Model(P)))
    made = engine.generate(torch.zeros((N, 1), dtype=torch.long), max_new_tokens=1)
    yield from made.output_ids[:, 0].tolist()


def main():
    torch.manual_seed(0)
    print("exact    ", [round(float(x), 3) for x in P])
    print("predicted", [round(x, 3) for x in predicted()], "from greedy drafts judged by q")
    for name, draw in (("naive_speculate", naive_speculate), ("flashspec", flashspec)):
        if importlib.util.find_spec(name):
            counts = torch.bincount(torch.tensor(list(draw())), minlength=3)
            print(f"{name:9}", [round(float(count) / N, 3) for count in counts])


if __name__ == "__main__":
    main()
