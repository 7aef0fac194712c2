// Micro-ops of bool and the integers.
#include "rows.h"

namespace mlx::core::fake {

const MicroOp* const bool_rows = Rows<Dtype::Val::bool_, bool>::table;
const MicroOp* const uint8_rows = Rows<Dtype::Val::uint8, uint8_t>::table;
const MicroOp* const uint16_rows = Rows<Dtype::Val::uint16, uint16_t>::table;
const MicroOp* const uint32_rows = Rows<Dtype::Val::uint32, uint32_t>::table;
const MicroOp* const uint64_rows = Rows<Dtype::Val::uint64, uint64_t>::table;
const MicroOp* const int8_rows = Rows<Dtype::Val::int8, int8_t>::table;
const MicroOp* const int16_rows = Rows<Dtype::Val::int16, int16_t>::table;
const MicroOp* const int32_rows = Rows<Dtype::Val::int32, int32_t>::table;
const MicroOp* const int64_rows = Rows<Dtype::Val::int64, int64_t>::table;

}  // namespace mlx::core::fake
