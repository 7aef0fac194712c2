"""References of layers, losses, optimizers and schedules: a row each.

A row is `ours => theirs`.  Theirs is an expression over PyTorch tensors in float64 (names: F for
torch.nn.functional, the helpers of layers_vs_torch.py, x y z w for the inputs, p for the layer's
parameters) or a formula over NumPy float64 arrays.  Ours is written as in
tests/python/nn/nn_cases.py: for layers, the shapes of the inputs follow the source.
"""

import math
import re
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "nn"))

import nn_cases

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "nn" / "torch.npz"
STEPS = 10
LIMIT = 3e-6  # Some 25 units in the last place of float32.


def rows(text):
    """`(ours, theirs)` of each line of a text."""
    return [tuple(part.strip() for part in line.split("=>")) for line in text.strip().splitlines()]


LAYERS = rows(
    """
nn.Identity(3) | 2,3 => x
nn.Linear(4, 3) | 2,5,4 => F.linear(x, p.weight, p.bias)
nn.Linear(4, 3, bias=False) | 4 => F.linear(x, p.weight)
nn.Bilinear(2, 3, 4) | 5,2 | 5,3 => F.bilinear(x, y, p.weight.mT.contiguous(), p.bias)
nn.Bilinear(2, 3, 4, bias=False) | 2 | 3 => F.bilinear(x, y, p.weight.mT.contiguous())
nn.Embedding(5, 4) | i3,2 => F.embedding(x, p.weight)
nn.Conv1d(4, 6, 3) | 2,9,4 => last(F.conv1d(first(x), first(p.weight), p.bias))
nn.Conv1d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2, bias=False) | 2,9,4 \
    => last(F.conv1d(first(x), first(p.weight), None, 2, 1, 2, 2))
nn.Conv2d(4, 6, 3, padding=1) | 2,5,6,4 \
    => last(F.conv2d(first(x), first(p.weight), p.bias, padding=1))
nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2) | 2,7,6,4 \
    => last(F.conv2d(first(x), first(p.weight), p.bias, (2, 1), (1, 0), (1, 2), 2))
nn.Conv2d(4, 4, 3, groups=4) | 2,5,6,4 \
    => last(F.conv2d(first(x), first(p.weight), p.bias, groups=4))
nn.Conv3d(2, 3, (2, 3, 1), stride=(1, 2, 1), padding=1) | 1,3,5,2,2 \
    => last(F.conv3d(first(x), first(p.weight), p.bias, (1, 2, 1), 1))
nn.Conv3d(2, 3, 2, dilation=2) | 2,4,5,3,2 \
    => last(F.conv3d(first(x), first(p.weight), p.bias, dilation=2))
nn.ConvTranspose1d(4, 3, 3, stride=2, padding=1, output_padding=1) | 2,5,4 \
    => last(F.conv_transpose1d(first(x), turned(p.weight), p.bias, 2, 1, 1))
nn.ConvTranspose1d(4, 3, 3, dilation=2, bias=False) | 2,5,4 \
    => last(F.conv_transpose1d(first(x), turned(p.weight), dilation=2))
nn.ConvTranspose2d(4, 3, (3, 2), stride=(2, 1), dilation=(1, 2)) | 2,3,4,4 \
    => last(F.conv_transpose2d(first(x), turned(p.weight), p.bias, (2, 1), dilation=(1, 2)))
nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, output_padding=(0, 1)) | 2,3,4,4 \
    => last(F.conv_transpose2d(first(x), turned(p.weight), p.bias, 2, 1, (0, 1)))
nn.ConvTranspose3d(2, 3, 2, stride=2, bias=False) | 1,2,3,2,2 \
    => last(F.conv_transpose3d(first(x), turned(p.weight), stride=2))
nn.ConvTranspose3d(2, 3, (2, 3, 1), stride=(1, 2, 1), padding=(0, 1, 0)) | 1,2,3,2,2 \
    => last(F.conv_transpose3d(first(x), turned(p.weight), p.bias, (1, 2, 1), (0, 1, 0)))
nn.Conv1d(2, 3, 4, padding="same") | 2,7,2 \
    => last(F.conv1d(first(x), first(p.weight), p.bias, padding="same"))
nn.Conv2d(2, 3, (4, 3), padding="same", dilation=(1, 2), bias=False) | 1,6,7,2 \
    => last(F.conv2d(first(x), first(p.weight), None, padding="same", dilation=(1, 2)))
nn.Conv3d(1, 2, 2, padding="same") | 1,3,4,5,1 \
    => last(F.conv3d(first(x), first(p.weight), p.bias, padding="same"))
nn.Conv2d(2, 3, 3, padding=(1, 2), padding_mode="reflect", stride=2) | 1,6,7,2 \
    => last(F.conv2d(F.pad(first(x), (2, 2, 1, 1), "reflect"), first(p.weight), p.bias, 2))
nn.Conv1d(2, 3, 3, padding=2, padding_mode="circular") | 2,6,2 \
    => last(F.conv1d(F.pad(first(x), (2, 2), "circular"), first(p.weight), p.bias))
nn.Conv1d(2, 3, 4, padding="same", padding_mode="replicate") | 2,6,2 \
    => last(F.conv1d(F.pad(first(x), (1, 2), "replicate"), first(p.weight), p.bias))
nn.ZeroPad2d(((1, 2), (0, 3))) | 1,3,4,2 => last(F.pad(first(x), (0, 3, 1, 2)))
nn.ZeroPad1d(2) | 2,3,2 => last(F.pad(first(x), (2, 2)))
nn.ZeroPad3d(1) | 1,2,3,2,2 => last(F.pad(first(x), (1, 1, 1, 1, 1, 1)))
nn.ConstantPad1d(2, -1.5) | 2,3,2 => last(F.pad(first(x), (2, 2), value=-1.5))
nn.ConstantPad2d((1, 0), 2.0) | 1,3,4,2 => last(F.pad(first(x), (0, 0, 1, 1), value=2.0))
nn.ConstantPad3d(1, 2.0) | 1,2,3,2,2 => last(F.pad(first(x), (1, 1, 1, 1, 1, 1), value=2.0))
nn.ReflectionPad1d(((2, 1),)) | 2,5,2 => last(F.pad(first(x), (2, 1), "reflect"))
nn.ReflectionPad2d((1, 2)) | 1,3,4,2 => last(F.pad(first(x), (2, 2, 1, 1), "reflect"))
nn.ReflectionPad3d(1) | 1,2,3,2,2 => last(F.pad(first(x), (1, 1, 1, 1, 1, 1), "reflect"))
nn.ReplicationPad1d(2) | 2,5,2 => last(F.pad(first(x), (2, 2), "replicate"))
nn.ReplicationPad2d((1, 3)) | 1,3,4,2 => last(F.pad(first(x), (3, 3, 1, 1), "replicate"))
nn.ReplicationPad3d(1) | 1,2,3,2,2 => last(F.pad(first(x), (1, 1, 1, 1, 1, 1), "replicate"))
nn.CircularPad1d(((2, 0),)) | 2,5,2 => last(F.pad(first(x), (2, 0), "circular"))
nn.CircularPad2d((1, 3)) | 1,3,4,2 => last(F.pad(first(x), (3, 3, 1, 1), "circular"))
nn.CircularPad3d(1) | 1,2,3,2,2 => last(F.pad(first(x), (1, 1, 1, 1, 1, 1), "circular"))
nn.AdaptiveAvgPool1d(3) | 2,7,3 => last(F.adaptive_avg_pool1d(first(x), 3))
nn.AdaptiveAvgPool2d((2, None)) | 2,6,5,3 => last(F.adaptive_avg_pool2d(first(x), (2, None)))
nn.AdaptiveAvgPool2d(4) | 2,6,3,3 => last(F.adaptive_avg_pool2d(first(x), 4))
nn.AdaptiveAvgPool3d((1, 2, 3)) | 1,3,5,4,2 => last(F.adaptive_avg_pool3d(first(x), (1, 2, 3)))
nn.AdaptiveMaxPool1d(3) | 2,7,3 => last(F.adaptive_max_pool1d(first(x), 3))
nn.AdaptiveMaxPool2d((2, 3)) | 2,6,5,3 => last(F.adaptive_max_pool2d(first(x), (2, 3)))
nn.AdaptiveMaxPool3d(2) | 1,3,5,4,2 => last(F.adaptive_max_pool3d(first(x), 2))
nn.Unfold(2) | 2,4,5,3 => F.unfold(first(x), 2).mT
nn.Unfold((2, 3), dilation=(2, 1), padding=(1, 0), stride=(1, 2)) | 1,5,6,2 \
    => F.unfold(first(x), (2, 3), (2, 1), (1, 0), (1, 2)).mT
nn.Fold((4, 5), 2) | 2,12,12 => last(F.fold(x.mT, (4, 5), 2))
nn.Fold((5, 6), (2, 3), dilation=(2, 1), padding=(1, 0), stride=(1, 2)) | 1,10,12 \
    => last(F.fold(x.mT, (5, 6), (2, 3), (2, 1), (1, 0), (1, 2)))
nn.PixelShuffle(2) | 2,3,4,12 => last(F.pixel_shuffle(first(x), 2))
nn.PixelUnshuffle(3) | 2,6,3,2 => last(F.pixel_unshuffle(first(x), 3))
nn.EmbeddingBag(5, 4) | i3,2 => F.embedding_bag(x, p.weight)
nn.EmbeddingBag(5, 4, mode="sum", padding_idx=2) | i3,4 \
    => F.embedding_bag(x, p.weight, mode="sum", padding_idx=2)
nn.EmbeddingBag(5, 4, mode="mean", padding_idx=2) | i3,4 \
    => F.embedding_bag(x, p.weight, mode="mean", padding_idx=2)
nn.EmbeddingBag(5, 4, mode="max") | i3,4 => F.embedding_bag(x, p.weight, mode="max")
nn.MaxPool1d(2) | 2,6,3 => last(F.max_pool1d(first(x), 2))
nn.MaxPool1d(3, stride=2, padding=1) | 2,7,3 => last(F.max_pool1d(first(x), 3, 2, 1))
nn.MaxPool2d(2) | 2,4,6,3 => last(F.max_pool2d(first(x), 2))
nn.MaxPool2d((3, 2), stride=(2, 1), padding=(1, 0)) | 2,5,6,3 \
    => last(F.max_pool2d(first(x), (3, 2), (2, 1), (1, 0)))
nn.MaxPool3d(2, stride=1) | 1,3,4,3,2 => last(F.max_pool3d(first(x), 2, 1))
nn.MaxPool3d((1, 3, 2), stride=(1, 2, 2), padding=(0, 1, 1)) | 1,3,5,3,2 \
    => last(F.max_pool3d(first(x), (1, 3, 2), (1, 2, 2), (0, 1, 1)))
nn.AvgPool1d(2) | 2,7,3 => last(F.avg_pool1d(first(x), 2))
nn.AvgPool1d(3, stride=1, padding=1) | 2,7,3 => last(F.avg_pool1d(first(x), 3, 1, 1))
nn.AvgPool2d(2) | 2,4,7,3 => last(F.avg_pool2d(first(x), 2))
nn.AvgPool2d(3, stride=2, padding=1) | 2,5,6,3 => last(F.avg_pool2d(first(x), 3, 2, 1))
nn.AvgPool3d((1, 2, 2)) | 1,2,4,4,2 => last(F.avg_pool3d(first(x), (1, 2, 2)))
nn.AvgPool3d(3, stride=2, padding=1) | 1,3,4,5,2 => last(F.avg_pool3d(first(x), 3, 2, 1))
nn.LayerNorm(6) | 2,3,6 => F.layer_norm(x, (6,), p.weight, p.bias)
nn.LayerNorm(6, eps=1e-2, bias=False) | 4,6 => F.layer_norm(x, (6,), p.weight, None, 1e-2)
nn.LayerNorm(6, affine=False) | 4,6 => F.layer_norm(x, (6,))
nn.RMSNorm(6) | 2,3,6 => F.rms_norm(x, (6,), p.weight, 1e-5)
nn.RMSNorm(300, eps=1e-2) | 7,300 => F.rms_norm(x, (300,), p.weight, 1e-2)
nn.GroupNorm(2, 6) | 3,4,6 => interleaved_group_norm(x, 2) * p.weight + p.bias
nn.GroupNorm(2, 6) | 3,6 => interleaved_group_norm(x, 2) * p.weight + p.bias
nn.GroupNorm(3, 6, affine=False) | 2,3,4,6 => interleaved_group_norm(x, 3)
nn.GroupNorm(3, 6, pytorch_compatible=True) | 2,3,4,6 \
    => last(F.group_norm(first(x), 3, p.weight, p.bias))
nn.GroupNorm(3, 6, affine=False, pytorch_compatible=True) | 2,6 => F.group_norm(x, 3)
nn.GroupNorm(1, 4, eps=1e-2, pytorch_compatible=True) | 2,5,4 \
    => last(F.group_norm(first(x), 1, p.weight, p.bias, 1e-2))
nn.InstanceNorm(4) | 2,5,4 => last(F.instance_norm(first(x)))
nn.InstanceNorm(4, affine=True) | 2,3,5,4 \
    => last(F.instance_norm(first(x), None, None, p.weight, p.bias))
nn.InstanceNorm(2, eps=1e-2) | 2,3,2,2,2 => last(F.instance_norm(first(x), eps=1e-2))
nn.BatchNorm(4) | 5,4 => last(batch_norm(first(x), p, True))
nn.BatchNorm(4, momentum=0.3, affine=False) | 2,3,4 => last(batch_norm(first(x), p, True, 0.3))
nn.BatchNorm(4, track_running_stats=False) | 2,3,3,4 => last(batch_norm(first(x), p, True))
nn.BatchNorm(4, eps=1e-2) | 2,3,3,4 => last(batch_norm(first(x), p, True, eps=1e-2))
nn.BatchNorm(4).eval() | 5,4 => last(batch_norm(first(x), p, False))
nn.BatchNorm(4, eps=1e-2).eval() | 2,3,3,4 => last(batch_norm(first(x), p, False, eps=1e-2))
nn.Dropout(0.5).eval() | 5,4 => x
nn.SinusoidalPositionalEncoding(6) | 2,3 => sinusoids(x, 6, 1e-4, 1.0)
nn.SinusoidalPositionalEncoding(8, 1e-3, 2, scale=2.0, cos_first=True, full_turns=True) | 4 \
    => sinusoids(x, 8, 1e-3, 2.0, 2.0, True, 2 * math.pi)
nn.RoPE(6) | 2,5,6 => rope(x, 6, False)
nn.RoPE(4, traditional=True, base=100.0, scale=0.5) | 2,2,5,6 => rope(x, 4, True, 100.0, 0.5)
nn.ALiBi() | 1,6,4,4 => alibi(x)
nn.MultiHeadAttention(8, 2) | 2,3,8 | 2,5,8 | 2,5,8 => attention(p, "", 2, x, y, z)
nn.MultiHeadAttention(8, 2, bias=True) | 2,3,8 | 2,5,8 | 2,5,8 => attention(p, "", 2, x, y, z)
nn.MultiHeadAttention(8, 4) | 2,5,8 | 2,5,8 | 2,5,8 | 5,5 => attention(p, "", 4, x, y, z, w)
nn.TransformerEncoderLayer(8, 2) | 2,3,8 | 3,3 => encoder_layer(p, "", 2, x, y)
nn.TransformerEncoderLayer(8, 2, mlp_dims=5, activation=nn.gelu, norm_first=False) | 2,3,8 | 3,3 \
    => encoder_layer(p, "", 2, x, y, False, F.gelu)
nn.TransformerDecoderLayer(8, 2) | 2,3,8 | 2,4,8 | 3,3 | 3,4 => decoder_layer(p, "", 2, x, y, z, w)
nn.TransformerDecoderLayer(8, 2, norm_first=False) | 2,3,8 | 2,4,8 | 3,3 | 3,4 \
    => decoder_layer(p, "", 2, x, y, z, w, False)
nn.TransformerEncoder(2, 8, 2) | 2,3,8 | 3,3 => encoder(p, "", 2, x, y)
nn.TransformerEncoder(2, 8, 2, checkpoint=True) | 2,3,8 | 3,3 => encoder(p, "", 2, x, y)
nn.RNN(3, 4) | 2,5,3 => recurrent(torch.nn.RNN, x, None, p.Wxh, p.Whh, p.bias)
nn.RNN(3, 4, bias=False, nonlinearity=nn.relu) | 5,3 | 4 \
    => recurrent(torch.nn.RNN, x, y, p.Wxh, p.Whh, nonlinearity="relu")
nn.GRU(3, 4) | 2,5,3 => recurrent(torch.nn.GRU, x, None, p.Wx, p.Wh, p.b, p.bhn)
nn.GRU(3, 4) | 2,5,3 | 2,4 => recurrent(torch.nn.GRU, x, y, p.Wx, p.Wh, p.b, p.bhn)
nn.GRU(3, 4, bias=False) | 5,3 | 4 => recurrent(torch.nn.GRU, x, y, p.Wx, p.Wh)
nn.LSTM(3, 4) | 2,5,3 => lstm(x, None, None, p.Wx, p.Wh, p.bias)
nn.LSTM(3, 4) | 2,5,3 | 2,4 | 2,4 => lstm(x, y, z, p.Wx, p.Wh, p.bias)
nn.LSTM(3, 4, bias=False) | 5,3 | 4 | 4 => lstm(x, y, z, p.Wx, p.Wh)
nn.RNN(3, 4, num_layers=2, bidirectional=True) | 2,5,3 => stacked("RNN", p, 2, True, x)
nn.GRU(3, 4, num_layers=3) | 2,5,3 | 3,2,4 => stacked("GRU", p, 3, False, x, y)
nn.GRU(3, 4, bidirectional=True, bias=False) | 5,3 | 2,4 => stacked("GRU", p, 1, True, x, y)
nn.LSTM(3, 4, num_layers=2, bidirectional=True) | 2,5,3 | 4,2,4 | 4,2,4 \
    => stacked("LSTM", p, 2, True, x, y, z)
nn.RNNCell(3, 4) | 2,3 | 2,4 => cell("RNN", p, x, y)
nn.RNNCell(3, 4, bias=False, nonlinearity=nn.relu) | 2,3 | 2,4 \
    => cell("RNN", p, x, y, nonlinearity="relu")
nn.GRUCell(3, 4) | 2,3 | 2,4 => cell("GRU", p, x, y)
nn.LSTMCell(3, 4) | 2,3 | 2,4 | 2,4 => cell("LSTM", p, x, y, z)
nn.Upsample(2) | 1,3,2,2 => last(F.interpolate(first(x), scale_factor=2, mode="nearest"))
nn.Upsample((2.0, 0.5)) | 1,3,4,2 \
    => last(F.interpolate(first(x), scale_factor=(2, 0.5), mode="nearest"))
nn.Upsample(1.7) | 2,8,2 => last(F.interpolate(first(x), size=13, mode="nearest-exact"))
nn.Upsample(2, mode="linear") | 2,5,3 \
    => last(F.interpolate(first(x), scale_factor=2, mode="linear"))
nn.Upsample((2, 1.5), mode="linear") | 1,3,4,2 \
    => last(F.interpolate(first(x), scale_factor=(2, 1.5), mode="bilinear"))
nn.Upsample((2, 1.5, 3), mode="linear") | 1,3,4,2,2 \
    => last(F.interpolate(first(x), scale_factor=(2, 1.5, 3), mode="trilinear"))
nn.Upsample(2, mode="linear", align_corners=True) | 1,3,4,2 \
    => last(F.interpolate(first(x), scale_factor=2, mode="bilinear", align_corners=True))
nn.Upsample(0.5, mode="linear", antialias=True) | 1,8,10,2 \
    => last(F.interpolate(first(x), scale_factor=0.5, mode="bilinear", antialias=True))
nn.Upsample(2, mode="cubic") | 1,3,4,2 \
    => last(F.interpolate(first(x), scale_factor=2, mode="bicubic"))
nn.Upsample((0.5, 3), mode="cubic", align_corners=True) | 1,6,4,2 \
    => last(F.interpolate(first(x), scale_factor=(0.5, 3), mode="bicubic", align_corners=True))
nn.Upsample(0.5, mode="cubic", antialias=True) | 1,8,10,2 \
    => last(F.interpolate(first(x), scale_factor=0.5, mode="bicubic", antialias=True))
nn.CELU(0.7) | 4,5 => F.celu(x, 0.7)
nn.ELU(1.3) | 4,5 => F.elu(x, 1.3)
nn.GELU() | 4,5 => F.gelu(x)
nn.GELU("precise") | 4,5 => F.gelu(x, approximate="tanh")
nn.GELU("tanh") | 4,5 => F.gelu(x, approximate="tanh")
nn.GELU("fast") | 4,5 => x * torch.sigmoid(1.702 * x)
nn.GLU() | 4,6 => F.glu(x)
nn.GLU(axis=0) | 4,6 => F.glu(x, 0)
nn.HardShrink(0.3) | 4,5 => F.hardshrink(x, 0.3)
nn.HardTanh() | 4,5 => F.hardtanh(x)
nn.Hardswish() | 4,5 => F.hardswish(x)
nn.LeakyReLU(0.2) | 4,5 => F.leaky_relu(x, 0.2)
nn.LogSigmoid() | 4,5 => F.logsigmoid(x)
nn.LogSoftmax() | 4,5 => F.log_softmax(x, -1)
nn.Mish() | 4,5 => F.mish(x)
nn.PReLU() | 4,5 => F.prelu(x, p.weight)
nn.PReLU(5) | 4,5 => F.prelu(x, p.weight)
nn.ReLU() | 4,5 => F.relu(x)
nn.ReLU2() | 4,5 => F.relu(x) ** 2
nn.ReLU6() | 4,5 => F.relu6(x)
nn.SELU() | 4,5 => F.selu(x)
nn.SiLU() | 4,5 => F.silu(x)
nn.Sigmoid() | 4,5 => F.sigmoid(x)
nn.Softmax() | 4,5 => F.softmax(x, -1)
nn.Softmin() | 4,5 => F.softmin(x, -1)
nn.Softplus() | 4,5 => F.softplus(x)
nn.Softshrink(0.3) | 4,5 => F.softshrink(x, 0.3)
nn.Softsign() | 4,5 => F.softsign(x)
nn.Step(0.1) | 4,5 => (x > 0.1).double() + 0 * x
nn.Tanh() | 4,5 => F.tanh(x)
nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1)) | 6,4 \
    => F.linear(torch.tanh(F.linear(x, p["layers.0.weight"], p["layers.0.bias"])), \
    p["layers.2.weight"], p["layers.2.bias"])
"""
)

