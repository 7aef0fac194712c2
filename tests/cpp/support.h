// Shared parts of the C++ tests.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>

#include "mlx/backend/backend.h"
#include "mlx/mlx.h"
#include "mlx/runtime/debug.h"
#include "mlx/runtime/plan.h"

namespace mlx::core {

/// Makes the second backend, or the library that MLX_TEST_BACKEND names, the GPU of this process.
void use_second_backend();
/// Makes the next launch on the second backend fail.
void fail_next_fake_launch();

/// Runs the body on the default stream of a device.
template <class F>
void on_each_device(F&& body) {
  use_second_backend();
  const Device before = default_device();
  for (Device d : {Device(Device::cpu), Device(Device::gpu)}) {
    INFO("device ", to_string(d));
    set_default_device(d);
    body(d);
    set_default_device(before);
  }
}

/// Where the GPU's kernels find the elements of an evaluated array.
template <class T>
T* device_data(const array& a) {
  const Value& v = a.node()->value;
  Ref<Buffer> buffer = v.storage->replica(space_of(Device::gpu));
  return static_cast<T*>(backend_of(Device::gpu).address(*buffer)) + v.offset;
}

/// A file name of this process; the file goes with it.
struct TemporaryFile {
  std::string name = "/tmp/mlx_tests_" + std::to_string(getpid());
  ~TemporaryFile() { std::remove(name.c_str()); }
};

template <class T>
std::vector<T> values(const array& a) {
  array dense = contiguous(a);
  const T* p = dense.data<T>();
  return std::vector<T>(p, p + dense.size());
}

}  // namespace mlx::core
