// The line of the program that runs now, for messages.
#pragma once

#include <string>

#include "bind.h"

namespace mlx::python {

/// The line that runs on this thread; if it is in this package, the line of the user code that
/// called it, with the package's own in brackets: "/home/me/train.py:12 in step". Empty where
/// there is none. The caller holds the GIL.
std::string line_of_program();
/// The same in short, as a number of the engine (number_of_line): "train.py:12". 0 where there is
/// none, also where this thread does not hold the GIL.
uint32_t short_line_of_program();
/// "train.py:12" of the line that raised an exception, or empty.
std::string short_line_of(nb::handle exception);

}  // namespace mlx::python
