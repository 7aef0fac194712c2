// Lines of the program, by number.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "mlx/core/api.h"

namespace mlx::core {

/// A number for a text such as "train.py:12", the same for equal texts.
MLX_API uint32_t number_of_line(const std::string& text);
/// The text of a number, which is kept; of 0 empty.
MLX_API const std::string& text_of_line(uint32_t number);
/// Returns the number of the program's line that runs now on this thread; null where the program's
/// language does not tell.
extern MLX_API std::atomic<uint32_t (*)()> program_line;

}  // namespace mlx::core
