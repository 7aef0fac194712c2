// Functions that join, split, repeat and pad arrays.
#include "convert.h"
#include "mlx/ops.h"
#include "module.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;
#define STREAM "stream: StreamOrDevice = None) -> array"

void bind_splitting(nb::module_& m, nb::handle c) {
  auto split = [](const array& a, std::variant<int, Shape>& parts, int axis,
                  const StreamOrDevice& s) {
    if (auto* n = std::get_if<int>(&parts)) return core::split(a, *n, axis, s);
    return core::split(a, std::get<Shape>(parts), axis, s);
  };
  constexpr const char* doc =
      "Splits an axis into a number of equal parts, or at the given indices.";
  def(m,
      "split(a: array, /, indices_or_sections: int | Sequence[int], axis: int = 0, *, "
      "stream: StreamOrDevice = None) -> list[array]",
      split);
  def(c,
      "split(self, indices_or_sections: int | tuple[int, ...], axis: int = 0, *, "
      "stream: StreamOrDevice = None) -> list[array]",
      split, doc);
  def(m,
      "unstack(x: array, /, *, axis: int = 0, stream: StreamOrDevice = None) -> tuple[array, ...]",
      [](const array& x, int axis, const StreamOrDevice& s) {
        return tuple_of(core::unstack(x, axis, s));
      });
}

/// The pad widths of `pad`: n, (n,), (low, high), or one such item for each axis.
array pad(const array& a, nb::handle width, const std::string& mode, const array& value,
          const StreamOrDevice& s) {
  if (From<int> n; n.load(width.ptr())) return core::pad(a, n.get(), value, mode, s);
  From<std::vector<int>> ints;
  if (ints.load(width.ptr())) {
    if (ints.value.size() == 1) return core::pad(a, ints.value[0], value, mode, s);
    if (ints.value.size() == 2)
      return core::pad(a, std::pair(ints.value[0], ints.value[1]), value, mode, s);
  }
  From<std::vector<std::vector<int>>> lists;
  if (!lists.load(width.ptr()))
    fail<TypeError>("pad", "pad_width of type ", class_name(width),
                    "; an int, (low, high), and one pair for each axis are accepted");
  std::vector<std::pair<int, int>> pairs;
  for (const auto& p : lists.value) {
    if (p.empty() || p.size() > 2)
      fail<ValueError>("pad", "a pad width of ", p.size(), " numbers; one or two are accepted");
    pairs.emplace_back(p.front(), p.back());
  }
  return pairs.size() == 1 ? core::pad(a, pairs[0], value, mode, s)
                           : core::pad(a, pairs, value, mode, s);
}

array roll(const array& a, const std::variant<int, Shape>& shift, const Axes& axes,
           const StreamOrDevice& s) {
  return std::visit(
      [&](const auto& by) {
        if (auto* one = std::get_if<int>(&axes)) return core::roll(a, by, *one, s);
        if (auto* several = std::get_if<std::vector<int>>(&axes))
          return core::roll(a, by, *several, s);
        return core::roll(a, by, s);
      },
      shift);
}

void bind_padding(nb::module_& m) {
  def(m,
      "pad(a: array, pad_width: int | tuple[int] | tuple[int, int] | list[tuple[int, int]], "
      "mode: Literal['constant', 'edge', 'reflect', 'symmetric'] = 'constant', "
      "constant_values: scalar | array = 0, *, " STREAM,
      [](const array& a, nb::handle width, std::string& mode, nb::handle value,
         const StreamOrDevice& s) {
        array fill;
        if (!weak_array(value.ptr(), a.dtype(), fill))
          fail<TypeError>("pad", "constant_values of type ", class_name(value),
                          "; scalars and arrays are accepted");
        return pad(a, width, mode, fill, s);
      });
  def(m, "repeat(array: array, repeats: int, axis: int | None = None, *, " STREAM,
      [](const array& a, int repeats, std::optional<int> axis, const StreamOrDevice& s) {
        return axis ? core::repeat(a, repeats, *axis, s) : core::repeat(a, repeats, s);
      });
  def(m, "tile(a: array, reps: int | Sequence[int], /, *, " STREAM,
      [](const array& a, std::variant<int, std::vector<int>>& reps, const StreamOrDevice& s) {
        auto* n = std::get_if<int>(&reps);
        return core::tile(a, n ? std::vector<int>{*n} : std::get<std::vector<int>>(reps), s);
      });
  def(m,
      "roll(a: array, /, shift: int | tuple[int], axis: None | int | tuple[int] = None, *, " STREAM,
      [](const array& a, std::variant<int, Shape>& shift, Axes& axes, const StreamOrDevice& s) {
        return roll(a, shift, axes, s);
      });
}

}  // namespace

void bind_joins(nb::module_& m, nb::handle array_class) {
  def(m, "concatenate(arrays: list[array], axis: int | None = 0, *, " STREAM,
      [](Arrays& arrays, std::optional<int> axis, const StreamOrDevice& s) {
        return axis ? core::concatenate(arrays, *axis, s) : core::concatenate(arrays, s);
      });
  alias(m, "concat", "concatenate");
  def(m, "stack(arrays: list[array], axis: int | None = 0, *, " STREAM,
      [](Arrays& arrays, std::optional<int> axis, const StreamOrDevice& s) {
        return core::stack(arrays, axis.value_or(0), s);
      });
  bind_splitting(m, array_class);
  bind_padding(m);
}

}  // namespace mlx::python
