// Memory that arrays and other libraries share beyond the host's: of GPUs, through DLPack and the
// CUDA array interface.
#pragma once

#include <functional>

#include "convert.h"

namespace mlx::python {

/// A capsule for `a.__dlpack__(...)`.
PyObject* to_dlpack(nb::handle a, nb::handle stream, nb::handle max_version, nb::handle device,
                    std::optional<bool> copy);

/// The GPU that shares memory with other libraries and would share this array's; none where the
/// array's memory is the host's.
std::optional<Device> shared_device(const array& a);
/// `a.__cuda_array_interface__`; throws AttributeError where there is none.
nb::object to_cuda_interface(nb::handle a);
/// A copy of the array of an object with `__cuda_array_interface__`.
array from_cuda_interface(PyObject* o, std::optional<Dtype> dtype);

/// Gives a constant memory that a consumer can write to.
void materialize(array& a);

/// Memory of a GPU that a consumer uses: evaluated, the only replica, and pinned until work on the
/// device that may use it is over. Throws BufferError where it is the host's alone.
struct DeviceExport {
  array owner;
  Ref<Storage> storage;
  Device device;
  char* data;
  Shape shape;
  Strides strides;
  bool repeats = false;
  DeviceExport(array& a, Device on);
  ~DeviceExport();
  DeviceExport(const DeviceExport&) = delete;
};
/// Memory of a GPU with another owner. Strides are in elements; `release` gives it back when
/// no work needs it. Copied, to `dtype`, unless it is shared.
struct ForeignMemory {
  void* data;
  Device device;
  Shape shape;
  Strides strides;
  Dtype dtype;
  std::function<void()> release;
};
array import_memory(ForeignMemory from, std::optional<Dtype> dtype, bool share);

}  // namespace mlx::python
