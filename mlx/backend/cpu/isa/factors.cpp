// Triangles are solved by register tiles: rows of a panel times two registers of right-hand sides.
// LU factors of a few columns are made by halves, down to columns that are factored one by one.
#include "mlx/backend/cpu/isa/factors.h"

#include "mlx/backend/cpu/simd/shuffle.h"
#include "mlx/backend/cpu/simd/vec.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kLines = 12;  // rows of a panel
constexpr int kTile = 8;    // columns of a tile of a product
#elif defined(__ARM_NEON)
constexpr int kLines = 8;
constexpr int kTile = 8;
#else
constexpr int kLines = 6;
constexpr int kTile = 4;
#endif
constexpr int64_t kNarrow = 8;  // columns that are factored one by one
constexpr int64_t kMost = 32;   // lines of triangles for which memory is on the stack

MLX_FN int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/// Transposes a square of V::N registers by exchanging blocks of decreasing size.
template <class V, int D = V::N / 2>
MLX_FN void turn(V (&row)[V::N]) {
  constexpr int N = V::N;
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) {
    if ((i & D) == 0) {
      const auto a = row[i].v, b = row[i + D].v;
      row[i] = V(shuffle_lanes<N>(a, b, [](int l) { return l & D ? N + l - D : l; }));
      row[i + D] = V(shuffle_lanes<N>(a, b, [](int l) { return l & D ? N + l : l + D; }));
    }
  }
  if constexpr (D > 1) turn<V, D / 2>(row);
}

/// The combination of all lanes by `f`, in each lane.
template <int D, class R, class F>
MLX_FN R over_lanes(R x, F f) {
  x = f(x, R(shuffle_lanes<R::N>(x.v, x.v, [](int l) { return l ^ D; })));
  if constexpr (D > 1) return over_lanes<D / 2>(x, f);
  return x;
}
template <class R, class F>
MLX_FN R over_lanes(R x, F f) {
  return over_lanes<R::N / 2>(x, f);
}

template <class T>
struct Triangles {
  using V = Vec<T>;
  static constexpr int N = V::N;
  static constexpr int64_t kColumns = 2 * N;

  /// The elements of a panel in front of its square: `lines` rows from `a` on, zeros below them.
  static MLX_FN void pack_rows(const T* a, int64_t row, int64_t column, int64_t lines,
                               int64_t length, T* packed) {
    int64_t k = 0;
    const bool along = column == 1 || column == -1, down = row == 1 && lines == kLines;
    for (; along && k + N <= length; k += N)
      for (int i = 0; i < kLines; i += N) {
        V square[N];
#pragma GCC unroll 16
        for (int l = 0; l < N; ++l) {
          const T* const p = a + (i + l) * row + k * column - (column < 0 ? N - 1 : 0);
          square[l] = i + l < lines ? V::load(p) : V(T(0));
        }
        turn(square);
        T* const to = packed + k * kLines + i;
#pragma GCC unroll 16
        for (int l = 0; l < N; ++l) {
          T* const p = to + (column < 0 ? N - 1 - l : l) * kLines;
          if (kLines - i >= N)
            square[l].store(p);
          else
            square[l].store_partial(p, kLines - i);
        }
      }
    for (; k < length; ++k)
      for (int64_t i = 0; i < kLines; ++i)
        packed[k * kLines + i] = down        ? a[k * column + i]
                                 : i < lines ? a[k * column + i * row]
                                             : T(0);
  }

  static void pack(const void* from, int64_t row, int64_t column, int64_t n, bool unit, void* to) {
    const T* const a = static_cast<const T*>(from);
    T* packed = static_cast<T*>(to);
    for (int64_t r = 0; r < n; r += kLines) {
      const int64_t lines = least(kLines, n - r);
      pack_rows(a + r * row, row, column, lines, r, packed);
      packed += r * kLines;
      for (int64_t k = 0; k < kLines; ++k, packed += kLines)
        for (int64_t i = 0; i < kLines; ++i) {
          if (i >= lines || k > i)
            packed[i] = T(0);
          else if (i == k)
            packed[i] = unit ? T(1) : T(1) / a[(r + i) * row + (r + k) * column];
          else
            packed[i] = a[(r + i) * row + (r + k) * column];
        }
    }
  }

