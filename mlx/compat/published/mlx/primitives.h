// Ops defined by deriving from a class, and the classes of the library's own.
#pragma once

#include "mlx/compat/primitives.h"
