// The order of communication: other processes expect a stream's in the order of submission, also
// where some of it is suspended.
#pragma once

#include "mlx/core/device.h"
#include "mlx/core/event.h"

namespace mlx::core {

/// An event after which work that communicates has its turn on the stream: the work before it has
/// begun, or failed. The event is suspended while that is; null where nothing is before it. `end`:
/// the end of the work, whose turn comes before that of the next. Suspended communication is kept
/// until then, also without its results: other processes wait for it.
Ref<Event> take_turn(Stream stream, const Ref<Event>& end);

}  // namespace mlx::core
