// Arithmetic on shapes and strides.
#include "mlx/core/shape.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "mlx/core/attrs.h"
#include "mlx/core/error.h"

namespace mlx::core {

void too_many_axes(size_t rank, const char* op) {
  fail<ValueError>(op, "an array with ", rank, " axes; up to ", kMaxAxes, " are accepted");
}

void too_many_elements(const Shape& shape) {
  throw SizeError(cat("[shape] ", to_string(shape), " has more than 2^59 - 1 elements"));
}

Strides row_major(const Shape& shape) {
  Strides strides(shape.size());
  int64_t step = 1;
  for (int i = static_cast<int>(shape.size()) - 1; i >= 0; --i) {
    strides[i] = step;
    // If one length is 0, the product of the others may overflow.
    step = static_cast<int64_t>(static_cast<uint64_t>(step) * std::max<uint64_t>(shape[i], 1));
  }
  return strides;
}

bool is_row_contiguous(const Shape& shape, const Strides& strides) {
  int64_t step = 1;
  for (int i = static_cast<int>(shape.size()) - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

bool is_dense(const Shape& shape, const Strides& strides) {
  SmallVector<int, 8> order;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1) order.push_back(static_cast<int>(i));
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) { return strides[a] < strides[b]; });
  int64_t step = 1;
  for (int i : order) {
    if (strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

std::pair<int64_t, int64_t> extent(const Shape& shape, const Strides& strides) {
  int64_t low = 0, high = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return {0, -1};
    int64_t span = (shape[i] - 1) * strides[i];
    (span < 0 ? low : high) += span;
  }
  return {low, high};
}

Shape broadcast_shapes(const Shape& a, const Shape& b, const char* op) {
  if (a == b) return a;
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  size_t shift = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& d = out[i + shift];
    if (d == 1) {
      d = shorter[i];
    } else if (shorter[i] != 1 && shorter[i] != d) {
      fail<ValueError>(op, "shapes ", to_string(a), " and ", to_string(b),
                       " cannot be broadcast; lengths must agree or be 1");
    }
  }
  return out;
}

Strides broadcast_strides(const Shape& shape, const Strides& strides, const Shape& to) {
  Strides out(to.size(), 0);
  size_t shift = to.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1) out[i + shift] = strides[i];
  return out;
}

int normalize_axis(int64_t axis, int64_t ndim, const char* op) {
  int64_t a = axis < 0 ? axis + ndim : axis;
  if (a < 0 || a >= ndim)
    fail<IndexError>(op, "axis ", axis, " for an array with ", ndim, " dimensions; axes from ",
                     -ndim, " to ", ndim - 1, " are accepted");
  return static_cast<int>(a);
}

std::vector<int> normalize_axes(const std::vector<int>& axes, int64_t ndim, const char* op) {
  std::vector<int> out;
  for (int a : axes) out.push_back(normalize_axis(a, ndim, op));
  std::sort(out.begin(), out.end());
  auto repeated = std::adjacent_find(out.begin(), out.end());
  if (repeated != out.end())
    fail<ValueError>(op, "axis ", *repeated, " is repeated; each axis may be given once");
  return out;
}

std::string to_string(const Shape& shape) {
  std::string s = "(";
  for (size_t i = 0; i < shape.size(); ++i) s += (i ? "," : "") + std::to_string(shape[i]);
  return s + (shape.size() == 1 ? ",)" : ")");
}

void collapse_axes(Shape& shape, std::vector<Strides>& strides) {
  size_t kept = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    bool joins = kept > 0;
    for (auto& s : strides) joins = joins && s[kept - 1] == s[i] * shape[i];
    if (joins) {
      shape[kept - 1] *= shape[i];
      for (auto& s : strides) s[kept - 1] = s[i];
    } else {
      shape[kept] = shape[i];
      for (auto& s : strides) s[kept] = s[i];
      ++kept;
    }
  }
  if (kept == 0) {
    shape = Shape{1};
    for (auto& s : strides) s = Strides{0};
    return;
  }
  shape.resize(kept);
  for (auto& s : strides) s.resize(kept);
}

namespace {
struct Printer : AttrVisitor {
  std::ostringstream out;
  const char* separator = "";
  template <class T>
  void put(const char* name, const T& v) {
    out << separator << name << "=" << v;
    separator = ", ";
  }
  void visit(const char* name, int64_t& v) override { put(name, v); }
  void visit(const char* name, double& v) override { put(name, v); }
  void visit(const char* name, std::string& v) override { put(name, v); }
  void visit(const char* name, Shape& v) override { put(name, to_string(v)); }
  void visit(const char* name, std::vector<double>& v) override {
    put(name, "[");
    for (double d : v) out << d << " ";
    out << "]";
  }
};
}  // namespace

std::string to_string(const Attrs& attrs) {
  Printer p;
  std::unique_ptr<Attrs> copy(attrs.clone());
  copy->visit(p);
  return "{" + p.out.str() + "}";
}

}  // namespace mlx::core
