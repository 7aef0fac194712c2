// Factorisations, inverses, solves and determinants with LAPACK, one matrix of the batch per
// thread. Inputs are row-contiguous: for LAPACK they are transposed matrices, which most routines
// can use directly.
#include "mlx/backend/cpu/linalg.h"

#include <numbers>

#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/linalg_factors.h"
#include "mlx/backend/cpu/linalg_reflectors.h"
#include "mlx/backend/cpu/linalg_scale.h"
#include "mlx/ops/linalg.h"

namespace mlx::core::cpu {

namespace {

using namespace linalg;

bool upper_of(const KernelArgs& args) { return attrs_as<TriangleAttrs>(args.attrs).upper; }
// The lower triangle in row-major order is the upper one in column-major order.
char column_uplo(bool upper) { return upper ? 'L' : 'U'; }

/// One matrix to one matrix of the same shape: `f(T* matrix, Int n, int64_t i)` works in place.
template <class F>
void in_place_kernel(const KernelArgs& args, double factor, F&& f) {
  const Batch b(args.out[0]);
  if (b.count * b.size() == 0) return;
  dispatch_matrix(args.out[0].dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = args.in[0].as<T>();
    T* out = args.out[0].as<T>();
    for_each_matrix(b, b.work(factor), [&](int64_t i) {
      copy_elements(in + i * b.size(), out + i * b.size(), b.size());
      f(out + i * b.size(), b.n(), i);
    });
  });
}

/// Matrices [begin, end) of a batch: small ones several at a time by `many(kernels, first)`, which
/// returns bits of those that it leaves (see SmallSystems); these and the others by `one(i)`.
template <class T, class One, class Many>
void for_lanes(int64_t n, int64_t begin, int64_t end, One&& one, Many&& many) {
  if (n > 0 && n <= kSmall) {
    const SmallSystems kernels = MLX_FOR_ISA(find_small_systems)(TypeToDtype<T>::value.val());
    for (; kernels.lanes > 0 && begin + kernels.lanes <= end; begin += kernels.lanes) {
      uint32_t left = many(kernels, begin);
      for (int64_t i = begin; left != 0; ++i, left >>= 1)
        if (left & 1) one(i);
    }
  }
  for (; begin < end; ++begin) one(begin);
}

/// Solves the systems [begin, end) of a batch, those that are not solved together by `f(i)`.
template <class T, class F>
void solve_systems(const T* a, const T* b, T* x, int64_t n, int64_t columns, int64_t begin,
                   int64_t end, F&& f) {
  for_lanes<T>(
      columns <= kSmall ? n : 0, begin, end, f, [&](const SmallSystems& kernels, int64_t i) {
        const int64_t at = i * n * columns;
        return kernels.solve(a + i * n * n, b == nullptr ? nullptr : b + at, x + at, n, columns);
      });
}

void cholesky_kernel(const KernelArgs& args) {
  const bool upper = upper_of(args);
  const Batch b(args.out[0]);
  if (b.count * b.size() == 0) return;
  dispatch_matrix(args.out[0].dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = args.in[0].as<T>();
    T* out = args.out[0].as<T>();
    const auto factor = [&](int64_t i) {
      const Int info = factor_cholesky(column_uplo(upper), b.n(), out + i * b.size());
      if (info != 0) fail_indefinite(i, info);
    };
    for_matrices(b, b.work(0.33), [&](int64_t begin, int64_t end) {
      copy_elements(in + begin * b.size(), out + begin * b.size(), (end - begin) * b.size());
      for_lanes<T>(b.rows, begin, end, factor, [&](const SmallSystems& kernels, int64_t i) {
        return kernels.cholesky(out + i * b.size(), b.rows, upper);
      });
      for (int64_t i = begin; i < end; ++i) clear_other_triangle(out + i * b.size(), b.n(), upper);
    });
  });
}

/// True if no element of the diagonal is near the ends of the range, zero, or not finite.
template <class T>
bool has_ordinary_diagonal(const T* a, int64_t n) {
  for (int64_t r = 0; r < n; ++r) {
    const auto size = largest_part(a[r * n + r]);
    if (!(size > 0) || !std::isfinite(size) || exponent_to_one(size) != 0) return false;
  }
  return true;
}

