// Work of a program's own on streams of the CPU.
#pragma once

#include "mlx/compat/scheduler.h"
