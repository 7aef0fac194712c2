// Fuzzing of the parsers of texts, of the C interface, and of messages between ranks.
#pragma once

#include <string_view>

namespace mlx::core {

/// "23,345\nij,jkl->il": the lengths of the axes of each operand, a digit each, and the subscripts.
/// Accepted subscripts must give the sum that they say.
void fuzz_einsum(std::string_view text);

/// A signature of a bound function. An accepted one is the same after it is printed.
void fuzz_signature(std::string_view text);

/// Calls of the C interface (tests/c/sequences.h), chosen by the bytes.
void fuzz_handles(std::string_view bytes);

/// A hostfile in JSON, or headers of messages, one after another.
void fuzz_ranks(std::string_view bytes);

}  // namespace mlx::core
