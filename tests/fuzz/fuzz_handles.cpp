// Sequences of calls of the C interface, chosen by bytes.
#include "tests/c/sequences.h"
#include "tests/fuzz/texts.h"

void mlx::core::fuzz_handles(std::string_view bytes) {
  sequences::run(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}
