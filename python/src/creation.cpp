// Functions that make arrays.
#include "convert.h"
#include "mlx/ops.h"
#include "module.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;
constexpr Dtype kFloat = float32;

/// A bound of arange: an int or a float, not a bool and not an array.
struct Bound {
  bool integral = true;
  int64_t i = 0;
  double d = 0;
  explicit Bound(nb::handle o) {
    if (PyBool_Check(o.ptr())) fail<ValueError>("arange", "a bool; ints and floats are accepted");
    if (PyFloat_Check(o.ptr()) || !load_integer(o.ptr(), i)) {
      integral = false;
      if (is_array(o.ptr()) || !load_real(o.ptr(), d))
        fail<TypeError>("arange", "a bound of type ", class_name(o),
                        "; ints and floats are accepted");
    } else {
      d = static_cast<double>(i);
    }
  }
};

array make_range(nb::handle first, nb::handle second, nb::handle third, std::optional<Dtype> dtype,
                 const StreamOrDevice& s) {
  Bound start(second.is_none() ? nb::int_(0) : nb::borrow(first));
  Bound stop(second.is_none() ? first : second);
  Bound step(third.is_none() ? nb::int_(1) : nb::borrow(third));
  bool integral = start.integral && stop.integral && step.integral;
  if (integral && !dtype) {
    auto small = [](int64_t v) { return v == static_cast<int32_t>(v); };
    bool all_small = small(start.i) && small(stop.i) && small(step.i);
    return core::arange(start.d, stop.d, step.d, all_small ? int32 : int64, s);
  }
  return core::arange(start.d, stop.d, step.d, dtype.value_or(kFloat), s);
}

void bind_ranges(nb::module_& m) {
  auto range = [](nb::handle start, nb::handle stop, nb::handle step, std::optional<Dtype> dtype,
                  const StreamOrDevice& s) { return make_range(start, stop, step, dtype, s); };
  // A single number is `stop`; passing `start` by name requires `stop`.
  def(m,
      "arange(start: int | float, /, stop: None | int | float = None, step: None | int | float = "
      "None, "
      "dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> array",
      range);
  def(m,
      "arange(*, start: int | float, stop: int | float, step: None | int | float = None, "
      "dtype: Dtype | None = None, stream: StreamOrDevice = None) -> array",
      range);
  def(m,
      "arange(stop: int | float, step: None | int | float = None, dtype: Dtype | None = None, *, "
      "stream: StreamOrDevice = None) -> array",
      [](nb::handle stop, nb::handle step, std::optional<Dtype> dtype, const StreamOrDevice& s) {
        return make_range(stop, nb::none(), step, dtype, s);
      });
  def(m,
      "linspace(start: float, stop: float, num: int | None = 50, endpoint: bool = True, "
      "dtype: Dtype | None = float32, stream: StreamOrDevice = None) -> array",
      [](double start, double stop, std::optional<int> num, bool endpoint,
         std::optional<Dtype> dtype, const StreamOrDevice& s) {
        return core::linspace(start, stop, num.value_or(50), endpoint, dtype.value_or(kFloat), s);
      });
}

void bind_constants(nb::module_& m) {
  def(m,
      "full(shape: int | Sequence[int], vals: scalar | array, dtype: Dtype | None = None, *, "
      "stream: StreamOrDevice = None) -> array",
      [](AnyShape& shape, Operand given, std::optional<Dtype> dtype, const StreamOrDevice& s) {
        array vals = for_dtype("full", given, dtype);
        return core::full(shape.shape, vals, dtype.value_or(vals.dtype()), s);
      });
  def(m,
      "full_like(a: array, vals: scalar | array, dtype: Dtype | None = None, *, "
      "stream: StreamOrDevice = None) -> array",
      [](const array& a, Operand given, std::optional<Dtype> dtype, const StreamOrDevice& s) {
        Dtype t = dtype.value_or(a.dtype());
        return core::full_like(a, for_dtype("full_like", given, t), t, s);
      });
#define MLX_FILLED(NAME, WHAT)                                                               \
  def(                                                                                       \
      m,                                                                                     \
      #NAME                                                                                  \
      "(shape: int | Sequence[int], dtype: Dtype | None = float32, *, "                      \
      "stream: StreamOrDevice = None) -> array",                                             \
      [](AnyShape& shape, std::optional<Dtype> dtype, const StreamOrDevice& s) {             \
        return core::NAME(shape.shape, dtype.value_or(kFloat), s);                           \
      },                                                                                     \
      "An array of " WHAT ".");                                                              \
  def(                                                                                       \
      m,                                                                                     \
      #NAME                                                                                  \
      "_like(a: array, /, dtype: Dtype | None = None, *, stream: StreamOrDevice = None) -> " \
      "array",                                                                               \
      [](const array& a, std::optional<Dtype> dtype, const StreamOrDevice& s) {              \
        return core::NAME##_like(a, dtype.value_or(a.dtype()), s);                           \
      },                                                                                     \
      "An array of " WHAT " with the shape of `a`, and its dtype unless one is given.");
  MLX_FILLED(zeros, "zeros")
  MLX_FILLED(ones, "ones")
#undef MLX_FILLED
  alias(m, "empty", "zeros");
  alias(m, "empty_like", "zeros_like");
}