  /// One panel: subtracts the product with the rows [first, r) and solves for the rows from r on.
  template <int Registers>
  static MLX_FN void solve_panel(const T* a, int64_t first, int64_t r, T* x, int64_t row) {
    V sum[kLines][Registers];
#pragma GCC unroll 16
    for (int i = 0; i < kLines; ++i)
#pragma GCC unroll 2
      for (int c = 0; c < Registers; ++c) sum[i][c] = V::load(x + (r + i) * row + c * N);
    a += first * kLines;
    const T* known = x + first * row;
    for (int64_t k = first; k < r; ++k, a += kLines, known += row) {
      V values[Registers];
#pragma GCC unroll 2
      for (int c = 0; c < Registers; ++c) values[c] = V::load(known + c * N);
#pragma GCC unroll 16
      for (int i = 0; i < kLines; ++i) {
        const V factor = V(-a[i]);
#pragma GCC unroll 2
        for (int c = 0; c < Registers; ++c) sum[i][c] = v_fma(factor, values[c], sum[i][c]);
      }
    }
#pragma GCC unroll 16
    for (int k = 0; k < kLines; ++k, a += kLines) {
      const V inverse = V(a[k]);
#pragma GCC unroll 2
      for (int c = 0; c < Registers; ++c) {
        sum[k][c] = sum[k][c] * inverse;
        sum[k][c].store(x + (r + k) * row + c * N);
      }
#pragma GCC unroll 16
      for (int i = k + 1; i < kLines; ++i)
#pragma GCC unroll 2
        for (int c = 0; c < Registers; ++c) sum[i][c] = v_fma(V(-a[i]), sum[k][c], sum[i][c]);
    }
  }

  static void solve(const void* packed, int64_t n, int64_t first, void* to, int64_t row,
                    int64_t count) {
    T* const x = static_cast<T*>(to);
    const T* a = static_cast<const T*>(packed);
    const int64_t start = first / kLines * kLines;
    for (int64_t r = 0; r < n; a += (r + kLines) * kLines, r += kLines) {
      if (r < start) continue;
      if (count > N)
        solve_panel<2>(a, start, r, x, row);
      else
        solve_panel<1>(a, start, r, x, row);
    }
  }

  static void load(const void* from, int64_t ld, int64_t n, int64_t count, void* to) {
    const T* const a = static_cast<const T*>(from);
    T* const x = static_cast<T*>(to);
    for (int64_t c = 0; c < kColumns; c += N)
      for (int64_t r = 0; r < n; r += N) {
        const int64_t rows = least(N, n - r), columns = count - c;
        V square[N];
#pragma GCC unroll 16
        for (int j = 0; j < N; ++j) {
          const T* const p = a + (c + j) * ld + r;
          if (j >= columns)
            square[j] = V(T(0));
          else
            square[j] = rows == N ? V::load(p) : V::load_partial(p, rows);
        }
        turn(square);
#pragma GCC unroll 16
        for (int i = 0; i < N; ++i)
          if (i < rows) square[i].store(x + (r + i) * kColumns + c);
      }
  }

  static void store(const void* from, int64_t n, int64_t count, void* to, int64_t ld) {
    const T* const x = static_cast<const T*>(from);
    T* const a = static_cast<T*>(to);
    for (int64_t c = 0; c < count; c += N)
      for (int64_t r = 0; r < n; r += N) {
        const int64_t rows = least(N, n - r), columns = least(N, count - c);
        V square[N];
#pragma GCC unroll 16
        for (int i = 0; i < N; ++i)
          square[i] = i < rows ? V::load(x + (r + i) * kColumns + c) : V(T(0));
        turn(square);
#pragma GCC unroll 16
        for (int j = 0; j < N; ++j) {
          T* const p = a + (c + j) * ld + r;
          if (j >= columns) continue;
          if (rows == N)
            square[j].store(p);
          else
            square[j].store_partial(p, rows);
        }
      }
  }

  static void transpose(const void* from, int64_t rows, int64_t columns, int64_t ld, void* to,
                        int64_t to_ld) {
    constexpr int64_t kBlock = 64;
    const T* const a = static_cast<const T*>(from);
    T* const b = static_cast<T*>(to);
    for (int64_t block = 0; block < columns; block += kBlock)
      for (int64_t r = 0; r < rows; r += N)
        for (int64_t c = block; c < least(block + kBlock, columns); c += N) {
          const int64_t down = least(N, rows - r), along = least(N, columns - c);
          V square[N];
#pragma GCC unroll 16
          for (int i = 0; i < N; ++i) {
            const T* const p = a + (r + i) * ld + c;
            if (i >= down)
              square[i] = V(T(0));
            else
              square[i] = along == N ? V::load(p) : V::load_partial(p, along);
          }
          turn(square);
#pragma GCC unroll 16
          for (int j = 0; j < N; ++j) {
            T* const p = b + (c + j) * to_ld + r;
            if (j >= along) continue;
            if (down == N)
              square[j].store(p);
            else
              square[j].store_partial(p, down);
          }
        }
  }
};