# Losses of a and b (4, 3), p in (0, 1), q a distribution along the last axis, v positive; i are
# indices below 3, s signs.  R is each reduction in turn; `red` applies it.
LOSSES = rows(
    """
cross_entropy(a, i, reduction=R) => F.cross_entropy(a, i, reduction=R)
cross_entropy(a, q, reduction=R) => red(F.cross_entropy(a, q, reduction="none"))
cross_entropy(a, q, label_smoothing=0.1, reduction=R) \
    => red(F.cross_entropy(a, q, label_smoothing=0.1, reduction="none"))
cross_entropy(a, i, weights=v[:, 0], label_smoothing=0.2, reduction=R) \
    => red(F.cross_entropy(a, i, label_smoothing=0.2, reduction="none") * v[:, 0])
cross_entropy(a, i, ignore_index=1, reduction=R) \
    => F.cross_entropy(a, i, ignore_index=1, reduction=R)
cross_entropy(a, i, ignore_index=1, label_smoothing=0.1, reduction=R) \
    => F.cross_entropy(a, i, ignore_index=1, label_smoothing=0.1, reduction=R)
nll_loss(a, i, ignore_index=1, reduction=R) => F.nll_loss(a, i, ignore_index=1, reduction=R)
soft_margin_loss(a, s, reduction=R) => F.soft_margin_loss(a, s, reduction=R)
poisson_nll_loss(a, v, reduction=R) => F.poisson_nll_loss(a, v, reduction=R)
poisson_nll_loss(v, p + 1, log_input=False, full=True, reduction=R) \
    => F.poisson_nll_loss(v, p + 1, log_input=False, full=True, reduction=R)
cross_entropy(a, i[:3], axis=0, reduction=R) => F.cross_entropy(a.mT, i[:3], reduction=R)
binary_cross_entropy(a, p, reduction=R) => F.binary_cross_entropy_with_logits(a, p, reduction=R)
binary_cross_entropy(a, p, weights=v, reduction=R) \
    => red(F.binary_cross_entropy_with_logits(a, p, reduction="none") * v)
binary_cross_entropy(p, q, with_logits=False, reduction=R) \
    => F.binary_cross_entropy(p, q, reduction=R)
l1_loss(a, b, reduction=R) => F.l1_loss(a, b, reduction=R)
mse_loss(a, b, reduction=R) => F.mse_loss(a, b, reduction=R)
nll_loss(a, i, reduction=R) => F.nll_loss(a, i, reduction=R)
nll_loss(a, i[:3], axis=0, reduction=R) => F.nll_loss(a.mT, i[:3], reduction=R)
gaussian_nll_loss(a, b, v, reduction=R) => F.gaussian_nll_loss(a, b, v, reduction=R)
gaussian_nll_loss(a, b, v, full=True, reduction=R) \
    => F.gaussian_nll_loss(a, b, v, full=True, reduction=R)
kl_div_loss(a, b, reduction=R) => red(F.kl_div(a, b, reduction="none", log_target=True).sum(-1))
kl_div_loss(a, b, axis=0, reduction=R) \
    => red(F.kl_div(a, b, reduction="none", log_target=True).sum(0))
smooth_l1_loss(a, b, reduction=R) => F.smooth_l1_loss(a, b, reduction=R)
smooth_l1_loss(a, b, beta=0.3, reduction=R) => F.smooth_l1_loss(a, b, beta=0.3, reduction=R)
huber_loss(a, b, reduction=R) => F.huber_loss(a, b, reduction=R)
huber_loss(a, b, delta=0.3, reduction=R) => F.huber_loss(a, b, delta=0.3, reduction=R)
log_cosh_loss(a, b, reduction=R) => red(torch.log(torch.cosh(a - b)))
log_cosh_loss(50 * a, b, reduction=R) \
    => red(F.softplus(2 * (50 * a - b)) - (50 * a - b) - math.log(2))
hinge_loss(a, s, reduction=R) => red(F.relu(1 - a * s))
cosine_similarity_loss(a, b, reduction=R) => red(F.cosine_similarity(a, b, 1))
cosine_similarity_loss(a, b, axis=0, eps=3.0, reduction=R) \
    => red((a * b).sum(0) / torch.clamp(a.norm(dim=0) * b.norm(dim=0), min=3.0))
margin_ranking_loss(a, b, s, reduction=R) => F.margin_ranking_loss(a, b, s, reduction=R)
margin_ranking_loss(a, b, s, margin=0.5, reduction=R) \
    => F.margin_ranking_loss(a, b, s, 0.5, reduction=R)
triplet_loss(a, b, p, reduction=R) \
    => red(F.relu((((a - b) ** 2).sum(-1) + 1e-6).sqrt() \
    - (((a - p) ** 2).sum(-1) + 1e-6).sqrt() + 1))
triplet_loss(a, b, p, axis=0, p=3, margin=0.2, reduction=R) \
    => red(F.relu(((a - b).abs() ** 3).sum(0).add(1e-6) ** (1 / 3) \
    - ((a - p).abs() ** 3).sum(0).add(1e-6) ** (1 / 3) + 0.2))
"""
)

