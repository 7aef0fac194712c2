"""Fourier transforms; complex inputs are made of two real ones, so that they are differentiated."""

from cases.table import In, Row, grid

FLOATS = ("float32", "float64", "float16", "int32")
# Passes with 8, 4, 2 and odd radices, lengths split into a matrix, and chirps (67, 131, 262).
LENGTHS = (1, 2, 3, 4, 5, 7, 8, 12, 16, 30, 37, 64, 67, 96, 100, 131, 144, 262, 1000)


def row(expr, *shapes, **more):
    """A row on arrays of these shapes in [-2, 2]."""
    more = {"dtypes": FLOATS, "ulps": 8, **more}
    if "1j" in expr:
        more["grad_dtype"] = "float32"
    return Row(expr, tuple(In(s, -2, 2) for s in shapes), **more)


ROWS = [
    *[
        row(f"mx.fft.{f}(a)", (3, n), kind="smooth" if n < 70 else "flat")
        for f in ("fft", "rfft", "ihfft")
        for n in LENGTHS
    ],
    *[
        row(f"mx.fft.{f}(a + 1j * b)", (2, n), (2, n), kind="smooth" if n < 70 else "flat")
        for f in ("fft", "ifft")
        for n in LENGTHS
    ],
    *[
        row(f"mx.fft.{f}(a + 1j * b, n={n})", *[(3, n // 2 + 1)] * 2, ulps=16)
        for f in ("irfft", "hfft")
        for n in (1, 2, 3, 4, 7, 16, 30, 64, 67, 131)
    ],
    # more lines than fit a block of columns, and lines that are neighbours
    *[
        row(f"mx.fft.{f}(a, axis={x})", shape)
        for f in ("fft", "rfft")
        for x, shape in ((1, (37, 24)), (0, (24, 37)), (1, (2, 24, 5)), (1, (3, 66, 4)))
    ],
    *[
        row(f"mx.fft.irfft(a + 1j * b, axis={x})", shape, shape)
        for x, shape in ((1, (37, 13)), (0, (13, 37)), (1, (2, 13, 5)))
    ],
    *[
        row(f"mx.fft.{f}(a, n={n}, axis={x})", (4, 6))
        for f in ("fft", "rfft", "irfft", "ihfft")
        for n in (3, 5, 9, 12)
        for x in (0, 1)
    ],
    *[
        row(f"mx.fft.{f}(a, norm='{norm}')", (3, 6))
        for f in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "irfftn")
        for norm in ("ortho", "forward", "backward")
    ],
    *[
        row(f"mx.fft.{f}(a{k})", (4, 5, 6))
        for f in ("fft2", "ifft2", "rfft2", "irfft2")
        for k in ("", ", axes=(0, 1)", ", s=(3, 8), axes=(2, 1)")
    ],
    *[
        row(f"mx.fft.{f}(a{k})", (4, 5, 6))
        for f in ("fftn", "ifftn", "rfftn", "irfftn")
        for k in ("", ", axes=(0,)", ", axes=(2, 0)", ", s=(2, 9), axes=(0, 1)")
    ],
    *[row(e, (4, 5, 6), ulps=0.5) for e in grid("mx.fft.{f}(a)", f="fftshift ifftshift")],
    *[
        row(e, (4, 5, 6), ulps=0.5)
        for e in grid("mx.fft.{f}(a, axes={x})", f="fftshift ifftshift", x=["1", "(0, 2)", "-1"])
    ],
    # frames gathered by hand
    *[
        row(
            f"mx.fft.stft(a, {n}, {hop}, window=b, center=False)",
            (2, 40),
            (n,),
            ref=(
                f"np.swapaxes(np.fft.rfft(np.lib.stride_tricks.sliding_window_view(a, {n}, -1)"
                f"[..., ::{hop}, :] * b), -1, -2)"
            ),
            dtypes=("float32", "float64"),
        )
        for n, hop in ((8, 2), (9, 4), (16, 16), (12, 5))
    ],
    row(
        "mx.fft.stft(a, 8, pad_mode='reflect')",
        (20,),
        ref=(
            "np.fft.rfft(np.lib.stride_tricks.sliding_window_view(np.pad(a, 4, 'reflect'), 8)"
            "[::2]).T"
        ),
        dtypes=("float32", "float64"),
    ),
    # the way back from frames that overlap is the way there undone
    *[
        row(
            f"mx.fft.istft(mx.fft.stft(a, {n}, {hop}, window=w, {k}), "
            f"hop_length={hop}, window=w, length=40, {k})".replace(
                "window=w", f"window=mx.hanning({n}) + 0.5"
            ),
            (2, 40),
            ref="a",
            dtypes=("float32",),
            ulps=16,
            grad_dtype="float32",
        )
        for n, hop, k in (
            (8, 2, "center=True"),
            (8, 8, "center=False"),
            (12, 4, "norm='ortho'"),
            (10, 3, "onesided=False"),
        )
    ],
]
