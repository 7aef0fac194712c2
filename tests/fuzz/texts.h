// Fuzzing of the parsers of texts.
#pragma once

#include <string_view>

namespace mlx::core {

/// "23,345\nij,jkl->il": the lengths of the axes of each operand, a digit each, and the subscripts.
/// What einsum accepts has to be the sum that the subscripts say.
void fuzz_einsum(std::string_view text);

/// A signature of a bound function. What is accepted is the same after it is printed.
void fuzz_signature(std::string_view text);

}  // namespace mlx::core
