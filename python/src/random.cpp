// Random numbers: the submodule mlx.core.random.
#include "mlx/random.h"

#include "convert.h"
#include "lock.h"
#include "module.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;
namespace rnd = mlx::core::random;
#define STREAM "stream: StreamOrDevice = None) -> array"
#define KEY "key: array | None = None, " STREAM
using Key = std::optional<array>;

/// The key of the calling thread's generator as the single item of a sequence, so that `compile`
/// can capture it.
struct RandomState {};

/// The Python array that holds a thread's key, created on the first request. Writing to it sets the
/// key of the generator.
struct KeyObject {
  PyObject* object = nullptr;
  PyObject* get() {
    if (!object) {
      object = wrap(rnd::KeySequence::current().state());
      rnd::KeySequence::current().keep_state_in(&array_of(object));
    }
    return object;
  }
  ~KeyObject() {
    if (!object) return;
    rnd::KeySequence::current().keep_state_in(nullptr);
    release_with_lock([](void* o) { Py_DECREF(static_cast<PyObject*>(o)); }, object);
  }
};
PyObject* key_object() {
  rnd::KeySequence::current();  // constructed first, so that it is destroyed last
  thread_local KeyObject key;
  return key.get();
}

int state_index(int i) {
  if (i != 0 && i != -1) throw IndexError("[state] one key is there: index 0");
  return 0;
}

Dtype float_or(const std::optional<Dtype>& t) { return t.value_or(float32); }
/// A scalar as an array of a distribution's dtype.
array parameter(nb::handle o, Dtype t, const char* op) {
  if (is_scalar(o.ptr())) return scalar_array(o.ptr(), t);
  array a;
  if (!load_array(o.ptr(), a))
    fail<TypeError>(op, "a parameter of type ", class_name(o), "; scalars and arrays are accepted",
                    PyTuple_Check(o.ptr()) ? cat("; for a shape write shape=", repr_of(o)) : "");
  return a;
}

void bind_keys(nb::module_& m) {
  def(m, "seed(seed: int) -> None", [](uint64_t s) { rnd::seed(s); });
  def(m, "key(seed: int) -> array", [](uint64_t s) { return rnd::key(s); });
  def(m, "split(key: array, num: int = 2, " STREAM,
      [](const array& key, int n, const StreamOrDevice& s) { return rnd::split(key, n, s); });
}

void bind_uniform(nb::module_& m) {
  def(m,
      "uniform(low: scalar | array = 0, high: scalar | array = 1, shape: Sequence[int] = [], "
      "dtype: Dtype | None = float32, " KEY,
      [](nb::handle low, nb::handle high, Shape& shape, std::optional<Dtype> dtype, Key& key,
         const StreamOrDevice& s) {
        Dtype t = float_or(dtype);
        return rnd::uniform(parameter(low, t, "uniform"), parameter(high, t, "uniform"), shape, t,
                            key, s);
      });
  def(m,
      "randint(low: scalar | array, high: scalar | array, shape: Sequence[int] = [], "
      "dtype: Dtype | None = int32, " KEY,
      [](const array& low, const array& high, Shape& shape, std::optional<Dtype> dtype, Key& key,
         const StreamOrDevice& s) {
        return rnd::randint(low, high, shape, dtype.value_or(int32), key, s);
      });
  def(m, "bernoulli(p: scalar | array = 0.5, shape: Sequence[int] | None = None, " KEY,
      [](nb::handle p, std::optional<Shape>& shape, Key& key, const StreamOrDevice& s) {
        array q = parameter(p, float32, "bernoulli");
        return shape ? rnd::bernoulli(q, *shape, key, s) : rnd::bernoulli(q, key, s);
      });
  def(m, "permutation(x: int | array, axis: int = 0, " KEY,
      [](nb::handle x, int axis, Key& key, const StreamOrDevice& s) {
        if (int64_t n; PyLong_Check(x.ptr()) && load_integer(x.ptr(), n))
          return rnd::permutation(n, key, s);
        return rnd::permutation(to_array(x.ptr()), axis, key, s);
      });
}