/// Copies a matrix to `a` and calls `factor(a)`; again on the scaled matrix, where the pivots that
/// this left on the diagonal are extreme. Returns the scales.
template <class T, class F>
Scaling<T> factor_scaled(const T* matrix, T* a, int64_t n, F&& factor) {
  copy_elements(matrix, a, n * n);
  factor(a);
  if (has_ordinary_diagonal(a, n)) return Scaling<T>(n);
  copy_elements(matrix, a, n * n);
  Scaling<T> scaling(a, n);
  factor(a);
  return scaling;
}

void inv_kernel(const KernelArgs& args) {
  const Batch b(args.out[0]);
  if (b.count * b.size() == 0) return;
  dispatch_matrix(args.out[0].dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = args.in[0].as<T>();
    T* out = args.out[0].as<T>();
    const auto invert = [&](int64_t i) {
      T* a = out + i * b.size();
      Scratch integers(sizeof(Int) * static_cast<size_t>(b.rows));
      Int *pivots = integers.get<Int>(), info = 0;
      const Scaling<T> scaling = factor_scaled(in + i * b.size(), a, b.rows, [&](T* matrix) {
        info = factor_lu(b.n(), b.n(), matrix, pivots);
      });
      if (info == 0) info = invert_factored(b.n(), a, pivots);
      if (info != 0) fail_singular("linalg.inv", i, info - 1);
      scaling.restore_inverse(a);
    };
    for_matrices(b, b.work(2), [&](int64_t begin, int64_t end) {
      solve_systems<T>(in, nullptr, out, b.rows, b.rows, begin, end, invert);
    });
  });
}

void tri_inv_kernel(const KernelArgs& args) {
  const bool upper = upper_of(args);
  in_place_kernel(args, 0.33, [&]<class T>(T* a, Int n, int64_t i) {
    clear_other_triangle(a, n, upper);
    const auto scaling = has_ordinary_diagonal(a, n) ? Scaling<T>(n) : Scaling<T>(a, n);
    const Int info = lapack::trtri(column_uplo(upper), n, a);
    if (info != 0) fail_singular("linalg.tri_inv", i, info - 1);
    scaling.restore_inverse(a);
  });
}

/// Copies the right-hand sides to the result, where `f(a, x, n, k, i)` solves in place. `general`:
/// the matrices are not triangles.
template <class F>
void solve_with(const KernelArgs& args, bool general, double factor, F&& f) {
  const Batch a(args.in[0]), b(args.out[0]);
  if (b.count * b.size() == 0) return;
  dispatch_matrix(args.out[0].dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *matrices = args.in[0].as<T>(), *in = args.in[1].as<T>();
    T* out = args.out[0].as<T>();
    const double work = a.work(factor) + static_cast<double>(a.size() * b.columns);
    const auto solve = [&](int64_t i) {
      T* x = out + i * b.size();
      copy_elements(in + i * b.size(), x, b.size());
      f(matrices + i * a.size(), x, a.n(), b.n(), i);
    };
    if (!general) return for_each_matrix(b, work, solve);
    for_matrices(b, work, [&](int64_t begin, int64_t end) {
      solve_systems<T>(matrices, in, out, a.rows, b.columns, begin, end, solve);
    });
  });
}

void solve_kernel(const KernelArgs& args) {
  solve_with(args, true, 0.67, []<class T>(const T* a, T* x, Int n, Int k, int64_t i) {
    const bool small = n <= kSmall;
    T few[kSmall * kSmall];
    Int few_pivots[kSmall], info = 0;
    Scratch memory(small ? 0 : static_cast<size_t>(n) * static_cast<size_t>(n) * sizeof(T));
    Scratch integers(small ? 0 : sizeof(Int) * static_cast<size_t>(n));
    T* lu = small ? few : memory.get<T>();
    Int* pivots = small ? few_pivots : integers.get<Int>();
    const Scaling<T> scaling =
        factor_scaled(a, lu, n, [&](T* matrix) { info = factor_lu(n, n, matrix, pivots); });
    if (info != 0) fail_singular("linalg.solve", i, info - 1);
    scaling.scale_rows(x, k);
    solve_factored(lu, pivots, x, n, k);
    scaling.restore_solution(x, k);
  });
}

