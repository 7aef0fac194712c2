// The text of a signature, split into its parts. Nothing of Python is needed for this.
#pragma once

#include <string>
#include <vector>

namespace mlx::python {

/// The parts of "name(a: array, /, b: int = 0, *rest, c: str = 'x', **more) -> array".
struct SignatureText {
  struct Parameter {
    std::string name, annotation;
    std::string fallback;      ///< the text of the default; empty where an argument is required
    bool positional, keyword;  ///< how it may be given
    bool operator==(const Parameter&) const = default;
  };
  std::string name;
  std::vector<Parameter> parameters;
  std::string star;       ///< the name of *args, if there are any
  std::string star_star;  ///< the name of **kwargs, if there are any
  std::string result;     ///< the text behind the arrow
  bool operator==(const SignatureText&) const = default;
};

/// Throws std::logic_error for what is not a signature.
SignatureText parse_signature(const std::string& text);

}  // namespace mlx::python