void bind_normal(nb::module_& m) {
  def(m,
      "normal(shape: Sequence[int] = [], dtype: Dtype | None = float32, "
      "loc: scalar | array | None = None, scale: scalar | array | None = None, " KEY,
      [](Shape& shape, std::optional<Dtype> dtype, nb::handle loc, nb::handle scale, Key& key,
         const StreamOrDevice& s) {
        Dtype t = float_or(dtype);
        auto optional = [&](nb::handle o) {
          return o.is_none() ? Key() : Key(parameter(o, t, "normal"));
        };
        return rnd::normal(shape, t, optional(loc), optional(scale), key, s);
      });
  def(m,
      "truncated_normal(lower: scalar | array, upper: scalar | array, "
      "shape: Sequence[int] | None = None, dtype: Dtype | None = float32, " KEY,
      [](nb::handle lower, nb::handle upper, std::optional<Shape>& shape,
         std::optional<Dtype> dtype, Key& key, const StreamOrDevice& s) {
        Dtype t = float_or(dtype);
        array low = parameter(lower, t, "truncated_normal");
        array high = parameter(upper, t, "truncated_normal");
        return shape ? rnd::truncated_normal(low, high, *shape, t, key, s)
                     : rnd::truncated_normal(low, high, t, key, s);
      });
  def(m,
      "multivariate_normal(mean: array, cov: array, shape: Sequence[int] = [], "
      "dtype: Dtype | None = float32, " KEY,
      [](const array& mean, const array& cov, Shape& shape, std::optional<Dtype> dtype, Key& key,
         const StreamOrDevice& s) {
        return rnd::multivariate_normal(mean, cov, shape, float_or(dtype), key, s);
      });
  def(m, "gumbel(shape: Sequence[int] = [], dtype: Dtype | None = float32, " KEY,
      [](Shape& shape, std::optional<Dtype> dtype, Key& key, const StreamOrDevice& s) {
        return rnd::gumbel(shape, float_or(dtype), key, s);
      });
  def(m,
      "laplace(shape: Sequence[int] = [], dtype: Dtype | None = float32, loc: float = 0.0, "
      "scale: float = 1.0, " KEY,
      [](Shape& shape, std::optional<Dtype> dtype, double loc, double scale, Key& key,
         const StreamOrDevice& s) {
        return rnd::laplace(shape, float_or(dtype), loc, scale, key, s);
      });
  def(m,
      "categorical(logits: array, axis: int = -1, shape: Sequence[int] | None = None, "
      "num_samples: int | None = None, " KEY,
      [](const array& logits, int axis, std::optional<Shape>& shape, std::optional<int> n, Key& key,
         const StreamOrDevice& s) {
        if (shape && n)
          fail<ValueError>("categorical", "both shape and num_samples; one of them is accepted");
        if (shape) return rnd::categorical(logits, axis, *shape, key, s);
        if (n) return rnd::categorical(logits, axis, *n, key, s);
        return rnd::categorical(logits, axis, key, s);
      });
}

void bind_state(nb::module_& m) {
  nb::class_<RandomState> cls(m, "_RandomState", "The key of the calling thread's generator.");
  def(cls, "__len__(self) -> int", [](nb::handle) { return 1; }, "One.");
  def(
      cls, "__getitem__(self, index: int) -> array",
      [](nb::handle, int i) {
        state_index(i);
        return nb::borrow(key_object());
      },
      "The key: the same object each time, and what is written to it counts.");
  def(
      cls, "__setitem__(self, index: int, value: array) -> None",
      [](nb::handle, int i, const array& key) {
        state_index(i);
        rnd::KeySequence::current().state() = key;
      },
      "Replaces the key.");
  def(
      cls, "__reduce__(self) -> tuple[Any, ...]",
      [](nb::handle) {
        nb::list held;
        held.append(nb::steal(wrap(rnd::KeySequence::current().state())));
        return nb::make_tuple(nb::handle(reinterpret_cast<PyObject*>(&PyList_Type)),
                              nb::make_tuple(held));
      },
      "Copies and pickles are lists with the key of the time.");
  m.attr("state") = nb::cast(RandomState{});
}

}  // namespace

void bind_random(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("random", "Random numbers from keys or a seeded generator.");
  bind_keys(m);
  bind_uniform(m);
  bind_normal(m);
  bind_state(m);
}

}  // namespace mlx::python
