// Packing and unpacking, and products with packed matrices by layout and index arrays.
#include "mlx/backend/cpu/quantized.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "mlx/backend/common/odometer.h"
#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/gemm.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/positions.h"
#include "mlx/backend/cpu/threads.h"

namespace mlx::core::cpu {

namespace {

constexpr float kGlobalUnit = 448 * 6;

// ---- packing -----------------------------------------------------------------------------------

template <class T>
T narrowed(float x) {
  return static_cast<T>(x);
}

/// Codes of one group of mode affine, computed with scale and bias before these are rounded to
/// their dtype.
template <class T>
void affine_group(const T* w, int group, int bits, T* scale, T* bias, uint8_t* codes) {
  const float max_code = static_cast<float>((1 << bits) - 1);
  float high = -INFINITY, low = INFINITY;
  for (int i = 0; i < group; ++i) {
    const float x = static_cast<float>(w[i]);
    high = std::max(high, x);
    low = std::min(low, x);
  }
  float step = std::max((high - low) / max_code, 1e-7f), start = low;
  if (bits > 1) {
    const bool negative = std::fabs(low) > std::fabs(high);
    if (!negative) step = -step;
    const float edge = negative ? low : high, at = std::nearbyint(edge / step);
    start = at != 0 ? edge : 0;
    if (at != 0) step = edge / at;
  }
  *scale = narrowed<T>(step);
  *bias = narrowed<T>(start);
  for (int i = 0; i < group; ++i) {
    const float q = std::nearbyint((static_cast<float>(w[i]) - start) / step);
    codes[i] = static_cast<uint8_t>(q > 0 ? std::min(q, max_code) : 0);  // NaN is 0
  }
}

uint8_t to_e2m1(float x) {
  constexpr float thresholds[] = {.25f, .75f, 1.25f, 1.75f, 2.5f, 3.5f, 5};
  uint8_t code = 0;
  for (float t : thresholds) code += std::fabs(x) > t;
  return code && x < 0 ? code | 8 : code;
}

uint8_t to_e4m3(float x) {
  const uint8_t sign = std::signbit(x) ? 128 : 0;
  const float a = std::fabs(x);
  if (a != a) return sign | 127;
  if (a >= 448) return sign | 126;
  if (a < 0x1p-6f) return sign | static_cast<uint8_t>(std::nearbyint(a * 512));  // subnormal
  const int exponent = std::ilogb(a);
  const int mantissa = static_cast<int>(std::nearbyint(std::ldexp(a, 3 - exponent)));  // 8 to 16
  return sign | static_cast<uint8_t>(std::min((exponent + 7) * 8 + mantissa - 8, 126));
}

float from_e4m3(uint8_t code) {
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  const float v = exponent ? std::ldexp(static_cast<float>(8 + mantissa), exponent - 10)
                           : std::ldexp(static_cast<float>(mantissa), -9);
  return (code & 127) == 127 ? NAN : v;
}

/// Codes of one group of a floating-point mode. `unit` is the value of the scale code 1.
template <class T>
void float_group(const T* w, const Packing& p, float unit, uint8_t* scale, uint8_t* codes) {
  float absmax = 0;
  for (int i = 0; i < p.group; ++i) absmax = std::max(absmax, std::fabs(static_cast<float>(w[i])));
  float step;
  if (p.mode == QuantMode::nvfp4) {
    *scale = to_e4m3(absmax / 6 / unit);
    step = from_e4m3(*scale) * unit;
  } else {
    // The ratio is rounded to the dtype of the matrix, as the scale would be in that dtype.
    const float ratio = static_cast<float>(narrowed<T>(absmax / (p.bits == 4 ? 6 : 448)));
    int exponent = 0;
    const float mantissa = ratio > 0 && ratio <= 3e38f ? std::frexp(ratio, &exponent) : 0;
    if (mantissa == 0.5f) --exponent;
    *scale = static_cast<uint8_t>(std::clamp(exponent + 127, 0, 254));
    step = std::ldexp(1.0f, *scale - 127);
  }
  for (int i = 0; i < p.group; ++i) {
    const float x = step != 0 ? static_cast<float>(w[i]) / step : 0;
    codes[i] = p.bits == 4 ? to_e2m1(x) : to_e4m3(x);
  }
}

void store_codes(const uint8_t* codes, int group, int bits, uint32_t* words) {
  uint64_t packed = 0;
  int filled = 0;
  for (int i = 0; i < group; ++i) {
    packed |= uint64_t{codes[i]} << filled;
    filled += bits;
    if (filled >= 32) {
      *words++ = static_cast<uint32_t>(packed);
      packed >>= 32;
      filled -= 32;
    }
  }
  // A group of 16 codes of 4 bits, and any group of 32, ends at a word boundary.
}

template <class F>
void dispatch_float(Dtype t, F&& f) {
  if (t == float16) return f(TypeTag<float16_t>{});
  if (t == bfloat16) return f(TypeTag<bfloat16_t>{});
  f(TypeTag<float>{});
}

float global_unit(const View* global) {
  return global ? *global->as<const float>() / kGlobalUnit : 1;
}

void run_quantize(const KernelArgs& args) {
  const auto& p = attrs_as<Packing>(args.attrs);
  const View& w = args.in[0];
  const float unit = global_unit(args.in.size() > 1 ? &args.in[1] : nullptr);
  const int64_t groups = w.size() / p.group;
  dispatch_float(w.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_for(
        groups, 64,
        [&](int64_t begin, int64_t end) {
          uint8_t codes[128];
          for (int64_t g = begin; g < end; ++g) {
            const T* from = w.as<const T>() + g * p.group;
            if (p.affine())
              affine_group(from, p.group, p.bits, args.out[1].as<T>() + g, args.out[2].as<T>() + g,
                           codes);
            else
              float_group(from, p, unit, args.out[1].as<uint8_t>() + g, codes);
            store_codes(codes, p.group, p.bits,
                        args.out[0].as<uint32_t>() + g * p.group * p.bits / 32);
          }
        },
        3.0 * static_cast<double>(w.size()));
  });
}

/// Packs and unpacks.
void run_round(const KernelArgs& args) {
  const auto& p = attrs_as<Packing>(args.attrs);
  const View &x = args.in[0], &out = args.out[0];
  const float unit = global_unit(args.in.size() > 1 ? &args.in[1] : nullptr);
  constexpr float e2m1[] = {0, .5f, 1, 1.5f, 2, 3, 4, 6};
  dispatch_float(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_for(
        x.size() / p.group, 64,
        [&](int64_t begin, int64_t end) {
          uint8_t codes[128], scale;
          for (int64_t g = begin; g < end; ++g) {
            float_group(x.as<const T>() + g * p.group, p, unit, &scale, codes);
            const float step = p.mode == QuantMode::nvfp4 ? from_e4m3(scale) * unit
                                                          : std::ldexp(1.0f, scale - 127);
            for (int i = 0; i < p.group; ++i) {
              const uint8_t c = codes[i];
              const float v = p.bits == 4 ? e2m1[c & 7] : from_e4m3(c & 127);
              const bool negative = c & (p.bits == 4 ? 8 : 128);
              out.as<T>()[g * p.group + i] = narrowed<T>(negative ? -v * step : v * step);
            }
          }
        },
        4.0 * static_cast<double>(x.size()));
  });
}