# Functions of x, y, z and w: like layers, without parameters.
FUNCTIONS = rows(
    """
nn.normalize(x) | 3,4 => F.normalize(x)
nn.normalize(x, p=1, axis=0) | 3,4 => F.normalize(x, p=1, dim=0)
nn.normalize(x, p=3, axis=1) | 3,4,2 => F.normalize(x, p=3)
nn.normalize(x, p=math.inf) | 3,4 => F.normalize(x, p=math.inf, dim=-1)
nn.interpolate(x, size=5) | 2,3,2 => last(F.interpolate(first(x), 5))
nn.interpolate(x, scale_factor=1.7) | 2,4,2 => last(F.interpolate(first(x), scale_factor=1.7))
nn.interpolate(x, size=(5, 2), mode="nearest-exact") | 1,3,4,2 \
    => last(F.interpolate(first(x), (5, 2), mode="nearest-exact"))
nn.interpolate(x, size=7, mode="linear") | 2,4,2 => last(F.interpolate(first(x), 7, mode="linear"))
nn.interpolate(x, scale_factor=(1.6, 0.7), mode="bilinear") | 1,4,5,2 \
    => last(F.interpolate(first(x), scale_factor=(1.6, 0.7), mode="bilinear"))
nn.interpolate(x, size=(7, 3), mode="bilinear", align_corners=True) | 1,4,5,2 \
    => last(F.interpolate(first(x), (7, 3), mode="bilinear", align_corners=True))
nn.interpolate(x, size=(3, 3), mode="bilinear", antialias=True) | 1,7,8,2 \
    => last(F.interpolate(first(x), (3, 3), mode="bilinear", antialias=True))
nn.interpolate(x, size=(2, 5, 3), mode="trilinear") | 1,3,4,2,2 \
    => last(F.interpolate(first(x), (2, 5, 3), mode="trilinear"))
nn.interpolate(x, scale_factor=1.6, mode="bicubic") | 1,4,5,2 \
    => last(F.interpolate(first(x), scale_factor=1.6, mode="bicubic"))
nn.interpolate(x, size=(3, 4), mode="cubic", antialias=True) | 1,7,9,2 \
    => last(F.interpolate(first(x), (3, 4), mode="bicubic", antialias=True))
nn.interpolate(x, size=(3, 2), mode="area") | 1,7,5,2 \
    => last(F.interpolate(first(x), (3, 2), mode="area"))
nn.grid_sample(x, mx.tanh(y) * 1.3) | 2,4,5,3 | 2,3,2,2 => sampled(x, y)
nn.grid_sample(x, mx.tanh(y) * 1.3, align_corners=True) | 2,4,5,3 | 2,3,2,2 \
    => sampled(x, y, align_corners=True)
nn.grid_sample(x, mx.tanh(y) * 3, padding_mode="border") | 2,4,5,3 | 2,3,2,2 \
    => sampled(x, y, 3, padding_mode="border")
nn.grid_sample(x, mx.tanh(y) * 3, padding_mode="reflection") | 2,4,5,3 | 2,3,2,2 \
    => sampled(x, y, 3, padding_mode="reflection")
nn.grid_sample(x, mx.tanh(y) * 3, padding_mode="reflection", align_corners=True) \
    | 2,4,5,3 | 2,3,2,2 => sampled(x, y, 3, padding_mode="reflection", align_corners=True)
nn.grid_sample(x, mx.tanh(y) * 1.3, mode="nearest") | 2,4,5,3 | 2,3,2,2 \
    => sampled(x, y, mode="nearest")
nn.grid_sample(x, mx.tanh(y) * 1.3, mode="bicubic") | 2,4,5,3 | 2,3,2,2 \
    => sampled(x, y, mode="bicubic")
nn.grid_sample(x, mx.tanh(y) * 2, mode="bicubic", padding_mode="reflection") \
    | 2,4,5,3 | 2,3,2,2 => sampled(x, y, 2, mode="bicubic", padding_mode="reflection")
nn.grid_sample(x, mx.tanh(y) * 1.3) | 1,3,4,2,2 | 1,2,2,3,3 => sampled(x, y)
nn.losses.ctc_loss(nn.log_softmax(x), mx.array([[1, 2, 2], [3, 1, 1]]), reduction="none") \
    | 2,9,4 => ctc(x, [[1, 2, 2], [3, 1, 1]], reduction="none")
nn.losses.ctc_loss(nn.log_softmax(x), mx.array([[1, 2, 2], [3, 0, 0]]), mx.array([9, 6]), \
    mx.array([3, 1])) | 2,9,4 => ctc(x, [[1, 2, 2], [3, 0, 0]], [9, 6], [3, 1])
nn.losses.ctc_loss(nn.log_softmax(x), mx.array([[1, 2, 2], [1, 0, 0]]), mx.array([4, 3]), \
    mx.array([3, 0]), blank=3, reduction="sum") | 2,5,4 \
    => ctc(x, [[1, 2, 2], [1, 0, 0]], [4, 3], [3, 0], blank=3, reduction="sum")
nn.losses.ctc_loss(nn.log_softmax(x), mx.array([[1, 1, 1], [1, 2, 3]]), zero_infinity=True, \
    reduction="none") | 2,4,4 \
    => ctc(x, [[1, 1, 1], [1, 2, 3]], zero_infinity=True, reduction="none")
nn.losses.ctc_loss(nn.log_softmax(x), mx.array([[0, 2, 2], [3, 0, 3]]), mx.array([1, 7]), \
    mx.array([1, 2]), blank=1) | 2,7,4 \
    => ctc(x, [[0, 2, 2], [3, 0, 3]], [1, 7], [1, 2], blank=1)
nn.losses.ctc_loss(nn.log_softmax(x), mx.zeros((2, 0), mx.int32), reduction="none") | 2,3,4 \
    => ctc(x, [[], []], reduction="none")
"""
)

