"""The layers of :mod:`mlx.nn`, one kind a file."""

from mlx.nn.layers.activations import (
    CELU as CELU,
    ELU as ELU,
    GELU as GELU,
    GLU as GLU,
    SELU as SELU,
    HardShrink as HardShrink,
    Hardswish as Hardswish,
    HardTanh as HardTanh,
    LeakyReLU as LeakyReLU,
    LogSigmoid as LogSigmoid,
    LogSoftmax as LogSoftmax,
    Mish as Mish,
    PReLU as PReLU,
    ReLU as ReLU,
    ReLU2 as ReLU2,
    ReLU6 as ReLU6,
    Sigmoid as Sigmoid,
    SiLU as SiLU,
    Softmax as Softmax,
    Softmin as Softmin,
    Softplus as Softplus,
    Softshrink as Softshrink,
    Softsign as Softsign,
    Step as Step,
    Tanh as Tanh,
    celu as celu,
    elu as elu,
    gelu as gelu,
    gelu_approx as gelu_approx,
    gelu_fast_approx as gelu_fast_approx,
    glu as glu,
    hard_shrink as hard_shrink,
    hard_tanh as hard_tanh,
    hardswish as hardswish,
    leaky_relu as leaky_relu,
    log_sigmoid as log_sigmoid,
    log_softmax as log_softmax,
    mish as mish,
    prelu as prelu,
    relu as relu,
    relu2 as relu2,
    relu6 as relu6,
    selu as selu,
    sigmoid as sigmoid,
    silu as silu,
    softmax as softmax,
    softmin as softmin,
    softplus as softplus,
    softshrink as softshrink,
    softsign as softsign,
    step as step,
    tanh as tanh,
)
from mlx.nn.layers.adaptive import (
    AdaptiveAvgPool1d as AdaptiveAvgPool1d,
    AdaptiveAvgPool2d as AdaptiveAvgPool2d,
    AdaptiveAvgPool3d as AdaptiveAvgPool3d,
    AdaptiveMaxPool1d as AdaptiveMaxPool1d,
    AdaptiveMaxPool2d as AdaptiveMaxPool2d,
    AdaptiveMaxPool3d as AdaptiveMaxPool3d,
)
from mlx.nn.layers.base import (
    Module as Module,
)
from mlx.nn.layers.cache import (
    KVCache as KVCache,
    QuantizedKVCache as QuantizedKVCache,
    RotatingKVCache as RotatingKVCache,
)
from mlx.nn.layers.containers import (
    Sequential as Sequential,
)
from mlx.nn.layers.convolution import (
    Conv1d as Conv1d,
    Conv2d as Conv2d,
    Conv3d as Conv3d,
)
from mlx.nn.layers.convolution_transpose import (
    ConvTranspose1d as ConvTranspose1d,
    ConvTranspose2d as ConvTranspose2d,
    ConvTranspose3d as ConvTranspose3d,
)
from mlx.nn.layers.distributed import (
    AllToShardedLinear as AllToShardedLinear,
    FullyShardedModule as FullyShardedModule,
    QuantizedAllToShardedLinear as QuantizedAllToShardedLinear,
    QuantizedShardedToAllLinear as QuantizedShardedToAllLinear,
    ShardedToAllLinear as ShardedToAllLinear,
    fully_shard as fully_shard,
)
from mlx.nn.layers.dropout import (
    Dropout as Dropout,
    Dropout2d as Dropout2d,
    Dropout3d as Dropout3d,
)
from mlx.nn.layers.embedding import (
    Embedding as Embedding,
    EmbeddingBag as EmbeddingBag,
)
from mlx.nn.layers.functions import (
    hard_sigmoid as hard_sigmoid,
    hard_silu as hard_silu,
    hard_swish as hard_swish,
    hardsigmoid as hardsigmoid,
    hardtanh as hardtanh,
    logmeanexp as logmeanexp,
    logsumexp as logsumexp,
    one_hot as one_hot,
    soft_sign as soft_sign,
    sparse_plus as sparse_plus,
    sparse_sigmoid as sparse_sigmoid,
    squareplus as squareplus,
    standardize as standardize,
    swish as swish,
)
from mlx.nn.layers.linear import (
    Bilinear as Bilinear,
    Flatten as Flatten,
    Identity as Identity,
    Linear as Linear,
)
from mlx.nn.layers.lora import (
    LoRAEmbedding as LoRAEmbedding,
    LoRALinear as LoRALinear,
    add_lora as add_lora,
)
from mlx.nn.layers.normalization import (
    BatchNorm as BatchNorm,
    GroupNorm as GroupNorm,
    InstanceNorm as InstanceNorm,
    LayerNorm as LayerNorm,
    RMSNorm as RMSNorm,
)
from mlx.nn.layers.padding import (
    CircularPad1d as CircularPad1d,
    CircularPad2d as CircularPad2d,
    CircularPad3d as CircularPad3d,
    ConstantPad1d as ConstantPad1d,
    ConstantPad2d as ConstantPad2d,
    ConstantPad3d as ConstantPad3d,
    ReflectionPad1d as ReflectionPad1d,
    ReflectionPad2d as ReflectionPad2d,
    ReflectionPad3d as ReflectionPad3d,
    ReplicationPad1d as ReplicationPad1d,
    ReplicationPad2d as ReplicationPad2d,
    ReplicationPad3d as ReplicationPad3d,
    ZeroPad1d as ZeroPad1d,
    ZeroPad2d as ZeroPad2d,
    ZeroPad3d as ZeroPad3d,
)
from mlx.nn.layers.patches import (
    Fold as Fold,
    PixelShuffle as PixelShuffle,
    PixelUnshuffle as PixelUnshuffle,
    Unfold as Unfold,
)
from mlx.nn.layers.pooling import (
    AvgPool1d as AvgPool1d,
    AvgPool2d as AvgPool2d,
    AvgPool3d as AvgPool3d,
    MaxPool1d as MaxPool1d,
    MaxPool2d as MaxPool2d,
    MaxPool3d as MaxPool3d,
)
from mlx.nn.layers.positional_encoding import (
    ALiBi as ALiBi,
    RoPE as RoPE,
    SinusoidalPositionalEncoding as SinusoidalPositionalEncoding,
)
from mlx.nn.layers.quantized import (
    QQLinear as QQLinear,
    QuantizedEmbedding as QuantizedEmbedding,
    QuantizedLinear as QuantizedLinear,
    quantize as quantize,
)
from mlx.nn.layers.recurrent import (
    GRU as GRU,
    LSTM as LSTM,
    RNN as RNN,
    GRUCell as GRUCell,
    LSTMCell as LSTMCell,
    RNNCell as RNNCell,
)
from mlx.nn.layers.sampling import (
    grid_sample as grid_sample,
    interpolate as interpolate,
    normalize as normalize,
)
from mlx.nn.layers.transformer import (
    MultiHeadAttention as MultiHeadAttention,
    Transformer as Transformer,
    TransformerDecoder as TransformerDecoder,
    TransformerDecoderLayer as TransformerDecoderLayer,
    TransformerEncoder as TransformerEncoder,
    TransformerEncoderLayer as TransformerEncoderLayer,
)
from mlx.nn.layers.upsample import (
    Upsample as Upsample,
)
