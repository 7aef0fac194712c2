// Devices, streams and groups of the C interface.
#include "mlx/c/device.h"

#include "mlx/c/distributed_group.h"
#include "mlx/c/src/convert.h"
#include "mlx/c/src/handles.h"
#include "mlx/c/stream.h"
#include "mlx/distributed/distributed.h"
#include "mlx/runtime/evaluate.h"

namespace mlx::c {

namespace {

core::Device::DeviceType type_of(mlx_device_type type) {
  if (type != MLX_CPU && type != MLX_GPU)
    core::fail<core::ValueError>("mlx_device_type", static_cast<int>(type),
                                 "; MLX_CPU and MLX_GPU are accepted");
  return type == MLX_CPU ? core::Device::cpu : core::Device::gpu;
}

/// The value of a fact if it has that type, else null.
template <class T>
const T* fact(mlx_device_info info, const char* key) {
  const core::DeviceInfo& facts = get(info);
  auto it = facts.find(in(key));
  return it == facts.end() ? nullptr : std::get_if<T>(&it->second);
}
/// 0 after `f` was called with the value, 2 if there is none.
template <class T, class F>
int with_fact(mlx_device_info info, const char* key, const char* name, F&& f) {
  int code = 2;
  const int failed = status(name, [&] {
    if (const T* value = fact<T>(info, key)) {
      f(*value);
      code = 0;
    }
  });
  return failed ? failed : code;
}

mlx_stream default_stream_of(core::Device::DeviceType type, const char* name) {
  return result(name, mlx_stream{}, [&] {
    if (!core::is_available(core::Device(type)))
      core::fail<core::ExecutionError>(name, "there is no GPU; mlx_default_cpu_stream_new serves");
    return make<mlx_stream>(core::default_stream(core::Device(type)));
  });
}

std::string backend(const char* bk) { return bk ? bk : "any"; }

}  // namespace

}  // namespace mlx::c

using namespace mlx::c;
namespace core = mlx::core;

