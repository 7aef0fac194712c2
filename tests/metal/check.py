"""Compiles texts of kernels as Metal gets them, by clang: `check.py ZIG`, ZIG of ziglang.

Memory of the device, of the block, of the thread and constants are different spaces, so a pointer
or reference with a wrong one is an error. Each text is compiled twice. A pointer without a space is
of any space at first, and then of the thread's; in Metal it is an error. The math library has known
errors, since this language copies no classes from constants; they are left out, and so are errors
that name its class of 64 bits. The printed programs of printed.py are compiled in the same way.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "cmake"))
import metal_texts  # noqa: E402

KERNELS = metal_texts.KERNELS
PROGRAMS = ROOT / "tests" / "metal" / "printed"
# A text, the type of its arguments, and instances.
SUM = "Sum<float, float>, Plain, float, FromMemory<float, true>"
SUM_OF_PROGRAM = "Sum<float, float>, Plain, float, Source"
INSTANCES = {
    "reduce": {
        "ReduceArguments": [
            f"reduce_rows<{SUM}, ReduceArguments>",
            "reduce_columns<Extreme<int32_t, int32_t, true>, Plain, int32_t,"
            " FromMemory<int32_t, false>, ReduceArguments>",
            f"reduce_shared_columns<{SUM}, ReduceArguments>",
            *(f"reduce_few<{SUM}, 4, ReduceArguments>", f"reduce_short<{SUM}, 32, 2>"),
            "reduce_chunks<Sum<float, float>, Plain, float, 256>",
        ],
        "Arguments": [
            *(f"reduce_rows<{SUM_OF_PROGRAM}>", f"reduce_shared_columns<{SUM_OF_PROGRAM}>"),
            *(f"reduce_few<{SUM_OF_PROGRAM}, 4>", f"reduce_short<{SUM_OF_PROGRAM}, 32, 2>"),
        ],
    },
    "reduce_vectors": {
        "ReduceArguments": [
            "reduce_vector_rows<Sum<float, float>, Plain, float,"
            " VectorsFromMemory<float, 4, true>, 4, 4>",
            "reduce_vector_columns<Sum<float, float>, Plain, float,"
            " VectorsFromMemory<float, 4, true>, 4, 32>",
            "reduce_vector_few<Extreme<bfloat16_t, float, true>, Plain, bfloat16_t,"
            " VectorsFromMemory<bfloat16_t, 8, false>, 8, 4>",
        ],
        "Arguments": [
            f"reduce_vector_rows<{SUM_OF_PROGRAM}, 4, 4>",
            f"reduce_vector_columns<{SUM_OF_PROGRAM}, 4, 32>",
        ],
    },
    "row_unit": {"Words<8>": ["unit_of_rows"]},
    "matmul": {
        "MatmulArguments": ["matrix_product<float, float>", "matrix_product<float16_t, float>"]
    },
    "rows": {
        "RowsArguments": [
            *("softmax<32, 4, float, true>", "softmax<256, 0, float16_t, false>"),
            *("logsumexp<256, 8, bfloat16_t>", "norm<32, 1, float, true>"),
            *("sum_parts<float, true>", "softmax_of_parts<bfloat16_t, false>"),
        ]
    },
    "scan": {
        "ScanArguments": [
            *("scan_rows<Running<Sum<int32_t, uint32_t>>>", "affine_scan<float, float>"),
            "scan_lines<Running<Extreme<float, float, true>>>",
            "scan_chunks<Running<Sum<float16_t, float>>, true>",
            "scan_chunks<ScaledProduct<float, float>, false>",
        ]
    },
    "sort": {
        "SortArguments": ["sort_tiles<Values<float>>", "merge_runs<LongPositions<int64_t>>"],
        "SearchArguments": ["search_sorted<float>"],
    },
    "radix": {
        "RadixArguments": [
            *("radix_rows<RadixPositions<float>, 4>", "select_rows<RadixValues<int16_t>, 4>"),
            *("radix_clear", "radix_counts<RadixValues<float>, 4>"),
            *("count_tiles<RadixValues<float>, 4, true>", "add_tiles"),
            *("place_tiles<RadixPositions<float>, 4, false>", "select_counts<RadixValues<float>>"),
        ]
    },
    "scatter": {
        "GatherArguments": ["gather<uint16_t, uint32_t>"],
        "OffsetsArguments": ["find_offsets"],
        "ScatterArguments": ["scatter<Mode::add, float>"],
        "ScatterAxisArguments": ["scatter_axis<Mode::set, uint32_t>", "axis_keys<uint32_t>"],
        "TargetKeysArguments": ["target_keys<uint32_t>"],
        "SortedUpdatesArguments": [
            *("apply_sorted<Mode::add, float16_t, uint32_t, uint32_t, 8>", "clear_claims"),
            "apply_long_runs<Mode::add, bfloat16_t, uint32_t>",
            "apply_claimed<uint32_t, uint32_t, uint32_t>",
        ],
    },
    "spectrum": {"SpectrumArguments": ["fill_spectrum<float>"]},
    "share_updates": {
        "SortedUpdatesArguments": ["apply_shares<Mode::add, float16_t, uint32_t, 8>"],
    },
    "compact": {
        "MaskArguments": ["count_selected", "add_counts", "find_positions"],
        "NonzeroArguments": ["nonzero<int32_t>"],
        "CompactArguments": ["compact<uint32_t, uint32_t>", "masked_scatter_elements<uint32_t>"],
    },
    "counting": {
        "CountArguments": [
            *("count_at_once<ByValue<int32_t>, Weights<One>>", "write_counts<Weights<int32_t>>"),
            "count_at_once<ByValue<int32_t>, Weights<int32_t>>",
            "find_bins<ByEdges<float, float, true>>",
        ]
    },
    "random": {"RandomArguments": ["random_bytes"]},
    "fft_passes": {"FftPassArguments": ["fft_pass<float, uint32_t>", "fft_pass<float, uint64_t>"]},
    "hadamard": {"HadamardArguments": ["hadamard_tiles<float, true>", "hadamard_results<float>"]},
    "conv": {
        "ConvArguments": [
            "convolve<float, float, int32_t>",
            "convolve_weight<float16_t, float, int64_t>",
        ]
    },
    "delta": {"DeltaArguments": ["gated_delta<float, 2>"]},
    "attention": {
        "AttentionArguments": ["attention<float, bool, 2, 64>", "attention_parts<float16_t>"]
    },
    "attention_lanes_vjp": {
        "AttentionVjpArguments": [
            "attention_lanes_queries<float, bool, 2, 64>",
            "attention_lanes_keys<bfloat16_t, float, 2, 128>",
        ]
    },
    "packed": {
        "GatherProductArguments": ["gather_product<float, float>", "segment_product<float, float>"],
        "PackedArguments": [
            *("quantize<Packed::affine, 4, float>", "dequantize<Packed::affine, 4, float, float>"),
        ],
        "PackedProductArguments": [
            "packed_rows<Packed::affine, 4, float, float, 4>",
            "packed_product<Packed::mxfp4, 4, uint8_t, float, true>",
        ],
    },
}
# Parts of kernels as they are printed for programs, in front of the instances of a text.
ARGUMENTS = """
struct Arguments : ReduceArguments {
  ProgramOperand in_[1];
  int64_t constants[3];
};
"""
VALUE = """
    const float v1 = mlx_constant<float>(p.constants[0], p.constants[1]);
    return row<float>(bodies::multiply{}, v0, v1);
