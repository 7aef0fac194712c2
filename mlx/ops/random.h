// Counter-based random numbers: every array is a function of a key of two uint32 words. By default
// the next key of the calling thread's key sequence is used.
#pragma once

#include <optional>
#include <utility>

#include "mlx/core/api.h"
#include "mlx/ops/rules.h"

namespace mlx::core {

struct RandomBitsAttrs {
  Shape shape;
  int width;
  template <class F>
  void each(F&& f) {
    f("shape", shape);
    f("width", width);
  }
};

/// Random words for each key of an array of keys of shape (.., 2).
extern const OpDef op_random_bits;

namespace rules {
Arrays random_bits_vjp(const RuleArgs&);
Arrays random_bits_jvp(const RuleArgs&);
Batched random_bits_vmap(const Arrays&, const std::vector<int>&, const Attrs*, Stream);
}  // namespace rules

namespace random {

using OptionalKey = std::optional<array>;

/// A key from a number: its upper and its lower 32 bits.
MLX_API array key(uint64_t seed);

/// A sequence of keys: each step splits the state into the next state and a key.
class MLX_API KeySequence {
 public:
  explicit KeySequence(uint64_t seed);
  KeySequence(const KeySequence&) = delete;
  void seed(uint64_t seed);
  /// A fresh key.
  array next();
  /// The state: the key that the next split starts from. May be replaced.
  array& state() { return *place_; }
  /// Stores the state in `place`, which is initialised with the current state. Null: in this
  /// object.
  void keep_state_in(array* place);
  /// The calling thread's sequence; initially seeded from the clock.
  static KeySequence& current();

