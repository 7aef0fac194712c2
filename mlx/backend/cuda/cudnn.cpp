// cuDNN's library and its descriptors.
#include "mlx/backend/cuda/cudnn.h"

#include "mlx/backend/cuda/libraries.h"

namespace mlx::core::cuda {

namespace {

Cudnn open_cudnn() {
  Cudnn c;
  void* library = open_library_of_device("MLX_CUDA_CUDNN", {"libcudnn.so.9"});
  FunctionFinder find(library);
  find(c.create, "cudnnCreate");
  find(c.destroy, "cudnnDestroy");
  find(c.set_stream, "cudnnSetStream");
  find(c.create_part, "cudnnBackendCreateDescriptor");
  find(c.destroy_part, "cudnnBackendDestroyDescriptor");
  find(c.set, "cudnnBackendSetAttribute");
  find(c.get, "cudnnBackendGetAttribute");
  find(c.finish, "cudnnBackendFinalize");
  find(c.execute, "cudnnBackendExecute");
  c.found = find.found_all();
  return c;
}

}  // namespace

const Cudnn& cudnn() {
  static const Cudnn c = open_functions(open_cudnn);
  return c;
}

CudnnDescriptor::CudnnDescriptor(CudnnPart part)
    : status_(cudnn().create_part(static_cast<int>(part), &descriptor_)) {}
CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_) cudnn().destroy_part(descriptor_);
}

CudnnDescriptor& CudnnDescriptor::set(int attribute, CudnnType type, const void* values,
                                      int64_t count) {
  if (!status_)
    status_ = cudnn().set(descriptor_, attribute, static_cast<int>(type), count, values);
  return *this;
}
CudnnDescriptor& CudnnDescriptor::set(int attribute, const CudnnDescriptor& part) {
  if (!status_) status_ = part.status();
  void* const descriptor = part.descriptor();
  return set(attribute, CudnnType::part, &descriptor);
}
CudnnDescriptor& CudnnDescriptor::finish() {
  if (!status_) status_ = cudnn().finish(descriptor_);
  return *this;
}
int64_t CudnnDescriptor::get(int attribute, CudnnType type, int64_t most, void* values) const {
  int64_t count = 0;
  if (status_ || cudnn().get(descriptor_, attribute, static_cast<int>(type), most, &count, values))
    return 0;
  return count;
}

}  // namespace mlx::core::cuda
