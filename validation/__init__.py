"""The real decoder, and the claims of specsim measured with it; the only place that needs torch and transformers."""
