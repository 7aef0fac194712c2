// How primitives of extensions hand work to a stream of the CPU.
#pragma once

#include "mlx/compat/encoder.h"
