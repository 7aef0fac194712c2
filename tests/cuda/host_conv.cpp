// cuDNN's functions on the driver of the host: MLX_CUDA_CUDNN names the library.
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "host_driver.h"
#include "mlx/core/half.h"

using mlx::core::bfloat16_t;
using mlx::core::float16_t;

namespace {

constexpr int kBadParameter = 2000, kNotSupported = 3000, kExecutionFailed = 5000;
constexpr int kFloat = 0, kHalf = 2, kBfloat16 = 9, kFmaMath = 3;

struct Handle {
  Stream* stream = nullptr;
};
/// A tensor or a filter: lengths with the channels second, and the stride of each.
struct Tensor {
  int type = -1;
  std::vector<int> lengths;
  std::vector<int64_t> strides;
  int64_t size() const {
    int64_t last = 1;
    for (size_t d = 0; d < lengths.size(); ++d) last += (lengths[d] - 1) * strides[d];
    return last;
  }
  size_t bytes() const { return static_cast<size_t>(size()) * (type == kFloat ? 4 : 2); }
};
struct Conv {
  std::vector<int> padding, stride, dilation;
  int mode = 0, type = -1, groups = 1, math = 0;
};
struct Answer {
  int algorithm, status;
  float time;
  size_t memory;
  int deterministic, math;
  int reserved[3];
};
enum class Kind { forward, data, filter };

/// The second algorithm is the one to be taken: the first is not deterministic.
constexpr int kAlgorithm = 1;
size_t work_bytes(const Tensor& y) { return 64 + y.lengths[0] * size_t{4}; }

/// The status for tensors: refused are those that do not fit, and, here, dilations of three axes.
int check(const Tensor& x, const Tensor& w, const Conv& c, const Tensor& y) {
  const size_t axes = c.padding.size();
  if (x.lengths.size() != axes + 2 || y.lengths.size() != axes + 2 || w.lengths.size() != axes + 2)
    return kBadParameter;
  if (x.type != w.type || x.type != y.type || c.type != kFloat || c.mode != 1) return kNotSupported;
  if (x.lengths[0] != y.lengths[0] || y.lengths[1] != w.lengths[0] ||
      x.lengths[1] != w.lengths[1] * c.groups || y.lengths[1] % c.groups)
    return kBadParameter;
  for (size_t d = 0; d < axes; ++d) {
    const int window = (w.lengths[d + 2] - 1) * c.dilation[d] + 1,
              room = x.lengths[d + 2] + 2 * c.padding[d] - window;
    if (c.padding[d] < 0 || room < 0 || room / c.stride[d] + 1 != y.lengths[d + 2])
      return kBadParameter;
    if (axes == 3 && c.dilation[d] > 1) return kNotSupported;
  }
  return kSuccess;
}

/// An operand of float32 in TF32, to even.
float rounded(float x, bool rounds) {
  const uint32_t u = std::bit_cast<uint32_t>(x);
  if (!rounds || (u & 0x7f800000u) == 0x7f800000u) return x;
  return std::bit_cast<float>((u + 0xfffu + (u >> 13 & 1)) & ~0x1fffu);
}

/// f(element of x, of w, of y) for each product.
template <class F>
void each_product(const Tensor& x, const Tensor& w, const Conv& c, const Tensor& y, F f) {
  const size_t axes = c.padding.size();
  auto at = [&](const Tensor& t, size_t d) { return d < t.lengths.size() ? t.lengths[d] : 1; };
  auto along = [&](const Tensor& t, size_t d) { return d < t.strides.size() ? t.strides[d] : 0; };
  const int of_group = y.lengths[1] / c.groups;
  std::vector<int> out(3), tap(3);
  auto taps = [&](auto&& self, size_t d, int64_t px, int64_t pw, int64_t py) -> void {
    if (d == axes) {
      for (int k = 0; k < y.lengths[1]; ++k)
        for (int ch = 0; ch < w.lengths[1]; ++ch)
          f(px + (k / of_group * w.lengths[1] + ch) * x.strides[1],
            pw + k * w.strides[0] + ch * w.strides[1], py + k * y.strides[1]);
      return;
    }
    for (int o = 0; o < at(y, d + 2); ++o)
      for (int t = 0; t < at(w, d + 2); ++t) {
        const int i = o * c.stride[d] - c.padding[d] + t * c.dilation[d];
        if (i < 0 || i >= at(x, d + 2)) continue;
        self(self, d + 1, px + i * along(x, d + 2), pw + t * along(w, d + 2),
             py + o * along(y, d + 2));
      }
  };
  for (int b = 0; b < x.lengths[0]; ++b) taps(taps, 0, b * x.strides[0], 0, b * y.strides[0]);
}

struct Addresses {
  unsigned char *x, *w, *y;
};
template <class T>
void run(Kind kind, const Tensor& x, const Tensor& w, const Conv& c, const Tensor& y,
         const Addresses& at) {
  auto elements = [](unsigned char* p) { return reinterpret_cast<T*>(p); };
  const bool rounds = x.type == kFloat && c.math != kFmaMath;
  T *const px = elements(at.x), *const pw = elements(at.w), *const py = elements(at.y);
  const Tensor& result = kind == Kind::forward ? y : kind == Kind::data ? x : w;
  T* const out = kind == Kind::forward ? py : kind == Kind::data ? px : pw;
  std::vector<float> sums(result.size());
  auto value = [&](T v) { return rounded(static_cast<float>(v), rounds); };
  each_product(x, w, c, y, [&](int64_t i, int64_t j, int64_t k) {
    if (kind == Kind::forward)
      sums[k] += value(px[i]) * value(pw[j]);
    else if (kind == Kind::data)
      sums[i] += value(py[k]) * value(pw[j]);
    else
      sums[j] += value(px[i]) * value(py[k]);
  });
  for (size_t i = 0; i < sums.size(); ++i) out[i] = static_cast<T>(sums[i]);
}

int answers(const Tensor* x, const Tensor* w, const Conv* c, const Tensor* y, int most, int* count,
            Answer* out) {
  if (fails_now(kFailLibrary)) return kExecutionFailed;
  if (const int status = check(*x, *w, *c, *y)) return status;
  *count = most < 3 ? most : 3;
  const Answer all[] = {{0, kSuccess, 1, 0, 0, c->math, {}},
                        {5, kSuccess, 2, 0, 1, c->math, {}},
                        {kAlgorithm, kSuccess, 3, work_bytes(*y), 1, c->math, {}}};
  std::memcpy(out, all, sizeof(Answer) * *count);
  return kSuccess;
}
int ask_bytes(const Tensor* x, const Tensor* w, const Conv* c, const Tensor* y, int algorithm,
              size_t* bytes) {
  if (const int status = check(*x, *w, *c, *y)) return status;
  if (algorithm != kAlgorithm) return kNotSupported;
  return *bytes = work_bytes(*y), kSuccess;
}

int enqueue(Kind kind, Handle* handle, const Tensor& x, const void* px, const Tensor& w,
            const void* pw, const Conv& c, const Tensor& y, const void* py, int algorithm,
            void* work, size_t bytes, const void* alpha, const void* beta) {
  if (fails_now(kFailLibrary)) return kExecutionFailed;
  auto there = [](const void* address, size_t size) {
    const auto number = reinterpret_cast<unsigned long long>(address);
    return number % 16 ? nullptr : device_memory(number, size);
  };
  const Addresses at{there(px, x.bytes()), there(pw, w.bytes()), there(py, y.bytes())};
  unsigned char* const scratch = there(work, bytes);
  if (check(x, w, c, y) || algorithm != kAlgorithm || bytes < work_bytes(y) || !at.x || !at.w ||
      !at.y || !scratch || *static_cast<const float*>(alpha) != 1 ||
      *static_cast<const float*>(beta) != 0)
    return count_fault(), kBadParameter;
  push(*handle->stream, [=] {
    std::memset(scratch, 0x7f, bytes);
    if (x.type == kFloat) run<float>(kind, x, w, c, y, at);
    if (x.type == kHalf) run<float16_t>(kind, x, w, c, y, at);
    if (x.type == kBfloat16) run<bfloat16_t>(kind, x, w, c, y, at);
  });
  return kSuccess;
}

}  // namespace

