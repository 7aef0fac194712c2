// Fused programs, interpreted piece by piece: odd pieces first, from the end.

#include "program.h"

#include "index_ops.h"
#include "micro_ops.h"
#include "mlx/backend/common/odometer.h"
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
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(bytes);
  }
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
  Interpreter(const Program& p, const Shape& shape)
      : p_(p), shape_(shape), values_(p.first_instr() + p.code.size()) {
    for (const Instr& i : p.code) ops_.push_back(reads_index(i.op) ? nullptr : find(i));
  }

  void set_constants(const Scalar* constants) {
    for (size_t c = 0; c < p_.constants.size(); ++c) {
      const int size = Dtype(p_.constants[c]).size();
      for (int64_t i = 0; i < kPiece; ++i)
        std::memcpy(values_[p_.inputs.size() + c].bytes + i * size, constants[c].bytes, size);
    }
  }
  /// The elements from the `start`-th on, of which the inputs are in their values.
  void run(int64_t start, int64_t n) {
    for (size_t k = 0; k < p_.code.size(); ++k) {
      const Instr& i = p_.code[k];
      Piece& out = values_[p_.first_instr() + k];
      if (reads_index(i.op)) {
        run_on_numbers(i, start, out, n);
        continue;
      }
      const void* in[3] = {values_[i.a].bytes, values_[i.b].bytes, values_[i.c].bytes};
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

  void run_on_numbers(const Instr& i, int64_t start, Piece& out, int64_t n) {
    const Numbering& how = p_.numberings[i.a];
    int64_t numbers[kPiece];
    Odometer<1> at(shape_, {how.strides});
    at.seek(start);
    for (int64_t k = 0; k < n; ++k, at.next()) numbers[k] = at[0];
    if (i.op == OpId::random_bits)
      return random_words(how, numbers, values_[i.b].as<uint32_t>(), values_[i.c].as<uint32_t>(),
                          out.as<uint32_t>(), n);
    Piece exact;
    if (i.type == Dtype::Val::int64)
      positions(how, numbers, exact.as<int64_t>(), n);
    else
      positions(how, numbers, exact.as<double>(), n);
    const void* in = exact.bytes;
    find_cast(i.type, i.out)(&in, out.bytes, n);
  }

  const Program& p_;
  const Shape& shape_;
  std::vector<MicroOp> ops_;
  std::vector<Piece> values_;
  Piece wide_[2], result_;
};

}  // namespace

bool has_micro_op(const Instr& code) { return reads_index(code.op) || find(code) != nullptr; }

void check_program(const Program& program) {
  for (const Instr& i : program.code)
    if (!has_micro_op(i))
      fail<TypeError>("eval", "no kernel for elementwise op ", static_cast<int>(i.op), " on ",
                      dtype_name(i.type));
}

void run_program(const Program& p, const Shape& shape, std::span<void* const> operands,
                 std::span<const Layout> layouts, const Scalar* constants) {
  const int64_t n = num_elements(shape), pieces = (n + kPiece - 1) / kPiece;
  Interpreter machine(p, shape);
  machine.set_constants(constants);
  const size_t n_inputs = p.inputs.size();
  // Odd pieces first, then even ones, both from the end: a program that relies on an order fails.
  for (int64_t k = 0; k < pieces; ++k) {
    const int64_t odd = pieces / 2;
    const int64_t piece = k < odd ? 2 * (odd - 1 - k) + 1 : 2 * (pieces - 1 - k);
    const int64_t start = piece * kPiece, count = std::min(kPiece, n - start);
    for (size_t i = 0; i < n_inputs; ++i)
      Walk(shape, layouts[i], operands[i], start).read(machine.value(i), count);
    machine.run(start, count);
    for (size_t o = 0; o < p.outputs.size(); ++o)
      Walk(shape, layouts[n_inputs + o], operands[n_inputs + o], start)
          .write(machine.value(p.outputs[o]), count);
  }
}

}  // namespace mlx::core::fake
