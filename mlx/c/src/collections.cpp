// Strings, lists and maps of the C interface.
#include "mlx/c/map.h"
#include "mlx/c/src/convert.h"
#include "mlx/c/src/handles.h"
#include "mlx/c/vector.h"
#include "mlx/version.h"

namespace mlx::c {

namespace {

/// Items of lists as they go in.
int item_of(int v) { return v; }
array item_of(mlx_array a) { return in(a); }
const Arrays& item_of(mlx_vector_array v) { return in(v); }
std::string item_of(const char* text) { return in(text); }

template <class Vector, class Item>
void append(Object<Vector>& to, const Item* items, size_t n) {
  if (n && !items)
    core::fail<core::ValueError>(Held<Vector>::name, "null for ", n,
                                 " items; their address is accepted");
  Object<Vector> more;  // an item that is refused leaves the list as it was
  for (size_t i = 0; i < n; ++i) more.push_back(item_of(items[i]));
  to.insert(to.end(), more.begin(), more.end());
}
template <class Vector, class Item>
Object<Vector> list_of(const Item* items, size_t n) {
  Object<Vector> list;
  append<Vector>(list, items, n);
  return list;
}
template <class Vector>
auto& at(Vector vec, size_t idx) {
  auto& list = get(vec);
  if (idx >= list.size())
    core::fail<core::IndexError>(Held<Vector>::name, "item ", idx, " of ", list.size());
  return list[idx];
}

void item_out(int* to, int v) { out(to, v); }
void item_out(mlx_array* to, const array& a) { out(to, a); }
void item_out(mlx_vector_array* to, const Arrays& v) { out(to, v); }
void item_out(char** to, std::string& text) {
  if (!to) core::fail<core::ValueError>("mlx_vector_string", "no place for a result");
  *to = text.data();
}

void value_out(mlx_array* to, const array& a) { out(to, a); }
void value_out(const char** to, const std::string& text) {
  if (!to) core::fail<core::ValueError>("mlx_map_string_to_string", "no place for a result");
  *to = text.c_str();
}

/// The code for a key that is missing, and after the last item.
constexpr int kNone = 2;

template <class Map, class Value>
int look_up(Value* value, Map map, const char* key, const char* name) {
  int code = 0;
  const int failed = status(name, [&] {
    auto& items = get(map);
    auto it = items.find(in(key));
    if (it == items.end())
      code = kNone;
    else
      value_out(value, it->second);
  });
  return failed ? failed : code;
}

template <class Iterator, class Map>
Iterator iterate(Map map, const char* name) {
  return result(name, Iterator{}, [&] {
    KeyIterator keys;
    for (auto& [key, value] : get(map)) keys.keys.push_back(key);
    auto it = make<Iterator>(std::move(keys));
    it.map_ctx = map.ctx;
    return it;
  });
}

template <class Map, class Iterator, class Value>
int advance(const char** key, Value* value, Iterator it, const char* name) {
  int code = kNone;
  const int failed = status(name, [&] {
    KeyIterator& keys = get(it);
    Map map{it.map_ctx};
    auto& items = get(map);
    while (keys.next < keys.keys.size()) {
      auto found = items.find(keys.keys[keys.next++]);
      if (found == items.end()) continue;  // the map has been set since
      if (!key) core::fail<core::ValueError>(Held<Iterator>::name, "no place for a result");
      value_out(value, found->second);
      *key = found->first.c_str();
      code = 0;
      return;
    }
  });
  return failed ? failed : code;
}

}  // namespace

}  // namespace mlx::c

using namespace mlx::c;

