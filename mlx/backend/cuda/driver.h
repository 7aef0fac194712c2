// The functions of NVIDIA's driver that the plugin calls, in one table filled when it is loaded.
// They are declared here, so that nothing of NVIDIA's is needed to build it;
// tests/cuda/driver_check.cpp holds them against the driver's header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "mlx/backend/gpu/device.h"
#include "mlx/core/error.h"

namespace mlx::core::cuda {

using gpu::Address;
using gpu::EventHandle;
using gpu::FunctionHandle;
using gpu::StreamHandle;
using ContextHandle = struct OpaqueContext*;
using ModuleHandle = struct OpaqueModule*;
using GraphHandle = struct OpaqueGraph*;
using InstanceHandle = struct OpaqueInstance*;  ///< of a graph that can be launched
using NodeHandle = struct OpaqueNode*;
struct Uuid {
  char bytes[16];
};
/// How a node of a graph depends on another.
struct EdgeData {
  unsigned char from_port, to_port, type, reserved[5];
};
struct KernelNode {
  FunctionHandle function;
  unsigned blocks[3], threads[3], shared;
  void** arguments;
  void** extra = nullptr;
  struct OpaqueKernel* kernel = nullptr;
  ContextHandle context = nullptr;
};

//   X(name in the table, symbol, parameters)
#define MLX_CUDA_FUNCTIONS(X)                                                                     \
  X(init, cuInit, (unsigned))                                                                     \
  X(driver_version, cuDriverGetVersion, (int*))                                                   \
  X(device_count, cuDeviceGetCount, (int*))                                                       \
  X(device, cuDeviceGet, (int*, int))                                                             \
  X(device_name, cuDeviceGetName, (char*, int, int))                                              \
  X(device_uuid, cuDeviceGetUuid_v2, (Uuid*, int))                                                \
  X(device_bytes, cuDeviceTotalMem_v2, (size_t*, int))                                            \
  X(device_attribute, cuDeviceGetAttribute, (int*, int, int))                                     \
  X(device_bus_id, cuDeviceGetPCIBusId, (char*, int, int))                                        \
  X(primary_context, cuDevicePrimaryCtxRetain, (ContextHandle*, int))                             \
  X(set_context, cuCtxSetCurrent, (ContextHandle))                                                \
  X(wait_context, cuCtxSynchronize, ())                                                           \
  X(memory_info, cuMemGetInfo_v2, (size_t*, size_t*))                                             \
  X(alloc, cuMemAlloc_v2, (Address*, size_t))                                                     \
  X(free, cuMemFree_v2, (Address))                                                                \
  X(alloc_host, cuMemHostAlloc, (void**, size_t, unsigned))                                       \
  X(free_host, cuMemFreeHost, (void*))                                                            \
  X(copy_to_device, cuMemcpyHtoDAsync_v2, (Address, const void*, size_t, StreamHandle))           \
  X(copy_to_host, cuMemcpyDtoHAsync_v2, (void*, Address, size_t, StreamHandle))                   \
  X(copy_within, cuMemcpyDtoDAsync_v2, (Address, Address, size_t, StreamHandle))                  \
  X(create_stream, cuStreamCreate, (StreamHandle*, unsigned))                                     \
  X(destroy_stream, cuStreamDestroy_v2, (StreamHandle))                                           \
  X(wait_stream, cuStreamSynchronize, (StreamHandle))                                             \
  X(stream_waits, cuStreamWaitEvent, (StreamHandle, EventHandle, unsigned))                       \
  X(create_event, cuEventCreate, (EventHandle*, unsigned))                                        \
  X(record_event, cuEventRecord, (EventHandle, StreamHandle))                                     \
  X(query_event, cuEventQuery, (EventHandle))                                                     \
  X(wait_event, cuEventSynchronize, (EventHandle))                                                \
  X(load_module, cuModuleLoadData, (ModuleHandle*, const void*))                                  \
  X(unload_module, cuModuleUnload, (ModuleHandle))                                                \
  X(function, cuModuleGetFunction, (FunctionHandle*, ModuleHandle, const char*))                  \
  X(set_function, cuFuncSetAttribute, (FunctionHandle, int, int))                                 \
  X(launch, cuLaunchKernel,                                                                       \
    (FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,        \
     StreamHandle, void**, void**))                                                               \
  X(create_graph, cuGraphCreate, (GraphHandle*, unsigned))                                        \
  X(destroy_graph, cuGraphDestroy, (GraphHandle))                                                 \
  X(add_kernel, cuGraphAddKernelNode_v2,                                                          \
    (NodeHandle*, GraphHandle, const NodeHandle*, size_t, const KernelNode*))                     \
  X(add_graph, cuGraphAddChildGraphNode,                                                          \
    (NodeHandle*, GraphHandle, const NodeHandle*, size_t, GraphHandle))                           \
  X(begin_capture, cuStreamBeginCapture_v2, (StreamHandle, int))                                  \
  X(end_capture, cuStreamEndCapture, (StreamHandle, GraphHandle*))                                \
  X(instantiate, cuGraphInstantiateWithFlags, (InstanceHandle*, GraphHandle, unsigned long long)) \
  X(set_kernel, cuGraphExecKernelNodeSetParams_v2,                                                \
    (InstanceHandle, NodeHandle, const KernelNode*))                                              \
  X(launch_graph, cuGraphLaunch, (InstanceHandle, StreamHandle))                                  \
  X(destroy_instance, cuGraphExecDestroy, (InstanceHandle))                                       \
  X(encode_tiles, cuTensorMapEncodeTiled,                                                         \
    (void*, int, uint32_t, void*, const uint64_t*, const uint64_t*, const uint32_t*,              \
     const uint32_t*, int, int, int, int))                                                        \
  X(error_name, cuGetErrorName, (int, const char**))                                              \
  X(error_text, cuGetErrorString, (int, const char**))

// Null in a driver that is older than CUDA 12.3.
#define MLX_CUDA_NEWER_FUNCTIONS(X)     \
  X(connect, cuGraphAddDependencies_v2, \
    (GraphHandle, const NodeHandle*, const NodeHandle*, const EdgeData*, size_t))

struct Driver {
#define MLX_CUDA_MEMBER(name, symbol, parameters) int(*name) parameters = nullptr;
  MLX_CUDA_FUNCTIONS(MLX_CUDA_MEMBER)
  MLX_CUDA_NEWER_FUNCTIONS(MLX_CUDA_MEMBER)
#undef MLX_CUDA_MEMBER
};

// Values of the driver's enumerations.
inline constexpr int kSuccess = 0, kOutOfMemory = 2, kNotReady = 600;
inline constexpr unsigned kNonBlockingStream = 1;
inline constexpr unsigned kEventBlocks = 1, kEventWithoutTiming = 2;
inline constexpr int kRelaxedCapture = 2;
/// The second kernel may begin when the blocks of the first let it, or are over.
inline constexpr EdgeData kProgrammatic = {.from_port = 1, .to_port = 0, .type = 1, .reserved = {}};
inline constexpr unsigned kHostMapped = 2, kHostPortable = 1;
inline constexpr int kFunctionSharedBytes = 8;  // an attribute of functions
enum Attribute : int {
  most_threads = 1,  // of a block
  processors = 16,
  cache_bytes = 38,  // of the second level
  capability_major = 75,
  capability_minor = 76,
  most_shared = 97,  // bytes of a block
  copies_tiles = 127,
};

/// Opens the driver (libcuda.so.1, or the library that MLX_CUDA_DRIVER names) and counts devices;
/// 0 where there is no driver, or none of its devices can be used, and then `reason` says why.
int open_driver(std::string& reason);
/// The table; open_driver has found a device.
const Driver& driver();

/// Throws MemoryError or ExecutionError naming what was called, unless the status is success.
void check(int status, const char* what);

}  // namespace mlx::core::cuda
