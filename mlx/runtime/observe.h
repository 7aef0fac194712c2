// Looking at steps while they run: lines of the program that built them, NaNs that they produce,
// times that they take. Off, it costs one load a step.
#pragma once

#include <string>

#include "mlx/core/api.h"

namespace mlx::core {

/// The watched events. Plans made for a mode serve only that mode.
enum Watch : uint32_t {
  watch_origins = 1,  ///< errors of evaluation name the line that built the node
  watch_nans = 2,     ///< a step that is the first with a NaN in its results fails; no fusion
  watch_times = 4,    ///< a Profile records steps
};
/// The watches that are on.
MLX_API uint32_t watching();
/// Whether traces keep the lines of their ops.
inline uint32_t watching_lines() { return watching() & (watch_origins | watch_nans); }
/// Turns a watch on or off; returns whether it was on.
MLX_API bool watch(Watch what, bool on);

/// Where lines of the program come from: called when a node is made, while watches are on; gives a
/// number from `intern_origin`, or 0.
MLX_API void set_origin_source(uint32_t (*source)());
/// A number for a text like "train.py:12 in step", the same for the same text.
MLX_API uint32_t intern_origin(const std::string& text);
/// The text of a number; "" for 0.
MLX_API std::string origin_text(uint32_t origin);

}  // namespace mlx::core
