"""Starts programs as several processes: the commands ``mlx.launch`` and ``mlx.distributed_config``.

``python -m mlx.launch`` is the same as ``mlx.launch``. ``--help`` lists the options.
"""
