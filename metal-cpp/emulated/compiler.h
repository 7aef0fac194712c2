// Source text in Metal's language, compiled for the CPU.
#pragma once

#include <memory>
#include <string>

#include "threads.h"

namespace emulated {

/// A compiled source, loaded until the last owner lets it go.
class Compiled {
 public:
  explicit Compiled(void* library) : library_(library) {}
  Compiled(const Compiled&) = delete;
  ~Compiled();
  /// The kernel of this name, or null.
  const Kernel* find(const std::string& name) const;
  Code code() const;

 private:
  void* const library_;
};

/// Compiles a source. Returns null, and the compiler's text in `error`, where it does not compile.
std::shared_ptr<Compiled> compile(const std::string& source, std::string& error);

/// Preprocessed Metal as C++: threadgroup memory that kernels declare becomes memory of the device,
/// and every kernel gets an entry that takes arguments from a Thread. Throws std::runtime_error for
/// a parameter without an attribute that is known.
std::string translate(const std::string& preprocessed);

}  // namespace emulated
