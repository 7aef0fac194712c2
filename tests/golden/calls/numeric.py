"""fft, linalg, convolution, fast, quantisation: shapes, dtypes, values and errors."""
# ruff: noqa: E501

from calls._make import expand, lines

SPD = "(lambda m: m @ m.T + 3 * mx.eye(4))(x(f32, 4, 4))"
M = "x(f32, 4, 4) + 3 * mx.eye(4)"

CALLS = [
    *expand(
        "mx.fft.{f}(x({d}, {s}){k})",
        f="fft ifft rfft irfft",
        d="f32 c64 i32 f16 b8",
        s=["8", "3, 5"],
        k=["", ", n=4", ", n=7, axis=0", ", norm='ortho'", ", norm='forward'"],
    ),
    *expand(
        "mx.fft.{f}(x({d}, 3, 4){k})",
        f="fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn",
        d="f32 c64",
        k=[
            "",
            ", s=(2, 6)",
            ", axes=(1, 0)",
            ", axes=(0,)",
            ", (2, 2), (0, 1)",
            ", norm='ortho'",
            ", s=(2,)",
        ],
    ),
    *expand(
        "mx.fft.{f}(x(f32, 8){k})",
        f="fft rfft irfft fftn",
        k=[", norm='bad'", ", axis=3", ", n=0", ", n=-1", ", axes=(0, 0)", ", n=1"],
    ),
    *expand(
        "mx.fft.{f}({a})",
        f="fft rfft fftn fft2 fftshift",
        a=["A(1.0)", "x(f32, 0)", "x(f32, 2, 0)", "x(f32, 4, 6).T", "x(f32, 1)"],
    ),
    *expand("mx.fft.{f}({n}{k})", f="fftfreq rfftfreq", n=[1, 4, 5, 0, -1], k=["", ", 0.5"]),
    *expand(
        "mx.fft.{f}(x({d}, 4, 5){k})",
        f="fftshift ifftshift",
        d="f32 i32",
        k=["", ", 0", ", axes=[1]", ", (0, 1)", ", 2"],
    ),
    *expand(
        "mx.fft.stft(x(f32, 64, s=2), {k})",
        k=[
            "16",
            "16, hop_length=4",
            "16, center=False",
            "16, pad_mode='constant'",
            "n_fft=16, win_length=8",
            "16, window=mx.hanning(16)",
            "16, onesided=False",
            "128",
            "16, norm='ortho'",
            "0",
            "16, 0",
        ],
    ),
    *expand(
        "mx.fft.istft(mx.fft.stft(x(f32, 64, s=2), 16{k}), n_fft=16{k})",
        k=["", ", hop_length=4", ", center=False"],
    ),
    # linalg
    *expand(
        "mx.linalg.{f}({m}, stream=mx.cpu)",
        f="inv cholesky cholesky_inv det slogdet tri_inv lu pinv eigvalsh",
        m=[SPD],
    ),
    *expand(
        "mx.linalg.{f}({m}, stream=mx.cpu)",
        f="inv det slogdet lu_factor pinv",
        m=[M, "mx.stack([{m}, 2 * ({m})])".replace("{m}", M), "mx.zeros((2, 2))", "mx.eye(3)"],
    ),
    *expand(
        "mx.abs(mx.linalg.qr({m}, stream=mx.cpu)[{i}])",
        m=["x(f32, 4, 4)", "x(f32, 5, 3)", "x(f32, 3, 5)", "x(f32, 2, 4, 3)"],
        i=[0, 1],
    ),
    *expand(
        "mx.linalg.svd({m}, {k}stream=mx.cpu){i}",
        m=["x(f32, 4, 4)", "x(f32, 5, 3)", "x(f32, 3, 5)"],
        k=["False, "],
        i=[""],
    ),
    *expand(
        "[o.shape for o in mx.linalg.svd(x(f32, {s}), stream=mx.cpu)]",
        s=["4, 4", "5, 3", "2, 3, 5"],
    ),
    *expand("mx.linalg.eigh({m}, {k}stream=mx.cpu)[0]", m=[SPD], k=["", "'U', ", "'X', "]),
    *expand(
        "mx.linalg.solve({m}, x(f32, {s}), stream=mx.cpu)", m=[M], s=["4", "4, 2", "3", "3, 4"]
    ),
    *expand(
        "mx.linalg.solve_triangular(mx.tril({m}){t}, x(f32, 4, 2), upper={u}, stream=mx.cpu)",
        m=[M],
        t=["", ".T"],
        u="False True",
    ),
    *expand(
        "mx.linalg.{f}({a}, stream=mx.cpu)",
        f="inv det slogdet",
        a=["A(1.0)", "x(f32, 3)", "x(f32, 2, 3)", "x(i32, 2, 2)", "x(f16, 2, 2)", "x(f64, 2, 2)"],
    ),
    *expand("mx.linalg.inv(mx.eye(2))"),
    *expand(
        "mx.linalg.cholesky({a}, {k}stream=mx.cpu)",
        a=[SPD, "-mx.eye(2)", "x(f32, 2, 3)", "x(i32, 2, 2)"],
        k=["", "True, "],
    ),
    *expand(
        "mx.linalg.norm(x({d}, 3, 4){k})",
        d="f32 i32 c64",
        k=[
            "",
            ", 2, 1",
            ", 1",
            ", -1",
            ", inf",
            ", -inf",
            ", 'fro'",
            ", axis=0",
            ", ord=0, axis=1",
            ", ord=3, axis=0",
            ", keepdims=True",
            ", axis=(0, 1)",
            ", ord=1, axis=[0, 1], keepdims=True",
            ", 'bad'",
            ", axis=5",
            ", ord=0.5, axis=1",
        ],
    ),
    *expand("mx.linalg.norm(x(f32, 3, 4), {k}, stream=mx.cpu)", k=["'nuc'", "2", "-2"]),
    *expand(
        "mx.linalg.norm({a}{k})",
        a=["x(f32, 5)", "x(f32, 2, 3, 4)", "A(2.0)"],
        k=["", ", 1", ", inf", ", ord=2"],
    ),
    *expand(
        "mx.linalg.cross(x(f32, {a}), x(f32, {b}, s=1){k})",
        a=["3", "4, 3", "2", "4, 2"],
        b=["3", "4, 3", "2"],
        k=["", ", 0"],
    ),
    # convolution
    *expand(
        "mx.conv1d(x(f32, 2, 7, 4), x(f32, 6, 3, {c}){k})",
        c=["4", "2", "3"],
        k=[
            "",
            ", stride=2",
            ", padding=1",
            ", dilation=2",
            ", 2, 1, 1, 2",
            ", groups=2",
            ", stride=0",
            ", padding=-1",
        ],
    ),
    *expand(
        "mx.conv2d(x(f32, 1, 5, 6, 2), x(f32, 4, 3, 2, {c}){k})",
        c=["2", "1"],
        k=[
            "",
            ", stride=(2, 1)",
            ", padding=(1, 2)",
            ", dilation=(1, 2)",
            ", groups=2",
            ", padding=1, stride=2",
        ],
    ),
    *expand(
        "mx.conv3d(x(f32, 1, 4, 4, 4, 2), x(f32, 2, 2, 2, 2, 2){k})",
        k=["", ", stride=2", ", padding=(1, 0, 1)"],
    ),
    *expand(
        "mx.conv_general(x(f32, 1, 5, 6, 2), x(f32, 4, 3, 2, 2){k})",
        k=[
            "",
            ", flip=True",
            ", input_dilation=2",
            ", padding=([1, 0], [2, 1])",
            ", stride=2, kernel_dilation=2",
            ", input_dilation=(1, 3), padding=2",
        ],
    ),
    *expand(
        "mx.conv_transpose1d(x(f32, 2, 5, 4), x(f32, 6, 3, 4){k})",
        k=[
            "",
            ", stride=2",
            ", stride=2, padding=1",
            ", stride=2, output_padding=1",
            ", dilation=2",
        ],
    ),
    *expand(
        "mx.conv_transpose2d(x(f32, 1, 3, 4, 2), x(f32, 3, 2, 3, 2){k})",
        k=["", ", stride=(2, 1)", ", padding=1", ", stride=2, output_padding=(1, 0)"],
    ),
    *expand(
        "mx.conv_transpose3d(x(f32, 1, 2, 2, 2, 1), x(f32, 1, 2, 2, 2, 1){k})", k=["", ", stride=2"]
    ),
    *expand(
        "mx.convolve(x(f32, {a}), x(f32, {b}, s=3), '{m}')",
        a=["7", "2", "3, 2"],
        b=["3", "5", "4"],
        m="full same valid bad",
    ),
    *expand("mx.conv1d(x({d}, 1, 5, 2), x({d}, 2, 3, 2))", d="f16 bf16 i32 f64"),
    *expand(
        "mx.conv2d(x(f32, {a}), x(f32, {b}))",
        a=["3, 3, 2", "1, 2, 2, 2"],
        b=["2, 3, 3, 2", "2, 1, 1, 3"],
    ),
    # fast
    *expand(
        "mx.fast.rms_norm(x({d}, 3, 8), {w}, 1e-5)",
        d="f32 f16 bf16",
        w=["None", "x({d}, 8, s=1)", "x(f32, 8, s=1)", "x(f32, 7)"],
    ),
    *expand(
        "mx.fast.layer_norm(x({d}, 3, 8), {w}, 1e-5)",
        d="f32 f16 bf16",
        w=[
            "None, None",
            "x({d}, 8, s=1), None",
            "x(f32, 8, s=1), x(f32, 8, s=2)",
            "None, x({d}, 8)",
            "x(f32, 7), None",
        ],
    ),
    *expand(
        "mx.fast.rope(x({d}, {s}), {n}, traditional={t}, base={b}, scale={c}, offset={o})",
        d="f32",
        s=["2, 3, 8", "1, 2, 3, 8"],
        n=["8", "4"],
        t="False True",
        b=["10000.0"],
        c=["1.0", "0.5"],
        o=["0", "3"],
    ),
    *expand(
        "mx.fast.rope(x({d}, 1, 2, 3, 8), {n}, traditional=False, base={b}, scale=1.0, offset={o}{k})",
        d="f32 f16",
        n=["8", "6", "7", "10"],
        b=["10000.0", "None"],
        o=["A(2)", "0"],
        k=["", ", freqs=A([1.0, 2.0, 3.0, 4.0])"],
    ),
    *expand(
        "mx.fast.scaled_dot_product_attention(x({d}, 1, 4, 5, 8, hi=1, lo=-1), x({d}, 1, {h}, 6, 8, hi=1, lo=-1), x({d}, 1, {h}, 6, 8), scale=0.35{k})",
        d="f32 f16 bf16",
        h=["4", "2", "1", "3"],
        k=[
            "",
            ", mask='causal'",
            ", mask=x(b8, 5, 6)",
            ", mask=x({d}, 5, 6)",
            ", mask='bad'",
            ", sinks=x({d}, 4)",
        ],
    ),
    # quantisation
    *expand(
        "mx.quantize(x(f32, 4, 64), {k})",
        k=[
            "",
            "group_size=32",
            "bits=8",
            "group_size=32, bits=2",
            "bits=3",
            "bits=6",
            "bits=5",
            "bits=7",
            "group_size=16",
            "mode='mxfp4'",
            "mode='mxfp8'",
            "mode='nvfp4'",
            "mode='bad'",
        ],
    ),
    *expand("mx.quantize(x({d}, {s}))", d="f16 bf16 i32", s=["2, 64", "2, 63", "64", "2, 2, 64"]),
    *expand(
        "mx.dequantize(*mx.quantize(x({d}, 4, 64), 32, {b}), 32, {b})",
        d="f32 f16",
        b=[2, 3, 4, 5, 6, 8],
    ),
    *expand(
        "mx.quantized_matmul(x({d}, 3, 64), *mx.quantize(x({d}, 32, 64, s=1), 32, {b}), group_size=32, bits={b})",
        d="f32 bf16",
        b=[2, 4, 8],
    ),
    *expand(
        "mx.quantized_matmul(x(f32, 3, 32), *mx.quantize(x(f32, 32, 64, s=1), 32, 4), transpose=False, group_size=32, bits=4)"
    ),
    *lines("""
        mx.hadamard_transform(x(f32, 2, 8))
        mx.hadamard_transform(x(f32, 2, 12), scale=0.5)
        mx.hadamard_transform(x(f32, 2, 7))
        mx.hadamard_transform(x(i32, 2, 8))
        mx.fast.cross_entropy(x(f32, 3, 5), A([0, 4, 2]))
        mx.fast.cross_entropy(x(f16, 3, 5), A([0, 4, 2]))
        mx.linalg.eigvals(A([[0.0, 1.0], [-1.0, 0.0]]), stream=mx.cpu)
        mx.linalg.eigvalsh(A([[2.0, 1.0], [1.0, 2.0]]), stream=mx.cpu)
        mx.linalg.pinv(x(f32, 4, 3), stream=mx.cpu)
    """),
]
CALLS = [c.replace("{d}", "f32") for c in CALLS]
