// Print options.
#include "mlx/core/print.h"

#include "module.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;

/// Options for the duration of a `with` block.
struct PrintScope {
  core::PrintOptions options;
  std::vector<core::PrintOptions> saved;
};

}  // namespace

template <>
struct From<core::PrintOptions> : FromBound<core::PrintOptions> {};
template <>
struct From<PrintScope> : FromBound<PrintScope> {};

namespace {
/// Validates a precision.
int checked_precision(int precision) {
  constexpr int kMost = 1100;  // a float64 has at most 1074 digits after the point
  if (precision > kMost)
    fail<ValueError>("printoptions", "a precision of ", precision, "; up to ", kMost,
                     " is accepted");
  return precision;
}
}  // namespace

void bind_printing(nb::module_& m) {
  nb::class_<core::PrintOptions> options(m, "PrintOptions", "Print options for numbers.");
  options.def(
      "__init__",
      [](core::PrintOptions* self, int precision) {
        new (self) core::PrintOptions{checked_precision(precision)};
      },
      nb::arg("precision") = -1);
  def_property(
      options, "precision(self) -> int", [](const core::PrintOptions& o) { return o.precision; },
      "precision(self, value: int) -> None",
      [](core::PrintOptions& o, int precision) { o.precision = checked_precision(precision); },
      "Digits after the point; -1 for six significant digits.");
  nb::class_<PrintScope> scope(m, "_PrintOptionsContext", "A `with` block with print options.");
  def(
      scope, "__enter__(self) -> _PrintOptionsContext",
      [](nb::handle self) {
        PrintScope& s = instance_of<PrintScope>(self);
        s.saved.push_back(core::print_options());
        core::set_printoptions(s.options);
        return nb::object(nb::borrow(self));
      },
      "Sets the options.");
  def(
      scope,
      "__exit__(self, exc_type: object | None = None, exc_value: object | None = None, "
      "traceback: object | None = None) -> None",
      [](PrintScope& s, nb::handle, nb::handle, nb::handle) {
        if (s.saved.empty()) throw ValueError("[printoptions] the context was not entered");
        core::set_printoptions(s.saved.back());
        s.saved.pop_back();
      },
      "Puts the earlier options back.");
  def(m, "set_printoptions(precision: int = -1) -> None",
      [](int precision) { core::set_printoptions({checked_precision(precision)}); });
  def(m, "get_printoptions() -> PrintOptions", [] { return nb::cast(core::print_options()); });
  def(m, "printoptions(precision: int = -1) -> _PrintOptionsContext",
      [](int precision) { return nb::cast(PrintScope{{checked_precision(precision)}, {}}); });
}

}  // namespace mlx::python
