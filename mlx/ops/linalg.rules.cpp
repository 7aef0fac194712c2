// Derivatives of factorisations, inverses, solves and eigenvalue problems, as forward rules; the
// reverse rules are their transposes. Sources: Giles 2008 (An extended collection of matrix
// derivative results), Golub and Pereyra 1973 (pseudo-inverse), Higham 2008 (exponential).
#include "mlx/ops/linalg.h"

#include <algorithm>

#include "mlx/ops.h"

namespace mlx::core::rules {

namespace {

/// The matrix operations of the rules under short names, on one stream.
struct MatrixOps {
  Stream s;

  array mm(const array& a, const array& b) const { return matmul(a, b, s); }
  template <class... A>
  array mm(const array& a, const array& b, const A&... more) const {
    return mm(mm(a, b), more...);
  }
  array t(const array& a) const { return swapaxes(a, -1, -2, s); }
  array conj(const array& a) const { return is_complex(a.dtype()) ? conjugate(a, s) : a; }
  /// Conjugate transpose.
  array h(const array& a) const { return conj(t(a)); }
  array re(const array& a) const { return is_complex(a.dtype()) ? real(a, s) : a; }
  array plus(const array& a, const array& b) const { return add(a, b, s); }
  array minus(const array& a, const array& b) const { return subtract(a, b, s); }
  array times(const array& a, const array& b) const { return multiply(a, b, s); }
  array scaled(const array& a, double factor) const {
    return multiply(a, constant(factor, a.dtype()), s);
  }
  array neg(const array& a) const { return negative(a, s); }
  /// i · Im(a), for complex a.
  array imaginary(const array& a) const { return scaled(minus(a, conj(a)), 0.5); }
  array hermitian(const array& a) const { return scaled(plus(a, h(a)), 0.5); }
  array diag_of(const array& a) const { return diagonal(a, 0, -2, -1, s); }
  /// Scales the columns, or the rows, of a matrix by the elements of a vector, cast to its dtype.
  array by_columns(const array& a, const array& v) const {
    return times(a, expand_dims(cast_to(v, a.dtype(), s), -2, s));
  }
  array by_rows(const array& a, const array& v) const {
    return times(a, expand_dims(cast_to(v, a.dtype(), s), -1, s));
  }
  array lower(const array& a, int k = 0) const { return tril(a, k, s); }
  array upper(const array& a, int k = 0) const { return triu(a, k, s); }
  array sum_all(const array& a) const { return sum(a, std::vector<int>{-2, -1}, false, s); }
  /// The diagonal part of a square matrix.
  array only_diagonal(const array& a) const {
    return times(a, eye(a.shape(-1), a.shape(-1), 0, a.dtype(), s));
  }
  /// x with a · x = b for a triangular a, and with x · a = b.
  array left(const array& a, const array& b, bool is_upper) const {
    return linalg::solve_triangular(a, b, is_upper, s);
  }
  array right(const array& b, const array& a, bool is_upper) const {
    return t(linalg::solve_triangular(t(a), t(b), !is_upper, s));
  }
  /// Rows [r0, r1) and columns [c0, c1).
  array block(const array& a, int64_t r0, int64_t r1, int64_t c0, int64_t c1) const {
    Shape start(a.ndim(), 0), stop = a.shape();
    const size_t n = a.ndim();
    start[n - 2] = r0;
    stop[n - 2] = r1;
    start[n - 1] = c0;
    stop[n - 1] = c1;
    return slice(a, start, stop, s);
  }
  array beside(const array& a, const array& b) const { return concatenate({a, b}, -1, s); }
  array above(const array& a, const array& b) const { return concatenate({a, b}, -2, s); }
  /// 1 / a, and 0 where a is 0.
  array safe_inverse(const array& a) const {
    const array none = equal(a, zero(a.dtype()), s), one = constant(1.0, a.dtype());
    return where(none, zero(a.dtype()), divide(one, where(none, one, a, s), s), s);
  }
  /// Element (i, j) is 1 / (v[j] - v[i]), or 0 for equal values.
  array gaps(const array& v) const {
    return safe_inverse(minus(expand_dims(v, -2, s), expand_dims(v, -1, s)));
  }
};

/// The Fréchet derivative of the exponential at `a` in direction `e`.
array frechet(const array& a, const array& e, Stream s) {
  const MatrixOps m{s};
  const int64_t n = a.shape(-1);
  array x = linalg::expm(m.above(m.beside(a, e), m.beside(zeros_like(a, s), a)), s);
  return m.block(x, 0, n, n, 2 * n);
}

/// Cotangents of the matrix and the right-hand sides; `gradient` finishes the cotangent of the
/// matrix.
template <class F>
Arrays solution_vjp(const RuleArgs& r, const array& gb, F gradient) {
  const MatrixOps m{r.stream};
  Arrays out(2);
  if (r.requested[1]) out[1] = gb;
  if (r.requested[0]) out[0] = gradient(m.neg(m.mm(gb, m.h(r.outputs[0]))));
  return out;
}

/// db - da · x; null tangents are zero.
array residual(const MatrixOps& m, const array& da, const array& db, const array& x) {
  if (!da) return db;
  array moved = m.neg(m.mm(da, x));
  return db ? m.plus(db, moved) : moved;
}

}  // namespace

// --- inverses and solutions ---------------------------------------------------------------------

Arrays inv_jvp(const RuleArgs& r) {
  const MatrixOps m{r.stream};
  const array& x = r.outputs[0];
  return {m.neg(m.mm(x, r.grads[0], x))};
}

Arrays tri_inv_jvp(const RuleArgs& r) {
  const MatrixOps m{r.stream};
  const array& x = r.outputs[0];
  const bool upper = attrs_as<TriangleAttrs>(r.attrs).upper;
  return {m.neg(m.mm(x, upper ? m.upper(r.grads[0]) : m.lower(r.grads[0]), x))};
}

Arrays solve_jvp(const RuleArgs& r) {
  const MatrixOps m{r.stream};
  return {linalg::solve(r.inputs[0], residual(m, r.grads[0], r.grads[1], r.outputs[0]), r.stream)};
}
Arrays solve_vjp(const RuleArgs& r) {
  const MatrixOps m{r.stream};
  return solution_vjp(r, linalg::solve(m.h(r.inputs[0]), r.grads[0], r.stream),
                      [](const array& g) { return g; });
}

Arrays solve_triangular_jvp(const RuleArgs& r) {
  const MatrixOps m{r.stream};
  const bool upper = attrs_as<TriangleAttrs>(r.attrs).upper;
  array da = r.grads[0];
  if (da) da = upper ? m.upper(da) : m.lower(da);
  return {m.left(r.inputs[0], residual(m, da, r.grads[1], r.outputs[0]), upper)};
}
Arrays solve_triangular_vjp(const RuleArgs& r) {
  const MatrixOps m{r.stream};
  const bool upper = attrs_as<TriangleAttrs>(r.attrs).upper;
  return solution_vjp(r, m.left(m.h(r.inputs[0]), r.grads[0], !upper),
                      [&](const array& g) { return upper ? m.upper(g) : m.lower(g); });
}

// For matrices of constant rank: dP = -P dA P + P Pᴴ dAᴴ (I - A P) + (I - P A) dAᴴ Pᴴ P. The
// products are ordered so that none is larger than the matrix.
Arrays pinv_jvp(const RuleArgs& r) {
  const MatrixOps m{r.stream};
  const array &a = r.inputs[0], &p = r.outputs[0], &da = r.grads[0];
  const array dh = m.h(da), ph = m.h(p);
  array second, third;
  if (a.shape(-2) >= a.shape(-1)) {
    array k = m.mm(p, ph), z = m.mm(dh, ph);
    second = m.minus(m.mm(k, dh), m.mm(m.mm(k, m.mm(dh, a)), p));
    third = m.mm(m.minus(z, m.mm(p, m.mm(a, z))), p);
  } else {
    array k = m.mm(ph, p), g = m.mm(ph, dh);
    second = m.mm(p, m.minus(g, m.mm(m.mm(g, a), p)));
    third = m.minus(m.mm(dh, k), m.mm(p, m.mm(m.mm(a, dh), k)));
  }
  return {m.plus(m.minus(second, m.mm(p, da, p)), third)};
}

Arrays expm_jvp(const RuleArgs& r) { return {frechet(r.inputs[0], r.grads[0], r.stream)}; }
Arrays expm_vjp(const RuleArgs& r) {
  const MatrixOps m{r.stream};
  return {frechet(m.h(r.inputs[0]), r.grads[0], r.stream)};
}

// --- determinants -------------------------------------------------------------------------------

Arrays det_jvp(const RuleArgs& r) {
  const MatrixOps m{r.stream};
  const array c =
      make_node(op_cofactors, r.inputs[0].shape(), r.inputs[0].dtype(), r.stream, {}, r.inputs[0]);
  return {m.sum_all(m.times(c, r.grads[0]))};
}

// C = det(A) A⁻ᵀ for regular A.
Arrays cofactors_jvp(const RuleArgs& r) {
  const MatrixOps m{r.stream};
  const array &c = r.outputs[0], &da = r.grads[0];
  const array x = m.t(linalg::inv(r.inputs[0], r.stream));
  const array d = expand_dims(m.sum_all(m.times(x, da)), {-2, -1}, r.stream);
  return {m.minus(m.times(d, c), m.mm(x, m.t(da), c))};
}

Arrays slogdet_jvp(const RuleArgs& r) {
  const MatrixOps m{r.stream};
  const array d = m.sum_all(m.times(m.t(linalg::inv(r.inputs[0], r.stream)), r.grads[0]));
  array sign;
  if (is_complex(d.dtype())) sign = m.times(r.outputs[0], m.imaginary(d));
  return {sign, m.re(d)};
}

// --- triangular factors -------------------------------------------------------------------------

Arrays cholesky_jvp(const RuleArgs& r) {
  const MatrixOps m{r.stream};
  const bool upper = attrs_as<TriangleAttrs>(r.attrs).upper;
  const array l = upper ? m.h(r.outputs[0]) : r.outputs[0];
  array y = m.left(l, m.h(m.left(l, m.hermitian(r.grads[0]), false)), false);
  array dl = m.mm(l, m.minus(m.lower(y), m.scaled(m.only_diagonal(y), 0.5)));
  return {upper ? m.h(dl) : dl};
}

// With dA R⁻¹ = dQ + Q dR R⁻¹, Qᴴ dQ is antihermitian and dR R⁻¹ is upper triangular with a real
// diagonal. A wide matrix is a square one followed by more columns, R₂ = Qᴴ A₂.
Arrays qr_jvp(const RuleArgs& r) {
  const MatrixOps m{r.stream};
  const array &q = r.outputs[0], &da = r.grads[0];
  const int64_t k = q.shape(-1), n = da.shape(-1), rows = da.shape(-2);
  const array r1 = m.block(r.outputs[1], 0, k, 0, k);
  array x = m.right(m.block(da, 0, rows, 0, k), r1, true), w = m.mm(m.h(q), x);
  array below = m.lower(w, -1), turn = m.minus(below, m.h(below));
  if (is_complex(w.dtype())) turn = m.plus(turn, m.imaginary(m.only_diagonal(w)));
  array rest = m.minus(w, turn);
  array dq = m.minus(x, m.mm(q, rest)), dr = m.mm(rest, r1);
  if (n > k) {
    const array r2 = m.block(r.outputs[1], 0, k, k, n), d2 = m.block(da, 0, rows, k, n);
    dr = m.beside(dr, m.plus(m.mm(m.h(q), d2), m.mm(m.h(dq), m.mm(q, r2))));
  }
  return {dq, dr};
}

// With W = L₁⁻¹ P dA U₁⁻¹ of the leading square part, dL₁ = L₁ · (W below the diagonal) and dU₁ =
// (W on and above it) · U₁; the remaining blocks follow from L₂ U₁ and L₁ U₂.
Arrays lu_jvp(const RuleArgs& r) {
  const MatrixOps m{r.stream};
  const array &f = r.outputs[0], &da = r.grads[0];
  const int64_t rows = f.shape(-2), n = f.shape(-1), k = std::min(rows, n);
  const array moved =
      take_along_axis(da,
                      broadcast_to(expand_dims(argsort(r.outputs[2], -1, r.stream), -1, r.stream),
                                   f.shape(), r.stream),
                      -2, r.stream);
  const array square = m.block(f, 0, k, 0, k);
  const array l1 = m.plus(m.lower(square, -1), eye(k, k, 0, f.dtype(), r.stream));
  const array u1 = m.upper(square);
  array w = m.right(m.left(l1, m.block(moved, 0, k, 0, k), false), u1, true);
  array dl = m.mm(l1, m.lower(w, -1)), du = m.mm(m.upper(w), u1), out = m.plus(dl, du);
  if (rows > k) {
    array l2 = m.block(f, k, rows, 0, k), d2 = m.block(moved, k, rows, 0, k);
    out = m.above(out, m.right(m.minus(d2, m.mm(l2, du)), u1, true));
  }
  if (n > k) {
    array u2 = m.block(f, 0, k, k, n), d2 = m.block(moved, 0, k, k, n);
    out = m.beside(out, m.left(l1, m.minus(d2, m.mm(dl, u2)), false));
  }
  return {out, array{}, array{}};
}

// --- singular values ----------------------------------------------------------------------------

// P = Uᴴ dA V. The rotations of the singular vectors within their space are antihermitian; the
// components outside their space come from dA V and dAᴴ U. Columns that complete U and V rotate
// only against the singular vectors.
Arrays svd_jvp(const RuleArgs& r) {
  const MatrixOps m{r.stream};
  const array &da = r.grads[0], &values = r.outputs[1];
  const int64_t rows = da.shape(-2), n = da.shape(-1), k = values.shape(-1);
  const array all_u = r.outputs[0], all_v = m.h(r.outputs[2]);
  const array u = m.block(all_u, 0, rows, 0, k), v = m.block(all_v, 0, n, 0, k);
  const array dav = m.mm(da, v), dau = m.mm(m.h(da), u), p = m.mm(m.h(u), dav), ph = m.h(p);
  const array one_by = m.safe_inverse(values),
              f = cast_to(m.gaps(m.times(values, values)), p.dtype(), r.stream);
  array turn_u = m.times(f, m.plus(m.by_columns(p, values), m.by_rows(ph, values)));
  array turn_v = m.times(f, m.plus(m.by_rows(p, values), m.by_columns(ph, values)));
  if (is_complex(p.dtype())) {
    array phase = m.scaled(m.by_columns(m.imaginary(m.only_diagonal(p)), one_by), 0.5);
    turn_u = m.plus(turn_u, phase);
    turn_v = m.minus(turn_v, phase);
  }
  array du = m.mm(u, turn_u), dv = m.mm(v, turn_v);
  if (rows > k) du = m.plus(du, m.by_columns(m.minus(dav, m.mm(u, p)), one_by));
  if (n > k) dv = m.plus(dv, m.by_columns(m.minus(dau, m.mm(v, ph)), one_by));
  auto completed = [&](const array& d, const array& first, const array& all) {
    const int64_t length = all.shape(-2), count = all.shape(-1);
    if (count == k) return d;
    return m.beside(d, m.neg(m.mm(first, m.mm(m.h(d), m.block(all, 0, length, k, count)))));
  };
  return {completed(du, u, all_u), m.re(m.diag_of(p)), m.h(completed(dv, v, all_v))};
}

Arrays svdvals_jvp(const RuleArgs& r) {
  const MatrixOps m{r.stream};
  const std::vector<array> usv = linalg::thin_svd(r.inputs[0], r.stream);
  const array rotated = m.mm(m.h(usv[0]), r.grads[0]);
  // The diagonal of rotated · V alone.
  return {m.re(sum(m.times(rotated, m.conj(usv[2])), -1, false, r.stream))};
}

// --- eigenvalues --------------------------------------------------------------------------------

Arrays eigh_jvp(const RuleArgs& r) {
  const MatrixOps m{r.stream};
  const array &w = r.outputs[0], &v = r.outputs[1];
  const array p = m.mm(m.h(v), m.hermitian(r.grads[0]), v);
  const array f = cast_to(m.gaps(w), p.dtype(), r.stream);
  return {m.re(m.diag_of(p)), m.mm(v, m.times(f, p))};
}
Arrays eigvalsh_jvp(const RuleArgs& r) {
  const MatrixOps m{r.stream};
  const bool upper = attrs_as<TriangleAttrs>(r.attrs).upper;
  const array v = linalg::eigh(r.inputs[0], upper ? "U" : "L", r.stream).second;
  const array rotated = m.mm(m.hermitian(r.grads[0]), v);
  return {m.re(sum(m.times(m.conj(v), rotated), -2, false, r.stream))};
}

// The vectors keep length 1 and a real largest component.
Arrays eig_jvp(const RuleArgs& r) {
  const MatrixOps m{r.stream};
  const Stream s = r.stream;
  const array &w = r.outputs[0], &v = r.outputs[1];
  const array p = linalg::solve(v, m.mm(cast_to(r.grads[0], v.dtype(), s), v), s);
  array dv = m.mm(v, m.times(m.gaps(w), p));
  const array largest = argmax(abs(v, s), -2, true, s);
  const array along = real(sum(m.times(m.conj(v), dv), -2, true, s), s);
  const array turn = m.imaginary(m.times(take_along_axis(dv, largest, -2, s),
                                         m.safe_inverse(take_along_axis(v, largest, -2, s))));
  dv = m.minus(dv, m.times(v, m.plus(cast_to(along, v.dtype(), s), turn)));
  return {m.diag_of(p), dv};
}
Arrays eigvals_jvp(const RuleArgs& r) {
  const MatrixOps m{r.stream};
  const array v = linalg::eig(r.inputs[0], r.stream).second;
  return {m.diag_of(linalg::solve(v, m.mm(cast_to(r.grads[0], v.dtype(), r.stream), v), r.stream))};
}

}  // namespace mlx::core::rules
