// Records of a device's work, by its backend.
#include "mlx/core/capture.h"

#include "mlx/backend/backend.h"
#include "mlx/backend/capture.h"
#include "mlx/core/error.h"

namespace mlx::core {

namespace {
Capture& capture_of(const Device& d, const char* op) {
  auto* capture = dynamic_cast<Capture*>(&backend_of(d));
  if (!capture) fail<ExecutionError>(op, to_string(d), " given; devices of Metal are accepted");
  return *capture;
}
}  // namespace

void start_capture(const Device& d, const std::string& path) {
  capture_of(d, "start_capture").start_capture(path);
}
void stop_capture(const Device& d) { capture_of(d, "stop_capture").stop_capture(); }

}  // namespace mlx::core
