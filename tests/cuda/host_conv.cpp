// cuDNN's functions on the driver of the host: MLX_CUDA_CUDNN names the library.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "host_driver.h"
#include "mlx/core/half.h"

using mlx::core::bfloat16_t;
using mlx::core::float16_t;

namespace {

constexpr int kBadParameter = 2000, kNotSupported = 3000, kExecutionFailed = 5000;
constexpr int kFloat = 0, kHalf = 2, kBfloat16 = 9;

struct Handle {
  Stream* stream = nullptr;
};
/// A tensor or a filter: lengths with the channels second, and the stride of each.
struct Tensor {
  int type = -1;
  std::vector<int64_t> lengths, strides;
  int64_t size() const {
    int64_t last = 1;
    for (size_t d = 0; d < lengths.size(); ++d) last += (lengths[d] - 1) * strides[d];
    return last;
  }
  size_t bytes() const { return static_cast<size_t>(size()) * (type == kFloat ? 4 : 2); }
};
struct Conv {
  std::vector<int64_t> padding, stride, dilation;
  int mode = 0, type = -1;
};
enum class Kind { forward, data, filter };

/// The engines of any convolution, in the order of the answers. The first three are not wanted, or
/// have no plan; the fourth rounds float32 to TF32.
enum Engine { not_deterministic, winograd, without_plan, matrix_units, exact, kEngines };
const std::vector<int> kNotes[kEngines] = {{4}, {0, 5}, {}, {0, 1}, {}};
size_t work_bytes(const Tensor& y) { return 64 + y.lengths[0] * size_t{4}; }

/// The status for tensors: refused are those that do not fit, and, here, dilations of three axes.
int check(const Tensor& x, const Tensor& w, const Conv& c, const Tensor& y) {
  const size_t axes = c.padding.size();
  if (axes < 2 || axes > 3 || x.lengths.size() != axes + 2 || y.lengths.size() != axes + 2 ||
      w.lengths.size() != axes + 2 || c.stride.size() != axes || c.dilation.size() != axes)
    return kBadParameter;
  if (x.type != w.type || x.type != y.type || c.type != kFloat || c.mode != 1) return kNotSupported;
  if (x.lengths[0] != y.lengths[0] || y.lengths[1] != w.lengths[0] || x.lengths[1] % w.lengths[1] ||
      y.lengths[1] % (x.lengths[1] / w.lengths[1]))
    return kBadParameter;
  for (size_t d = 0; d < axes; ++d) {
    const int64_t window = (w.lengths[d + 2] - 1) * c.dilation[d] + 1,
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
  auto at = [&](const Tensor& t, size_t d) {
    return d < t.lengths.size() ? t.lengths[d] : int64_t{1};
  };
  auto along = [&](const Tensor& t, size_t d) { return d < t.strides.size() ? t.strides[d] : 0; };
  const int64_t of_group = y.lengths[1] / (x.lengths[1] / w.lengths[1]);
  auto taps = [&](auto&& self, size_t d, int64_t px, int64_t pw, int64_t py) -> void {
    if (d == axes) {
      for (int64_t k = 0; k < y.lengths[1]; ++k)
        for (int64_t ch = 0; ch < w.lengths[1]; ++ch)
          f(px + (k / of_group * w.lengths[1] + ch) * x.strides[1],
            pw + k * w.strides[0] + ch * w.strides[1], py + k * y.strides[1]);
      return;
    }
    for (int64_t o = 0; o < at(y, d + 2); ++o)
      for (int64_t t = 0; t < at(w, d + 2); ++t) {
        const int64_t i = o * c.stride[d] - c.padding[d] + t * c.dilation[d];
        if (i < 0 || i >= at(x, d + 2)) continue;
        self(self, d + 1, px + i * along(x, d + 2), pw + t * along(w, d + 2),
             py + o * along(y, d + 2));
      }
  };
  for (int64_t b = 0; b < x.lengths[0]; ++b) taps(taps, 0, b * x.strides[0], 0, b * y.strides[0]);
}

struct Addresses {
  unsigned char *x, *w, *y;
};
template <class T>
void run(Kind kind, bool rounds, const Tensor& x, const Tensor& w, const Conv& c, const Tensor& y,
         const Addresses& at) {
  auto elements = [](unsigned char* p) { return reinterpret_cast<T*>(p); };
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

/// A descriptor: attributes as they were set, and parts in the state that they had.
struct Part {
  int kind = 0;
  bool finished = false;
  struct Value {
    int type;
    std::vector<char> bytes;
    std::vector<Part> parts;
  };
  std::map<int, Value> values;

  template <class T = int64_t>
  std::vector<T> list(int attribute) const {
    const auto found = values.find(attribute);
    if (found == values.end()) return {};
    std::vector<T> all(found->second.bytes.size() / sizeof(T));
    std::memcpy(all.data(), found->second.bytes.data(), all.size() * sizeof(T));
    return all;
  }
  template <class T = int64_t>
  T value(int attribute) const {
    const std::vector<T> all = list<T>(attribute);
    return all.size() == 1 ? all[0] : static_cast<T>(-1);
  }
  const Part& part(int attribute) const {
    static const Part none;
    const auto found = values.find(attribute);
    return found == values.end() || found->second.parts.size() != 1 ? none : found->second.parts[0];
  }
  Tensor tensor(int attribute) const {
    const Part& t = part(attribute);
    if (t.kind != kTensor || !t.finished) return {};
    return {t.value<int>(901), t.list(902), t.list(903)};
  }

  enum { kConvolution = 1, kEngine, kConfiguration, kHeuristics, kPlan };
  enum { kForward = 10, kFilter, kData, kGraph = 15, kOperands, kTensor };
};

/// The operation of a graph.
struct Operation {
  Kind kind;
  Tensor x, w, y;
  Conv conv;
  float alpha, beta;
  std::vector<int64_t> identities;

  explicit Operation(const Part& p) {
    const int begin = p.kind == Part::kForward ? 700 : p.kind == Part::kData ? 706 : 712;
    // The order of each kind's own.
    const int at_x = begin + 4;
    const int at_w = p.kind == Part::kForward ? 703 : p.kind == Part::kData ? 709 : 715;
    const int at_y = begin + 5;
    kind = p.kind == Part::kForward ? Kind::forward
           : p.kind == Part::kData  ? Kind::data
                                    : Kind::filter;
    x = p.tensor(at_x);
    w = p.tensor(at_w);
    y = p.tensor(at_y);
    for (int a : {at_x, at_w, at_y}) identities.push_back(p.part(a).value(906));
    const Part& c = p.part(begin + 2);
    if (c.list(104) == c.list(105))
      conv = {c.list(105), c.list(103), c.list(102), c.value<int>(101), c.value<int>(100)};
    alpha = p.value<float>(begin);
    beta = p.value<float>(begin + 1);
  }
  int status() const {
    if (alpha != 1 || beta != 0) return kNotSupported;
    for (const Tensor* t : {&x, &w, &y})
      if (t->lengths.size() != t->strides.size() || t->lengths.size() < 4) return kBadParameter;
    return check(x, w, conv, y);
  }
};
Operation operation_of(const Part& graph) { return Operation(graph.part(801)); }
int engine_of(const Part& plan) { return static_cast<int>(plan.part(401).value(300)); }
Operation operation_of_plan(const Part& plan) {
  return Operation(plan.part(401).part(201).part(801));
}

int enqueue(Handle* handle, const Part& plan, const Part& operands) {
  if (fails_now(kFailLibrary)) return kExecutionFailed;
  const Operation o = operation_of_plan(plan);
  const auto addresses = operands.list<unsigned long long>(1001);
  auto there = [](unsigned long long number, size_t size) {
    return number % 16 ? nullptr : device_memory(number, size);
  };
  if (operands.list(1000) != o.identities || addresses.size() != 3)
    return count_fault(), kBadParameter;
  const Addresses at{there(addresses[0], o.x.bytes()), there(addresses[1], o.w.bytes()),
                     there(addresses[2], o.y.bytes())};
  const size_t bytes = work_bytes(o.y);
  unsigned char* const scratch = there(operands.value<unsigned long long>(1003), bytes);
  if (!at.x || !at.w || !at.y || !scratch) return count_fault(), kBadParameter;
  const bool rounds = o.x.type == kFloat && engine_of(plan) == matrix_units;
  push(*handle->stream, [=] {
    std::memset(scratch, 0x7f, bytes);
    if (o.x.type == kFloat) run<float>(o.kind, rounds, o.x, o.w, o.conv, o.y, at);
    if (o.x.type == kHalf) run<float16_t>(o.kind, rounds, o.x, o.w, o.conv, o.y, at);
    if (o.x.type == kBfloat16) run<bfloat16_t>(o.kind, rounds, o.x, o.w, o.conv, o.y, at);
  });
  return kSuccess;
}

/// Bytes of a value of a type, or 0.
size_t bytes_of(int type) {
  switch (type) {
    case 0:   // a handle
    case 3:   // a number
    case 6:   // a pointer
    case 15:  // a part
      return 8;
    case 1:  // a dtype
    case 4:  // float32
    case 7:  // modes
    case 8:
      return 4;
    default:
      return 0;
  }
}
constexpr int kPartType = 15;

}  // namespace

EXPORT int cudnnCreate(Handle** handle) {
  if (fails_now(kFailLibrary)) return kExecutionFailed;
  return *handle = new Handle, kSuccess;
}
EXPORT int cudnnDestroy(Handle* handle) { return delete handle, kSuccess; }
EXPORT int cudnnSetStream(Handle* handle, Stream* stream) {
  return handle->stream = stream, kSuccess;
}

EXPORT int cudnnBackendCreateDescriptor(int kind, Part** part) {
  *part = new Part;
  (*part)->kind = kind;
  return kSuccess;
}
EXPORT int cudnnBackendDestroyDescriptor(Part* part) { return delete part, kSuccess; }

EXPORT int cudnnBackendSetAttribute(Part* part, int attribute, int type, int64_t count,
                                    const void* values) {
  const size_t bytes = bytes_of(type);
  if (part->finished || !bytes || count < 1) return kBadParameter;
  Part::Value value{type, {}, {}};
  const auto* from = static_cast<const char*>(values);
  if (type == kPartType) {
    for (int64_t k = 0; k < count; ++k) {
      const Part* const other = static_cast<Part* const*>(values)[k];
      // Configurations are found, not made.
      if (!other->finished && other->kind != Part::kConfiguration) return kBadParameter;
      value.parts.push_back(*other);
    }
  } else {
    value.bytes.assign(from, from + bytes * count);
  }
  part->values[attribute] = std::move(value);
  return kSuccess;
}

EXPORT int cudnnBackendFinalize(Part* part) {
  if (part->finished) return kBadParameter;
  if (part->kind == Part::kTensor) {
    const size_t rank = part->list(902).size();
    if (rank < 4 || rank > 5 || part->list(903).size() != rank || part->value(906) < 1 ||
        part->value(900) != 16 || part->value<int>(901) < 0)
      return kBadParameter;
  }
  if (part->kind == Part::kGraph)
    if (const int status = operation_of(*part).status()) return status;
  if (part->kind == Part::kHeuristics) {
    if (fails_now(kFailLibrary)) return kExecutionFailed;
    if (part->part(201).kind != Part::kGraph) return kBadParameter;
  }
  if (part->kind == Part::kPlan && engine_of(*part) == without_plan) return kNotSupported;
  if (part->kind == Part::kPlan && (!part->value(400) || engine_of(*part) < 0))
    return kBadParameter;
  part->finished = true;
  return kSuccess;
}

EXPORT int cudnnBackendGetAttribute(const Part* part, int attribute, int, int64_t most,
                                    int64_t* count, void* values) {
  constexpr int kResults = 202, kEngineOf = 300, kNotesOf = 1303, kBytes = 402;
  if (part->kind == Part::kHeuristics && attribute == kResults) {
    *count = kEngines;
    for (int k = 0; k < std::min<int64_t>(most, kEngines); ++k) {
      Part& answer = *static_cast<Part**>(values)[k];
      const int64_t engine = k;
      answer.values[kEngineOf].bytes.assign(reinterpret_cast<const char*>(&engine),
                                            reinterpret_cast<const char*>(&engine + 1));
      answer.values[201] = part->values.at(201);
    }
    return kSuccess;
  }
  if (part->kind == Part::kConfiguration && attribute == kEngineOf && most == 1) {
    (*static_cast<Part**>(values))->values[kEngineOf] = part->values.at(kEngineOf);
    return *count = 1, kSuccess;
  }
  if (part->kind == Part::kEngine && attribute == kNotesOf) {
    const std::vector<int>& notes = kNotes[part->value(kEngineOf)];
    *count = static_cast<int64_t>(notes.size());
    std::copy_n(notes.begin(), std::min<int64_t>(most, *count), static_cast<int*>(values));
    return kSuccess;
  }
  if (part->kind == Part::kPlan && attribute == kBytes && part->finished) {
    *static_cast<int64_t*>(values) = static_cast<int64_t>(work_bytes(operation_of_plan(*part).y));
    return *count = 1, kSuccess;
  }
  return kBadParameter;
}

EXPORT int cudnnBackendExecute(Handle* handle, const Part* plan, const Part* operands) {
  if (!plan->finished || !operands->finished) return count_fault(), kBadParameter;
  return enqueue(handle, *plan, *operands);
}
