"""How fast specsim is, as ratios measured in one run; scripts, not tests."""
