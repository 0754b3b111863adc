"""speculative-decoding 0.2.0: in a batch, the package's own Decoder attends to what other texts left before its own.

Run in an environment with that package: `python batches_of_decoder.py`. `speculative_decoding` aligns texts of a batch
on the right and says with `seq_start_pos` where each begins; `Decoder.forward` makes `self_attn_kv_mask` of it but does
not pass it to its attention, so texts that accepted fewer drafts than the longest see stale tokens on their left.
"""

import itertools

import torch

V, GAMMA, NEW = 3, 2, 4


def network(seed):
    from speculative_decoding import Decoder

    torch.manual_seed(seed)
    made = Decoder(num_tokens=V, dim=32, depth=2, heads=2, dim_head=16).eval().requires_grad_(False)
    for name, weight in made.named_parameters():
        weight *= next((factor for part, factor in {"to_qkv": 3, "to_out": 6}.items() if part in name), 1)
    return made


def exact(target, prompt):
    law = {}
    for text in itertools.product(range(V), repeat=NEW):
        rows = target(torch.tensor([[*prompt, *text]]))[0, len(prompt) - 1 : -1].softmax(-1)
        law[text] = float(torch.stack([rows[place, token] for place, token in enumerate(text)]).prod())
    return law


def measured(target, draft, prompt, *, batch, rounds):
    from speculative_decoding import speculative_decoding

    counts = {}
    for _ in range(rounds):
        made, _ = speculative_decoding(
            target, draft, torch.tensor([prompt] * batch), len(prompt) + NEW, gamma=GAMMA, filter_thres=0.0
        )
        for text in map(tuple, made.tolist()):
            counts[text] = counts.get(text, 0) + 1
    return {text: count / (batch * rounds) for text, count in counts.items()}


def last(law):
    return [round(sum(mass for text, mass in law.items() if text[-1] == token), 3) for token in range(V)]


def main():
    target, draft, prompt = network(1), network(4), [0, 2, 1]
    row = torch.tensor([[0, 2, 1, 1]])
    shifted = torch.cat((torch.tensor([[2, 2]]), row), dim=1)
    masked = target(shifted, seq_start_pos=torch.tensor([2]))
    print("next token, exact                   ", target(row)[0, -1].softmax(-1).tolist())
    print("same, two tokens masked on its left ", masked[0, -1].softmax(-1).tolist())
    law = exact(target, prompt)
    runs = {"alone": (1, 400), "in batches of 256": (256, 20)}
    print(f"token {NEW} of the text, exact       ", last(law))
    for name, (batch, rounds) in runs.items():
        seen = measured(target, draft, prompt, batch=batch, rounds=rounds)
        distance = sum(abs(law[text] - seen.get(text, 0.0)) for text in law) / 2
        noise = sum((mass / (batch * rounds)) ** 0.5 for mass in law.values()) * 0.4
        print(f"{name}, n {batch * rounds}: {last(seen)}; TV of {NEW} tokens {distance:.3f}, {noise:.3f} by chance")


if __name__ == "__main__":
    main()
