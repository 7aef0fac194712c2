// Factors, inverses and solutions of small systems: a block has a matrix, which its processor's
// first cache holds.
#pragma once

#include "mlx/backend/gpu/kernels/index.cuh"

namespace mlx::core::device {

/// The largest order of a matrix.
MLX_CONSTANT int kMostRows = 256;

//--- numbers

template <class T>
struct PartOf {
  using R = T;
};
template <class T>
struct PartOf<m::Cx<T>> {
  using R = T;
};
template <class T>
using Part = typename PartOf<T>::R;

MLX_FN float fused_add(float a, float b, float c) { return ::fmaf(a, b, c); }
MLX_FN double fused_add(double a, double b, double c) { return ::fma(a, b, c); }
MLX_FN float scaled(float x, int e) { return ::ldexpf(x, e); }
MLX_FN double scaled(double x, int e) { return ::ldexp(x, e); }
MLX_FN int exponent(float x) { return ::ilogbf(x); }
MLX_FN int exponent(double x) { return ::ilogb(x); }
MLX_FN float root(float x) { return ::sqrtf(x); }
MLX_FN double root(double x) { return ::sqrt(x); }
template <class R>
MLX_FN R magnitude(R x) {
  return x < 0 ? -x : x;
}

/// x - a b
template <class T>
MLX_FN T less_product(T x, T a, T b) {
  if constexpr (m::IsCx<T>::value) {
    return {fused_add(-a.re, b.re, fused_add(a.im, b.im, x.re)),
            fused_add(-a.re, b.im, fused_add(-a.im, b.re, x.im))};
  } else {
    return fused_add(-a, b, x);
  }
}
template <class T>
MLX_FN T quotient(T a, T b) {
  if constexpr (m::IsCx<T>::value) {
    return m::divide(a, b);
  } else {
    return a / b;
  }
}
template <class T>
MLX_FN T conjugated(T x) {
  if constexpr (m::IsCx<T>::value) x.im = -x.im;
  return x;
}
template <class T>
MLX_FN Part<T> real_part(T x) {
  if constexpr (m::IsCx<T>::value) {
    return x.re;
  } else {
    return x;
  }
}
template <class T>
MLX_FN T real_number(Part<T> x) {
  if constexpr (m::IsCx<T>::value) {
    return {x, Part<T>(0)};
  } else {
    return x;
  }
}
/// The sum, or the larger, of the magnitudes of the parts.
template <class T>
MLX_FN Part<T> sum_of_parts(T x) {
  if constexpr (m::IsCx<T>::value) {
    return magnitude(x.re) + magnitude(x.im);
  } else {
    return magnitude(x);
  }
}
template <class T>
MLX_FN Part<T> largest_part(T x) {
  if constexpr (m::IsCx<T>::value) {
    const Part<T> a = magnitude(x.re), b = magnitude(x.im);
    return a > b ? a : b;
  } else {
    return magnitude(x);
  }
}
template <class T>
MLX_FN T times_power(T x, int e) {
  if constexpr (m::IsCx<T>::value) {
    return {scaled(x.re, e), scaled(x.im, e)};
  } else {
    return scaled(x, e);
  }
}
/// The exponent by which elements up to `largest` come near 1; 0 if they are far enough from the
/// ends of the range, are zeros, or not finite.
template <class R>
MLX_FN int exponent_to_one(R largest) {
  constexpr int kFar = (sizeof(R) == 4 ? 128 : 1024) * 7 / 10;
  if (!(largest > 0) || largest - largest != 0) return 0;
  const int e = exponent(largest);
  return e < -kFar || e > kFar ? -e : 0;
}

//--- the threads of a block

MLX_FN int own_lane() { return static_cast<int>(threadIdx.x) % 32; }
MLX_FN int own_warp() { return static_cast<int>(threadIdx.x) / 32; }
MLX_CONSTANT int kWarpsOfBlock = kThreads / 32;

/// Calls f(row, column) for the elements of a matrix with rows from `first` on.
template <class F>
MLX_FN void each_element(int first, int rows, int columns, F f) {
  if (columns >= 32) {
    for (int r = first + own_warp(); r < rows; r += kWarpsOfBlock)
      for (int c = own_lane(); c < columns; c += 32) f(r, c);
  } else {
    const int count = (rows - first) * columns;
    for (int e = static_cast<int>(threadIdx.x); e < count; e += kThreads)
      f(first + e / columns, e % columns);
  }
}

//--- Cholesky factors

/// The factor of each matrix's lower triangle, or of its upper one: that is the lower one of the
/// transpose, whose elements lie across.
template <class T>
MLX_FN void factor_cholesky(const SystemArguments& p) {
  MLX_SHARED T column[kMostRows];
  const int n = static_cast<int>(p.n);
  const bool upper = p.upper != 0;
  for (int64_t i = blockIdx.x; i < p.count; i += gridDim.x) {
    const T* in = reinterpret_cast<const T*>(p.a) + i * n * n;
    T* out = reinterpret_cast<T*>(p.out) + i * n * n;
    each_element(0, n, n, [&](int r, int c) {
      out[r * n + c] = (upper ? c >= r : c <= r) ? in[r * n + c] : T{};
    });
    __syncthreads();
    for (int j = 0; j < n; ++j) {
      const Part<T> pivot = real_part(out[j * n + j]);
      if (!(pivot > 0)) {
        if (threadIdx.x == 0) report(p.record, 0, i * (n + 1) + j);
        break;
      }
      const Part<T> diagonal = root(pivot);
      __syncthreads();  // all have read the pivot
      for (int r = j + static_cast<int>(threadIdx.x); r < n; r += kThreads) {
        T& x = out[upper ? j * n + r : r * n + j];
        x = column[r] = r == j ? real_number<T>(diagonal) : quotient(x, real_number<T>(diagonal));
      }
      __syncthreads();
      for (int r = j + 1 + own_warp(); r < n; r += kWarpsOfBlock) {
        const int first = upper ? r : j + 1, last = upper ? n : r + 1;
        for (int c = first + own_lane(); c < last; c += 32) {
          const T left = column[upper ? c : r], right = conjugated(column[upper ? r : c]);
          out[r * n + c] = less_product(out[r * n + c], left, right);
        }
      }
      __syncthreads();
    }
    __syncthreads();  // the column is used again
  }
}

//--- systems

/// Exponents of powers of two by which the rows and columns of a matrix come near 1: all 0 for
/// ordinary matrices. `exponents` has room for both.
template <class T>
MLX_FN void scale_matrix(T* a, int n, int* exponents) {
  for (int r = own_warp(); r < n; r += kWarpsOfBlock) {
    Part<T> most = 0;
    for (int c = own_lane(); c < n; c += 32) {
      const Part<T> x = largest_part(a[r * n + c]);
      most = most < x ? x : most;
    }
#pragma unroll
    for (int h = 16; h > 0; h /= 2) {
      const Part<T> other = __shfl_xor_sync(~0u, most, h);
      most = most < other ? other : most;
    }
    const int e = exponent_to_one(most);
    if (own_lane() == 0) exponents[r] = e;
    if (e)
      for (int c = own_lane(); c < n; c += 32) a[r * n + c] = times_power(a[r * n + c], e);
  }
  __syncthreads();
  for (int c = static_cast<int>(threadIdx.x); c < n; c += kThreads) {
    Part<T> most = 0;
    for (int r = 0; r < n; ++r) {
      const Part<T> x = largest_part(a[r * n + c]);
      most = most < x ? x : most;
    }
    const int e = exponent_to_one(most);
    exponents[kMostRows + c] = e;
    if (e)
      for (int r = 0; r < n; ++r) a[r * n + c] = times_power(a[r * n + c], e);
  }
  __syncthreads();
}

/// The row from j on whose element of column j is largest, the first of these; for a whole warp.
template <class T>
MLX_FN int pivot_row(const T* a, int n, int j) {
  Part<T> most = -1;
  int at = j;
  for (int r = j + own_lane(); r < n; r += 32) {
    const Part<T> x = sum_of_parts(a[r * n + j]);
    if (x > most) {
      most = x;
      at = r;
    }
  }
#pragma unroll
  for (int h = 16; h > 0; h /= 2) {
    const Part<T> other = __shfl_xor_sync(~0u, most, h);
    const int place = __shfl_xor_sync(~0u, at, h);
    if (other > most || (other == most && place < at)) {
      most = other;
      at = place;
    }
  }
  return at;
}

template <class T>
MLX_FN void exchange(T& a, T& b) {
  const T t = a;
  a = b;
  b = t;
}

/// Makes a triangle of `a` by exchanges and subtractions of rows, which `x` with k columns takes
/// part in. Returns the first column without a pivot, or n.
template <class T>
MLX_FN int eliminate(T* a, T* x, int n, int k) {
  MLX_SHARED T factors[kMostRows];
  MLX_SHARED T pivot[1];
  MLX_SHARED int place[1];
  const int thread = static_cast<int>(threadIdx.x);
  for (int j = 0; j < n; ++j) {
    if (own_warp() == 0) {
      const int found = pivot_row(a, n, j);
      if (thread == 0) {
        place[0] = found;
        pivot[0] = a[found * n + j];
      }
    }
    __syncthreads();
    const int at = place[0];
    const T divisor = pivot[0];
    if (largest_part(divisor) == 0) return j;
    if (at != j) {
      for (int c = j + thread; c < n; c += kThreads) exchange(a[j * n + c], a[at * n + c]);
      for (int c = thread; c < k; c += kThreads) exchange(x[j * k + c], x[at * k + c]);
      __syncthreads();
    }
    for (int r = j + 1 + thread; r < n; r += kThreads) factors[r] = quotient(a[r * n + j], divisor);
    __syncthreads();
    const T *row = a + j * n, *line = x + j * k;
    each_element(j + 1, n, n - j - 1, [&](int r, int c) {
      T& y = a[r * n + j + 1 + c];
      y = less_product(y, factors[r], row[j + 1 + c]);
    });
    each_element(j + 1, n, k, [&](int r, int c) {
      x[r * k + c] = less_product(x[r * k + c], factors[r], line[c]);
    });
    __syncthreads();
  }
  return n;
}

/// Solves with the triangle, from its last row on.
template <class T>
MLX_FN void substitute(const T* a, T* x, int n, int k) {
  for (int j = n - 1; j >= 0; --j) {
    T* line = x + j * k;
    for (int c = static_cast<int>(threadIdx.x); c < k; c += kThreads)
      line[c] = quotient(line[c], a[j * n + j]);
    __syncthreads();
    each_element(0, j, k, [&](int r, int c) {
      x[r * k + c] = less_product(x[r * k + c], a[r * n + j], line[c]);
    });
    __syncthreads();
  }
}

/// Solutions of systems, or inverses: the right-hand sides are the identity then. `work` has a
/// matrix for each block.
template <class T, bool Inverse>
MLX_FN void solve_systems(const SystemArguments& p) {
  MLX_SHARED int exponents[2 * kMostRows];
  const int n = static_cast<int>(p.n), k = static_cast<int>(p.columns);
  const int *rows = exponents, *columns = exponents + kMostRows;
  T* a = reinterpret_cast<T*>(p.work) + static_cast<int64_t>(blockIdx.x) * n * n;
  for (int64_t i = blockIdx.x; i < p.count; i += gridDim.x) {
    const T* in = reinterpret_cast<const T*>(p.a) + i * n * n;
    const T* b = Inverse ? nullptr : reinterpret_cast<const T*>(p.b) + i * n * k;
    T* x = reinterpret_cast<T*>(p.out) + i * n * k;
    each_element(0, n, n, [&](int r, int c) { a[r * n + c] = in[r * n + c]; });
    __syncthreads();
    scale_matrix(a, n, exponents);
    each_element(0, n, k, [&](int r, int c) {
      if constexpr (Inverse) {
        x[r * k + c] = real_number<T>(Part<T>(r == c ? 1 : 0));
      } else {
        x[r * k + c] = rows[r] ? times_power(b[r * k + c], rows[r]) : b[r * k + c];
      }
    });
    __syncthreads();
    const int solved = eliminate(a, x, n, k);
    if (solved < n) {
      if (threadIdx.x == 0) report(p.record, 0, i * (n + 1) + solved);
    } else {
      substitute(a, x, n, k);
      each_element(0, n, k, [&](int r, int c) {
        const int e = columns[r] + (Inverse ? rows[c] : 0);
        if (e) x[r * k + c] = times_power(x[r * k + c], e);
      });
    }
    __syncthreads();  // shared memory is used again
  }
}

//--- around a library's factors of one large matrix

/// Calls f(row, column) for the elements of a matrix, with the threads of all blocks.
template <class F>
MLX_FN void each_of_all(int64_t rows, int64_t columns, F f) {
  for (int64_t e = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; e < rows * columns;
       e += static_cast<int64_t>(gridDim.x) * kThreads)
    f(e / columns, e % columns);
}
/// Reports a pivot, or a minor, that LAPACK's info says has failed.
MLX_FN void check_info(const FactorArguments& p) {
  if (p.info == 0 || blockIdx.x != 0 || threadIdx.x != 0) return;
  const int info = *reinterpret_cast<const int*>(p.info);
  if (info > 0) report(p.record, 0, p.matrix * (p.n + 1) + info - 1);
}

/// A triangle of a matrix, or of its transpose, and zeros.
template <class T>
MLX_FN void take_triangle(const FactorArguments& p) {
  check_info(p);
  const T* in = reinterpret_cast<const T*>(p.a);
  T* out = reinterpret_cast<T*>(p.out);
  each_of_all(p.n, p.n, [&](int64_t r, int64_t c) {
    const int64_t from = p.transposed ? c * p.n + r : r * p.n + c;
    out[r * p.n + c] = (p.upper ? c >= r : c <= r) ? in[from] : T{};
  });
}

/// Copies the matrix, scales its rows, and keeps their exponents; a warp has a row.
template <class T>
MLX_FN void scale_rows(const FactorArguments& p) {
  const int64_t n = p.n;
  const T* in = reinterpret_cast<const T*>(p.a);
  T* out = reinterpret_cast<T*>(p.work);
  for (int64_t r = static_cast<int64_t>(blockIdx.x) * kWarpsOfBlock + own_warp(); r < n;
       r += static_cast<int64_t>(gridDim.x) * kWarpsOfBlock) {
    Part<T> most = 0;
    for (int64_t c = own_lane(); c < n; c += 32) {
      const Part<T> x = largest_part(in[r * n + c]);
      most = most < x ? x : most;
    }
#pragma unroll
    for (int h = 16; h > 0; h /= 2) {
      const Part<T> other = __shfl_xor_sync(~0u, most, h);
      most = most < other ? other : most;
    }
    const int e = exponent_to_one(most);
    if (own_lane() == 0) reinterpret_cast<int*>(p.exponents)[r] = e;
    for (int64_t c = own_lane(); c < n; c += 32) {
      const T x = in[r * n + c];
      out[r * n + c] = e ? times_power(x, e) : x;
    }
  }
}
/// The same of the columns, in place; a thread has a column.
template <class T>
MLX_FN void scale_columns(const FactorArguments& p) {
  const int64_t n = p.n;
  T* a = reinterpret_cast<T*>(p.work);
  for (int64_t c = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; c < n;
       c += static_cast<int64_t>(gridDim.x) * kThreads) {
    Part<T> most = 0;
    for (int64_t r = 0; r < n; ++r) {
      const Part<T> x = largest_part(a[r * n + c]);
      most = most < x ? x : most;
    }
    const int e = exponent_to_one(most);
    reinterpret_cast<int*>(p.exponents)[n + c] = e;
    if (e)
      for (int64_t r = 0; r < n; ++r) a[r * n + c] = times_power(a[r * n + c], e);
  }
}
/// Right-hand sides as the library reads them, column by column.
template <class T>
MLX_FN void right_sides(const FactorArguments& p) {
  const T* b = reinterpret_cast<const T*>(p.b);
  T* sides = reinterpret_cast<T*>(p.sides);
  const int* rows = reinterpret_cast<const int*>(p.exponents);
  each_of_all(p.columns, p.n, [&](int64_t c, int64_t r) {
    T x = real_number<T>(Part<T>(r == c ? 1 : 0));
    if (!p.inverse) {
      x = b[r * p.columns + c];
      if (rows[r]) x = times_power(x, rows[r]);
    }
    sides[c * p.n + r] = x;
  });
}
/// The solutions, or in place the inverse, which the library leaves transposed and column by
/// column.
template <class T>
MLX_FN void solutions(const FactorArguments& p) {
  check_info(p);
  const T* sides = reinterpret_cast<const T*>(p.sides);
  T* out = reinterpret_cast<T*>(p.out);
  const int *rows = reinterpret_cast<const int*>(p.exponents), *columns = rows + p.n;
  each_of_all(p.n, p.columns, [&](int64_t r, int64_t c) {
    const int e = columns[r] + (p.inverse ? rows[c] : 0);
    const T x = p.inverse ? sides[r * p.n + c] : sides[c * p.n + r];
    out[r * p.columns + c] = e ? times_power(x, e) : x;
  });
}

/// A matrix in rows, from the library's columns. Of its transpose it makes columns from rows.
template <class T>
MLX_FN void rows_of_columns(const ColumnsArguments& p) {
  const T* in = reinterpret_cast<const T*>(p.in);
  T* out = reinterpret_cast<T*>(p.out);
  each_of_all(p.rows, p.columns, [&](int64_t r, int64_t c) {
    out[r * p.columns + c] = p.upper && c < r ? T{} : in[c * p.stride + r];
  });
}

}  // namespace mlx::core::device