 private:
  array own_;
  array* place_ = &own_;
};

/// Restarts the calling thread's sequence.
MLX_API void seed(uint64_t seed);

/// Random bits as unsigned integers of `width` (1, 2 or 4) bytes.
MLX_API array bits(const Shape& shape, int width, const OptionalKey& key = {},
                   StreamOrDevice s = {});
inline array bits(const Shape& shape, const OptionalKey& key = {}, StreamOrDevice s = {}) {
  return bits(shape, 4, key, s);
}

/// Two independent keys.
MLX_API std::pair<array, array> split(const array& key, StreamOrDevice s = {});
/// `num` independent keys, as rows.
MLX_API array split(const array& key, int num, StreamOrDevice s = {});

/// Uniform numbers in [low, high), of a real floating dtype; the bounds broadcast to the shape.
MLX_API array uniform(const array& low, const array& high, const Shape& shape,
                      Dtype dtype = float32, const OptionalKey& key = {}, StreamOrDevice s = {});
template <class T, class U>
array uniform(T low, U high, const Shape& shape, Dtype dtype = float32, const OptionalKey& key = {},
              StreamOrDevice s = {}) {
  return uniform(array(low), array(high), shape, dtype, key, s);
}
/// Uniform numbers in [0, 1).
MLX_API array uniform(const Shape& shape, Dtype dtype, const OptionalKey& key = {},
                      StreamOrDevice s = {});
MLX_API array uniform(const Shape& shape, const OptionalKey& key = {}, StreamOrDevice s = {});

/// Normal numbers with mean `loc` and standard deviation `scale`; complex numbers have independent
/// parts of variance 1/2 before scaling.
MLX_API array normal(const Shape& shape, Dtype dtype, const std::optional<array>& loc,
                     const std::optional<array>& scale, const OptionalKey& key = {},
                     StreamOrDevice s = {});
MLX_API array normal(const Shape& shape, Dtype dtype, const float loc, const float scale,
                     const OptionalKey& key = {}, StreamOrDevice s = {});
inline array normal(const Shape& shape, const float loc, const float scale,
                    const OptionalKey& key = {}, StreamOrDevice s = {}) {
  return normal(shape, float32, loc, scale, key, s);
}
inline array normal(const Shape& shape, const Dtype dtype, const OptionalKey& key = {},
                    StreamOrDevice s = {}) {
  return normal(shape, dtype, std::nullopt, std::nullopt, key, s);
}
inline array normal(const Shape& shape, const OptionalKey& key = {}, StreamOrDevice s = {}) {
  return normal(shape, float32, std::nullopt, std::nullopt, key, s);
}

/// Vectors with means `mean` (.., N) and covariances `cov` (.., N, N), which broadcast with
/// `shape`; float32 or float64.
MLX_API array multivariate_normal(const array& mean, const array& cov, const Shape& shape,
                                  Dtype dtype = float32, const OptionalKey& key = {},
                                  StreamOrDevice s = {});

/// Integers in [low, high), which broadcast to the shape; bool or any integer dtype.
MLX_API array randint(const array& low, const array& high, const Shape& shape, Dtype dtype = int32,
                      const OptionalKey& key = {}, StreamOrDevice s = {});
template <class T, class U>
array randint(T low, U high, const Shape& shape, Dtype dtype = int32, const OptionalKey& key = {},
              StreamOrDevice s = {}) {
  return randint(array(low), array(high), shape, dtype, key, s);
}

/// True with probability `p`, which broadcasts to the shape (default: the shape of `p`).
MLX_API array bernoulli(const array& p, const Shape& shape, const OptionalKey& key = {},
                        StreamOrDevice s = {});
MLX_API array bernoulli(const array& p, const OptionalKey& key = {}, StreamOrDevice s = {});
template <class T>
  requires std::is_floating_point_v<T>
array bernoulli(T p, const OptionalKey& key = {}, StreamOrDevice s = {}) {
  return bernoulli(array(p), key, s);
}
template <class T>
  requires std::is_floating_point_v<T>
array bernoulli(T p, const Shape& shape, const OptionalKey& key = {}, StreamOrDevice s = {}) {
  return bernoulli(array(p), shape, key, s);
}
MLX_API array bernoulli(const OptionalKey& key = {}, StreamOrDevice s = {});

/// Standard normal numbers conditioned on lying in [lower, upper].
MLX_API array truncated_normal(const array& lower, const array& upper, const Shape& shape,
                               Dtype dtype = float32, const OptionalKey& key = {},
                               StreamOrDevice s = {});
MLX_API array truncated_normal(const array& lower, const array& upper, Dtype dtype = float32,
                               const OptionalKey& key = {}, StreamOrDevice s = {});

/// Numbers with the distribution function exp(-exp(-x)).
MLX_API array gumbel(const Shape& shape, Dtype dtype = float32, const OptionalKey& key = {},
                     StreamOrDevice s = {});

/// Indices along `axis` drawn with probabilities softmax(logits), as uint32. `shape` broadcasts
/// with the logits' other axes.
MLX_API array categorical(const array& logits, int axis, const Shape& shape,
                          const OptionalKey& key = {}, StreamOrDevice s = {});
/// `num_samples` draws for each distribution, along a new last axis.
MLX_API array categorical(const array& logits, int axis, int num_samples,
                          const OptionalKey& key = {}, StreamOrDevice s = {});
/// One draw for each distribution.
MLX_API array categorical(const array& logits, int axis = -1, const OptionalKey& key = {},
                          StreamOrDevice s = {});

/// Numbers with the density exp(-|x - loc| / scale) / (2 scale).
MLX_API array laplace(const Shape& shape, Dtype dtype, const double loc, const double scale,
                      const OptionalKey& key = {}, StreamOrDevice s = {});
inline array laplace(const Shape& shape, const double loc, const double scale,
                     const OptionalKey& key = {}, StreamOrDevice s = {}) {
  return laplace(shape, float32, loc, scale, key, s);
}
inline array laplace(const Shape& shape, const Dtype dtype, const OptionalKey& key = {},
                     StreamOrDevice s = {}) {
  return laplace(shape, dtype, 0.0f, 1.0f, key, s);
}
inline array laplace(const Shape& shape, const OptionalKey& key = {}, StreamOrDevice s = {}) {
  return laplace(shape, float32, 0.0f, 1.0f, key, s);
}

/// The slices of `x` along `axis` in random order.
MLX_API array permutation(const array& x, int axis = 0, const OptionalKey& key = {},
                          StreamOrDevice s = {});
/// 0 .. x - 1 in random order, as uint32.
MLX_API array permutation(int64_t x, const OptionalKey& key = {}, StreamOrDevice s = {});

}  // namespace random
}  // namespace mlx::core
