// Private access to engine internals, for tests and tools.
#include "mlx/runtime/debug.h"

#include "mlx/random.h"
#include "module.h"
#include "tree.h"

namespace mlx::python {

namespace core = mlx::core;

void bind_debug(nb::module_& m) {
  def(
      m, "_plan_steps(*arrays) -> list[str]",
      [](Star trees) -> nb::object {
        Arrays arrays;
        for (nb::handle t : trees.items) collect_arrays(t, arrays);
        nb::list out;
        for (const std::string& name : core::plan_steps(arrays)) out.append(name);
        return out;
      },
      "Names of the steps that evaluating the arrays would run.");
  def(
      m, "_node_streams(*arrays) -> list[tuple[str, int]]",
      [](Star trees) -> nb::object {
        Arrays arrays;
        for (nb::handle t : trees.items) collect_arrays(t, arrays);
        nb::list out;
        for (auto& [op, stream] : core::node_streams(arrays))
          out.append(nb::make_tuple(op, stream));
        return out;
      },
      "The ops that the arrays come from, and the index of the stream that each runs on.");
  def(
      m, "_launch_count() -> int", [] { return core::launch_count(); },
      "Launches since the start of the process.");
  def(
      m, "_load_test_backend(path: str) -> None",
      [](const std::string& path) { core::load_backend(path); },
      "Loads a shared library that registers a backend.");
  def(
      m, "_set_fusion(on: bool) -> None", [](bool on) { core::set_fusion(on); },
      "Turns fusion of elementwise chains off and on.");
  def(
      m, "_random_bits(shape: Sequence[int], width: int = 4, key: array | None = None) -> array",
      [](const Shape& shape, int width, std::optional<array>& key) {
        return core::random::bits(shape, width, key);
      },
      "Random words of a width in bytes, which the distributions are made of.");
}

}  // namespace mlx::python
