"""Modules and names are where programs written for the published package look for them."""

import importlib
import json
import pathlib

import numpy as np
import pytest

import mlx.core as mx
import mlx.nn as nn

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden"
PUBLISHED = json.loads((GOLDEN / "data" / "names.json").read_text())


@pytest.mark.parametrize("module", PUBLISHED)
def test_published_names(module):
    """Every module of the published package, with every public name (see tests/golden/names.py)."""
    here = importlib.import_module(module)
    assert [name for name in PUBLISHED[module] if not hasattr(here, name)] == []


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("scale", [2, (1.5, 0.5)])
def test_functions_behind_upsample(mode, scale):
    """upsample_nearest, upsample_linear and upsample_cubic do what the layer does."""
    from mlx.nn.layers import upsample

    function = getattr(upsample, f"upsample_{mode}")
    x = mx.array(np.random.RandomState(0).randn(2, 4, 6, 3).astype(np.float32))
    assert mx.array_equal(function(x, scale), nn.Upsample(scale, mode=mode)(x))
    if mode != "nearest":
        for options in ({"align_corners": True}, {"antialias": True}):
            expected = nn.Upsample(scale, mode=mode, **options)(x)
            assert mx.array_equal(function(x, scale, **options), expected)
    with pytest.raises(ValueError, match="One scale per spatial dimension"):
        function(x, (2, 2, 2))
