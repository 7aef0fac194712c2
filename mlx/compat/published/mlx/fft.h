// Fourier transforms.
#pragma once

#include "mlx/ops/fft.h"
