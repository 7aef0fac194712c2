// Gaussian elimination with exchanges of rows, and Cholesky's, on several small matrices at once.
// Each element is computed by the operations that one matrix alone would be, so the bits are equal.
#include "mlx/backend/cpu/isa/small_systems.h"

#include "mlx/backend/cpu/simd/vec.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

template <class V>
struct Systems {
  using T = typename V::elem;
  static constexpr int N = V::N;
  static constexpr T kFar = sizeof(T) == 4 ? T(0x1p90f) : T(0x1p717);
  static constexpr T kNear = sizeof(T) == 4 ? T(0x1p-89f) : T(0x1p-716);

  V lu[kSmall * kSmall];  // as LAPACK sees the matrix: column after column
  V x[kSmall * kSmall];
  V pivots[kSmall];
  int64_t n, columns;

  static MLX_FN void load(const T* from, V* to, int64_t size) {
    for (int64_t e = 0; e < size; ++e) {
      T lanes[N];
      for (int64_t l = 0; l < N; ++l) lanes[l] = from[l * size + e];
      to[e] = V::load(lanes);
    }
  }

  static MLX_FN void exchange(Mask<sizeof(T)> where, V& a, V& b) {
    const V first = a;
    a = v_select(where, b, first);
    b = v_select(where, first, b);
  }

  void factor() {
    for (int64_t k = 0; k < n; ++k) {
      V* const column = lu + k * n;
      V largest = v_abs(column[k]), pivot = V(static_cast<T>(k));
      for (int64_t r = k + 1; r < n; ++r) {
        const V size = v_abs(column[r]);
        const auto larger = size > largest;
        largest = v_select(larger, size, largest);
        pivot = v_select(larger, V(static_cast<T>(r)), pivot);
      }
      pivots[k] = pivot;
      for (int64_t r = k + 1; r < n; ++r) {
        const auto here = pivot == V(static_cast<T>(r));
        if (!v_any(here)) continue;
        for (int64_t c = 0; c < n; ++c) exchange(here, lu[c * n + k], lu[c * n + r]);
      }
      for (int64_t r = k + 1; r < n; ++r) column[r] = column[r] / column[k];
      for (int64_t c = k + 1; c < n; ++c) {
        V* const other = lu + c * n;
        const V factor = other[k];
        for (int64_t r = k + 1; r < n; ++r) other[r] -= column[r] * factor;
      }
    }
  }

  void substitute() {
    const auto subtract = [&](int64_t to, int64_t from) MLX_INLINED {
      const V factor = lu[to * n + from];
      for (int64_t c = 0; c < columns; ++c) x[to * columns + c] -= factor * x[from * columns + c];
    };
    for (int64_t r = 0; r < n; ++r) {
      for (int64_t c = 0; c < columns; ++c) x[r * columns + c] = x[r * columns + c] / lu[r * n + r];
      for (int64_t other = r + 1; other < n; ++other) subtract(other, r);
    }
    for (int64_t r = n; r-- > 1;)
      for (int64_t other = 0; other < r; ++other) subtract(other, r);
    for (int64_t r = n; r-- > 0;) {
      for (int64_t other = r + 1; other < n; ++other) {
        const auto here = pivots[r] == V(static_cast<T>(other));
        for (int64_t c = 0; c < columns; ++c)
          exchange(here, x[r * columns + c], x[other * columns + c]);
      }
    }
  }

  /// Bits of the lanes with a pivot that is zero, not finite, or far from 1.
  uint32_t unusual() const {
    auto good = V(T(1)) == V(T(1));
    for (int64_t r = 0; r < n; ++r) {
      const V size = v_abs(lu[r * n + r]);
      good = good & (size >= V(kNear)) & (size < V(kFar));
    }
    return lanes_without(good);
  }

  static uint32_t lanes_without(Mask<sizeof(T)> property) {
    T lanes[N];
    v_select(property, V(T(0)), V(T(1))).store(lanes);
    uint32_t bits = 0;
    for (int l = 0; l < N; ++l) bits |= (lanes[l] != T(0) ? 1u : 0u) << l;
    return bits;
  }

  static uint32_t solve(const void* a, const void* b, void* to, int64_t n, int64_t columns) {
    Systems s;
    s.n = n;
    s.columns = columns;
    const int64_t size = n * columns;
    load(static_cast<const T*>(a), s.lu, n * n);
    if (b != nullptr)
      load(static_cast<const T*>(b), s.x, size);
    else
      for (int64_t e = 0; e < size; ++e) s.x[e] = V(e % (n + 1) == 0 ? T(1) : T(0));
    s.factor();
    const uint32_t left = s.unusual();
    s.substitute();
    T* const out = static_cast<T*>(to);
    for (int64_t e = 0; e < size; ++e) {
      T lanes[N];
      s.x[e].store(lanes);
      for (int64_t l = 0; l < N; ++l)
        if ((left >> l & 1) == 0) out[l * size + e] = lanes[l];
    }
    return left;
  }

  /// The factor is that of factor_small_cholesky (linalg_factors.h).
  static uint32_t cholesky(void* a, int64_t n, bool upper) {
    T* const matrices = static_cast<T*>(a);
    const int64_t size = n * n, row = upper ? 1 : n, column = upper ? n : 1;
    V l[kSmall * kSmall];
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j) {
        T lanes[N];
        for (int64_t m = 0; m < N; ++m) lanes[m] = matrices[m * size + i * row + j * column];
        l[i * n + j] = V::load(lanes);
      }
    auto good = V(T(1)) == V(T(1));
    for (int64_t k = 0; k < n; ++k) {
      good = good & (l[k * n + k] > V(T(0)));
      const V pivot = l[k * n + k] = v_sqrt(l[k * n + k]);
      for (int64_t i = k + 1; i < n; ++i) l[i * n + k] = l[i * n + k] / pivot;
      for (int64_t j = k + 1; j < n; ++j)
        for (int64_t i = j; i < n; ++i) l[i * n + j] -= l[i * n + k] * l[j * n + k];
    }
    const uint32_t left = lanes_without(good);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j) {
        T lanes[N];
        l[i * n + j].store(lanes);
        for (int64_t m = 0; m < N; ++m)
          if ((left >> m & 1) == 0) matrices[m * size + i * row + j * column] = lanes[m];
      }
    return left;
  }
};

}  // namespace

SmallSystems find_small_systems(Dtype::Val t) {
  if (t == Dtype::Val::float32) return {VF::N, &Systems<VF>::solve, &Systems<VF>::cholesky};
  if (t == Dtype::Val::float64) return {VD::N, &Systems<VD>::solve, &Systems<VD>::cholesky};
  return {};
}

}  // namespace mlx::core::cpu::MLX_ISA