"""
START = """
  MLX_ARGUMENTS const Arguments& p;
  DevicePointer<const float> in0;
  MLX_FN Source(MLX_ARGUMENTS const Arguments& p, int64_t output)
    : p(p), in0(memory<const float>(p.in_[0].address) + offset_of(p.in_[0].kept, output)) {}
"""
PRINTED = {
    "reduce": f"""{ARGUMENTS}struct Source {{
  static MLX_CONSTANT int kBatch = 4;{START}
  MLX_FN auto operator()(int64_t i) const {{
    const float v0 = in0[offset_of(p.in_[0].reduced, i)];{VALUE}  }}
}};
""",
    "reduce_vectors": f"""{ARGUMENTS}struct Source {{
  struct Fetched {{
    Neighbours<float, 4> f0;
  }};
  static MLX_CONSTANT int kFetches = 4;{START}
  MLX_FN Fetched fetch(int64_t i) const {{
    Fetched x;
    x.f0 = *neighbours<const Neighbours<float, 4>>(in0 + i);
    return x;
  }}
  MLX_FN auto value(MLX_THREAD const Fetched& x, int j) const {{
    const float v0 = x.f0.x[j];{VALUE}  }}
}};
""",
    "row_unit": """
struct Element0 {
  MLX_THREAD const float (&a0)[4];
  const float c0_0;
  MLX_FN auto operator()(int k) const {
    const float v0 = a0[k];
    const float v1 = c0_0;
    return row<float>(bodies::multiply{}, v0, v1);
  }
};
void unit_of_rows(thread const Place& place, constant Words<8>& p) {
  const int first = place.thread_index.x, left = 100 - first;
  const float c0_0 = mlx_constant<float>(p.w[6], p.w[7]);
  const auto* from0 = memory<const float>(p.w[2])
    + offset_of(*reinterpret_cast<MLX_ARGUMENTS const Axes*>(&p.w[3]), first);
  float a0[4];
  for (int k = 0; k < 4; ++k) a0[k] = from0[k * kLanes];
  const float s1 = Plain::finish<float>(reduced_row<Sum<float, float>, 2, 4, 1, false>(
      place, first, left, Element0{a0, c0_0}), 100);
  auto* to = memory<float>(p.w[5]);
  to[first] = s1;
}
""",
}
OF_MATH = re.compile(r"Double|Literal|LogSumExp|'__generic A \*'|ErfPart|Lane<|Cx<")
# Functions that no class declares have the thread's space alone, where no pointer is of any space.
OF_CLASSES = re.compile(
    "implicitly-deleted|no matching (constructor|conversion)|overloaded '='|object parameter"
)
# A printed kernel is a function here, since kernels have no references as parameters there. It
# stays a kernel where it declares memory of the block.
SHARING = re.compile(r"^MLX_IN_STEP_KERNEL\((\w+), (\S+), p\) \{", re.M)
AS_KERNEL = r"""
__kernel void \1(constant long* p_, uint mlx_thread, uint mlx_block, uint mlx_blocks) {
constant \2& p = *reinterpret_cast<constant \2*>(p_);"""


class Whole:
    """A text with those that it includes, and the file of each line."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.files: list[str] = []
        self.included: set[str] = set()

    def append(self, text: str, path: str) -> None:
        """Adds lines, and texts in the place of the lines that include them."""
        for line in text.split("\n"):
            include = re.match(r'#include "([^"]*)"', line)
            if include:
                self.include(include.group(1))
            elif not re.match(r"#include <|#pragma (once|METAL)", line):
                self.lines.append(line)
                self.files.append(path)

    def include(self, path: str) -> None:
        """Adds a text that Metal has, once."""
        own = path.startswith(KERNELS) and path.removeprefix(KERNELS) in metal_texts.TAKEN
        other = path.startswith(("mlx/backend/math/", metal_texts.OWN, "mlx/ops/elementwise.def"))
        if not (own or other) or (path in self.included and not path.endswith(".def")):
            return
        self.included.add(path)
        text = (ROOT / path).read_text()
        if not path.startswith(metal_texts.OWN):
            text = metal_texts.translated(path, text, str(ROOT / path))
        self.append(text, path)


Change = tuple[str, str] | None  # a part of a text, and its replacement


def beginning(file: str) -> Whole:
    """The text that a source has before its kernels."""
    whole = Whole()
    whole.append((ROOT / "tests/metal/language.h").read_text(), "language.h")
    whole.include(metal_texts.OWN + "device/prelude.h")
    whole.include(f"{KERNELS}{file}.cuh")
    whole.append("using namespace mlx::core; using namespace mlx::core::mlx_device;", "")
    return whole


def changed(whole: Whole, change: Change) -> Whole:
    """The text with a part replaced."""
    if change:
        assert any(change[0] in line for line in whole.lines), change
        whole.lines = [line.replace(*change) for line in whole.lines]
    return whole


def source(file: str, change: Change = None) -> Whole:
    """The text of a file's instances."""
    whole = beginning(file)
    place = "namespace mlx { namespace core { namespace mlx_device {"
    whole.append(f"{place}{PRINTED.get(file, '')}}} }} }}", f"{KERNELS}{file}.cuh")
    number = 0
    for arguments, calls in INSTANCES[file].items():
        for call in calls:
            name = f"void use_{number}(thread const Place& place, constant {arguments}& p)"
            call = call.replace("Packed::", "mlx::core::mlx_device::Packed::")
            whole.append(f"{name} {{ mlx_device::{call}(place, p); }}", f"{KERNELS}{file}.cuh")
            number += 1
    return changed(whole, change)


def printed(name: str, change: Change = None) -> list[Whole]:
    """The texts of a printed program's kernels."""
    parts = re.split(r"^// (\w+)\.cuh\n", (PROGRAMS / f"{name}.metal").read_text(), flags=re.M)[1:]
    kernels = []
    for family, text in zip(parts[::2], parts[1::2], strict=True):
        kernels.append(beginning(family))
        kernels[-1].append(SHARING.sub(AS_KERNEL, text), f"{KERNELS}{name}.metal")
    return [changed(whole, change) for whole in kernels]


def errors(zig: str, whole: Whole) -> list[str]:
    """The errors in texts of kernels."""
    found = [e for any_space in (True, False) for e in found_by(zig, whole, any_space)]
    return list(dict.fromkeys(found))


def refused(zig: str, whole: Whole) -> bool:
    """Whether a text has errors."""
    return bool(found_by(zig, whole, any_space=True) or found_by(zig, whole, any_space=False))


def found_by(zig: str, whole: Whole, any_space: bool) -> list[str]:
    """The errors of clang where pointers without a space are of any, or of the thread's."""
    options = ["-cc1", "-x", "clcpp", "-cl-std=clc++2021", "-triple", "spir64-unknown-unknown"]
    space = ",+__opencl_c_generic_address_space" if any_space else ""
    options += [f"-cl-ext=-all{space}", "-fsyntax-only"]
    command = [zig, "clang", *options, "-ferror-limit", "0", "-"]
    run = subprocess.run(command, capture_output=True, text=True, input="\n".join(whole.lines))
    found = []
    for line, text in re.findall(r"^\S+?:(\d+):\d+: (?:fatal )?error: (.*)$", run.stderr, re.M):
        path = whole.files[int(line) - 1]
        in_kernels = path.startswith(KERNELS) and not path.endswith("prelude.cuh")
        known = OF_MATH.search(text) or (not any_space and OF_CLASSES.search(text))
        if (in_kernels or path == "language.h") and not known:
            found.append(f"{Path(path).name}: {text}: {whole.lines[int(line) - 1].strip()}")
    return found


# Changes that make a kernel wrong in Metal, and each of which has to be found.
WRONG = [
    ("rows", ("row.write(mlx_place, memory<T>(p.out)", "row.write(mlx_place, (thread T*)nullptr")),
    ("rows", ("threadgroup A (&parts)", "thread A (&parts)")),
    ("scan", ("SharedPointer<T>>(tiles[warp])", "DevicePointer<T>>(tiles[warp])")),
    ("sort", ("threadgroup E (&slots)", "device E (&slots)")),
    ("radix", ("SharedPointer<uint32_t> counters", "DevicePointer<uint32_t> counters")),
    ("scatter", ("constant const Positions& p", "thread const Positions& p")),
    ("compact", ("DevicePointer<const uint64_t>>(mask)", "SharedPointer<const uint64_t>>(mask)")),
    ("counting", ("atomic_add(table + bin, S::load", "atomic_add(&p.length, S::load")),
    ("conv", ("constant const ConvArguments& p;", "thread const ConvArguments& p;")),
    ("attention", ("MLX_SHARED_SPACE float (&to)[N][kRow]", "thread float (&to)[N][kRow]")),
]
WRONG_PROGRAMS = [
    ("chain", ("const auto in0 = memory", "const float* in0 = memory")),
    ("across", ("<SharedPointer<float>>(tile0", "<DevicePointer<float>>(tile0")),
    ("reduction", ("DevicePointer<const float> in0;", "const float* in0;")),
    ("rows", ("MLX_THREAD const float (&a0)[32]", "MLX_DEVICE const float (&a0)[32]")),
    ("scalars", ("const float v1 =", "const double v1 =")),
]


def main(zig: str) -> int:
    """Prints the errors of each text, and wrong kernels that have none; 1 where there are some."""
    texts = {file: [source(file)] for file in INSTANCES}
    programs = sorted(p.stem for p in PROGRAMS.glob("*.metal"))
    texts |= {f"printed {name}": printed(name) for name in programs}
    wrong = {f"{file}: {change[1]}": [source(file, change)] for file, change in WRONG}
    wrong |= {f"{name}: {change[1]}": printed(name, change) for name, change in WRONG_PROGRAMS}
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        found = threads.map(lambda w: [e for one in w for e in errors(zig, one)], texts.values())
        are_refused = threads.map(lambda w: any(refused(zig, one) for one in w), wrong.values())
        failed = 0
        for name, all_errors in zip(texts, found, strict=True):
            print(f"{name}: {len(all_errors)} errors as Metal's language")
            print("".join(f"  {e}\n" for e in all_errors), end="")
            failed += len(all_errors)
        for name, was_refused in zip(wrong, are_refused, strict=True):
            if not was_refused:
                print(f"no error where a text is wrong: {name}")
                failed += 1
    return failed > 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
