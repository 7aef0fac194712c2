// Captures of the work of the emulated device.
#pragma once

#include <string>

namespace emulated {

/// Adds the classes that programs make captures with.
void add_capture_classes();
/// Notes a kernel of a command buffer that is committed, if a capture is under way.
void note_in_capture(const std::string& kernel);

}  // namespace emulated
