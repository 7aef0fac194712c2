// The functions of device.h by those of NVIDIA's driver.
#include "mlx/backend/cuda/hardware.h"

#include <cstdio>

#include "mlx/backend/cuda/compiler.h"
#include "mlx/backend/cuda/faults.h"
#include "mlx/backend/cuda/graph.h"
#include "mlx/backend/cuda/target.h"
#include "mlx/core/error.h"

namespace mlx::core::cuda {

namespace {

std::string text_of(const Uuid& id) {
  std::string text = "GPU-";
  for (int k = 0; k < 16; ++k) {
    char two[3];
    std::snprintf(two, sizeof(two), "%02x", static_cast<unsigned char>(id.bytes[k]));
    text += two;
    if (k == 3 || k == 5 || k == 7 || k == 9) text += '-';
  }
  return text;
}

void* pointer(Address address) { return reinterpret_cast<void*>(address); }

}  // namespace

CudaHardware::CudaHardware(int index) {
  const Driver& d = driver();
  check(d.device(&ordinal, index), "cuDeviceGet");
  char text[256] = {};
  check(d.device_name(text, sizeof(text), ordinal), "cuDeviceGetName");
  name = text;
  check(d.device_bus_id(text, sizeof(text), ordinal), "cuDeviceGetPCIBusId");
  bus_id = text;
  Uuid id;
  check(d.device_uuid(&id, ordinal), "cuDeviceGetUuid");
  uuid = text_of(id);
  check(d.device_bytes(&bytes, ordinal), "cuDeviceTotalMem");
  limit = bytes - bytes / 20;
  check(d.device_attribute(&processors, Attribute::processors, ordinal), "cuDeviceGetAttribute");
  int cache_size = 0;
  check(d.device_attribute(&cache_size, cache_bytes, ordinal), "cuDeviceGetAttribute");
  if (cache_size > 0) cache = cache_size;
  check(d.device_attribute(&major, capability_major, ordinal), "cuDeviceGetAttribute");
  check(d.device_attribute(&minor, capability_minor, ordinal), "cuDeviceGetAttribute");
  architecture = "sm_" + std::to_string(major) + std::to_string(minor);
  int copies = 0;
  check(d.device_attribute(&copies, copies_tiles, ordinal), "cuDeviceGetAttribute");
  // Later devices have other instructions in their place.
  has_warpgroups_ = major == 9 && minor == 0 && copies;
  check(d.primary_context(&context_, ordinal), "cuDevicePrimaryCtxRetain");
  graphs = graphs_allowed();
}

void CudaHardware::enter() { check(driver().set_context(context_), "cuCtxSetCurrent"); }
void CudaHardware::begin(StreamHandle) { driver().set_context(context_); }

Address CudaHardware::alloc(size_t size) {
  Address address = 0;
  const int status = driver().alloc(&address, size);
  if (status == kOutOfMemory) return 0;
  check(status, "cuMemAlloc");
  return address;
}
void CudaHardware::free(Address address) noexcept {
  driver().set_context(context_);
  driver().free(address);
}
void* CudaHardware::alloc_host(size_t size) {
  void* memory = nullptr;
  check(driver().alloc_host(&memory, size, kHostPortable | kHostMapped), "cuMemHostAlloc");
  return memory;
}

StreamHandle CudaHardware::make_stream(int) {
  StreamHandle stream = nullptr;
  check(driver().create_stream(&stream, kNonBlockingStream), "cuStreamCreate");
  return stream;
}
void CudaHardware::free_stream(StreamHandle stream) noexcept {
  driver().set_context(context_);
  blas_.forget(stream);
  convolutions_.forget(stream);
  solver_.forget(stream);
  driver().destroy_stream(stream);
}

void CudaHardware::copy(Way way, Address to, Address from, size_t size, StreamHandle stream) {
  switch (way) {
    case Way::to_device:
      return check(driver().copy_to_device(to, pointer(from), size, stream), "cuMemcpyHtoDAsync");
    case Way::to_host:
      return check(driver().copy_to_host(pointer(to), from, size, stream), "cuMemcpyDtoHAsync");
    case Way::within:
      return check(driver().copy_within(to, from, size, stream), "cuMemcpyDtoDAsync");
  }
}

void CudaHardware::launch(const gpu::DeviceCall& k, StreamHandle stream) {
  void* parameters[] = {const_cast<int64_t*>(k.arguments.data()) + 1};
  check(driver().launch(k.function.handle, static_cast<unsigned>(k.blocks), 1, 1,
                        static_cast<unsigned>(k.threads), 1, 1, static_cast<unsigned>(k.shared),
                        stream, parameters, nullptr),
        "cuLaunchKernel");
}
std::unique_ptr<gpu::DeviceGraph> CudaHardware::graph_of(std::span<const gpu::DeviceCall> calls,
                                                         StreamHandle stream) {
  return make_graph(context_, major >= 9, calls, stream);
}

EventHandle CudaHardware::record(StreamHandle stream) {
  EventHandle event = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (!events_.empty()) {
      event = events_.back();
      events_.pop_back();
    }
  }
  if (!event)
    check(driver().create_event(&event, kEventBlocks | kEventWithoutTiming), "cuEventCreate");
  try {
    check(driver().record_event(event, stream), "cuEventRecord");
  } catch (...) {
    free_event(event);
    throw;
  }
  note_end(event, stream);
  return event;
}
void CudaHardware::free_event(EventHandle event) noexcept {
  std::lock_guard lock(mutex_);
  events_.push_back(event);
}
bool CudaHardware::reached(EventHandle event, std::exception_ptr& fault) {
  const int status = driver().query_event(event);
  if (status == kNotReady) return false;
  if (status != kSuccess) {
    try {
      check(status, "a kernel or a copy");
    } catch (...) {
      fault = std::current_exception();
    }
  } else {
    note_reached(event);
  }
  return true;
}
void CudaHardware::wait(EventHandle event) { driver().wait_event(event); }
void CudaHardware::stream_waits(StreamHandle stream, EventHandle event) {
  check(driver().stream_waits(stream, event, 0), "cuStreamWaitEvent");
}
void CudaHardware::wait_stream(StreamHandle stream) {
  check(driver().wait_stream(stream), "a kernel or a copy");
  note_idle(stream);
}

std::string CudaHardware::identity() { return instructions() + "\n" + compiler_identity(); }
std::string CudaHardware::compile(const std::string& source) {
  return cuda::compile(source, instructions());
}
FunctionHandle CudaHardware::load(const std::string& code, const char* kernel, void*& module) {
  if (!module) {
    ModuleHandle loaded = nullptr;
    check(driver().load_module(&loaded, code.data()), "cuModuleLoadData");
    module = loaded;
  }
  FunctionHandle function = nullptr;
  check(driver().function(&function, static_cast<ModuleHandle>(module), kernel),
        "cuModuleGetFunction");
  return function;
}
void CudaHardware::unload(void* module) noexcept {
  driver().unload_module(static_cast<ModuleHandle>(module));
}
const gpu::KernelTarget* CudaHardware::target() const { return &cuda_target; }

}  // namespace mlx::core::cuda