void solve_triangular_kernel(const KernelArgs& args) {
  const bool upper = upper_of(args);
  solve_with(args, false, 0, [&]<class T>(const T* a, T* x, Int n, Int k, int64_t i) {
    bool ordinary = true;
    for (int64_t r = 0; r < n; ++r) {
      if (a[r * n + r] == T(0)) fail_singular("linalg.solve_triangular", i, r);
      ordinary = ordinary && exponent_to_one(largest_part(a[r * n + r])) == 0;
    }
    if (ordinary) return lapack::trsm(upper, false, n, k, a, x);
    const int64_t size = static_cast<int64_t>(n) * n;
    Scratch memory(static_cast<size_t>(size) * sizeof(T));
    T* scaled = memory.get<T>();
    copy_elements(a, scaled, size);
    clear_other_triangle(scaled, n, upper);
    const Scaling<T> scaling(scaled, n);
    scaling.scale_rows(x, k);
    lapack::trsm(upper, false, n, k, scaled, x);
    scaling.restore_solution(x, k);
  });
}

// Reflectors are dense in memory if they are columns of the transpose: faster for tall matrices and
// for large ones.
template <class T>
void qr_of_transpose(const Batch& b, const T* in, T* a, T* tau, T* q, T* r) {
  const int64_t k = b.small();
  transpose(in, a, b.rows, b.columns);
  const auto take_triangle = [&] {
    for (int64_t row = 0; row < k; ++row) {
      std::fill(r + row * b.columns, r + row * b.columns + row, T(0));
      for (int64_t c = row; c < b.columns; ++c) r[row * b.columns + c] = a[c * b.rows + row];
    }
  };
  if (k >= kReflected) {
    const Reflectors<T> reflectors(b.rows, b.columns, a);
    take_triangle();
    reflectors.unfold(a);
    return transpose(a, q, k, b.rows);
  }
  lapack::geqrf(b.m(), b.n(), a, tau);
  take_triangle();
  lapack::orgqr(b.m(), static_cast<Int>(k), a, tau);
  transpose(a, q, k, b.rows);
}

// a = Q · R is aᵀ = L · Q' with L = Rᵀ and Q' = Qᵀ, all in place.
template <class T>
void qr_of_rows(const Batch& b, const T* in, T* a, T* tau, T* q, T* r) {
  const int64_t k = b.small();
  copy_elements(in, a, b.size());
  lapack::gelqf(b.n(), b.m(), a, tau);
  for (int64_t row = 0; row < k; ++row) {
    std::fill(r + row * b.columns, r + row * b.columns + row, T(0));
    copy_elements(a + row * b.columns + row, r + row * b.columns + row, b.columns - row);
  }
  const Int length = static_cast<Int>(k);
  lapack::orglq(length, b.m(), length, a, b.n(), tau);
  for (int64_t row = 0; row < b.rows; ++row) copy_elements(a + row * b.columns, q + row * k, k);
}

void qr_kernel(const KernelArgs& args) {
  const Batch b(args.in[0]);
  const int64_t k = b.small();
  if (b.count * b.size() == 0) return;
  const bool transposed = b.rows > b.columns || (b.rows == b.columns && k >= kReflected);
  dispatch_matrix(args.in[0].dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = args.in[0].as<T>();
    T *qs = args.out[0].as<T>(), *rs = args.out[1].as<T>();
    for_each_matrix(b, b.work(3), [&](int64_t i) {
      if constexpr (kOwnFactors<T>) {
        const bool small = std::max(b.rows, b.columns) <= kSmall;
        if (small && factor_small_qr(b.rows, b.columns, in + i * b.size(), qs + i * b.rows * k,
                                     rs + i * k * b.columns))
          return;
      }
      Scratch memory(static_cast<size_t>(b.size()) * sizeof(T));
      Scratch factors(static_cast<size_t>(k) * sizeof(T));
      const auto factor = transposed ? qr_of_transpose<T> : qr_of_rows<T>;
      factor(b, in + i * b.size(), memory.get<T>(), factors.get<T>(), qs + i * b.rows * k,
             rs + i * k * b.columns);
    });
  });
}

