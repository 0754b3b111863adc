"""flashspec 0.3.1: `SamplingConfig.top_p`, documented as a nucleus threshold, does nothing under variant "rejection".

Run in an environment with that package: `python top_p.py`.
"""

from types import SimpleNamespace

import torch

P, Q = torch.tensor([0.6, 0.3, 0.1]), torch.tensor([0.2, 0.3, 0.5])
N = 20_000


class Model(torch.nn.Module):
    def __init__(self, law):
        super().__init__()
        self.law = law

    def forward(self, input_ids):
        return SimpleNamespace(logits=self.law.log().expand(*input_ids.shape, 3))


def main():
    from flashspec import FlashSpecConfig, SamplingConfig, SpeculativeEngine
    from flashspec.engine import HuggingFaceDrafter, TargetModel

    torch.manual_seed(0)
    cpu = torch.device("cpu")
    config = FlashSpecConfig(device="cpu", sampling=SamplingConfig(gamma=2, temperature=1.0, top_p=0.5))
    drafter, target = HuggingFaceDrafter("draft", cpu, model=Model(Q)), TargetModel("target", cpu, model=Model(P))
    prompts = torch.zeros((N, 1), dtype=torch.long)
    made = SpeculativeEngine(config, [drafter], target).generate(prompts, max_new_tokens=1)
    counts = torch.bincount(made.output_ids[:, 0], minlength=3)
    print("target without truncation", [round(float(x), 3) for x in P])
    print("exact law at top_p 0.5   ", [1.0, 0.0, 0.0])
    print("measured                 ", [round(float(count) / N, 3) for count in counts])


if __name__ == "__main__":
    main()
