// The error hierarchy. Messages read "[op] what was given; what is accepted".
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace mlx::core {

/// A wrong value: Python's ValueError.
struct ValueError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};
/// An array that stands for values that come later was asked for them.
struct PlaceholderError : ValueError {
  using ValueError::ValueError;
};
/// A wrong type or dtype: Python's TypeError.
struct TypeError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};
/// An axis, index or mask out of range: both IndexError and ValueError in Python.
struct IndexError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};
/// A size that cannot be represented; names the number: Python's OverflowError.
struct SizeError : std::overflow_error {
  using std::overflow_error::overflow_error;
};
/// A failure while executing: both RuntimeError and ValueError in Python.
struct ExecutionError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// A matrix that has no such factorisation, inverse or solution: LinAlgError in Python, which is an
/// ExecutionError.
struct LinAlgError : ExecutionError {
  using ExecutionError::ExecutionError;
};
/// A file that cannot be read or written: both RuntimeError and ValueError in Python.
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// No memory below the hard ceiling: both MemoryError and RuntimeError in Python.
struct MemoryError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Joins the arguments with operator<<.
template <class... A>
std::string cat(const A&... a) {
  std::ostringstream out;
  (out << ... << a);
  return out.str();
}

/// Throws `E` with the message "[op] …".
template <class E = ValueError, class... A>
[[noreturn]] void fail(const char* op, const A&... a) {
  throw E(cat("[", op, "] ", a...));
}

}  // namespace mlx::core
