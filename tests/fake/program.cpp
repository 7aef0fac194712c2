#include "program.h"

#include "micro_ops.h"
#include "mlx/backend/shared/odometer.h"
#include "mlx/core/error.h"

namespace mlx::core::fake {

namespace {

constexpr int64_t kPiece = 128;  // elements

bool is_narrow_float(Dtype::Val t) { return t == Dtype::Val::float16 || t == Dtype::Val::bfloat16; }
bool widens(const Instr& i) {
  return is_narrow_float(i.type) && i.op != OpId::cast && i.op != OpId::copy && arity_of(i.op) < 3;
}
MicroOp find(const Instr& i) {
  if (i.op == OpId::cast) return find_cast(i.type, i.out);
  return find_micro_op(i.op, widens(i) ? Dtype::Val::float32 : i.type);
}

struct Piece {
  alignas(16) unsigned char bytes[16 * kPiece];
};

/// Positions of an operand's elements, from the first one of a piece on.
class Walk {
 public:
  Walk(const Shape& shape, const Layout& l, void* first, int64_t start)
      : at_(shape, {l.strides}), base_(static_cast<char*>(first)), size_(l.dtype.size()) {
    at_.seek(start);
  }
  void read(Piece& to, int64_t n) {
    for (int64_t i = 0; i < n; ++i, at_.next())
      std::memcpy(to.bytes + i * size_, base_ + at_[0] * size_, size_);
  }
  void write(const Piece& from, int64_t n) {
    for (int64_t i = 0; i < n; ++i, at_.next())
      std::memcpy(base_ + at_[0] * size_, from.bytes + i * size_, size_);
  }

 private:
  Odometer<1> at_;
  char* base_;
  int64_t size_;
};

class Interpreter {
 public:
  explicit Interpreter(const Program& p) : p_(p), values_(p.first_instr() + p.code.size()) {
    for (const Instr& i : p.code) ops_.push_back(find(i));
  }

  void set_constants(const Scalar* constants) {
    for (size_t c = 0; c < p_.constants.size(); ++c) {
      const int size = Dtype(p_.constants[c]).size();
      for (int64_t i = 0; i < kPiece; ++i)
        std::memcpy(values_[p_.inputs.size() + c].bytes + i * size, constants[c].bytes, size);
    }
  }
  void run(int64_t n) {
    for (size_t k = 0; k < p_.code.size(); ++k) {
      const Instr& i = p_.code[k];
      const void* in[3] = {values_[i.a].bytes, values_[i.b].bytes, values_[i.c].bytes};
      Piece& out = values_[p_.first_instr() + k];
      if (widens(i))
        run_widened(i, ops_[k], in, out, n);
      else
        ops_[k](in, out.bytes, n);
    }
  }
  Piece& value(size_t v) { return values_[v]; }

 private:
  /// A row of float32 on 16-bit floats: its result rounds once.
  void run_widened(const Instr& i, MicroOp op, const void* const* in, Piece& out, int64_t n) {
    MicroOp widen = find_cast(i.type, Dtype::Val::float32);
    const void* wide[2];
    for (int k = 0; k < arity_of(i.op); ++k) {
      widen(&in[k], wide_[k].bytes, n);
      wide[k] = wide_[k].bytes;
    }
    if (i.out == Dtype::Val::bool_) return op(wide, out.bytes, n);
    op(wide, result_.bytes, n);
    const void* result = result_.bytes;
    find_cast(Dtype::Val::float32, i.out)(&result, out.bytes, n);
  }

  const Program& p_;
  std::vector<MicroOp> ops_;
  std::vector<Piece> values_;
  Piece wide_[2], result_;
};

}  // namespace

bool has_micro_op(const Instr& code) { return !reads_index(code.op) && find(code) != nullptr; }

void check_program(const Program& program) {
  for (const Instr& i : program.code)
    if (!has_micro_op(i))
      fail<TypeError>("eval", "no kernel for elementwise op ", static_cast<int>(i.op), " on ",
                      dtype_name(i.type));
}

void run_program(const Program& p, const Shape& shape, std::span<void* const> operands,
                 std::span<const Layout> layouts, const Scalar* constants) {
  const int64_t n = num_elements(shape), pieces = (n + kPiece - 1) / kPiece;
  Interpreter machine(p);
  machine.set_constants(constants);
  const size_t n_inputs = p.inputs.size();
  // Odd pieces first, then even ones, both from the end: what relies on an order shows.
  for (int64_t k = 0; k < pieces; ++k) {
    const int64_t odd = pieces / 2;
    const int64_t piece = k < odd ? 2 * (odd - 1 - k) + 1 : 2 * (pieces - 1 - k);
    const int64_t start = piece * kPiece, count = std::min(kPiece, n - start);
    for (size_t i = 0; i < n_inputs; ++i)
      Walk(shape, layouts[i], operands[i], start).read(machine.value(i), count);
    machine.run(count);
    for (size_t o = 0; o < p.outputs.size(); ++o)
      Walk(shape, layouts[n_inputs + o], operands[n_inputs + o], start)
          .write(machine.value(p.outputs[o]), count);
  }
}

}  // namespace mlx::core::fake