# Theirs makes an optimizer of torch.optim for the list `w`, or names a formula of the script.
OPTIMIZERS = rows(
    """
SGD(0.1) => optim.SGD(w, 0.1)
SGD(0.1, momentum=0.9) => optim.SGD(w, 0.1, momentum=0.9)
SGD(0.1, momentum=0.9, weight_decay=0.01, nesterov=True) \
    => optim.SGD(w, 0.1, momentum=0.9, weight_decay=0.01, nesterov=True)
SGD(0.1, momentum=0.9, dampening=0.2) => Formula(sgd, lr=0.1, momentum=0.9, dampening=0.2)
RMSprop(0.01) => optim.RMSprop(w, 0.01)
RMSprop(0.01, alpha=0.9, eps=1e-3) => optim.RMSprop(w, 0.01, alpha=0.9, eps=1e-3)
Adagrad(0.1) => optim.Adagrad(w, 0.1, eps=1e-8)
Adagrad(0.1, eps=1e-2) => optim.Adagrad(w, 0.1, eps=1e-2)
AdaDelta(1.0) => optim.Adadelta(w, 1.0)
AdaDelta(0.5, rho=0.8, eps=1e-3) => optim.Adadelta(w, 0.5, rho=0.8, eps=1e-3)
Adam(0.1) => Formula(adam, lr=0.1)
Adam(0.1, bias_correction=True) => optim.Adam(w, 0.1)
Adam(0.1, betas=[0.8, 0.9], eps=1e-4, bias_correction=True) => optim.Adam(w, 0.1, (0.8, 0.9), 1e-4)
AdamW(0.1) => Formula(adam, lr=0.1, decay=0.01)
AdamW(0.1, weight_decay=0.1, bias_correction=True) => optim.AdamW(w, 0.1, weight_decay=0.1)
NAdam(0.1) => optim.NAdam(w, 0.1)
NAdam(0.1, betas=[0.8, 0.9], eps=1e-4, weight_decay=0.1, momentum_decay=0.1) \
    => optim.NAdam(w, 0.1, (0.8, 0.9), 1e-4, 0.1, 0.1)
RAdam(0.1) => optim.RAdam(w, 0.1)
RAdam(0.1, betas=[0.8, 0.9], eps=1e-4, weight_decay=0.1) \
    => optim.RAdam(w, 0.1, (0.8, 0.9), 1e-4, 0.1)
LBFGS(0.1, history_size=3) => optim.LBFGS(w, 0.1, max_iter=1, history_size=3)
LBFGS(0.3) => optim.LBFGS(w, 0.3, max_iter=1, history_size=10)
ParameterGroups(optim.SGD, {"*.bias": {"momentum": 0.9}, "layers": {"weight_decay": 0.5}}, \
    learning_rate=0.1) => optim.SGD([{"params": w[::2]}, {"params": w[1:2], "momentum": 0.9}], 0.1)
ParameterGroups(optim.AdamW, [(lambda path, x: x.ndim > 2, {"learning_rate": 0.01}), \
    ("layers", {"weight_decay": 0.0, "betas": [0.8, 0.9]})], learning_rate=0.1, \
    weight_decay=0.1, bias_correction=True) => optim.AdamW([{"params": w[:1]}, {"params": w[1:2], \
    "weight_decay": 0.0, "betas": (0.8, 0.9)}, {"params": w[2:], "lr": 0.01}], 0.1, \
    weight_decay=0.1)
Adamax(0.1) => Formula(adamax, lr=0.1)
Lion(0.1) => Formula(lion, lr=0.1)
Lion(0.1, betas=[0.8, 0.9], weight_decay=0.1) => Formula(lion, lr=0.1, b1=0.8, b2=0.9, decay=0.1)
Adafactor() => optim.Adafactor(w, 0.01, eps=(1e-15, 1e-3), weight_decay=0)
Adafactor(warmup_init=True) => Formula(adafactor, warmup=True)
Adafactor(0.1, relative_step=False, scale_parameter=False, beta_1=0.9, weight_decay=0.1) \
    => Formula(adafactor, lr=0.1, scale=False, b1=0.9, decay=0.1)
Muon(0.1) => Formula(muon, lr=0.1)
Muon(0.1, weight_decay=0.0, nesterov=False, ns_steps=3) \
    => Formula(muon, lr=0.1, decay=0.0, nesterov=False, steps=3)
"""
)

