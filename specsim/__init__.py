"""Models of speculative decoding: what is accepted, what a round costs, whether it pays, and whether it is lossless.

Start with `specsim.acceptance`, `specsim.roofline` and `specsim.scenario`; CONTRIBUTING.md shows how the parts flow.
"""
