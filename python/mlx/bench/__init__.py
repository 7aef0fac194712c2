"""The benchmark command: `python -m mlx.bench` or `mlx-bench`.

Cases are declared once, over the few functions that `frameworks/` offers for each framework, and
run in worker processes, so the same case can be timed here and in other interpreters in turns.
"""