# Theirs is a scheduler of torch.optim for the optimizer `o`, which starts at 0.1, or a formula.
SCHEDULES = rows(
    """
exponential_decay(0.1, 0.9) => lr.ExponentialLR(o, 0.9)
step_decay(0.1, 0.5, 3) => lr.StepLR(o, 3, 0.5)
cosine_decay(0.1, 10) => lr.CosineAnnealingLR(o, 10)
cosine_decay(0.1, 5, 0.02) => lambda t: 0.02 + 0.04 * (1 + math.cos(math.pi * min(t, 5) / 5))
one_cycle(0.2, 12) => lr.OneCycleLR(o, 0.2, 12, cycle_momentum=False)
one_cycle(0.2, 12, pct_start=0.5, anneal_strategy="linear", div_factor=5, final_div_factor=10) \
    => lr.OneCycleLR(o, 0.2, 12, pct_start=0.5, anneal_strategy="linear", div_factor=5, \
    final_div_factor=10, cycle_momentum=False)
cosine_warm_restarts(0.1, 3) => lr.CosineAnnealingWarmRestarts(o, 3)
cosine_warm_restarts(0.1, 2, 2, 0.01) => lr.CosineAnnealingWarmRestarts(o, 2, 2, 0.01)
linear_schedule(0.02, 0.1, 4) => lr.LinearLR(o, 0.2, 1.0, 4)
linear_schedule(0.1, 0.0, 4) => lr.LinearLR(o, 1.0, 0.0, 4)
join_schedules([optim.linear_schedule(0.02, 0.1, 3), optim.exponential_decay(0.1, 0.5)], [3]) \
    => lr.SequentialLR(o, [lr.LinearLR(o, 0.2, 1.0, 3), lr.ExponentialLR(o, 0.5)], [3])
"""
)


