// Attributes of a node as data. A struct lists its fields once,
//
//   struct SliceAttrs {
//     Shape start, stop, strides;
//     template <class F> void each(F&& f) { f("start", start); f("stop", stop); f("strides",
//     strides); }
//   };
//
// and gets equality, hashing, printing and export from that list.
#pragma once

#include <ostream>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "mlx/core/api.h"
#include "mlx/core/ref.h"
#include "mlx/core/shape.h"

namespace mlx::core {

/// Receives the fields of an attribute struct one by one. Narrow types are widened.
struct AttrVisitor {
  virtual ~AttrVisitor() = default;
  virtual void visit(const char* name, int64_t& v) = 0;
  virtual void visit(const char* name, double& v) = 0;
  virtual void visit(const char* name, std::string& v) = 0;
  virtual void visit(const char* name, Shape& v) = 0;
  virtual void visit(const char* name, std::vector<double>& v) = 0;
};

/// Attributes of an op, immutable and shared between nodes.
struct MLX_API Attrs : RefCounted {
  virtual bool equals(const Attrs& o) const = 0;
  virtual size_t hash() const = 0;
  virtual void visit(AttrVisitor& v) = 0;
  virtual Attrs* clone() const = 0;
};

namespace detail {

inline size_t mix(size_t seed, size_t v) {
  return (seed ^ v) * 0x9e3779b97f4a7c15ull + (seed >> 29);
}
template <class T>
size_t hash_field(const T& v) {
  if constexpr (requires { v.begin(); }) {
    size_t h = v.size();
    // By value type: the elements of a vector of bool are not references.
    for (const typename T::value_type& e : v) h = mix(h, hash_field(e));
    return h;
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<size_t>(v);
  } else if constexpr (std::is_same_v<T, Dtype>) {
    return static_cast<size_t>(v.val());
  } else {
    return std::hash<T>{}(v);
  }
}
/// Passes a field to the visitor as the widest type of its category.
template <class T>
void visit_field(AttrVisitor& out, const char* name, T& v) {
  auto through = [&](auto wide) {
    out.visit(name, wide);
    return wide;
  };
  if constexpr (std::is_same_v<T, Dtype>) {
    v = dtype_from_name(through(std::string(dtype_name(v))));
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    v = static_cast<T>(through(static_cast<int64_t>(v)));
  } else if constexpr (std::is_floating_point_v<T>) {
    v = static_cast<T>(through(static_cast<double>(v)));
  } else if constexpr (std::is_same_v<T, std::vector<int>>) {
    Shape wide = through(Shape(v.begin(), v.end()));
    v.assign(wide.begin(), wide.end());
  } else {
    out.visit(name, v);
  }
}

template <class T>
struct AttrsBox final : Attrs {
  T value;
  explicit AttrsBox(T v) : value(std::move(v)) {}

  bool equals(const Attrs& o) const override {
    if (typeid(*this) != typeid(o)) return false;
    auto& a = const_cast<T&>(value);
    auto& b = const_cast<T&>(static_cast<const AttrsBox&>(o).value);
    std::vector<const void*> fields;
    a.each([&](const char*, auto& f) { fields.push_back(&f); });
    size_t i = 0;
    bool same = true;
    b.each([&](const char*, auto& f) {
      using F = std::remove_reference_t<decltype(f)>;
      same = same && *static_cast<const F*>(fields[i]) == f;
      ++i;
    });
    return same;
  }
  size_t hash() const override {
    size_t h = typeid(T).hash_code();
    const_cast<T&>(value).each([&](const char*, auto& f) { h = mix(h, hash_field(f)); });
    return h;
  }
  void visit(AttrVisitor& v) override {
    value.each([&](const char* name, auto& f) { visit_field(v, name, f); });
  }
  Attrs* clone() const override { return new AttrsBox(value); }
};

}  // namespace detail

/// Boxes an attribute struct.
template <class T>
Ref<const Attrs> make_attrs(T value) {
  return Ref<const Attrs>(new detail::AttrsBox<T>(std::move(value)));
}
/// The attribute struct; the caller knows its type from the op.
template <class T>
const T& attrs_as(const Attrs* a) {
  return static_cast<const detail::AttrsBox<T>*>(a)->value;
}
/// "{axes=(0,1), keepdims=0}"
MLX_API std::string to_string(const Attrs& attrs);

}  // namespace mlx::core
