// Formatting of arrays as text.
#include "mlx/core/print.h"

#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <ostream>
#include <sstream>
#include <type_traits>

#include "mlx/core/error.h"
#include "mlx/core/trace.h"

namespace mlx::core {

namespace {

constexpr int64_t kEnds = 3;  ///< elements shown at either end of a long axis

/// Names of the numbers 0 and 1 of bool.
using BoolNames = std::array<const char*, 2>;

/// A NaN without its sign, which depends on the processor.
template <class T>
auto printed(T v) {
  using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const auto wide = static_cast<Wide>(v);
  return std::isnan(wide) ? std::numeric_limits<Wide>::quiet_NaN() : wide;
}

template <class T>
void print_element(std::ostream& os, const T& v, const BoolNames& bools) {
  if constexpr (std::is_same_v<T, bool>) {
    os << bools[v];
  } else if constexpr (requires { v.imag(); }) {
    os << printed(v.real()) << (v.imag() >= 0 || std::isnan(v.imag()) ? "+" : "")
       << printed(v.imag()) << 'j';
  } else if constexpr (std::is_integral_v<T>) {
    os << +v;
  } else {
    os << printed(v);
  }
}

void set_precision(std::ostream& os, PrintOptions options) {
  if (options.precision < 0) return;
  os << std::fixed;
  os.precision(options.precision);
}

constexpr BoolNames kSmall{"false", "true"}, kCapital{"False", "True"};

struct ArrayPrinter {
  std::ostream& os;
  const Shape& shape;
  const Strides& strides;
  Dtype dtype;
  const BoolNames& bools;

  void print(const char* data, size_t axis) {
    if (axis == shape.size()) {
      dispatch(dtype, [&]<class T>(TypeTag<T>) {
        T v;
        std::memcpy(&v, data, sizeof v);
        print_element(os, v, bools);
      });
      return;
    }
    int64_t n = shape[axis], step = strides[axis] * dtype.size();
    std::string separator = axis + 1 == shape.size() ? ", " : ",\n" + std::string(7 + axis, ' ');
    os << '[';
    for (int64_t i = 0; i < n; ++i) {
      if (i) os << separator;
      if (n > 2 * kEnds && i == kEnds) {
        os << "..." << separator;
        i = n - kEnds;
      }
      print(data + i * step, axis + 1);
    }
    os << ']';
  }
};

}  // namespace

PrintFormatter& get_global_formatter() {
  static auto& formatter = *new PrintFormatter;
  return formatter;
}

// Threads may print while another one sets the options.
PrintOptions print_options() {
  std::atomic_ref precision(get_global_formatter().format_options.precision);
  return {precision.load(std::memory_order_relaxed)};
}
void set_printoptions(PrintOptions options) {
  std::atomic_ref precision(get_global_formatter().format_options.precision);
  precision.store(options.precision, std::memory_order_relaxed);
}

namespace {

std::string formatted(const array& a, const BoolNames& bools) {
  if (!a) return "array(null)";
  std::ostringstream os;
  // An array of a trace that has ended is shown as such.
  bool leaked = !is_open(a.node()->trace);
  try {
    if (!is_constant(a)) a.eval();
  } catch (const PlaceholderError&) {
    if (!leaked) throw;
    return "array(<placeholder>, shape=" + to_string(a.shape()) +
           ", dtype=" + std::string(dtype_name(a.dtype())) + ')';
  }
  set_precision(os, print_options());
  os << "array(";
  if (a.size() == 0 && a.ndim() > 1) {
    os << "[], shape=";
    for (size_t i = 0; i < a.ndim(); ++i) os << (i ? ", " : "(") << a.shape()[i];
    os << ')';
  } else if (is_constant(a)) {
    ArrayPrinter{os, a.shape(), {}, a.dtype(), bools}.print(
        reinterpret_cast<const char*>(a.node()->scalar().bytes), 0);
  } else {
    const char* data = static_cast<const char*>(a.raw(Access::read));
    ArrayPrinter{os, a.shape(), a.strides(), a.dtype(), bools}.print(data, 0);
  }
  os << ", dtype=" << dtype_name(a.dtype()) << ')';
  return os.str();
}

}  // namespace

std::string to_string(const array& a) {
  return formatted(a, get_global_formatter().capitalize_bool ? kCapital : kSmall);
}
std::string to_python_string(const array& a) { return formatted(a, kCapital); }

template <class T>
void PrintFormatter::print(std::ostream& os, T v) const {
  std::ostringstream text;
  set_precision(text, format_options);
  print_element(text, v, capitalize_bool ? kCapital : kSmall);
  os << text.str();
}
template void PrintFormatter::print(std::ostream&, bool) const;
template void PrintFormatter::print(std::ostream&, int8_t) const;
template void PrintFormatter::print(std::ostream&, int16_t) const;
template void PrintFormatter::print(std::ostream&, int32_t) const;
template void PrintFormatter::print(std::ostream&, int64_t) const;
template void PrintFormatter::print(std::ostream&, uint8_t) const;
template void PrintFormatter::print(std::ostream&, uint16_t) const;
template void PrintFormatter::print(std::ostream&, uint32_t) const;
template void PrintFormatter::print(std::ostream&, uint64_t) const;
template void PrintFormatter::print(std::ostream&, float16_t) const;
template void PrintFormatter::print(std::ostream&, bfloat16_t) const;
template void PrintFormatter::print(std::ostream&, float) const;
template void PrintFormatter::print(std::ostream&, double) const;
template void PrintFormatter::print(std::ostream&, complex64_t) const;

std::ostream& operator<<(std::ostream& os, const array& a) { return os << to_string(a); }
std::ostream& operator<<(std::ostream& os, const Dtype& t) { return os << dtype_name(t); }

}  // namespace mlx::core
