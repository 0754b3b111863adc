"""Laws of GPU kernels, fitted to measured tables and judged on shapes that the fit has not seen."""
