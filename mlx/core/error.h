// The error hierarchy. Messages read "[op] what was given; what is accepted".
#pragma once

#include <initializer_list>
#include <ostream>
#include <stdexcept>
#include <string>

#include "mlx/core/api.h"

namespace mlx::core {

/// An error that can be rethrown with more text and the same class.
struct MLX_API ExtensibleError {
  virtual ~ExtensibleError() = default;
  [[noreturn]] virtual void throw_with(const std::string& text) const = 0;
};

namespace detail {
/// Base of an exception class: `Self` derives from this, which derives from `Base`.
template <class Self, class Base>
struct MLX_API Error : Base, ExtensibleError {
  using Base::Base;
  [[noreturn]] void throw_with(const std::string& text) const override {
    throw Self(Base::what() + text);
  }
};
/// Base of an exception class below another one of the hierarchy.
template <class Self, class Base>
struct MLX_API Suberror : Base {
  using Base::Base;
  [[noreturn]] void throw_with(const std::string& text) const override {
    throw Self(Base::what() + text);
  }
};
}  // namespace detail

/// A wrong value: ValueError in Python.
struct MLX_API ValueError : detail::Error<ValueError, std::invalid_argument> {
  using Error::Error;
};
/// The value of a placeholder was requested; placeholders get values only when the traced function
/// is called.
struct MLX_API PlaceholderError : detail::Suberror<PlaceholderError, ValueError> {
  using Suberror::Suberror;
};
/// A wrong type or dtype: TypeError in Python.
struct MLX_API TypeError : detail::Error<TypeError, std::invalid_argument> {
  using Error::Error;
};
/// An axis, index or mask out of range: both IndexError and ValueError in Python.
struct MLX_API IndexError : detail::Error<IndexError, std::out_of_range> {
  using Error::Error;
};
/// A size that cannot be represented; the message contains the number. OverflowError in Python.
struct MLX_API SizeError : detail::Error<SizeError, std::overflow_error> {
  using Error::Error;
};
/// A failure while executing: both RuntimeError and ValueError in Python.
struct MLX_API ExecutionError : detail::Error<ExecutionError, std::runtime_error> {
  using Error::Error;
};
/// A matrix without the requested factorisation, inverse or solution: LinAlgError in Python, a
/// subclass of ExecutionError.
struct MLX_API LinAlgError : detail::Suberror<LinAlgError, ExecutionError> {
  using Suberror::Suberror;
};
/// Processes that work together disagree, or one of them is lost, late or gone: CommunicationError
/// in Python, a subclass of ExecutionError.
struct MLX_API CommunicationError : detail::Suberror<CommunicationError, ExecutionError> {
  using Suberror::Suberror;
};
/// A file that cannot be read or written: both RuntimeError and ValueError in Python.
struct MLX_API FileError : detail::Error<FileError, std::runtime_error> {
  using Error::Error;
};
/// An allocation would exceed the hard limit: both MemoryError and RuntimeError in Python.
struct MLX_API MemoryError : detail::Error<MemoryError, std::runtime_error> {
  using Error::Error;
};

namespace detail {
template <class T>
void write_part(std::ostream& out, const void* value) {
  out << *static_cast<const T*>(value);
}
extern template MLX_API void write_part<std::string>(std::ostream&, const void*);
extern template MLX_API void write_part<int>(std::ostream&, const void*);
extern template MLX_API void write_part<long>(std::ostream&, const void*);
extern template MLX_API void write_part<unsigned long>(std::ostream&, const void*);

/// A part of a message, by reference: text, or anything that has operator<<. Without it each list
/// of types of arguments would be a separate function to compile.
class Part {
 public:
  Part(const char* text) : value_(text) {}
  template <class T>
  Part(const T& value) : value_(&value), write_(&write_part<T>) {}
  MLX_API void append_to(std::string& out) const;

 private:
  const void* value_;
  void (*write_)(std::ostream&, const void*) = nullptr;  ///< null: `value_` is the text
};
MLX_API std::string join(std::initializer_list<Part> parts);
MLX_API std::string message(const char* op, std::initializer_list<Part> parts);
}  // namespace detail

/// Joins the arguments with operator<<.
template <class... A>
std::string cat(const A&... a) {
  return detail::join({detail::Part(a)...});
}

/// Throws `E` with the message "[op] …".
template <class E = ValueError, class... A>
[[noreturn]] void fail(const char* op, const A&... a) {
  throw E(detail::message(op, {detail::Part(a)...}));
}

}  // namespace mlx::core
