// The Python exception classes, and the translation of C++ exceptions.
#include <new>

#include "lock.h"

namespace mlx::python {

PyObject *argument_error, *communication_error;

namespace {

PyObject *index_error, *size_error, *execution_error, *linalg_error, *file_error, *memory_error;

PyObject* make_class(nb::module_& m, const char* name, const char* doc,
                     std::initializer_list<PyObject*> bases) {
  nb::list list;
  for (PyObject* b : bases) list.append(nb::handle(b));
  std::string full = std::string("mlx.core.") + name;
  PyObject* type = PyErr_NewExceptionWithDoc(full.c_str(), doc, nb::tuple(list).ptr(), nullptr);
  if (!type) throw nb::python_error();
  m.attr(name) = nb::handle(type);
  return type;
}

PyObject* builtin_class(nb::exception_type type) {
  switch (type) {
    case nb::exception_type::stop_iteration:
      return PyExc_StopIteration;
    case nb::exception_type::index_error:
      return PyExc_IndexError;
    case nb::exception_type::key_error:
      return PyExc_KeyError;
    case nb::exception_type::value_error:
      return PyExc_ValueError;
    case nb::exception_type::type_error:
      return PyExc_TypeError;
    case nb::exception_type::buffer_error:
      return PyExc_BufferError;
    case nb::exception_type::import_error:
      return PyExc_ImportError;
    case nb::exception_type::attribute_error:
      return PyExc_AttributeError;
    default:
      return PyExc_RuntimeError;
  }
}

}  // namespace

void bind_errors(nb::module_& m) {
  index_error = make_class(m, "ArrayIndexError", "An axis, index or mask is out of range.",
                           {PyExc_IndexError, PyExc_ValueError});
  size_error = make_class(m, "SizeError", "A number is not representable in the required type.",
                          {PyExc_OverflowError, PyExc_ValueError});
  execution_error = make_class(m, "ExecutionError", "A computation failed during execution.",
                               {PyExc_RuntimeError, PyExc_ValueError});
  linalg_error = make_class(
      m, "LinAlgError", "A matrix does not have the requested factorisation, inverse or solution.",
      {execution_error});
  communication_error =
      make_class(m, "CommunicationError",
                 "Processes that work together disagree, or one of them is lost, late or gone.",
                 {execution_error});
  file_error = make_class(m, "FileError", "A file cannot be read or written.",
                          {PyExc_RuntimeError, PyExc_ValueError});
  memory_error = make_class(m, "ArrayMemoryError", "An allocation would exceed the memory limit.",
                            {PyExc_MemoryError, PyExc_RuntimeError});
  argument_error = make_class(m, "ArgumentError", "An argument has a type that is not accepted.",
                              {PyExc_TypeError, PyExc_ValueError});
  nb::register_exception_translator(
      [](const std::exception_ptr& p, void*) {
        try {
          std::rethrow_exception(p);
        } catch (const std::exception&) {
          raise_current();
        }
      },
      nullptr);
}

PyObject* raise_current() noexcept {
  PyObject* type = PyExc_RuntimeError;
  std::string message;
  try {
    throw;
  } catch (nb::python_error& e) {
    e.restore();
    return nullptr;
  } catch (const Interrupted&) {
    restore_interrupt();
    return nullptr;
  } catch (const nb::builtin_exception& e) {
    type = builtin_class(e.type());
    message = e.what();
  } catch (const TypeError& e) {
    type = PyExc_TypeError;
    message = e.what();
  } catch (const IndexError& e) {
    type = index_error;
    message = e.what();
  } catch (const std::out_of_range& e) {
    type = index_error;
    message = e.what();
  } catch (const std::invalid_argument& e) {
    type = PyExc_ValueError;
    message = e.what();
  } catch (const std::overflow_error& e) {
    type = size_error;
    message = e.what();
  } catch (const LinAlgError& e) {
    type = linalg_error;
    message = e.what();
  } catch (const CommunicationError& e) {
    type = communication_error;
    message = e.what();
  } catch (const FileError& e) {
    type = file_error;
    message = e.what();
  } catch (const MemoryError& e) {
    type = memory_error;
    message = e.what();
  } catch (const std::bad_alloc&) {
    type = memory_error;
    message = "out of memory";
  } catch (const std::length_error& e) {
    type = size_error;
    message = e.what();
  } catch (const std::exception& e) {
    type = execution_error;
    message = e.what();
  } catch (...) {
    message = "an exception of an unknown type was thrown";
  }
  // Messages quote names of files and what stands in them, which need not be UTF-8.
  const auto size = static_cast<Py_ssize_t>(message.size());
  if (PyObject* text = PyUnicode_DecodeUTF8(message.data(), size, "backslashreplace")) {
    PyErr_SetObject(type, text);
    Py_DECREF(text);
  }
  return nullptr;
}

}  // namespace mlx::python
