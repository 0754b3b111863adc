"""Training drafter heads on the text of their own target.

`text` lets the target write, `features` reads that text once and keeps the hidden states that heads start from,
`vocabulary` picks the tokens worth drafting, `rollout` plays a head over given texts, `losses` compare its laws with
the target's, `trainer` takes the steps, and `held_out` measures acceptance on texts that no step has seen.
"""