extern "C" {

mlx_string mlx_string_new(void) {
  return result(__func__, mlx_string{}, [] { return make<mlx_string>({}); });
}
mlx_string mlx_string_new_data(const char* str) {
  return result(__func__, mlx_string{}, [&] { return make<mlx_string>(in(str)); });
}
int mlx_string_set(mlx_string* str, const mlx_string src) {
  return status(__func__, [&] { assign(str, std::string(get(src))); });
}
const char* mlx_string_data(mlx_string str) {
  return result(__func__, static_cast<const char*>(nullptr), [&] { return get(str).c_str(); });
}
int mlx_string_free(mlx_string str) {
  return status(__func__, [&] { drop(str); });
}

int mlx_version(mlx_string* str_) {
  return status(__func__, [&] { assign(str_, std::string(mlx::core::version())); });
}

// `Item` is how items are given, `Get` how they are read.
#define MLX_C_VECTOR(Vector, Item, Data, Get)                                                     \
  Vector Vector##_new(void) {                                                                     \
    return result(__func__, Vector{}, [] { return make<Vector>({}); });                           \
  }                                                                                               \
  int Vector##_set(Vector* vec, const Vector src) {                                               \
    return status(__func__, [&] { assign(vec, Object<Vector>(get(src))); });                      \
  }                                                                                               \
  int Vector##_free(Vector vec) {                                                                 \
    return status(__func__, [&] { drop(vec); });                                                  \
  }                                                                                               \
  Vector Vector##_new_data(Data data, size_t size) {                                              \
    return result(__func__, Vector{}, [&] { return make<Vector>(list_of<Vector>(data, size)); }); \
  }                                                                                               \
  Vector Vector##_new_value(Item val) {                                                           \
    return result(__func__, Vector{}, [&] { return make<Vector>(list_of<Vector>(&val, 1)); });    \
  }                                                                                               \
  int Vector##_set_data(Vector* vec, Data data, size_t size) {                                    \
    return status(__func__, [&] { assign(vec, list_of<Vector>(data, size)); });                   \
  }                                                                                               \
  int Vector##_set_value(Vector* vec, Item val) {                                                 \
    return status(__func__, [&] { assign(vec, list_of<Vector>(&val, 1)); });                      \
  }                                                                                               \
  int Vector##_append_data(Vector vec, Data data, size_t size) {                                  \
    return status(__func__, [&] { append<Vector>(get(vec), data, size); });                       \
  }                                                                                               \
  int Vector##_append_value(Vector vec, Item val) {                                               \
    return status(__func__, [&] { append<Vector>(get(vec), &val, 1); });                          \
  }                                                                                               \
  size_t Vector##_size(Vector vec) {                                                              \
    return result(__func__, size_t{0}, [&] { return get(vec).size(); });                          \
  }                                                                                               \
  int Vector##_get(Get res, const Vector vec, size_t idx) {                                       \
    return status(__func__, [&] { item_out(res, at(vec, idx)); });                                \
  }
MLX_C_VECTOR(mlx_vector_array, const mlx_array, const mlx_array*, mlx_array*)
MLX_C_VECTOR(mlx_vector_vector_array, const mlx_vector_array, const mlx_vector_array*,
             mlx_vector_array*)
MLX_C_VECTOR(mlx_vector_int, int, int*, int*)
MLX_C_VECTOR(mlx_vector_string, const char*, const char**, char**)
#undef MLX_C_VECTOR

#define MLX_C_MAP(Map, Given, Value)                                                            \
  Map Map##_new(void) {                                                                         \
    return result(__func__, Map{}, [] { return make<Map>({}); });                               \
  }                                                                                             \
  int Map##_set(Map* map, const Map src) {                                                      \
    return status(__func__, [&] { assign(map, Object<Map>(get(src))); });                       \
  }                                                                                             \
  int Map##_free(Map map) {                                                                     \
    return status(__func__, [&] { drop(map); });                                                \
  }                                                                                             \
  int Map##_insert(Map map, const char* key, Given value) {                                     \
    return status(__func__, [&] { get(map).insert_or_assign(in(key), item_of(value)); });       \
  }                                                                                             \
  int Map##_get(Value value, const Map map, const char* key) {                                  \
    return look_up(value, map, key, __func__);                                                  \
  }                                                                                             \
  Map##_iterator Map##_iterator_new(Map map) { return iterate<Map##_iterator>(map, __func__); } \
  int Map##_iterator_free(Map##_iterator it) {                                                  \
    return status(__func__, [&] { drop(it); });                                                 \
  }                                                                                             \
  int Map##_iterator_next(const char** key, Value value, Map##_iterator it) {                   \
    return advance<Map>(key, value, it, __func__);                                              \
  }
MLX_C_MAP(mlx_map_string_to_array, const mlx_array, mlx_array*)
MLX_C_MAP(mlx_map_string_to_string, const char*, const char**)
#undef MLX_C_MAP

}  // extern "C"