/// Columns are at a distance of `ld`.
template <class T>
struct LuColumns {
  using V = Vec<T>;
  static constexpr int N = V::N;

  /// c -= a · b for `columns` columns of c, and rows of two registers, or of one.
  template <int Registers, int Columns>
  static MLX_FN void subtract_tile(int64_t k, const T* a, const T* b, T* c, int64_t ld) {
    V sum[Columns][Registers];
#pragma GCC unroll 8
    for (int j = 0; j < Columns; ++j)
#pragma GCC unroll 2
      for (int i = 0; i < Registers; ++i) sum[j][i] = V::load(c + j * ld + i * N);
    for (int64_t l = 0; l < k; ++l) {
      V left[Registers];
#pragma GCC unroll 2
      for (int i = 0; i < Registers; ++i) left[i] = -V::load(a + l * ld + i * N);
#pragma GCC unroll 8
      for (int j = 0; j < Columns; ++j)
#pragma GCC unroll 2
        for (int i = 0; i < Registers; ++i) sum[j][i] = v_fma(left[i], V(b[j * ld + l]), sum[j][i]);
    }
#pragma GCC unroll 8
    for (int j = 0; j < Columns; ++j)
#pragma GCC unroll 2
      for (int i = 0; i < Registers; ++i) sum[j][i].store(c + j * ld + i * N);
  }
  template <int Columns>
  static void subtract_columns(int64_t m, int64_t k, const T* a, const T* b, T* c, int64_t ld) {
    int64_t i = 0;
    for (; i + 2 * N <= m; i += 2 * N) subtract_tile<2, Columns>(k, a + i, b, c + i, ld);
    if (i + N <= m) {
      subtract_tile<1, Columns>(k, a + i, b, c + i, ld);
      i += N;
    }
    if (i == m) return;
    for (int j = 0; j < Columns; ++j) {
      V sum = V::load_partial(c + j * ld + i, m - i);
      for (int64_t l = 0; l < k; ++l)
        sum = v_fma(-V::load_partial(a + l * ld + i, m - i), V(b[j * ld + l]), sum);
      sum.store_partial(c + j * ld + i, m - i);
    }
  }
  /// c -= a · b for parts of one column-major matrix: c is (m, n), k is the inner length.
  static void subtract_product(int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* c,
                               int64_t ld) {
    int64_t j = 0;
    for (; j + kTile <= n; j += kTile) subtract_columns<kTile>(m, k, a, b + j * ld, c + j * ld, ld);
    for (; j < n; ++j) subtract_columns<1>(m, k, a, b + j * ld, c + j * ld, ld);
  }

  /// b = l⁻¹ · b for a unit lower triangle (n, n) and b (n, columns).
  static void solve_unit(int64_t n, int64_t columns, const T* l, T* b, int64_t ld) {
    using Own = Triangles<T>;
    if (n > kNarrow && n <= kMost) {
      T packed[kMost * (kMost + 2 * kLines)], x[(kMost + kLines) * Own::kColumns];
      Own::pack(l, 1, ld, n, true, packed);
      for (int64_t j = 0; j < columns; j += Own::kColumns) {
        const int64_t count = least(Own::kColumns, columns - j);
        Own::load(b + j * ld, ld, n, count, x);
        Own::solve(packed, n, 0, x, Own::kColumns, count);
        Own::store(x, n, count, b + j * ld, ld);
      }
      return;
    }
    for (int64_t j = 0; j < columns; ++j) {
      T* const x = b + j * ld;
      for (int64_t k = 0; k + 1 < n; ++k) {
        const V factor = V(-x[k]);
        const T* const column = l + k * ld;
        int64_t i = k + 1;
        for (; i + N <= n; i += N) v_fma(factor, V::load(column + i), V::load(x + i)).store(x + i);
        if (i < n)
          v_fma(factor, V::load_partial(column + i, n - i), V::load_partial(x + i, n - i))
              .store_partial(x + i, n - i);
      }
    }
  }

