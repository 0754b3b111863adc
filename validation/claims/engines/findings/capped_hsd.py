"""sequential-speculative-decoding 0.1.1, capped_hsd: from two drafts on, the first token follows the draft's law.

Run in an environment with that package: `python capped_hsd.py`. With gamma 2, `capped_hsd_step` asks
`compute_capped_prefix_ratio(ratios, gamma - 1)` for the whole draft's ratio and gets that of its first token; the
second draft is never judged. Where the coin falls against it, the first draft is kept all the same, and the residual
pairs the draft's law of one place with the ratio of the place before. At temperature 0 that residual is 0 / 0.
"""

from types import SimpleNamespace

import torch

P, Q = [0.6, 0.3, 0.1], [0.1, 0.3, 0.6]  # of every token, whatever stood before
N = 4_000


def model(law):
    logits = torch.tensor(law, dtype=torch.float64).log()
    return lambda ids: SimpleNamespace(logits=logits.expand(1, ids.shape[1], 3))


def frequencies(step, *, gamma, place):
    counts, prompt = torch.zeros(3), torch.tensor([[0]])
    for _ in range(N):
        text = prompt
        while text.shape[1] <= place:
            text, _, _ = step(model(Q), model(P), text, gamma=gamma, draft_temperature=1.0, target_temperature=1.0)
        counts[text[0, place]] += 1
    return [round(float(count) / N, 3) for count in counts]


def main():
    from seqspecdecod.capped_hsd import capped_hsd_step
    from seqspecdecod.standard_sd import standard_speculative_step

    torch.manual_seed(0)
    print(f"exact law of every token {P}, draft's law {Q}; standard error {0.5 / N**0.5:.3f}")
    for name, step in (("standard", standard_speculative_step), ("capped_hsd", capped_hsd_step)):
        for gamma in (1, 2):
            for place in (1, 2):
                print(f"{name:10} gamma {gamma}, token {place}: {frequencies(step, gamma=gamma, place=place)}")
    try:
        options = {"gamma": 2, "draft_temperature": 0.0, "target_temperature": 0.0}
        print("capped_hsd at temperature 0:", capped_hsd_step(model(Q), model(P), torch.tensor([[0]]), **options)[0])
    except RuntimeError as error:
        print("capped_hsd at temperature 0:", error)


if __name__ == "__main__":
    main()