EXPORT int cudnnCreate(Handle** handle) {
  if (fails_now(kFailLibrary)) return kExecutionFailed;
  return *handle = new Handle, kSuccess;
}
EXPORT int cudnnDestroy(Handle* handle) { return delete handle, kSuccess; }
EXPORT int cudnnSetStream(Handle* handle, Stream* stream) {
  return handle->stream = stream, kSuccess;
}
EXPORT int cudnnCreateTensorDescriptor(Tensor** t) { return *t = new Tensor, kSuccess; }
EXPORT int cudnnDestroyTensorDescriptor(Tensor* t) { return delete t, kSuccess; }
EXPORT int cudnnCreateFilterDescriptor(Tensor** t) { return *t = new Tensor, kSuccess; }
EXPORT int cudnnDestroyFilterDescriptor(Tensor* t) { return delete t, kSuccess; }
EXPORT int cudnnCreateConvolutionDescriptor(Conv** c) { return *c = new Conv, kSuccess; }
EXPORT int cudnnDestroyConvolutionDescriptor(Conv* c) { return delete c, kSuccess; }

EXPORT int cudnnSetTensorNdDescriptor(Tensor* t, int type, int rank, const int* lengths,
                                      const int* strides) {
  *t = {type, {lengths, lengths + rank}, {strides, strides + rank}};
  return rank < 4 || rank > 5 ? kBadParameter : kSuccess;
}
EXPORT int cudnnSetFilterNdDescriptor(Tensor* t, int type, int format, int rank,
                                      const int* lengths) {
  *t = {type, {lengths, lengths + rank}, std::vector<int64_t>(rank)};
  int64_t stride = t->strides[1] = 1;
  stride *= lengths[1];
  for (int d = rank - 1; d >= 2; --d) {
    t->strides[d] = stride;
    stride *= lengths[d];
  }
  t->strides[0] = stride;
  return rank < 4 || rank > 5 || format != 1 ? kBadParameter : kSuccess;
}
EXPORT int cudnnSetConvolutionNdDescriptor(Conv* c, int axes, const int* padding, const int* stride,
                                           const int* dilation, int mode, int type) {
  *c = {
      {padding, padding + axes}, {stride, stride + axes}, {dilation, dilation + axes}, mode, type};
  return kSuccess;
}
EXPORT int cudnnSetConvolutionGroupCount(Conv* c, int groups) {
  return c->groups = groups, kSuccess;
}
EXPORT int cudnnSetConvolutionMathType(Conv* c, int math) { return c->math = math, kSuccess; }