  /// The row of the largest magnitude in a column, the first of equal ones; of NaN, where all
  /// others are zero.
  static int64_t pivot_of(const T* x, int64_t m) {
    using I = typename V::Int;
    using E = typename I::elem;
    E numbers[N];
    for (int i = 0; i < N; ++i) numbers[i] = E(i);
    V largest = V(T(-1));
    I place = I(E(0)), here = I::load(numbers);
    for (int64_t i = 0; i < m; i += N, here = here + I(E(N))) {
      const V size = v_abs(i + N <= m ? V::load(x + i) : V::load_partial(x + i, m - i));
      const auto larger = size > largest;
      largest = v_select(larger, size, largest);
      place = v_select(larger, here, place);
    }
    const V best = over_lanes(largest, [](V a, V b) MLX_INLINED { return v_select(a > b, a, b); });
    const I first = over_lanes(v_select(largest == best, place, I(E(0x7fffffff))),
                               [](I a, I b) MLX_INLINED { return v_select(a < b, a, b); });
    if (best.v[0] > T(0)) return first.v[0];
    for (int64_t i = 0; i < m; ++i)
      if (x[i] != x[i]) return i;
    return 0;
  }

  static void divide(T* x, int64_t m, T by) {
    constexpr T kLeast = sizeof(T) == 4 ? T(0x1p-125f) : T(0x1p-1021);
    const T inverse = T(1) / by;
    const bool ordinary = by >= kLeast || by <= -kLeast;  // else the reciprocal may be infinite
    if (!ordinary) {
      for (int64_t i = 0; i < m; ++i) x[i] = x[i] / by;
      return;
    }
    int64_t i = 0;
    for (; i + N <= m; i += N) (V::load(x + i) * V(inverse)).store(x + i);
    if (i < m) (V::load_partial(x + i, m - i) * V(inverse)).store_partial(x + i, m - i);
  }

  static void exchange(T* a, int64_t ld, int64_t columns, int64_t r, int64_t other) {
    if (r == other) return;
    for (int64_t j = 0; j < columns; ++j) {
      const T first = a[j * ld + r];
      a[j * ld + r] = a[j * ld + other];
      a[j * ld + other] = first;
    }
  }

  static int64_t lu_narrow(int64_t m, int64_t n, T* a, int64_t ld, int* pivots) {
    int64_t info = 0;
    for (int64_t j = 0; j < n; ++j) {
      T* const column = a + j * ld;
      for (int64_t k = 0; k < j; ++k)
        for (int64_t i = k + 1; i < j; ++i) column[i] -= a[k * ld + i] * column[k];
      if (j > 0) subtract_columns<1>(m - j, j, a + j, column, column + j, ld);
      const int64_t pivot = j + pivot_of(column + j, m - j);
      pivots[j] = static_cast<int>(pivot) + 1;
      if (column[pivot] == T(0)) {
        if (info == 0) info = j + 1;
        continue;
      }
      exchange(a, ld, n, j, pivot);
      divide(column + j + 1, m - j - 1, column[j]);
    }
    return info;
  }

  static int64_t lu_halves(int64_t m, int64_t n, T* a, int64_t ld, int* pivots) {
    if (n <= kNarrow) return lu_narrow(m, n, a, ld, pivots);
    const int64_t left = (n / 2 + kNarrow - 1) / kNarrow * kNarrow, right = n - left;
    T* const behind = a + left * ld;
    int64_t info = lu_halves(m, left, a, ld, pivots);
    for (int64_t r = 0; r < left; ++r) exchange(behind, ld, right, r, pivots[r] - 1);
    solve_unit(left, right, a, behind, ld);
    subtract_product(m - left, right, left, a + left, behind, behind + left, ld);
    const int64_t found = lu_halves(m - left, right, behind + left, ld, pivots + left);
    if (info == 0 && found != 0) info = found + left;
    for (int64_t r = left; r < n; ++r) {
      pivots[r] += static_cast<int>(left);
      exchange(a, ld, left, r, pivots[r] - 1);
    }
    return info;
  }

  static int64_t lu(int64_t m, int64_t n, void* a, int64_t ld, int* pivots) {
    return lu_halves(m, n, static_cast<T*>(a), ld, pivots);
  }
};

template <class T>
FactorKernels table() {
  using Own = Triangles<T>;
  return {kLines,     Own::kColumns, &Own::pack,      &Own::solve,
          &Own::load, &Own::store,   &Own::transpose, &LuColumns<T>::lu};
}

}  // namespace

FactorKernels find_factors(Dtype::Val t) {
  if (t == Dtype::Val::float32) return table<float>();
  if (t == Dtype::Val::float64) return table<double>();
  return {};
}

}  // namespace mlx::core::cpu::MLX_ISA