void bind_matrices(nb::module_& m) {
  def(m,
      "eye(n: int, m: int | None = None, k: int = 0, dtype: Dtype | None = float32, *, "
      "stream: StreamOrDevice = None) -> array",
      [](int n, std::optional<int> columns, int k, std::optional<Dtype> dtype,
         const StreamOrDevice& s) {
        return core::eye(n, columns.value_or(n), k, dtype.value_or(kFloat), s);
      });
  def(m,
      "identity(n: int, dtype: Dtype | None = float32, *, stream: StreamOrDevice = None) -> array",
      [](int n, std::optional<Dtype> dtype, const StreamOrDevice& s) {
        return core::identity(n, dtype.value_or(kFloat), s);
      });
  def(m,
      "tri(n: int, m: int | None = None, k: int = 0, dtype: Dtype | None = None, *, "
      "stream: StreamOrDevice = None) -> array",
      [](int n, std::optional<int> columns, int k, std::optional<Dtype> dtype,
         const StreamOrDevice& s) {
        return core::tri(n, columns.value_or(n), k, dtype.value_or(kFloat), s);
      });
  def(m, "tril(x: array, k: int = 0, *, stream: StreamOrDevice = None) -> array",
      [](const array& x, int k, const StreamOrDevice& s) { return core::tril(x, k, s); });
  def(m, "triu(x: array, k: int = 0, *, stream: StreamOrDevice = None) -> array",
      [](const array& x, int k, const StreamOrDevice& s) { return core::triu(x, k, s); });
  def(m, "diag(a: array, /, k: int = 0, *, stream: StreamOrDevice = None) -> array",
      [](const array& a, int k, const StreamOrDevice& s) { return core::diag(a, k, s); });
  def(m,
      "meshgrid(*arrays: array, sparse: bool | None = False, indexing: str | None = 'xy', "
      "stream: StreamOrDevice = None) -> tuple[array, ...]",
      [](Star arrays, std::optional<bool> sparse, std::optional<std::string> indexing,
         const StreamOrDevice& s) {
        return tuple_of(core::meshgrid(arrays_of(arrays, "meshgrid"), sparse.value_or(false),
                                       indexing.value_or("xy"), s));
      });
}

void bind_windows(nb::module_& m) {
#define MLX_WINDOW(NAME)                                               \
  def(                                                                 \
      m, #NAME "(M: int, *, stream: StreamOrDevice = None) -> array",  \
      [](int n, const StreamOrDevice& s) { return core::NAME(n, s); }, \
      "The " #NAME " window of M points.");
  MLX_WINDOW(bartlett)
  MLX_WINDOW(blackman)
  MLX_WINDOW(hamming)
  MLX_WINDOW(hanning)
#undef MLX_WINDOW
}

/// The array on a device, if one is given.
array moved(const char* op, const array& a, const StreamOrDevice& device,
            std::optional<bool> copy) {
  if (std::holds_alternative<std::monostate>(device)) return a;
  const Stream to = to_stream(device);
  if (to.device == stream_of(a).device) return a;
  if (copy && !*copy)
    fail<ValueError>(op, "another device needs a copy; copy=None or True is accepted");
  return core::copy(a, to);
}

}  // namespace

void bind_creation(nb::module_& m) {
  bind_ranges(m);
  bind_constants(m);
  bind_matrices(m);
  bind_windows(m);
  def(m,
      "asarray(a: ArrayInput, dtype: Dtype | None = None, *, "
      "copy: bool | None = None, device: Device | Stream | None = None) -> array",
      [](nb::handle a, std::optional<Dtype> dtype, std::optional<bool> copy,
         const StreamOrDevice& device) {
        bool avoid = copy && !*copy;
        if (avoid && is_array(a.ptr())) {
          array given = to_array(a.ptr());
          if (dtype && *dtype != given.dtype())
            fail<ValueError>("asarray",
                             "another dtype needs a copy; copy=None or True is accepted");
          return moved("asarray", given, device, copy);
        }
        if (avoid) {
          if (!has_attr(a.ptr(), "__dlpack__"))
            fail<ValueError>("asarray", class_name(a),
                             " needs a copy; copy=None or True is accepted");
          return moved("asarray", from_dlpack(a.ptr(), dtype, true, copy), device, copy);
        }
        array out = to_array(a.ptr(), dtype);
        if (copy && *copy && is_array(a.ptr())) out = core::copy(out);
        return moved("asarray", out, device, copy);
      });
  def(m,
      "from_dlpack(x: DLPackCompatible, /, *, copy: bool | None = None, "
      "device: Device | Stream | None = None) -> array",
      [](nb::handle x, std::optional<bool> copy, const StreamOrDevice& device) {
        if (!has_attr(x.ptr(), "__dlpack__") && !PyCapsule_CheckExact(x.ptr()))
          fail<TypeError>("from_dlpack", "an object of type ", class_name(x),
                          "; objects with __dlpack__ are accepted");
        return moved("from_dlpack", from_dlpack(x.ptr(), {}, true, copy), device, copy);
      });
}

}  // namespace mlx::python
