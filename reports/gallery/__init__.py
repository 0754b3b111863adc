"""One short script per chart: each makes a frame by library calls and draws it.

`python -m reports.gallery.gain_by_batch FOLDER` writes gain_by_batch.html and .png there; `draw()` gives the chart, as
for a notebook. To add one: write NAME.py with a docstring of one line and a `draw`; the gallery page finds it.
"""