void lu_kernel(const KernelArgs& args) {
  const Batch b(args.in[0]);
  const int64_t k = b.small();
  if (b.count == 0) return;
  dispatch_matrix(args.in[0].dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = args.in[0].as<T>();
    T* out = args.out[0].as<T>();
    uint32_t *exchanges = args.out[1].as<uint32_t>(), *positions = args.out[2].as<uint32_t>();
    for_each_matrix(b, b.work(0.67), [&](int64_t i) {
      Scratch memory(static_cast<size_t>(b.size()) * sizeof(T));
      Scratch integers(sizeof(Int) * static_cast<size_t>(k));
      T* a = memory.get<T>();
      Int* pivots = integers.get<Int>();
      transpose(in + i * b.size(), a, b.rows, b.columns);
      const int exponent = scale_all(a, b.size());
      if (b.size() > 0) factor_lu(b.m(), b.n(), a, pivots);
      transpose(a, out + i * b.size(), b.columns, b.rows);
      if (exponent != 0)  // the upper factor has the scale
        for (int64_t r = 0; r < k; ++r)
          for (int64_t c = r; c < b.columns; ++c) {
            T& x = out[i * b.size() + r * b.columns + c];
            x = times_power(x, -exponent);
          }
      // The permutation: the exchanges are undone from the last to the first.
      uint32_t* position = positions + i * b.rows;
      for (int64_t r = 0; r < b.rows; ++r) position[r] = static_cast<uint32_t>(r);
      for (int64_t r = k; r-- > 0;) {
        exchanges[i * k + r] = static_cast<uint32_t>(pivots[r] - 1);
        std::swap(position[r], position[pivots[r] - 1]);
      }
    });
  });
}

/// Calls `f(lu, sign, exponent, i)` with the factors of each matrix's transpose, of which the
/// determinant is that of the matrix divided by two to the exponent.
template <class F>
void determinant_kernel(const KernelArgs& args, F&& f) {
  const Batch b(args.in[0]);
  dispatch_matrix(args.in[0].dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = args.in[0].as<T>();
    for_each_matrix(b, b.work(0.67), [&](int64_t i) {
      Scratch memory(static_cast<size_t>(b.size()) * sizeof(T));
      Scratch integers(sizeof(Int) * static_cast<size_t>(b.rows));
      int sign = 1;
      const Scaling<T> scaling =
          factor_scaled(in + i * b.size(), memory.get<T>(), b.rows,
                        [&](T* matrix) { sign = factor(matrix, b.n(), integers.get<Int>()); });
      f(memory.get<T>(), b.rows, sign, scaling.determinant_exponent(), i);
    });
  });
}

void det_kernel(const KernelArgs& args) {
  determinant_kernel(args, [&]<class T>(const T* lu, int64_t n, int sign, int exponent, int64_t i) {
    T product = static_cast<T>(sign);
    for (int64_t r = 0; r < n; ++r) product *= lu[r * n + r];
    args.out[0].as<T>()[i] = exponent == 0 ? product : times_power(product, exponent);
  });
}

void slogdet_kernel(const KernelArgs& args) {
  determinant_kernel(args, [&]<class T>(const T* lu, int64_t n, int sign, int exponent, int64_t i) {
    T direction = static_cast<T>(sign);
    Real<T> log = static_cast<Real<T>>(exponent) * std::numbers::ln2_v<Real<T>>;
    for (int64_t r = 0; r < n; ++r) {
      const Real<T> size = std::abs(lu[r * n + r]);
      log += std::log(size);
      direction = size == 0 ? T(0) : direction * (lu[r * n + r] / size);
    }
    args.out[0].as<T>()[i] = direction;
    args.out[1].as<Real<T>>()[i] = log;
  });
}

const KernelEntry kLinalgKernels[] = {
    {.op = &op_cholesky, .run = cholesky_kernel, .contiguous = 1, .in_place = 1},
    {.op = &op_inv, .run = inv_kernel, .contiguous = 1},
    {.op = &op_tri_inv, .run = tri_inv_kernel, .contiguous = 1, .in_place = 1},
    {.op = &op_solve, .run = solve_kernel, .contiguous = 3, .in_place = 2},
    {.op = &op_solve_triangular, .run = solve_triangular_kernel, .contiguous = 3, .in_place = 2},
    {.op = &op_qr, .run = qr_kernel, .contiguous = 1},
    {.op = &op_lu, .run = lu_kernel, .contiguous = 1},
    {.op = &op_det, .run = det_kernel, .contiguous = 1},
    {.op = &op_slogdet, .run = slogdet_kernel, .contiguous = 1},
};

}  // namespace

const std::span<const KernelEntry> linalg_kernels = kLinalgKernels;

}  // namespace mlx::core::cpu
