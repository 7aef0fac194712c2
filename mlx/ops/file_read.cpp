// Nodes that read their elements from a source.
#include "mlx/ops/file_read.h"

namespace mlx::core {

constinit const OpDef op_file_read{.name = "file_read", .kind = OpKind::kernel};
constinit const OpDef op_file_read_parts{.name = "file_read_parts", .kind = OpKind::bundle};

namespace {

/// The content of the input's memory. The node's storage owns it.
struct Handle {
  const ElementSource* first;  // the only bytes that belong to the array
  std::shared_ptr<const ElementSource> owner;
};

array handle_of(std::shared_ptr<const ElementSource> source) {
  const ElementSource* first = source.get();
  auto* handle = new Handle{first, std::move(source)};
  auto storage = make_ref<Storage>(handle, sizeof(handle->first), [handle] { delete handle; });
  return array(std::move(storage), Shape{}, Strides{}, 0, kSourceDtype);
}

}  // namespace

Arrays read_later(std::shared_ptr<const ElementSource> source,
                  std::vector<std::pair<Shape, Dtype>> results, StreamOrDevice given) {
  static_assert(sizeof(Handle::first) == sizeof(uint64_t));
  Stream s = to_stream(given);
  if (s.device != Device::cpu) s = default_stream(Device::cpu);
  const array handle = handle_of(std::move(source));
  const std::span<const array> inputs(&handle, 1);
  if (results.size() > 1) return make_bundle(op_file_read_parts, std::move(results), s, inputs);
  auto& [shape, dtype] = results.at(0);
  return {make_node(op_file_read, std::move(shape), dtype, s, inputs)};
}

const ElementSource& source_at(const void* element) {
  return **static_cast<const ElementSource* const*>(element);
}

}  // namespace mlx::core