void run_dequantize(const KernelArgs& args) {
  const auto& attrs = attrs_as<DequantizeAttrs>(args.attrs);
  const bool affine = attrs.packing.affine();
  const View &w = args.in[0], &out = args.out[0];
  if (out.size() == 0) return;
  const size_t packed = affine ? 3 : 2;
  const float unit = global_unit(args.in.size() > packed ? &args.in[packed] : nullptr);
  const PackedMatrices matrices(attrs.packing, w, args.in[1], affine ? &args.in[2] : nullptr);
  const int64_t n = matrices.columns, rows = out.size() / n;
  const auto type = out.dtype() == float16    ? GemmOutput::f16
                    : out.dtype() == bfloat16 ? GemmOutput::bf16
                                              : GemmOutput::f32;
  parallel_for(
      rows, std::max<int64_t>(1, 2048 / n),
      [&](int64_t begin, int64_t end) {
        const Scratch row(static_cast<size_t>(n) * sizeof(float));
        for (int64_t r = begin; r < end; ++r) {
          matrices.unpack(r, 0, n, row.get<float>());
          GemmTarget target{out.as<char>() + r * n * out.dtype().size(), n, 1};
          GemmEpilogue epilogue;
          epilogue.alpha = unit;
          gemm_kernels().store[static_cast<int>(type)](row.get<float>(), n, 1, n, target, epilogue);
        }
      },
      0.5 * static_cast<double>(out.size()));
}

