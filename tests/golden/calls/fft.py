"""Fourier transforms."""

from calls._make import ALL, expand, lines

CALLS = [
    *expand("mx.fft.{f}(x({d}, 3, 7))", f="fft ifft rfft irfft fftn ifftn rfftn irfftn", d=ALL),
    *expand("mx.fft.{f}(x({d}, 3, 8))", f="fft ifft rfft irfft fft2 rfft2", d="f32 c64"),
    *expand(
        "mx.fft.{f}(x({d}, 3, 8, 5){k})",
        f="fft ifft rfft irfft",
        d="f32 c64",
        k=[
            ", 4",
            ", 12",
            ", 9, 1",
            ", axis=0",
            ", axis=-2",
            ", 1",
            ", 2",
            ", 0",
            ", -1",
            ", axis=3",
            ", axis=-4",
            ", norm='ortho'",
            ", norm='forward'",
            ", norm='none'",
            ", 6, 1, 'ortho'",
            ", n=None, axis=1",
            ", 2.0",
        ],
    ),
    *expand(
        "mx.fft.{f}(x(c64, {n}))",
        f="fft ifft irfft",
        n="1 2 3 4 5 6 7 8 11 12 13 15 16 17 24 30 31 32 49 60 64 67 97 100 127 128 131 256",
    ),
    *expand("mx.fft.rfft(x(f32, {n}))", n="1 2 3 4 5 6 7 8 11 12 13 16 17 30 64 67 100 131 256"),
    *expand("mx.fft.irfft(x(c64, 9), {n})", n="1 2 3 8 9 15 16 17 18 19 30"),
    *expand(
        "mx.fft.{f}(x(c64, 3, 4, 5, lo=-1, hi=1){k})",
        f="fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn",
        k=[
            "",
            ", axes=(0, 1)",
            ", axes=[1]",
            ", axes=[]",
            ", axes=None",
            ", axes=(1, 1)",
            ", axes=(1, -2)",
            ", axes=(0, 3)",
            ", axes=(2, 0)",
            ", s=(6, 3), axes=(1, 2)",
            ", (2, 6), (0, -1)",
            ", (4,)",
            ", s=(4,), axes=(0, 1)",
            ", s=(0, 2), axes=(0, 1)",
            ", norm='ortho'",
            ", norm='forward'",
            ", norm=''",
        ],
    ),
    *expand(
        "mx.fft.{f}({a})",
        f="fft ifft rfft irfft fft2 fftn rfftn irfftn",
        a=[
            "A(1.0)",
            "x(f32, 0)",
            "x(f32, 0, 4)",
            "x(f32, 4, 0)",
            "x(c64, 6, 5).T",
            "x(f32, 9, 8)[::-2, ::2]",
            "mx.broadcast_to(x(f32, 1, 6), (3, 6))",
            "x(f32, 6, 1)",
        ],
    ),
    *expand("mx.fft.{f}(x(f32, 3, 0), 4)", f="fft rfft irfft"),
    *expand("mx.fft.{f}(x({d}, 5))", f="fftshift ifftshift", d=ALL),
    *expand(
        "mx.fft.{f}(x(i32, 3, 4, 5){k})",
        f="fftshift ifftshift",
        k=[
            "",
            ", 0",
            ", axes=1",
            ", axes=-1",
            ", axes=(0, 2)",
            ", axes=[]",
            ", 3",
            ", (0, 0)",
            ", None",
            ", -4",
        ],
    ),
    *expand("mx.fft.{f}({a})", f="fftshift ifftshift", a=["A(1)", "x(f32, 0, 3)"]),
    *expand(
        "mx.fft.{f}({k})",
        f="fftfreq rfftfreq",
        k=["1", "2", "5", "8", "8, 0.5", "7, d=2", "0", "-2", "4, 0.0", "4, -1.0", "n=6"],
    ),
    *expand(
        "mx.fft.stft(x({d}, 64), 16{k})",
        d="f32 c64",
        k=[
            "",
            ", 8",
            ", 5",
            ", 16, 12",
            ", hop_length=16, win_length=7",
            ", window=mx.hanning(16)",
            ", window=mx.hanning(9)",
            ", window=mx.hanning(17)",
            ", window=x(f32, 2, 2)",
            ", window=mx.ones(16, i32)",
            ", win_length=17",
            ", center=False",
            ", 0",
            ", -4",
            ", onesided=False",
            ", onesided=True",
            ", pad_mode='constant'",
            ", pad_mode='edge'",
            ", pad_mode='wrong'",
            ", norm='ortho'",
            ", norm='forward'",
        ],
    ),
    *expand(
        "mx.fft.stft({a})",
        a=[
            "x(f32, 64), 15, 4",
            "x(f32, 2, 64), 16",
            "x(f32, 2, 3, 20), 8",
            "x(i32, 20), 8",
            "x(f16, 20), 8",
            "x(f32, 5), 16",
            "x(f32, 5), 16, center=False",
            "x(f32, 1), 4",
            "A(1.0), 4",
            "x(f32, 9), 0",
            "x(f32, 9), 1",
            "x(f32, 9), 3",
            "x(f32, 9), 4",
            "x(f32, 0, 32), 8",
        ],
    ),
    *expand(
        "w = mx.hanning(17)[:16]; mx.fft.istft(mx.fft.stft(x(f32, 2, 64), 16{k}){k})".replace(
            "{k}){k}", "{k}, window=w){k}, window=w"
        ),
        k=["", ", hop_length=8", ", center=False", ", norm='ortho'", ", onesided=False"],
    ),
    *expand(
        "mx.fft.istft(mx.fft.stft(x(f32, 64), 16){k})",
        k=[
            "",
            ", length=64",
            ", length=60",
            ", length=70",
            ", length=72",
            ", length=80",
            ", length=0",
            ", 18",
            ", 15",
            ", hop_length=0",
            ", hop_length=5",
            ", hop_length=16",
            ", win_length=12",
            ", win_length=20",
            ", window=mx.hanning(16)",
            ", window=mx.hanning(9)",
            ", center=False",
            ", center=False, length=90",
            ", center=False, length=40",
            ", norm='none'",
        ],
    ),
    *expand(
        "mx.fft.istft({a})",
        a=[
            "x(c64, 5)",
            "x(c64, 1, 3)",
            "x(c64, 5, 0)",
            "x(c64, 5, 1)",
            "x(c64, 0, 3)",
            "x(f32, 3, 5)",
            "x(c64, 2, 2, 5, 4)",
            "x(c64, 5, 2), center=False",
            "x(c64, 8, 4), onesided=False",
        ],
    ),
    *expand(
        "mx.vjp(lambda a: mx.fft.{f}, [x({d}, 3, 6)], [x({g})])[1]",
        f=["fft(a)", "ifft(a, norm='ortho')"],
        d="c64 f32",
        g=["c64, 3, 6"],
    ),
    *lines("""
        mx.fft.fft(x(c64, 1000), norm='ortho')
        mx.vjp(lambda a: mx.fft.fft(a, 4), [x(c64, 3, 6)], [x(c64, 3, 4)])[1]
        mx.vjp(lambda a: mx.fft.fft(a, 9), [x(c64, 3, 6)], [x(c64, 3, 9)])[1]
        mx.vjp(mx.fft.rfft, [x(f32, 3, 6)], [x(c64, 3, 4)])[1]
        mx.vjp(mx.fft.rfft, [x(f32, 3, 7)], [x(c64, 3, 4)])[1]
        mx.vjp(lambda a: mx.fft.rfft(a, 9, 0), [x(f32, 3, 7)], [x(c64, 5, 7)])[1]
        mx.vjp(lambda a: mx.fft.irfft(a), [x(c64, 3, 5)], [x(f32, 3, 8)])[1]
        mx.vjp(lambda a: mx.fft.irfft(a, 7), [x(c64, 3, 5)], [x(f32, 3, 7)])[1]
        mx.vjp(lambda a: mx.fft.irfft(a, 12), [x(c64, 3, 5)], [x(f32, 3, 12)])[1]
        mx.vjp(mx.fft.rfft2, [x(f32, 4, 6)], [x(c64, 4, 4)])[1]
        mx.vjp(mx.fft.irfftn, [x(c64, 4, 5)], [x(f32, 4, 8)])[1]
        mx.jvp(mx.fft.fft, [x(c64, 3, 6)], [x(c64, 3, 6, s=1)])[1]
        mx.jvp(mx.fft.rfft, [x(f32, 3, 6)], [x(f32, 3, 6, s=1)])[1]
        mx.jvp(mx.fft.irfft, [x(c64, 3, 6)], [x(c64, 3, 6, s=1)])[1]
        mx.vmap(mx.fft.fft, in_axes=1)(x(c64, 5, 3))
        mx.vmap(mx.fft.rfft2, in_axes=1, out_axes=1)(x(f32, 4, 3, 6))
        mx.vmap(mx.fft.irfft)(x(c64, 2, 3, 6))
        mx.fft.fft(x(f32, 4), stream=mx.cpu)
        mx.fft.fft()
        mx.fft.fft([1.0])
        mx.grad(lambda a: mx.abs(mx.fft.rfft(a)).square().sum())(x(f32, 16))
    """),
]
