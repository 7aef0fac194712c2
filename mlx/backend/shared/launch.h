// Parts of launches that backends with streams of their own have in common.
#pragma once

#include <utility>

#include "mlx/backend/backend.h"
#include "mlx/core/array.h"
#include "mlx/core/event.h"
#include "mlx/core/storage.h"

namespace mlx::core {

/// A launch that found no memory for its temporaries; `start` launches it again.
class SuspendedLaunch final : public SuspendedWork {
 public:
  SuspendedLaunch(Launch launch, void (*start)(Launch))
      : launch_(std::move(launch)), start_(start) {
    launch_.done = {};  // the event owns this
  }
  void resume(Event& end) override {
    launch_.done = Ref<Event>(&end);
    start_(std::move(launch_));
  }

 private:
  Launch launch_;
  void (*const start_)(Launch);
};

/// An array over operand k of a step, at a position of the step's loop. `arena`: the memory of
/// bindings without a buffer.
inline array operand_array(const Step& step, int k, const Shape& at, const Launch& launch,
                           Buffer* arena) {
  const Binding& b = launch.arguments.bindings()[step.slots[k]];
  Ref<Buffer> buffer(b.buffer ? b.buffer : arena);
  const Layout& l = step.operands[k];
  int64_t offset = b.offset / l.dtype.size() + l.offset;
  for (size_t d = 0; d < at.size(); ++d) offset += at[d] * step.advance[k][d];
  const size_t bytes = buffer->bytes;
  return array(make_ref<Storage>(std::move(buffer), bytes), l.shape, l.strides, offset, l.dtype);
}

}  // namespace mlx::core
