// Holds the declarations of mlx/backend/cuda/driver.h against the driver's own header: the numbers
// of parameters, and the size of each. Compiling it is the check.
#include <cuda.h>

#include <cstddef>

#include "mlx/backend/cuda/driver.h"

namespace {

template <class Ours, class Theirs>
struct Same {
  static constexpr bool value = false;
};
template <class R, class... A, class S, class... B>
  requires(sizeof...(A) == sizeof...(B))
struct Same<R (*)(A...), S (*)(B...)> {
  static constexpr bool value =
      sizeof(R) == sizeof(S) &&
      ((sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>) && ...);
};

#define CHECK(name, symbol, parameters) \
  static_assert(Same<decltype(mlx::core::cuda::Driver::name), decltype(&::symbol)>::value, #symbol);
MLX_CUDA_FUNCTIONS(CHECK)
MLX_CUDA_NEWER_FUNCTIONS(CHECK)

using namespace mlx::core;
static_assert(sizeof(cuda::KernelNode) == sizeof(CUDA_KERNEL_NODE_PARAMS_v2));
static_assert(offsetof(cuda::KernelNode, arguments) ==
              offsetof(CUDA_KERNEL_NODE_PARAMS_v2, kernelParams));
static_assert(sizeof(cuda::EdgeData) == sizeof(CUgraphEdgeData));
static_assert(CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC == cuda::kProgrammatic.from_port);
static_assert(CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC == cuda::kProgrammatic.type);
static_assert(CU_STREAM_CAPTURE_MODE_RELAXED == cuda::kRelaxedCapture);
static_assert(CUDA_ERROR_OUT_OF_MEMORY == cuda::kOutOfMemory);
static_assert(CUDA_ERROR_NOT_READY == cuda::kNotReady);
static_assert(CU_STREAM_NON_BLOCKING == cuda::kNonBlockingStream);
static_assert(CU_EVENT_BLOCKING_SYNC == cuda::kEventBlocks);
static_assert(CU_EVENT_DISABLE_TIMING == cuda::kEventWithoutTiming);
static_assert(CU_MEMHOSTALLOC_DEVICEMAP == cuda::kHostMapped);
static_assert(CU_MEMHOSTALLOC_PORTABLE == cuda::kHostPortable);
static_assert(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT == static_cast<int>(cuda::processors));
static_assert(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ==
              static_cast<int>(cuda::capability_major));
static_assert(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ==
              static_cast<int>(cuda::capability_minor));

}  // namespace