EXPORT int cudnnGetConvolutionForwardAlgorithm_v7(Handle*, Tensor* x, Tensor* w, Conv* c, Tensor* y,
                                                  int most, int* count, Answer* out) {
  return answers(x, w, c, y, most, count, out);
}
EXPORT int cudnnGetConvolutionBackwardDataAlgorithm_v7(Handle*, Tensor* w, Tensor* y, Conv* c,
                                                       Tensor* x, int most, int* count,
                                                       Answer* out) {
  return answers(x, w, c, y, most, count, out);
}
EXPORT int cudnnGetConvolutionBackwardFilterAlgorithm_v7(Handle*, Tensor* x, Tensor* y, Conv* c,
                                                         Tensor* w, int most, int* count,
                                                         Answer* out) {
  return answers(x, w, c, y, most, count, out);
}
EXPORT int cudnnGetConvolutionForwardWorkspaceSize(Handle*, Tensor* x, Tensor* w, Conv* c,
                                                   Tensor* y, int algorithm, size_t* bytes) {
  return ask_bytes(x, w, c, y, algorithm, bytes);
}
EXPORT int cudnnGetConvolutionBackwardDataWorkspaceSize(Handle*, Tensor* w, Tensor* y, Conv* c,
                                                        Tensor* x, int algorithm, size_t* bytes) {
  return ask_bytes(x, w, c, y, algorithm, bytes);
}
EXPORT int cudnnGetConvolutionBackwardFilterWorkspaceSize(Handle*, Tensor* x, Tensor* y, Conv* c,
                                                          Tensor* w, int algorithm, size_t* bytes) {
  return ask_bytes(x, w, c, y, algorithm, bytes);
}

EXPORT int cudnnConvolutionForward(Handle* handle, const void* alpha, Tensor* x, const void* px,
                                   Tensor* w, const void* pw, Conv* c, int algorithm, void* work,
                                   size_t bytes, const void* beta, Tensor* y, void* py) {
  return enqueue(Kind::forward, handle, *x, px, *w, pw, *c, *y, py, algorithm, work, bytes, alpha,
                 beta);
}
EXPORT int cudnnConvolutionBackwardData(Handle* handle, const void* alpha, Tensor* w,
                                        const void* pw, Tensor* y, const void* py, Conv* c,
                                        int algorithm, void* work, size_t bytes, const void* beta,
                                        Tensor* x, void* px) {
  return enqueue(Kind::data, handle, *x, px, *w, pw, *c, *y, py, algorithm, work, bytes, alpha,
                 beta);
}
EXPORT int cudnnConvolutionBackwardFilter(Handle* handle, const void* alpha, Tensor* x,
                                          const void* px, Tensor* y, const void* py, Conv* c,
                                          int algorithm, void* work, size_t bytes, const void* beta,
                                          Tensor* w, void* pw) {
  return enqueue(Kind::filter, handle, *x, px, *w, pw, *c, *y, py, algorithm, work, bytes, alpha,
                 beta);
}
