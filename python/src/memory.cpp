// Memory use and its limits.
#include "mlx/memory.h"

#include "module.h"
#include "tree.h"

namespace mlx::python {

namespace core = mlx::core;

namespace {

/// The functions that mlx.core and mlx.core.metal both have.
void bind_common(nb::module_& m) {
#define MLX_QUERY(NAME, DOC) def(m, #NAME "() -> int", [] { return core::NAME(); }, DOC);
#define MLX_LIMIT(NAME, DOC) \
  def(m, #NAME "(limit: int) -> int", [](uint64_t limit) { return core::NAME(limit); }, DOC);
  MLX_QUERY(get_active_memory, "Bytes in use by arrays.")
  MLX_QUERY(get_peak_memory,
            "The maximum number of bytes in use since the start or the last reset.")
  MLX_QUERY(get_cache_memory, "Bytes of freed memory that are kept for reuse.")
  MLX_LIMIT(set_memory_limit,
            "Sets the number of bytes above which cached memory is released first; returns the "
            "previous limit.")
  MLX_LIMIT(set_cache_limit,
            "Sets the maximum size of the cache in bytes; returns the previous limit.")
  MLX_LIMIT(set_wired_limit, "Accepted for compatibility; returns the previous limit.")
  def(
      m, "reset_peak_memory() -> None", [] { core::reset_peak_memory(); },
      "Sets the peak to the current use.");
  def(m, "clear_cache() -> None", [] { core::clear_cache(); }, "Releases the cached memory.");
}

}  // namespace

void bind_memory(nb::module_& m) {
  bind_common(m);
  MLX_QUERY(get_memory_limit, "The number of bytes above which cached memory is released first.")
  MLX_QUERY(get_memory_ceiling, "The number of bytes above which allocations fail.")
  MLX_LIMIT(set_memory_ceiling,
            "Sets the bytes above which allocation raises an exception that is "
            "both MemoryError and RuntimeError; returns the earlier ceiling.")
  def(
      m, "get_array_buffer_size(*args: Any) -> int",
      [](Star args) {
        Arrays arrays;
        for (nb::handle tree : args.items) collect_arrays(tree, arrays);
        return core::get_array_buffer_size(arrays);
      },
      "Bytes of the buffers of the arrays in trees; shared buffers count once.");

  nb::module_ metal = m.def_submodule("metal", "Compatibility with programs for Apple GPUs.");
  bind_common(metal);
  def(metal, "is_available() -> bool", [] { return false; }, "True where Metal is there.");
  def(
      metal, "device_info() -> dict[str, str | int]", []() -> nb::object { return nb::dict(); },
      "Properties of the Metal device; empty where there is none.");
  def(
      metal, "start_capture(path: str) -> None",
      [](const std::string&) {
        throw ExecutionError("[start_capture] there is no Metal device to capture");
      },
      "Starts a capture of the Metal device; raises where there is none.");
  def(
      metal, "stop_capture() -> None",
      [] { throw ExecutionError("[stop_capture] there is no Metal device to capture"); },
      "Ends a capture of the Metal device; raises where there is none.");
  nb::module_ cuda = m.def_submodule("cuda", "NVIDIA GPUs.");
  def(
      cuda, "is_available() -> bool", [] { return core::is_available(Device(Device::gpu)); },
      "True where a CUDA device is there.");
}

}  // namespace mlx::python