extern "C" {

mlx_device mlx_device_new(void) { return {}; }
mlx_device mlx_device_new_type(mlx_device_type type, int index) {
  return result(__func__, mlx_device{},
                [&] { return make<mlx_device>(core::Device(type_of(type), index)); });
}
int mlx_device_free(mlx_device dev) {
  return status(__func__, [&] { drop(dev); });
}
int mlx_device_set(mlx_device* dev, const mlx_device src) {
  return status(__func__, [&] { assign(dev, core::Device(get(src))); });
}
int mlx_device_tostring(mlx_string* str, mlx_device dev) {
  return status(__func__, [&] { assign(str, core::to_string(get(dev))); });
}
bool mlx_device_equal(mlx_device lhs, mlx_device rhs) {
  return result(__func__, false, [&] { return get(lhs) == get(rhs); });
}
int mlx_device_get_index(int* index, mlx_device dev) {
  return status(__func__, [&] { out(index, static_cast<int>(get(dev).index)); });
}
int mlx_device_get_type(mlx_device_type* type, mlx_device dev) {
  return status(__func__, [&] {
    if (!type) core::fail<core::ValueError>("mlx_device", "no place for a result");
    *type = get(dev).type == core::Device::cpu ? MLX_CPU : MLX_GPU;
  });
}
int mlx_get_default_device(mlx_device* dev) {
  return status(__func__, [&] { assign(dev, core::Device(core::default_device())); });
}
int mlx_set_default_device(mlx_device dev) {
  return status(__func__, [&] { core::set_default_device(get(dev)); });
}
int mlx_device_is_available(bool* avail, mlx_device dev) {
  return status(__func__, [&] { out(avail, core::is_available(get(dev))); });
}
int mlx_device_count(int* count, mlx_device_type type) {
  return status(__func__, [&] { out(count, static_cast<int>(core::device_count(type_of(type)))); });
}

mlx_device_info mlx_device_info_new(void) {
  return result(__func__, mlx_device_info{}, [] { return make<mlx_device_info>({}); });
}
int mlx_device_info_get(mlx_device_info* info, mlx_device dev) {
  return status(__func__, [&] { assign(info, core::DeviceInfo(core::device_info(get(dev)))); });
}
int mlx_device_info_free(mlx_device_info info) {
  return status(__func__, [&] { drop(info); });
}
int mlx_device_info_has_key(bool* exists, mlx_device_info info, const char* key) {
  return status(__func__, [&] { out(exists, get(info).contains(in(key))); });
}
int mlx_device_info_is_string(bool* is_string, mlx_device_info info, const char* key) {
  return status(__func__, [&] { out(is_string, fact<std::string>(info, key) != nullptr); });
}
int mlx_device_info_get_string(const char** value, mlx_device_info info, const char* key) {
  return with_fact<std::string>(info, key, __func__, [&](const std::string& text) {
    if (!value) core::fail<core::ValueError>("mlx_device_info", "no place for a result");
    *value = text.c_str();
  });
}
int mlx_device_info_get_size(size_t* value, mlx_device_info info, const char* key) {
  return with_fact<size_t>(info, key, __func__, [&](size_t size) { out(value, size); });
}
int mlx_device_info_get_keys(mlx_vector_string* keys, mlx_device_info info) {
  return status(__func__, [&] {
    std::vector<std::string> names;
    for (auto& [key, value] : get(info)) names.push_back(key);
    assign(keys, std::move(names));
  });
}

mlx_stream mlx_stream_new(void) { return {}; }
mlx_stream mlx_stream_new_device(mlx_device dev) {
  return result(__func__, mlx_stream{},
                [&] { return make<mlx_stream>(core::new_stream(get(dev))); });
}
int mlx_stream_set(mlx_stream* stream, const mlx_stream src) {
  return status(__func__, [&] { assign(stream, core::Stream(get(src))); });
}
int mlx_stream_free(mlx_stream stream) {
  return status(__func__, [&] { drop(stream); });
}
int mlx_stream_tostring(mlx_string* str, mlx_stream stream) {
  return status(__func__, [&] { assign(str, core::to_string(get(stream))); });
}
bool mlx_stream_equal(mlx_stream lhs, mlx_stream rhs) {
  return result(__func__, false, [&] { return get(lhs) == get(rhs); });
}
int mlx_stream_get_device(mlx_device* dev, mlx_stream stream) {
  return status(__func__, [&] { assign(dev, core::Device(get(stream).device)); });
}
int mlx_stream_get_index(int* index, mlx_stream stream) {
  return status(__func__, [&] { out(index, static_cast<int>(get(stream).index)); });
}
int mlx_synchronize(mlx_stream stream) {
  return status(__func__, [&] { core::synchronize(get(stream)); });
}
int mlx_get_default_stream(mlx_stream* stream, mlx_device dev) {
  return status(__func__, [&] { assign(stream, core::default_stream(get(dev))); });
}
int mlx_set_default_stream(mlx_stream stream) {
  return status(__func__, [&] { core::set_default_stream(get(stream)); });
}
mlx_stream mlx_default_cpu_stream_new(void) {
  return default_stream_of(core::Device::cpu, __func__);
}
mlx_stream mlx_default_gpu_stream_new(void) {
  return default_stream_of(core::Device::gpu, __func__);
}

mlx_distributed_group mlx_distributed_group_new(void) { return {}; }
int mlx_distributed_group_free(mlx_distributed_group group) {
  return status(__func__, [&] { drop(group); });
}
int mlx_distributed_init(mlx_distributed_group* res, bool strict, const char* bk) {
  return status(__func__, [&] { assign(res, core::distributed::init(strict, backend(bk))); });
}
bool mlx_distributed_is_available(const char* bk) {
  return result(__func__, false, [&] { return core::distributed::is_available(backend(bk)); });
}
int mlx_distributed_group_rank(mlx_distributed_group group) {
  return result(__func__, -1, [&] { return get(group).rank(); });
}
int mlx_distributed_group_size(mlx_distributed_group group) {
  return result(__func__, -1, [&] { return get(group).size(); });
}
int mlx_distributed_group_split(mlx_distributed_group* res, mlx_distributed_group group, int color,
                                int key) {
  return status(__func__, [&] { assign(res, get(group).split(color, key)); });
}

}  // extern "C"
