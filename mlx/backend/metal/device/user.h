// The start of kernels that programs bring: names that their sources may use beside the language's.
#pragma once

#include <metal_stdlib>

#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)

using namespace metal;

typedef half float16_t;
typedef bfloat bfloat16_t;

struct complex64_t {
  float real, imag;
};

/// The place of element `number` of an array whose axes have these lengths and strides.
template <class Number>
inline int64_t elem_to_loc(Number number, const constant int* shape,
                           const constant int64_t* strides, int ndim) {
  int64_t at = 0;
  for (int axis = ndim - 1; axis >= 0; --axis) {
    const Number length = static_cast<Number>(shape[axis]);
    at += static_cast<int64_t>(number % length) * strides[axis];
    number /= length;
  }
  return at;
}
// The end of the common part.