// ---- products ----------------------------------------------------------------------------------

/// Products of rows x + left[i] with matrix right[i]; consecutive ones that share a matrix and
/// continue each other's rows are merged.
void run_products(const KernelArgs& args, const QuantizedMatmulAttrs& attrs,
                  const std::vector<int64_t>& left, const std::vector<int64_t>& right) {
  const bool affine = attrs.packing.affine();
  const View &x = args.in[0], &out = args.out[0];
  const PackedMatrices w(attrs.packing, args.in[1], args.in[2], affine ? &args.in[3] : nullptr);
  const int64_t m = x.shape()[x.ndim() - 2], k = x.shape().back(), n = out.shape().back();
  const int64_t item = x.dtype().size(), count = static_cast<int64_t>(left.size());
  std::vector<std::pair<int64_t, int64_t>> runs;  // first product, products
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0 && right[i] == right[i - 1] && left[i] - left[i - 1] == m * k)
      ++runs.back().second;
    else
      runs.emplace_back(i, 1);
  }
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto [first, products] = runs[i];
      packed_product({&w, right[first], attrs.transpose, m * products, x.dtype(),
                      x.as<const char>() + left[first] * item,
                      out.as<char>() + first * m * n * item});
    }
  };
  const auto total = static_cast<int64_t>(runs.size());
  if (total < 4 * num_threads()) return run(0, total);
  parallel_for(total, 1, run, 0.05 * static_cast<double>(out.size()) * static_cast<double>(k));
}

Shape leading(const View& v) { return Shape(v.shape().begin(), v.shape().end() - 2); }

void run_quantized_matmul(const KernelArgs& args) {
  const View &x = args.in[0], &w = args.in[1], &out = args.out[0];
  if (out.size() == 0) return;
  const Shape batch = leading(out);
  auto counted = [&](const View& v) {
    return broadcast_strides(leading(v), row_major(leading(v)), batch);
  };
  Odometer<2> at(batch, {counted(x), counted(w)});
  const int64_t count = num_elements(batch), size = x.shape()[x.ndim() - 2] * x.shape().back();
  std::vector<int64_t> left(count), right(count);
  for (int64_t i = 0; i < count; ++i, at.next()) {
    left[i] = at[0] * size;
    right[i] = at[1];
  }
  run_products(args, attrs_as<QuantizedMatmulAttrs>(args.attrs), left, right);
}

void run_gather_qmm(const KernelArgs& args) {
  const View &x = args.in[0], &w = args.in[1];
  if (args.out[0].size() == 0) return;
  const View &lhs = args.in[args.in.size() - 2], &rhs = args.in[args.in.size() - 1];
  const Shape& shape = lhs.shape();
  Positions lefts("gather_qmm", shape, {{lhs, 0, x.shape()[0], 1, x.shape()[1] * x.shape()[2]}});
  Positions rights("gather_qmm", shape, {{rhs, 0, w.shape()[0], 1, 1}});
  const int64_t count = lefts.size();
  std::vector<int64_t> left(count), right(count);
  lefts.read(0, count, left.data());
  rights.read(0, count, right.data());
  run_products(args, attrs_as<QuantizedMatmulAttrs>(args.attrs), left, right);
}

const KernelEntry kQuantizedKernels[] = {
    {.op = &op_quantize, .run = run_quantize, .contiguous = 3},
    {.op = &op_quantize_round, .run = run_round, .contiguous = 3, .in_place = 1},
    {.op = &op_dequantize, .run = run_dequantize, .contiguous = 15},
    {.op = &op_quantized_matmul, .run = run_quantized_matmul, .contiguous = 15},
    {.op = &op_gather_qmm, .run = run_gather_qmm, .contiguous = 15},
};

}  // namespace

const std::span<const KernelEntry> quantized_kernels = kQuantizedKernels;

}  // namespace mlx::core::cpu