def with_reductions(losses):
    """Each row with each reduction in place of R."""
    return [
        tuple(
            side.replace("=R", f"={reduction!r}").replace("red(", f"red_{reduction}(")
            for side in row
        )
        for row in losses
        for reduction in ("none", "mean", "sum")
    ]


def loss_data():
    """The operands of the losses, as NumPy arrays."""
    a, b, p, q, v, s = (nn_cases.data(name, (4, 3)) for name in "abpqvs")
    exponentials = np.exp(q)
    return {
        "a": a,
        "b": b,
        "p": (1 / (1 + np.exp(-p))).astype(np.float32),
        "q": exponentials / exponentials.sum(-1, keepdims=True),
        "v": np.abs(v) + np.float32(0.1),
        "s": np.sign(s),
        "i": np.array([0, 2, 1, 1]),
    }


def inputs_of(source):
    """The operands of a loss with derivatives: not the distributions q, which are targets."""
    return [name for name in "abpv" if re.search(rf"\b{name}\b", source)]


def run_loss(source):
    """The loss and its gradients with respect to all floating inputs."""
    arrays = {name: mx.array(x) for name, x in loss_data().items()}
    chosen = inputs_of(source)

    def loss(*values):
        return eval(
            "nn.losses." + source, {"nn": nn, **arrays, **dict(zip(chosen, values, strict=True))}
        )

    values = [arrays[name] for name in chosen]
    results = {"value": np.array(loss(*values))}
    for k, name in enumerate(chosen):
        gradient = mx.grad(lambda *values: nn_cases._weighted_sum(loss(*values)), argnums=k)
        results[f"gradient.{name}"] = np.array(gradient(*values))
    return results


