// Convolutions.
#include "mlx/ops/conv.h"

#include "module.h"

namespace mlx::python {

namespace core = mlx::core;

/// One number for each of N spatial axes, or one for all.
template <size_t N>
struct PerAxis {
  std::array<int, N> values;
};
/// The same for a number of axes determined by the input.
struct PerAnyAxis {
  std::vector<int> values;
};

template <size_t N>
struct From<PerAxis<N>> {
  PerAxis<N> value{};
  bool load(PyObject* o) {
    From<int> one;
    From<std::vector<int>> list;
    if (one.load(o)) {
      value.values.fill(one.get());
      return true;
    }
    if (!list.load(o) || list.value.size() != N) return false;
    std::copy(list.value.begin(), list.value.end(), value.values.begin());
    return true;
  }
  PerAxis<N>& get() { return value; }
};
template <>
struct From<PerAnyAxis> {
  PerAnyAxis value;
  bool load(PyObject* o) {
    From<int> one;
    if (!one.load(o)) {
      From<std::vector<int>> list;
      if (!list.load(o)) return false;
      value.values = std::move(list.value);
      return true;
    }
    value.values = {one.get()};
    return true;
  }
  PerAnyAxis& get() { return value; }
};

namespace {

core::Pair spread(const PerAxis<2>& v) { return {v.values[0], v.values[1]}; }
core::Triple spread(const PerAxis<3>& v) { return {v.values[0], v.values[1], v.values[2]}; }

#define GROUPS_TAIL "groups: int = 1, *, stream: StreamOrDevice = None) -> array"

void bind_fixed(nb::module_& m) {
  def(m,
      "conv1d(input: array, weight: array, /, stride: int = 1, padding: int = 0, "
      "dilation: int = 1, " GROUPS_TAIL,
      [](const array& x, const array& w, int stride, int padding, int dilation, int groups,
         const StreamOrDevice& s) {
        return core::conv1d(x, w, stride, padding, dilation, groups, s);
      });
  def(m,
      "conv_transpose1d(input: array, weight: array, /, stride: int = 1, padding: int = 0, "
      "dilation: int = 1, output_padding: int = 0, " GROUPS_TAIL,
      [](const array& x, const array& w, int stride, int padding, int dilation, int output_padding,
         int groups, const StreamOrDevice& s) {
        return core::conv_transpose1d(x, w, stride, padding, dilation, output_padding, groups, s);
      });
#define MLX_CONV(N, T)                                                                             \
  def(m,                                                                                           \
      "conv" #N "d(input: array, weight: array, /, stride: int | " T " = 1, padding: int | " T     \
      " = 0, dilation: int | " T " = 1, " GROUPS_TAIL,                                             \
      [](const array& x, const array& w, PerAxis<N>& stride, PerAxis<N>& padding,                  \
         PerAxis<N>& dilation, int groups, const StreamOrDevice& s) {                              \
        return core::conv##N##d(x, w, spread(stride), spread(padding), spread(dilation), groups,   \
                                s);                                                                \
      });                                                                                          \
  def(m,                                                                                           \
      "conv_transpose" #N "d(input: array, weight: array, /, stride: int | " T                     \
      " = 1, padding: int | " T " = 0, dilation: int | " T " = 1, output_padding: int | " T        \
      " = 0, " GROUPS_TAIL,                                                                        \
      [](const array& x, const array& w, PerAxis<N>& stride, PerAxis<N>& padding,                  \
         PerAxis<N>& dilation, PerAxis<N>& output_padding, int groups, const StreamOrDevice& s) {  \
        return core::conv_transpose##N##d(x, w, spread(stride), spread(padding), spread(dilation), \
                                          spread(output_padding), groups, s);                      \
      });
  MLX_CONV(2, "tuple[int, int]")
  MLX_CONV(3, "tuple[int, int, int]")
#undef MLX_CONV
}

using Padding = std::variant<PerAnyAxis, std::pair<std::vector<int>, std::vector<int>>>;

}  // namespace

void bind_convolutions(nb::module_& m) {
  bind_fixed(m);
  def(m,
      "conv_general(input: array, weight: array, /, stride: int | Sequence[int] = 1, "
      "padding: int | Sequence[int] | tuple[Sequence[int], Sequence[int]] = 0, "
      "kernel_dilation: int | Sequence[int] = 1, input_dilation: int | Sequence[int] = 1, "
      "groups: int = 1, flip: bool = False, *, stream: StreamOrDevice = None) -> array",
      [](const array& x, const array& w, PerAnyAxis& stride, Padding& padding, PerAnyAxis& kernel,
         PerAnyAxis& input, int groups, bool flip, const StreamOrDevice& s) {
        auto* same = std::get_if<PerAnyAxis>(&padding);
        auto* ends = std::get_if<1>(&padding);
        return core::conv_general(x, w, stride.values, same ? same->values : ends->first,
                                  same ? same->values : ends->second, kernel.values, input.values,
                                  groups, flip, s);
      });
  def(m,
      "convolve(a: array, v: array, /, mode: str = \"full\", *, stream: StreamOrDevice = None) -> "
      "array",
      [](const array& a, const array& v, const std::string& mode, const StreamOrDevice& s) {
        return core::convolve(a, v, mode, s);
      });
}

}  // namespace mlx::python
