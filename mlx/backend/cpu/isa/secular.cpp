// A root is bracketed by two poles and approached by the function with these poles that has the
// value and the derivatives of both parts of the sum. It is counted from the nearer pole, so that
// its distances from both have all digits.
#include "mlx/backend/cpu/isa/secular.h"

#include "mlx/backend/cpu/simd/shuffle.h"
#include "mlx/backend/cpu/simd/vec.h"

namespace mlx::core::cpu::MLX_ISA {
namespace {

template <class T>
struct Secular {
  using V = Vec<T>;
  static constexpr int N = V::N;
  static constexpr T kUnit = sizeof(T) == 4 ? T(0x1p-24f) : T(0x1p-53);

  struct Part {
    T value, derivative;
  };

  template <int D = N / 2>
  static MLX_FN V over_lanes(V x) {
    x = x + V(shuffle_lanes<N>(x.v, x.v, [](int l) { return l ^ D; }));
    if constexpr (D > 1) return over_lanes<D / 2>(x);
    return x;
  }
  /// Distances, and the part of the sum, of the poles [begin, end).
  static MLX_FN Part evaluate(int64_t begin, int64_t end, const T* d, const T* z, T origin, T mu,
                              T* distances) {
    V value = V(T(0)), derivative = V(T(0));
    for (int64_t i = begin; i < end; i += N) {
      const int64_t left = end - i;
      const V pole = left >= N ? V::load(d + i) : V::load_partial(d + i, left);
      const V weight = left >= N ? V::load(z + i) : V::load_partial(z + i, left);
      V distance = pole - V(origin) - V(mu);
      if (left >= N) {
        distance.store(distances + i);
      } else {
        distance.store_partial(distances + i, left);
        distance = v_select(V::first_lanes(left), distance, V(T(1)));
      }
      const V quotient = weight / distance;
      value = v_fma(weight, quotient, value);
      derivative = v_fma(quotient, quotient, derivative);
    }
    return {over_lanes(value).v[0], over_lanes(derivative).v[0]};
  }

  static MLX_FN T magnitude(T x) { return x < T(0) ? -x : x; }

  /// The step to a root of the approximation with poles at distances `first` and `second`.
  static MLX_FN T step(T f, Part left, Part right, T first, T second, bool last) {
    const T slope = left.derivative + right.derivative;
    const T a = (first + second) * f - first * second * slope, b = first * second * f;
    T c = f - first * left.derivative - second * right.derivative;
    if (last && c < T(0)) c = -c;
    const T square = a * a - T(4) * b * c;
    const T root = v_sqrt(V(square > T(0) ? square : T(0))).v[0];
    T eta;
    if (last)
      eta = a >= T(0) ? (a + root) / (T(2) * c) : T(2) * b / (a - root);
    else
      eta = a <= T(0) ? (a - root) / (T(2) * c) : T(2) * b / (a + root);
    return f * eta < T(0) ? eta : -f / slope;
  }

  static T root(int64_t n, int64_t j, const T* d, const T* z, T rho, T* distances) {
    T squares = T(0);
    if (n == 1) {
      distances[0] = -rho * z[0] * z[0];
      return d[0] - distances[0];
    }
    const bool last = j == n - 1;
    const int64_t split = last ? n - 1 : j + 1;  // the second pole
    T low = T(0), high, mu, origin = d[j];
    if (last) {
      for (int64_t i = 0; i < n; ++i) squares += z[i] * z[i];
      high = rho * squares * (T(1) + T(8) * kUnit);
    } else {
      high = d[j + 1] - d[j];
    }
    mu = high / T(2);
    bool first_time = true;
    for (int turns = 150;; --turns) {
      const Part left = evaluate(0, split, d, z, origin, mu, distances);
      const Part right = evaluate(split, n, d, z, origin, mu, distances);
      const T f = T(1) / rho + left.value + right.value;
      const T terms = magnitude(left.value) + magnitude(right.value);
      const T moved = magnitude(mu) * (left.derivative + right.derivative);
      const T bound = kUnit * (T(1) / rho + T(8) * terms + moved);  // of roundings
      if (!(magnitude(f) > bound) || turns == 0) break;
      const T near = distances[split - 1], far = distances[split];
      if (first_time && !last && f < T(0)) {
        // The root is in the right half: it is counted from the right pole.
        origin = d[j + 1];
        low = -high / T(2);
        high = T(0);
        mu = low;
      }
      first_time = false;
      if (f < T(0))
        low = mu;
      else
        high = mu;
      T next = mu + step(f, left, right, near, far, last);
      if (!(next > low && next < high)) next = (low + high) / T(2);
      if (!(next > low && next < high)) break;  // neighbours
      mu = next;
    }
    return origin + mu;
  }

  static void weights(int64_t n, int64_t begin, int64_t end, const T* d, const T* distances,
                      T* to) {
    for (int64_t i = begin; i < end; i += N) {
      const int64_t left = end - i;
      const auto load = [&](const T* p) MLX_INLINED {
        return left >= N ? V::load(p) : V::load_partial(p, left);
      };
      const V pole = load(d + i);
      V product = V(T(1));
      for (int64_t j = 0; j < n; ++j) {
        const V difference = pole - V(d[j]);
        product = product * (load(distances + j * n + i) /
                             v_select(difference == V(T(0)), V(T(1)), difference));
      }
      if (left >= N)
        product.store(to + i);
      else
        product.store_partial(to + i, left);
    }
  }

  static void vector(int64_t n, const T* z, const T* distances, T* to) {
    V squares = V(T(0));
    const auto each = [&](auto f) MLX_INLINED {
      for (int64_t i = 0; i < n; i += N) f(i, n - i);
    };
    each([&](int64_t i, int64_t left) MLX_INLINED {
      V x;
      if (left >= N) {
        x = V::load(z + i) / V::load(distances + i);
        x.store(to + i);
      } else {
        const V distance =
            v_select(V::first_lanes(left), V::load_partial(distances + i, left), V(T(1)));
        x = V::load_partial(z + i, left) / distance;
        x.store_partial(to + i, left);
      }
      squares = v_fma(x, x, squares);
    });
    const V inverse = V(T(1)) / v_sqrt(over_lanes(squares));
    each([&](int64_t i, int64_t left) MLX_INLINED {
      if (left >= N)
        (V::load(to + i) * inverse).store(to + i);
      else
        (V::load_partial(to + i, left) * inverse).store_partial(to + i, left);
    });
  }
};

}  // namespace

SecularKernels<float> secular_of_floats() {
  return {&Secular<float>::root, &Secular<float>::weights, &Secular<float>::vector};
}
SecularKernels<double> secular_of_doubles() {
  return {&Secular<double>::root, &Secular<double>::weights, &Secular<double>::vector};
}

}  // namespace mlx::core::cpu::MLX_ISA
