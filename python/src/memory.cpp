// Memory use and its limits.
#include "mlx/memory.h"

#include "mlx/core/capture.h"
#include "mlx/ops/custom_kernel.h"
#include "module.h"
#include "tree.h"

namespace mlx::python {

namespace core = mlx::core;

namespace {

/// The functions that mlx.core and mlx.core.metal both have.
void bind_common(nb::module_& m) {
#define MLX_QUERY(NAME) def(m, #NAME "() -> int", [] { return core::NAME(); });
#define MLX_LIMIT(NAME) \
  def(m, #NAME "(limit: int) -> int", [](uint64_t limit) { return core::NAME(limit); });
  MLX_QUERY(get_active_memory)
  MLX_QUERY(get_peak_memory)
  MLX_QUERY(get_cache_memory)
  MLX_LIMIT(set_memory_limit)
  MLX_LIMIT(set_cache_limit)
  MLX_LIMIT(set_wired_limit)
  def(m, "reset_peak_memory() -> None", [] { core::reset_peak_memory(); });
  def(m, "clear_cache() -> None", [] { core::clear_cache(); });
}

}  // namespace

/// The device to capture.
Device captured(const char* op) {
  if (!has_metal()) fail<ExecutionError>(op, "there is no Metal device to capture");
  return Device::gpu;
}

void bind_memory(nb::module_& m) {
  bind_common(m);
  MLX_QUERY(get_memory_limit)
  MLX_QUERY(get_memory_ceiling)
  MLX_LIMIT(set_memory_ceiling)
  def(m, "get_array_buffer_size(*args: Any) -> int", [](Star args) {
    Arrays arrays;
    for (nb::handle tree : args.items) collect_arrays(tree, arrays);
    return core::get_array_buffer_size(arrays);
  });

  nb::module_ metal = m.def_submodule("metal", "Compatibility with programs for Apple GPUs.");
  bind_common(metal);
  def(metal, "is_available() -> bool", [] { return has_metal(); }, "True where Metal is there.");
  def(
      metal, "device_info() -> dict[str, str | int]",
      []() -> nb::object {
        if (!has_metal()) return nb::dict();
        return nb::module_::import_("mlx.core").attr("device_info")(Device(Device::gpu));
      },
      "Properties of the Metal device; empty where there is none.");
  def(
      metal, "start_capture(path: str) -> None",
      [](const std::string& path) { core::start_capture(captured("start_capture"), path); },
      "Start to record the work of the Metal device in a new document for Xcode, whose name ends "
      "in .gputrace. Raises RuntimeError where the system refuses: it allows documents where the "
      "environment variable MTL_CAPTURE_ENABLED is 1.");
  def(
      metal, "stop_capture() -> None", [] { core::stop_capture(captured("stop_capture")); },
      "End the record of the Metal device, and write its document.");
  nb::module_ cuda = m.def_submodule("cuda", "NVIDIA GPUs.");
  def(
      cuda, "is_available() -> bool",
      [] { return core::is_available(Device(Device::gpu)) && !has_metal(); },
      "True where a CUDA device is there.");
}
#undef MLX_LIMIT

}  // namespace mlx::python
