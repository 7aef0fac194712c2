// Keys, random bits, and distributions as functions of uniform numbers.
//
// A uniform float32 is a 32-bit word times 2^-32, limited to below 1; all distributions use these
// words, so that results equal those of the published package for the same key.
#include "mlx/ops/random.h"

#include <chrono>
#include <cmath>

#include "mlx/core/error.h"
#include "mlx/ops.h"
#include "mlx/ops/linalg.h"

namespace mlx::core {

namespace {
Arrays build_random_bits(const Arrays& in, const Attrs* attrs, Stream s) {
  const auto& r = attrs_as<RandomBitsAttrs>(attrs);
  Shape shape(in[0].shape().begin(), in[0].shape().end() - 1);
  shape.insert(shape.end(), r.shape.begin(), r.shape.end());
  Dtype dtype = r.width == 1 ? uint8 : r.width == 2 ? uint16 : uint32;
  return {make_node(op_random_bits, std::move(shape), dtype, s, make_attrs(r), in[0])};
}

/// 32-bit words only: narrower numbers share a word.
bool generate_bits(const Node& n, Generator& how) {
  const auto& r = attrs_as<RandomBitsAttrs>(n.attrs.get());
  how = {.kind = Generator::random_bits, .axes = r.shape.size()};
  return r.width == 4;
}
}  // namespace

constinit const OpDef op_random_bits{.name = "random_bits",
                                     .kind = OpKind::kernel,
                                     .build = build_random_bits,
                                     .generator = generate_bits,
                                     .vjp = rules::random_bits_vjp,
                                     .jvp = rules::random_bits_jvp,
                                     .vmap = rules::random_bits_vmap};

namespace rules {
Arrays random_bits_vjp(const RuleArgs&) { return {array{}}; }
Arrays random_bits_jvp(const RuleArgs&) { return {array{}}; }
Batched random_bits_vmap(const Arrays& in, const std::vector<int>& mapped, const Attrs* attrs,
                         Stream s) {
  return {build_random_bits({to_front(in[0], mapped[0], s)}, attrs, s), {0}};
}
}  // namespace rules

namespace random {
namespace {

constexpr double kSqrt2 = 1.4142135623730951;

void require_real(Dtype dtype, const char* op) {
  if (!is_floating(dtype))
    fail(op, "dtype ", dtype_name(dtype), "; real floating dtypes are accepted");
}

void require_fits(const Shape& inner, const Shape& shape, const char* op, const char* what) {
  if (inner.size() > shape.size() || broadcast_shapes(inner, shape, op) != shape)
    fail(op, what, " of shape ", to_string(inner), " for the shape ", to_string(shape),
         "; it must broadcast to it");
}

/// The largest number below 1.
double below_one(Dtype dtype) {
  return dtype == float64   ? 1 - 0x1p-53
         : dtype == float32 ? 1 - 0x1p-24
         : dtype == float16 ? 1 - 0x1p-11
                            : 1 - 0x1p-8;
}

/// The dtype that a distribution is computed in; 16-bit floats would lose the tails.
Dtype drawn_dtype(Dtype dtype) { return dtype == float64 ? float64 : float32; }

/// Uniform in [0, 1). float64 takes 53 bits from two words.
array unit(const Shape& shape, Dtype dtype, const OptionalKey& key, Stream s) {
  if (dtype == float64) {
    Shape pairs = shape;
    pairs.push_back(2);
    array words = astype(bits(pairs, 4, key, s), uint64, s);
    array high = take(words, 0, -1, s), low = take(words, 1, -1, s);
    array all = bitwise_or(left_shift(high, array(uint64_t{21}), s),
                           right_shift(low, array(uint64_t{11}), s), s);
    return multiply(astype(all, float64, s), array(0x1p-53, float64), s);
  }
  array u = multiply(astype(bits(shape, 4, key, s), float32, s), array(0x1p-32f), s);
  if (dtype != float32) u = astype(u, dtype, s);
  return minimum(u, constant(below_one(dtype), dtype), s);
}

/// Uniform in (-1, 1), float32 or float64.
array symmetric(const Shape& shape, Dtype dtype, const OptionalKey& key, Stream s) {
  array low = array(-below_one(float32), float32);
  return astype(uniform(low, array(1.0f), shape, float32, key, s), dtype, s);
}

bool is_value(const array& a, double value) {
  return is_constant(a) && a.ndim() == 0 && !is_complex(a.dtype()) &&
         a.node()->scalar().to_double(a.dtype()) == value;
}

array standard_normal(const Shape& shape, Dtype dtype, const OptionalKey& key, Stream s) {
  Dtype type = drawn_dtype(dtype);
  array u = symmetric(shape, type, key, s);
  return astype(multiply(erfinv(u, s), constant(kSqrt2, type), s), dtype, s);
}

array complex_normal(const Shape& shape, Dtype dtype, const OptionalKey& key, Stream s) {
  Shape parts = shape;
  parts.push_back(2);
  Dtype type = real_dtype(dtype);
  array z = multiply(standard_normal(parts, type, key, s), constant(1 / kSqrt2, type), s);
  return squeeze(view(z, dtype, s), -1, s);
}

uint64_t clock_seed() {
  using namespace std::chrono;
  auto now = system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(duration_cast<microseconds>(now).count());
}

}  // namespace

array key(uint64_t seed) {
  uint32_t words[] = {static_cast<uint32_t>(seed >> 32), static_cast<uint32_t>(seed)};
  return array::copy_of(words, {2}, uint32);
}

KeySequence::KeySequence(uint64_t seed) : own_(key(seed)) {}

void KeySequence::seed(uint64_t seed) { state() = key(seed); }

array KeySequence::next() {
  auto [next, fresh] = random::split(state());
  state() = next;
  return fresh;
}

void KeySequence::keep_state_in(array* place) {
  if (!place) place = &own_;
  if (place == place_) return;
  *place = state();
  place_ = place;
}

KeySequence& KeySequence::current() {
  thread_local KeySequence sequence(clock_seed());
  return sequence;
}

void seed(uint64_t seed) { KeySequence::current().seed(seed); }

array bits(const Shape& shape, int width, const OptionalKey& key, StreamOrDevice s) {
  if (width != 1 && width != 2 && width != 4)
    fail("bits", "a width of ", width, " bytes; 1, 2 and 4 are accepted");
  for (int64_t d : shape)
    if (d < 0) fail("bits", "shape ", to_string(shape), "; lengths from 0 on are accepted");
  array k = key ? *key : KeySequence::current().next();
  if (k.dtype() != uint32) fail("bits", "a key of ", dtype_name(k.dtype()), "; uint32 is accepted");
  if (k.shape() != Shape{2})
    fail("bits", "a key of shape ", to_string(k.shape()), "; (2,) is accepted");
  RandomBitsAttrs attrs{shape, width};
  return build_random_bits({k}, make_attrs(attrs).get(), to_stream(s))[0];
}

std::pair<array, array> split(const array& key, StreamOrDevice s) {
  array both = random::split(key, 2, s);
  return {take(both, 0, 0, s), take(both, 1, 0, s)};
}

array split(const array& key, int num, StreamOrDevice s) {
  if (num < 0) fail("split", num, " keys; a number from 0 on is accepted");
  return bits({num, 2}, 4, key, s);
}

array uniform(const array& low, const array& high, const Shape& shape, Dtype dtype,
              const OptionalKey& key, StreamOrDevice s) {
  Stream stream = to_stream(s);
  require_real(dtype, "uniform");
  require_fits(broadcast_shapes(low.shape(), high.shape(), "uniform"), shape, "uniform", "limits");
  array u = unit(shape, dtype, key, stream);
  if (is_value(low, 0) && is_value(high, 1)) return u;
  array from = astype(low, dtype, stream);
  return add(multiply(u, subtract(astype(high, dtype, stream), from, stream), stream), from,
             stream);
}

array uniform(const Shape& shape, Dtype dtype, const OptionalKey& key, StreamOrDevice s) {
  return uniform(array(0.0f), array(1.0f), shape, dtype, key, s);
}
array uniform(const Shape& shape, const OptionalKey& key, StreamOrDevice s) {
  return uniform(shape, float32, key, s);
}

array normal(const Shape& shape, Dtype dtype, const std::optional<array>& loc,
             const std::optional<array>& scale, const OptionalKey& key, StreamOrDevice s) {
  Stream stream = to_stream(s);
  if (!is_inexact(dtype))
    fail("normal", "dtype ", dtype_name(dtype), "; floating and complex dtypes are accepted");
  if (loc) require_fits(loc->shape(), shape, "normal", "loc");
  if (scale) require_fits(scale->shape(), shape, "normal", "scale");
  array z = is_complex(dtype) ? complex_normal(shape, dtype, key, stream)
                              : standard_normal(shape, dtype, key, stream);
  if (scale && !is_value(*scale, 1)) z = multiply(z, astype(*scale, dtype, stream), stream);
  if (loc && !is_value(*loc, 0)) z = add(z, astype(*loc, dtype, stream), stream);
  return z;
}

array normal(const Shape& shape, Dtype dtype, const float loc, const float scale,
             const OptionalKey& key, StreamOrDevice s) {
  return normal(shape, dtype, array(loc), array(scale), key, s);
}

namespace {

/// Integers of up to 25 bits are exact in float32, and a uniform float32 has 24 random bits.
constexpr int64_t kFloatRange = int64_t{1} << 24;
__extension__ typedef __int128 Int128;

/// The value of a bound that is known when the graph is built.
std::optional<Int128> known_bound(const array& a) {
  if (!is_constant(a) || is_complex(a.dtype())) return {};
  if (a.dtype() == uint64) return a.node()->scalar().as<uint64_t>();
  if (!is_floating(a.dtype()))
    return Scalar::convert(a.node()->scalar(), a.dtype(), int64).as<int64_t>();
  const double value = a.node()->scalar().to_double(a.dtype());
  if (!(std::abs(value) <= 0x1p64))
    fail("randint", "a bound of ", value, "; bounds from -2^63 to 2^64 are accepted");
  return static_cast<Int128>(value);
}

void check_bounds(Int128 low, Int128 high, Dtype dtype) {
  auto text = [](Int128 v) {
    return v < 0 ? std::to_string(static_cast<int64_t>(v)) : std::to_string(uint64_t(v));
  };
  if (dtype == bool_) return;
  const int bits = 8 * dtype.size() - (is_unsigned(dtype) ? 0 : 1);
  const Int128 end = Int128{1} << bits, smallest = is_unsigned(dtype) ? 0 : -end;
  if (low < smallest || high > end)
    fail("randint", "the bounds ", text(low), " and ", text(high), " for ", dtype_name(dtype),
         "; bounds of integers that the dtype holds are accepted");
}

/// True if uniform floats can generate the integers between two bounds.
bool fits_float(Int128 low, Int128 high) {
  return low >= -kFloatRange && high <= kFloatRange && high - low <= kFloatRange;
}

/// True if every value of a bound is small.
bool is_small(const array& a, const std::optional<Int128>& known) {
  if (known) return *known >= -65536 && *known <= 65536;
  return !is_inexact(a.dtype()) && a.dtype().size() <= 2;
}

/// The upper 64 bits of the product of two uint64.
array product_above(const array& a, const array& b, Stream s) {
  const array half = array(uint64_t{32}), mask = array(uint64_t{0xffffffff});
  auto low = [&](const array& x) { return bitwise_and(x, mask, s); };
  auto high = [&](const array& x) { return right_shift(x, half, s); };
  const array cross = multiply(high(a), low(b), s);
  const array middle =
      add(add(high(multiply(low(a), low(b), s)), low(cross), s), multiply(low(a), high(b), s), s);
  return add(add(multiply(high(a), high(b), s), high(cross), s), high(middle), s);
}

/// A bound as 64 bits; integers of either sign wrap.
array bound_bits(const array& a, const std::optional<Int128>& known, Stream s) {
  if (known) return array(static_cast<uint64_t>(*known));
  return astype(is_unsigned(a.dtype()) ? a : astype(a, int64, s), uint64, s);
}

/// True where the first of two bounds is below the second.
array is_below(const array& a, const array& a_bits, const array& b, const array& b_bits, Stream s) {
  auto negative = [&](const array& x) { return less(x, constant(0.0, x.dtype()), s); };
  const array sign = negative(a);
  return where(not_equal(sign, negative(b), s), sign, less(a_bits, b_bits, s), s);
}

/// Integers from uniform floats, as the published package makes them.
array randint_of_float(const array& low, const array& high, const Shape& shape, Dtype dtype,
                       const array& key, Stream s) {
  array u = uniform(low, high, shape, float32, key, s);
  array smallest = astype(low, dtype, s);
  array largest = dtype == bool_ ? not_equal(high, array(1), s)
                                 : subtract(astype(high, dtype, s), constant(1.0, dtype), s);
  // Rounding may reach `high`.
  return maximum(minimum(astype(floor(u, s), dtype, s), largest, s), smallest, s);
}

}  // namespace

array randint(const array& low, const array& high, const Shape& shape, Dtype dtype,
              const OptionalKey& key, StreamOrDevice s) {
  Stream st = to_stream(s);
  if (is_inexact(dtype))
    fail("randint", "dtype ", dtype_name(dtype), "; integer dtypes and bool are accepted");
  require_fits(broadcast_shapes(low.shape(), high.shape(), "randint"), shape, "randint", "bounds");
  const auto from = known_bound(low), to = known_bound(high);
  if (from && to) check_bounds(*from, *to, dtype);
  const array k = key ? *key : KeySequence::current().next();
  if (dtype == bool_ || (is_small(low, from) && is_small(high, to)) ||
      (from && to && fits_float(*from, *to)))
    return randint_of_float(low, high, shape, dtype, k, st);

  // The word times the length of the range, divided by 2^64. The length 2^64 wraps to zero.
  Shape pairs = shape;
  pairs.push_back(2);
  const array word = squeeze(view(bits(pairs, 4, k, st), uint64, st), -1, st);
  const array first = bound_bits(low, from, st), end = bound_bits(high, to, st);
  const array length = subtract(end, first, st), zero = array(uint64_t{0});
  const array above = where(equal(length, zero, st), word, product_above(word, length, st), st);
  const array wide = astype(add(first, above, st), dtype, st);
  if (from && to) return *from >= *to ? broadcast_to(astype(first, dtype, st), shape, st) : wide;

  const array reach = array(static_cast<uint64_t>(kFloatRange));
  // Within -2^24 to 2^24; unsigned bounds are never negative.
  auto within = [&](const array& a, const array& bits) {
    return is_unsigned(a.dtype()) ? less_equal(bits, reach, st)
                                  : less_equal(add(bits, reach, st), add(reach, reach, st), st);
  };
  const array fits = logical_and(logical_and(within(low, first), within(high, end), st),
                                 less_equal(length, reach, st), st);
  const array some = is_below(low, first, high, end, st);
  return where(fits, randint_of_float(low, high, shape, dtype, k, st),
               where(some, wide, astype(first, dtype, st), st), st);
}

array bernoulli(const array& p, const Shape& shape, const OptionalKey& key, StreamOrDevice s) {
  Stream stream = to_stream(s);
  if (!is_floating(p.dtype()))
    fail("bernoulli", "probabilities of ", dtype_name(p.dtype()),
         "; real floating dtypes are accepted");
  require_fits(p.shape(), shape, "bernoulli", "probabilities");
  // Slightly above 2^32, so that a probability of one is always true.
  constexpr float kWords = 0x1.000002p32f;
  array probability = astype(p, float32, stream);
  array threshold = is_constant(probability) && probability.ndim() == 0
                        ? array(probability.node()->scalar().as<float>() * kWords)
                        : multiply(probability, array(kWords), stream);
  return less(astype(bits(shape, 4, key, stream), float32, stream), threshold, stream);
}

array bernoulli(const array& p, const OptionalKey& key, StreamOrDevice s) {
  return bernoulli(p, p.shape(), key, s);
}
array bernoulli(const OptionalKey& key, StreamOrDevice s) { return bernoulli(array(0.5f), key, s); }

array multivariate_normal(const array& mean, const array& cov, const Shape& shape, Dtype dtype,
                          const OptionalKey& key, StreamOrDevice s) {
  const char* op = "multivariate_normal";
  const Stream st = to_stream(s);
  if (dtype != float32 && dtype != float64)
    fail(op, "dtype ", dtype_name(dtype), "; float32 and float64 are accepted");
  if (mean.ndim() < 1 || cov.ndim() < 2 || cov.shape(-1) != cov.shape(-2) ||
      cov.shape(-1) != mean.shape(-1))
    fail(op, "a mean of shape ", to_string(mean.shape()), " and a covariance of shape ",
         to_string(cov.shape()), "; shapes (.., N) and (.., N, N) are accepted");
  Shape full = broadcast_shapes(Shape(mean.shape().begin(), mean.shape().end() - 1),
                                Shape(cov.shape().begin(), cov.shape().end() - 2), op);
  full = broadcast_shapes(full, shape, op);
  full.push_back(mean.shape(-1));
  // The symmetric square root of the covariance, which does not depend on the signs of the vectors.
  std::vector<array> usv = linalg::svd(cast_to(cov, dtype, st), true, st);
  array root = matmul(multiply(usv[0], expand_dims(sqrt(usv[1], st), -2, st), st), usv[2], st);
  array z = normal(full, dtype, key, st);
  z = cov.ndim() == 2 ? matmul(z, root, st)
                      : squeeze(matmul(expand_dims(z, -2, st), root, st), -2, st);
  return add(z, mean, st);
}

array truncated_normal(const array& lower, const array& upper, const Shape& shape, Dtype dtype,
                       const OptionalKey& key, StreamOrDevice s) {
  Stream stream = to_stream(s);
  require_real(dtype, "truncated_normal");
  Dtype type = drawn_dtype(dtype);
  array root = constant(kSqrt2, type);
  array low = astype(lower, type, stream), high = astype(upper, type, stream);
  array from = erf(divide(low, root, stream), stream), to = erf(divide(high, root, stream), stream);
  require_fits(broadcast_shapes(low.shape(), high.shape(), "truncated_normal"), shape,
               "truncated_normal", "limits");
  array z = multiply(erfinv(uniform(from, to, shape, type, key, stream), stream), root, stream);
  return astype(maximum(minimum(z, high, stream), low, stream), dtype, stream);
}

array truncated_normal(const array& lower, const array& upper, Dtype dtype, const OptionalKey& key,
                       StreamOrDevice s) {
  Shape shape = broadcast_shapes(lower.shape(), upper.shape(), "truncated_normal");
  return truncated_normal(lower, upper, shape, dtype, key, s);
}

array gumbel(const Shape& shape, Dtype dtype, const OptionalKey& key, StreamOrDevice s) {
  Stream stream = to_stream(s);
  require_real(dtype, "gumbel");
  array u = unit(shape, drawn_dtype(dtype), key, stream);
  array g = negative(log(negative(log(u, stream), stream), stream), stream);
  return astype(g, dtype, stream);
}

namespace {

array draw(const array& logits, const Shape& noise, int axis, const OptionalKey& key, Stream s) {
  Dtype type = is_floating(logits.dtype()) ? drawn_dtype(logits.dtype()) : float32;
  return argmax(add(astype(logits, type, s), gumbel(noise, type, key, s), s), axis, false, s);
}

/// True if all logits belong to one distribution. The published package then uses one random number
/// per draw instead of one per logit; equal keys must give equal draws.
bool is_one(const array& logits, int axis) {
  return logits.size() > 0 && static_cast<int64_t>(logits.size()) == logits.shape(axis);
}

/// Draws from one distribution by inverting its cumulative distribution: one uniform number per
/// draw.
array invert(const array& logits, const Shape& shape, const OptionalKey& key, Stream s) {
  Dtype type = is_floating(logits.dtype()) ? drawn_dtype(logits.dtype()) : float32;
  array x = flatten(astype(logits, type, s), s);
  // Infinite logits share the probability equally; if all are minus infinity, they are equally
  // likely.
  array maximum_logit = max(x, s);
  array weights = exp(
      where(equal(x, maximum_logit, s), constant(0.0, type), subtract(x, maximum_logit, s), s), s);
  array bounds = cumsum(weights, 0, false, true, s);
  array whole = max(bounds, s);
  // Above zero, so that leading entries of probability zero are skipped.
  array at = maximum(multiply(uniform(shape, float32, key, s), whole, s), constant(1e-30, type), s);
  return searchsorted(bounds, at, "left", s);
}

}  // namespace

array categorical(const array& logits, int axis, const Shape& shape, const OptionalKey& key,
                  StreamOrDevice s) {
  int from_end =
      normalize_axis(axis, logits.ndim(), "categorical") - static_cast<int>(logits.ndim());
  Shape rest = logits.shape();
  rest.erase(rest.end() + from_end);
  require_fits(rest, shape, "categorical", "distributions");
  if (is_one(logits, from_end) && !shape.empty()) return invert(logits, shape, key, to_stream(s));
  Shape noise = shape;
  noise.insert(noise.end() + from_end + 1, logits.shape(axis));
  return draw(logits, noise, from_end, key, to_stream(s));
}

array categorical(const array& logits, int axis, int num_samples, const OptionalKey& key,
                  StreamOrDevice s) {
  axis = normalize_axis(axis, logits.ndim(), "categorical");
  Shape noise = logits.shape();
  if (is_one(logits, axis)) {
    noise.erase(noise.begin() + axis);
    noise.push_back(num_samples);
    return invert(logits, noise, key, to_stream(s));
  }
  noise.push_back(num_samples);
  return draw(expand_dims(logits, -1, s), noise, axis, key, to_stream(s));
}

array categorical(const array& logits, int axis, const OptionalKey& key, StreamOrDevice s) {
  axis = normalize_axis(axis, logits.ndim(), "categorical");
  if (is_one(logits, axis) && logits.ndim() > 1)
    return invert(logits, Shape(logits.ndim() - 1, 1), key, to_stream(s));
  return draw(logits, logits.shape(), axis, key, to_stream(s));
}

array laplace(const Shape& shape, Dtype dtype, const double loc, const double scale,
              const OptionalKey& key, StreamOrDevice s) {
  Stream stream = to_stream(s);
  require_real(dtype, "laplace");
  Dtype type = drawn_dtype(dtype);
  array u = symmetric(shape, type, key, stream);
  array magnitude = log1p(negative(abs(u, stream), stream), stream);
  array x = multiply(sign(u, stream), magnitude, stream);
  if (scale != 1) x = multiply(x, constant(scale, type), stream);
  if (loc != 0) x = add(x, constant(loc, type), stream);
  return astype(x, dtype, stream);
}

array permutation(const array& x, int axis, const OptionalKey& key, StreamOrDevice s) {
  axis = normalize_axis(axis, x.ndim(), "permutation");
  return take(x, permutation(x.shape(axis), key, s), axis, s);
}

array permutation(int64_t x, const OptionalKey& key, StreamOrDevice s) {
  if (x < 0) fail("permutation", "a length of ", x, "; lengths from 0 on are accepted");
  return argsort(bits({x}, 4, key, s), 0, s);
}

}  // namespace random
}  // namespace mlx::core