def run_schedule(source):
    """The values at the steps, of arrays as an optimizer passes them."""
    schedule = eval(source, {"optim": optim, **vars(optim)})
    return {"value": np.array([float(schedule(mx.array(t, mx.uint64))) for t in range(STEPS)])}


def run_layer(line):
    """Output, gradients, and what else a call may change."""
    results, _ = nn_cases.run_layer(line)
    trained = {key.replace("gradient.", "after.", 1) for key in results if key[0] == "g"}
    return {key: x for key, x in results.items() if key not in trained}


def run_function(line):
    """The value of a function and its gradients with respect to floating inputs."""
    source, *shapes = line.split(" | ")
    inputs = nn_cases._inputs(shapes)

    def value(*arrays):
        names = dict(zip("xyzw", arrays, strict=False))
        return eval(source, {"nn": nn, "mx": mx, "math": math, **names})

    results = {"value": np.array(value(*inputs))}
    for k in range(len(inputs)):
        gradient = mx.grad(lambda *arrays: nn_cases._weighted_sum(value(*arrays)), argnums=k)
        results[f"gradient.{k}"] = np.array(gradient(*inputs))
    return results


def run_optimizer(line):
    """The parameters after the steps."""
    results, _ = nn_cases.run_optimizer(line, STEPS)
    return {key: x for key, x in results.items() if key.startswith("parameter")}


SECTIONS = {
    "layers": (LAYERS, run_layer),
    "losses": (with_reductions(LOSSES), run_loss),
    "functions": (FUNCTIONS, run_function),
    "optimizers": (OPTIMIZERS, run_optimizer),
    "schedules": (SCHEDULES, run_schedule),
}


def error(ours, theirs):
    """The largest difference of two dicts of arrays, in units of the largest number of each.

    A small array beside the others, as the gradient of a bias of keys, counts as 5 % of them.
    """
    if ours.keys() != theirs.keys():
        raise AssertionError(f"results {sorted(ours)} against {sorted(theirs)}")
    worst = 0.0
    floor = max(1e-2, 0.05 * max((np.abs(x).max() for x in theirs.values() if x.size), default=0))
    for key, x in theirs.items():
        if ours[key].shape != x.shape:
            raise AssertionError(f"{key}: shape {ours[key].shape} against {x.shape}")
        if x.size:
            difference = np.abs(ours[key].astype(np.float64) - x).max()
            worst = max(worst, difference / max(np.abs(x).max(), floor))
    return worst
