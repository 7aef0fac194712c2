// cuFFT's functions on the driver of the host: MLX_CUDA_FFT names the library.
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <numbers>
#include <vector>

#include "host_driver.h"

namespace {

constexpr int kInvalidPlan = 1, kWrongDirection = 4, kInternalError = 5, kExecutionFailed = 6,
              kInvalidSize = 8, kNotSupported = 16;

/// How lines of a side lie: elements of a type, `stride` apart, lines `step` apart.
struct Side {
  int64_t stride, step;
  bool complex, wide;
  int64_t length;
  size_t size() const { return (complex ? 2 : 1) * (wide ? 8 : 4); }
  /// The lines, or planes of so many of them, if all lie in the device's memory, and pairs of
  /// numbers where they must.
  unsigned char* lines(void* address, int64_t count, int64_t rows) const {
    const auto at = reinterpret_cast<unsigned long long>(address);
    if (stride < 1 || step < 0 || at % (wide ? 16 : 8)) return nullptr;
    const int64_t last = ((rows - 1) * length + length - 1) * stride;
    return device_memory(at, ((count - 1) * step + last + 1) * size());
  }
};
struct Plan {
  Stream* stream = nullptr;
  int64_t n = 0, count = 0, rows = 1;  // rows: of a plane
  Side in = {}, out = {};
  bool own_memory = true;
  void* work = nullptr;
  size_t work_bytes() const { return n < 16 ? 0 : 64 + 16 * static_cast<size_t>(n); }
};

std::mutex mutex;
std::map<int, Plan>& plans() {
  static std::map<int, Plan> all;
  return all;
}
Plan* find(int handle) {
  auto p = plans().find(handle);
  return p == plans().end() ? nullptr : &p->second;
}

using Line = std::vector<std::complex<double>>;

/// The powers of the first n-th root of 1.
Line roots(int64_t n, int sign) {
  Line w(n);
  for (int64_t k = 0; k < n; ++k)
    w[k] = std::polar(
        1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
  return w;
}
/// Sums over the even and over the odd elements, as long as there are as many of both.
Line transformed(const Line& x, int sign) {
  const auto n = static_cast<int64_t>(x.size());
  Line y(x.size());
  const Line w = roots(n, sign);
  if (n % 2 == 0) {
    Line halves[2];
    for (int64_t i = 0; i < n; ++i) halves[i % 2].push_back(x[i]);
    const Line even = transformed(halves[0], sign), odd = transformed(halves[1], sign);
    for (int64_t k = 0; k < n; ++k) y[k] = even[k % (n / 2)] + w[k] * odd[k % (n / 2)];
    return y;
  }
  for (int64_t k = 0; k < n; ++k)
    for (int64_t i = 0; i < n; ++i) y[k] += x[i] * w[i * k % n];
  return y;
}

/// Transforms planes of lines along their columns.
void transform_columns(std::vector<Line>& lines, const Plan& p, int sign) {
  for (int64_t first = 0; first < p.count * p.rows; first += p.rows)
    for (int64_t i = 0; i < p.out.length; ++i) {
      Line column;
      for (int64_t r = 0; r < p.rows; ++r) column.push_back(lines[first + r][i]);
      column = transformed(column, sign);
      for (int64_t r = 0; r < p.rows; ++r) lines[first + r][i] = column[r];
    }
}

template <class T>
void run(const Plan& p, unsigned char* from, unsigned char* to, int sign) {
  const T* const in = reinterpret_cast<T*>(from);
  T* const out = reinterpret_cast<T*>(to);
  const int parts_in = p.in.complex ? 2 : 1, parts_out = p.out.complex ? 2 : 1;
  std::vector<Line> results;
  auto begin = [&](const Side& side, int64_t l) {
    return l / p.rows * side.step + l % p.rows * side.length * side.stride;
  };
  for (int64_t l = 0; l < p.count * p.rows; ++l) {
    Line x(p.n);
    for (int64_t i = 0; i < p.in.length; ++i) {
      const T* at = in + (begin(p.in, l) + i * p.in.stride) * parts_in;
      x[i] = {at[0], p.in.complex ? at[1] : T(0)};
      if (!p.out.complex && i > 0) x[p.n - i] = std::conj(x[i]);
    }
    results.push_back(transformed(x, sign));
  }
  if (p.rows > 1) transform_columns(results, p, sign);
  for (int64_t l = 0; l < p.count * p.rows; ++l)
    for (int64_t i = 0; i < p.out.length; ++i) {
      T* at = out + (begin(p.out, l) + i * p.out.stride) * parts_out;
      at[0] = static_cast<T>(results[l][i].real());
      if (p.out.complex) at[1] = static_cast<T>(results[l][i].imag());
    }
}

}  // namespace

EXPORT int cufftCreate(int* handle) {
  std::lock_guard lock(mutex);
  static int last = 0;
  plans()[++last];
  return *handle = last, kSuccess;
}
EXPORT int cufftDestroy(int handle) {
  std::lock_guard lock(mutex);
  return plans().erase(handle) ? kSuccess : kInvalidPlan;
}
EXPORT int cufftSetStream(int handle, Stream* stream) {
  std::lock_guard lock(mutex);
  Plan* p = find(handle);
  return p ? p->stream = stream, kSuccess : kInvalidPlan;
}
EXPORT int cufftSetAutoAllocation(int handle, int on) {
  std::lock_guard lock(mutex);
  Plan* p = find(handle);
  return p ? p->own_memory = on != 0, kSuccess : kInvalidPlan;
}
EXPORT int cufftSetWorkArea(int handle, void* work) {
  std::lock_guard lock(mutex);
  Plan* p = find(handle);
  return p ? p->work = work, kSuccess : kInvalidPlan;
}

EXPORT int cufftXtMakePlanMany(int handle, int rank, long long* n, long long* in_lengths,
                               long long in_stride, long long in_step, int in_type,
                               long long* out_lengths, long long out_stride, long long out_step,
                               int out_type, long long count, size_t* work_bytes, int computed) {
  std::lock_guard lock(mutex);
  Plan* p = find(handle);
  if (!p) return kInvalidPlan;
  const bool wide = computed == 5, real_in = in_type < 4, real_out = out_type < 4;
  if (rank < 1 || rank > 2 || (rank == 2 && real_out) || !in_lengths || !out_lengths ||
      p->own_memory || (real_in && real_out) || (computed != 4 && computed != 5) ||
      in_type % 4 != wide || out_type % 4 != wide)
    return kNotSupported;
  const long long length = n[rank - 1], half = length / 2 + 1;
  p->rows = rank == 2 ? n[0] : 1;
  if (length < 1 || p->rows < 1 || count < 1) return kInvalidSize;
  if (rank == 2 && (in_lengths[1] != length || out_lengths[1] != (real_in ? half : length)))
    return kNotSupported;
  if (fails_now(kFailLibrary)) return kInternalError;
  p->n = length;
  p->count = count;
  p->in = {in_stride, in_step, !real_in, wide, real_out ? half : length};
  p->out = {out_stride, out_step, !real_out, wide, real_in ? half : length};
  return *work_bytes = p->work_bytes(), kSuccess;
}

EXPORT int cufftXtExec(int handle, void* in, void* out, int direction) {
  std::unique_lock lock(mutex);
  Plan* found = find(handle);
  if (!found || !found->stream) return kInvalidPlan;
  const Plan p = *found;
  lock.unlock();
  if (fails_now(kFailLibrary)) return kExecutionFailed;
  unsigned char* const from = p.in.lines(in, p.count, p.rows);
  unsigned char* const to = p.out.lines(out, p.count, p.rows);
  unsigned char* const work =
      device_memory(reinterpret_cast<unsigned long long>(p.work), p.work_bytes());
  if (!from || !to || (!work && p.work_bytes() > 0)) return count_fault(), kInvalidValue;
  if (p.work && (p.work == in || p.work == out)) return kExecutionFailed;  // like NVIDIA's
  const int sign = !p.in.complex ? -1 : !p.out.complex ? 1 : direction;
  if (sign != direction) return kWrongDirection;
  push(*p.stream, [=] {
    // The library writes to its memory, and to the spectrum of a real signal.
    if (work) std::memset(work, 0x7f, p.work_bytes());
    p.in.wide ? run<double>(p, from, to, sign) : run<float>(p, from, to, sign);
    if (!p.out.complex)
      for (int64_t l = 0; l < p.count; ++l)
        for (int64_t i = 0; i < p.in.length; ++i)  // of transforms along one axis
          std::memset(from + (l * p.in.step + i * p.in.stride) * p.in.size(), 0x7f, p.in.size());
  });
  return kSuccess;
}
