// Names, categories and promotion of dtypes.
#include "mlx/core/dtype.h"

#include <algorithm>
#include <stdexcept>

namespace mlx::core {

namespace {

constexpr std::string_view kNames[kNumDtypes] = {
    "bool",  "uint8",   "uint16",  "uint32",  "uint64",   "int8",      "int16",     "int32",
    "int64", "float16", "float32", "float64", "bfloat16", "complex64", "complex128"};

using Val = Dtype::Val;
using Category = Dtype::Category;

Category category_of(Dtype t) {
  if (is_complex(t)) return Category::complexfloating;
  if (is_floating(t)) return Category::floating;
  if (is_unsigned(t)) return Category::unsignedinteger;
  return t == bool_ ? Category::generic : Category::signedinteger;
}

/// The parent in the tree generic > number > {inexact > ..., integer > ...}.
Category parent(Category c) {
  switch (c) {
    case Category::complexfloating:
    case Category::floating:
      return Category::inexact;
    case Category::signedinteger:
    case Category::unsignedinteger:
      return Category::integer;
    case Category::inexact:
    case Category::integer:
      return Category::number;
    default:
      return Category::generic;
  }
}

/// The signed or unsigned integer of a width in bytes.
Dtype integer_of(int bytes, bool is_signed) {
  int log = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
  return static_cast<Val>(static_cast<int>(is_signed ? Val::int8 : Val::uint8) + log);
}

Dtype promote_integers(Dtype a, Dtype b) {
  if (a == bool_) return b;
  if (b == bool_) return a;
  if (is_unsigned(a) == is_unsigned(b)) return a.size() > b.size() ? a : b;
  Dtype u = is_unsigned(a) ? a : b, s = is_unsigned(a) ? b : a;
  if (s.size() > u.size()) return s;
  // int64 does not represent uint64: the result is float32, as in the published API.
  return u.size() == 8 ? float32 : integer_of(2 * u.size(), true);
}

}  // namespace

Dtype promote_types(const Dtype& a, const Dtype& b) {
  if (a == b) return a;
  if (!is_inexact(a) && !is_inexact(b)) return promote_integers(a, b);
  if (!is_inexact(a)) return b;
  if (!is_inexact(b)) return a;
  if (is_complex(a) || is_complex(b))
    return real_dtype(a) == float64 || real_dtype(b) == float64 ? complex128 : complex64;
  if (a.size() == b.size()) return float32;  // float16 with bfloat16
  return a.size() > b.size() ? a : b;
}

bool issubdtype(const Category& a, const Category& b) {
  for (Category c = a;; c = parent(c)) {
    if (c == b) return true;
    if (c == Category::generic) return false;
  }
}
bool issubdtype(const Dtype& a, const Category& b) { return issubdtype(category_of(a), b); }
bool issubdtype(const Dtype& a, const Dtype& b) { return a == b; }
bool issubdtype(const Category&, const Dtype&) { return false; }

Dtype::Kind kindof(const Dtype& t) {
  if (t == bool_) return Dtype::Kind::b;
  if (t == bfloat16) return Dtype::Kind::V;
  if (is_complex(t)) return Dtype::Kind::c;
  if (is_floating(t)) return Dtype::Kind::f;
  return is_unsigned(t) ? Dtype::Kind::u : Dtype::Kind::i;
}

std::string_view dtype_name(Dtype t) { return kNames[static_cast<int>(t.val())]; }

Dtype dtype_from_name(std::string_view name) {
  for (int i = 0; i < kNumDtypes; ++i)
    if (kNames[i] == name) return static_cast<Val>(i);
  throw std::invalid_argument("[dtype] unknown name " + std::string(name));
}

bool are_bools(const void* bytes, size_t n) {
  auto* p = static_cast<const unsigned char*>(bytes);
  unsigned char seen = 0;
  for (size_t i = 0; i < n; ++i) seen |= p[i];
  return seen <= 1;
}

void make_bools(void* bytes, size_t n) {
  auto* p = static_cast<unsigned char*>(bytes);
  std::transform(p, p + n, p, [](unsigned char b) { return static_cast<unsigned char>(b != 0); });
}

}  // namespace mlx::core
