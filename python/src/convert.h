// Conversions between Python values and arrays: scalars, nested lists, buffers, DLPack,
// `__mlx_array__`.
#pragma once

#include <optional>

#include "args.h"

namespace mlx::python {

/// True for bool, int, float and complex, and their subclasses.
inline bool is_scalar(PyObject* o) {
  return PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o);
}
/// True for arrays and for objects with `__mlx_array__`, the buffer protocol or DLPack; false for
/// bytes and the like.
bool is_array_like(PyObject* o);

/// The constant for a Python scalar: bool, int32 (int64 and uint64 if necessary), float32 and
/// complex64, or the given dtype. Throws SizeError for integers that no dtype holds.
array scalar_array(PyObject* o, std::optional<Dtype> dtype = {});
/// Any object that `array(...)` takes. Memory is copied. Throws TypeError or ValueError.
array to_array(PyObject* o, std::optional<Dtype> dtype = {});

/// `o` as an operand beside another one of dtype `other`: scalars and foreign arrays take that
/// dtype unless they are of a higher kind (bool, integer, floating, complex). Integers must then be
/// in its range (SizeError). Arrays are unchanged. False if `o` is not an operand.
bool weak_array(PyObject* o, Dtype other, array& out);
/// Both operands of a binary function. `a` and `b` point to given arrays or to the storage
/// arguments.
bool to_operands(PyObject* x, PyObject* y, const array*& a, const array*& b, array& storage_a,
                 array& storage_b);

/// Both operands of the binary function `op`, as in to_operands; throws TypeError naming it.
struct BothOperands {
  const array *a, *b;
  BothOperands(const char* op, Operand x, Operand y);

 private:
  array storage_a_, storage_b_;
};
/// An operand of `op` beside `other`, as in weak_array; throws TypeError naming `op`.
array convert_operand(const char* op, const array& other, Operand o);
/// An array that will be converted to dtype `t`: numbers are not rounded to float32 first if `t`
/// has double precision.
array for_dtype(const char* op, Operand o, std::optional<Dtype> t);

/// Evaluates the arrays without the GIL.
void evaluate(Arrays arrays);
/// Evaluates the array; returns its elements, which are valid until the array changes.
const char* host_data(const array& a);

/// One element as a Python scalar.
PyObject* scalar_to_python(const void* element, Dtype dtype);
/// The only element. Throws ValueError where there is not exactly one.
PyObject* item(const array& a);
/// Nested lists of scalars; a scalar for an array without axes.
PyObject* tolist(const array& a);

// buffer.cpp
/// The array of an object with the buffer protocol; none for other objects.
std::optional<array> from_buffer(PyObject* o, std::optional<Dtype> dtype);
/// A copy of foreign memory as an array of `dtype` (by default that of the source, with float64 and
/// complex128 narrowed). Strides are in bytes.
array copy_strided(const void* data, Shape shape, const Strides& byte_strides, Dtype source,
                   std::optional<Dtype> dtype);
extern PyBufferProcs* array_buffer_procs();
/// Warns, at the program's line, of a computed array with a derivative, which is lost where its
/// values are used; throws ValueError where MLX_STRICT_EXPORT is set.
void note_export(const array& a);
/// The array, evaluated and noted, as one that no transformation knows. Other threads may assign to
/// the program's array during the wait.
array exported(array a);
/// `a` as a NumPy array that shares its memory.
nb::object to_numpy(nb::handle a, nb::handle dtype, nb::handle copy);

// dlpack.cpp
/// The array of an object with `__dlpack__`: copied unless `copy` is false and `share`; without
/// `copy`, `share` shares memory of a device where no copy is needed.
array from_dlpack(PyObject* o, std::optional<Dtype> dtype, bool share, std::optional<bool> copy);

/// An active export of an array's memory, which it pins. Deleted by the consumer, from any thread.
struct Export {
  array owner;
  Ref<Storage> storage;
  char* data;
  Shape shape;
  Strides strides;       ///< elements, or bytes for buffers
  bool repeats = false;  ///< several elements have one address: they are read-only
  explicit Export(array& a);
  ~Export() { storage->unpin(); }
  Export(const Export&) = delete;
};

}  // namespace mlx::python
