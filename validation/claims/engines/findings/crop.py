"""naive-speculate 0.1.0: its cache cannot forget tokens under transformers 5, which it allows.

Run from this checkout in an environment with that package: `python -m validation.claims.engines.findings.crop`.
`DynamicCache.crop(n)` asks transformers for the length to keep; transformers 5 takes minus the number to forget.
"""

import torch

from validation.claims.engines.pypi.lazy_annotations import annotations_of


def main():
    with annotations_of("naive_speculate"):
        from naive_speculate.infer.kvcache.dynamic import DynamicCache

    cache = DynamicCache()
    cache.cache.update(torch.zeros(1, 1, 4, 1), torch.zeros(1, 1, 4, 1), 0)
    try:
        cache.crop(1)
    except ValueError as error:
        print(f"crop(1) of 4 tokens: ValueError: {error}")
    print(f"tokens held: {cache.get_num_tokens()}, expected 3")


if __name__ == "__main__":
    main()
