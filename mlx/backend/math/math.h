// The math library: every function of ops/elementwise.def, written once over a value type (see
// math_base.h), over plain integers, and over complex numbers.
#pragma once

#include "mlx/backend/math/basic.h"
#include "mlx/backend/math/complex.h"
#include "mlx/backend/math/exp.h"
#include "mlx/backend/math/gamma.h"
#include "mlx/backend/math/special.h"
#include "mlx/backend/math/trig.h"
