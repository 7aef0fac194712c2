// Members of the public C++ surface: each row of surface_members.def is used with arguments of the
// types that it declares. Then members that show or change an array's graph, memory and events.
#include <complex>
#include <sstream>
#include <type_traits>
#include <utility>

#include "mlx/mlx.h"
#include "mlx/primitives.h"
#include "support.h"

namespace {

namespace mx = mlx::core;
using namespace mlx::core;

using Ints = std::vector<int>;
using Shapes = std::vector<Shape>;
using Dtypes = std::vector<Dtype>;
using PrimitivePointer = std::shared_ptr<Primitive>;
using DataPointer = std::shared_ptr<array::Data>;
using ArraysAndAxes = std::pair<Arrays, Ints>;
using String = std::string;

int declared = 0;

template <class Object, class R, class... A, class F>
bool member(F) {
  R (*volatile call)(Object&, A...) = [](Object& o, A... a) -> R {
    if constexpr (std::is_reference_v<R> &&
                  !std::is_reference_v<decltype(F()(o, std::forward<A>(a)...))>) {
      static std::remove_cvref_t<R> kept = F()(o, std::forward<A>(a)...);  // given as an object
      return kept;
    } else {
      return F()(o, std::forward<A>(a)...);
    }
  };
  declared += call != nullptr;
  return true;
}

template <class Class, class... A>
bool constructor() {
  void (*volatile call)(A...) = [](A... a) { Class made(std::forward<A>(a)...); };
  declared += call != nullptr;
  return true;
}

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define ROW const bool JOIN(row_, __COUNTER__)
#define M(Object, R, name, ...)                                                                   \
  ROW =                                                                                           \
      member<Object, R __VA_OPT__(, ) __VA_ARGS__>([](Object& o, auto&&... a) -> decltype(auto) { \
        return o.name(std::forward<decltype(a)>(a)...);                                           \
      });
#define K(...) ROW = constructor<__VA_ARGS__>();
#define V(Class, T, name) ROW = std::is_same_v<decltype(Class::name), T> && ++declared;
#define O(Class, op) ROW = member<const Class, bool>([](const Class& o) { return o op o; });
#define N(constant) ROW = (void(mx::constant), ++declared);
#include "surface_members.def"
#undef M
#undef K
#undef V
#undef O
#undef N

}  // namespace

TEST_CASE("every member of the surface links") { CHECK(declared > 150); }

TEST_CASE("members: lists of a graph stay where they are") {
  array x({1.0f, 2.0f}), y = exp(x), z = y * x;
  auto& inputs = z.inputs();
  REQUIRE(inputs.size() == 2);
  CHECK(&inputs == &z.inputs());
  CHECK(inputs[0].id() == y.id());
  std::shared_ptr<Primitive>& p = z.primitive_ptr();
  CHECK(std::string(p->name()) == "Multiply");
  CHECK(y.node()->refs == 2);  // of `y` and of the graph: shown handles do not count
  z.eval();
  CHECK(inputs.empty());
  CHECK(!p);
  auto [q, r] = linalg::qr(array({1.0f, 2.0f, 3.0f, 4.0f}, {2, 2}), Device::cpu);
  CHECK(q.primitive_id() == r.primitive_id());
  auto& siblings = r.siblings();
  REQUIRE(siblings.size() == 1);
  CHECK(&siblings == &r.siblings());
  r.set_siblings({q}, 1);
  CHECK_THROWS_AS(r.set_siblings({q}, 0), ValueError);
  CHECK_THROWS_AS(r.set_siblings({x}, 1), ValueError);
  x.set_siblings({}, 0);
  CHECK_THROWS_AS(x.set_siblings({q}, 0), ValueError);
  r.eval();
  CHECK(siblings.empty());
  {
    array gone = exp(x);
    CHECK(gone.inputs().size() == 1);
  }  // never evaluated
}

TEST_CASE("members: an array without its graph") {
  array x({1.0f, 2.0f}), y = x * 2.0f;
  y.detach();
  CHECK(!y.has_primitive());
  CHECK(y.is_available());
  CHECK(y.data<float>()[1] == 4.0f);
  array two(2.0f);
  two.detach();
  CHECK(two.item<float>() == 2.0f);
  auto cut = [](const array& a) {
    array q = a * a;
    q.detach();
    return sum(q * a);
  };
  CHECK(grad(cut)(array({3.0f})).data<float>()[0] == 9.0f);  // of a constant 9 times a
  auto [q, r] = linalg::qr(array({1.0f, 2.0f, 3.0f, 4.0f}, {2, 2}), Device::cpu);
  r.detach();
  CHECK(r.siblings().empty());
  CHECK(allclose(matmul(q, r), array({1.0f, 2.0f, 3.0f, 4.0f}, {2, 2})).item<bool>());
  bool inside = true;
  compile([&](const Arrays& a) {
    array input = a[0];
    input.detach();  // an input of a trace stays one
    inside = input.has_primitive();
    return Arrays{input + 1.0f};
  })({x});
  CHECK(!inside);
  CHECK_THROWS_AS(array().detach(), ValueError);
}

TEST_CASE("members: owners of an array's memory") {
  array x = arange(4.0);
  CHECK(!x.is_donatable());
  CHECK(x.data_shared_ptr() == nullptr);
  x.eval();
  CHECK(x.is_donatable());
  {
    array other = x;
    CHECK(!x.is_donatable());
  }
  array part = slice(x, {1}, {3});
  CHECK(!x.is_donatable());
  part.eval();
  array weak = array::unsafe_weak_copy(part);
  CHECK(weak.data<float>() == part.data<float>());
  CHECK(weak.data<float>()[1] == 2.0f);
  CHECK(array::unsafe_weak_copy(array(3, int64)).item<int>() == 3);
  CHECK_THROWS_AS(array::unsafe_weak_copy(array()), ValueError);
  auto memory = part.data_shared_ptr();
  REQUIRE(memory);
  const float* elements = x.data<float>();
  CHECK(memory->buffer().raw_ptr() == elements);
  x = part = weak = array(0.0f);
  CHECK(array(*memory, {4}, float32).data<float>()[3] == 3.0f);  // which it has kept
}

TEST_CASE("members: status and events") {
  array x = arange(1000.0), y = x + 1.0f;
  CHECK(y.status() == array::unscheduled);
  CHECK(!y.event().valid());
  CHECK_THROWS_AS(y.set_status(array::available), ValueError);
  auto end = make_ref<Event>();
  CHECK_THROWS_AS(y.attach_event(*end), ValueError);
  y.set_status(array::unscheduled);
  async_eval(y);
  CHECK(y.status() != array::unscheduled);
  y.event().wait();
  CHECK(y.event().is_signaled());
  CHECK(y.status() == array::available);
  y.set_status(array::available);
  array other = x * 2.0f;
  other.eval();
  Event own;
  CHECK_THROWS_AS(other.attach_event(own), ValueError);
  other.attach_event(*end);
  CHECK(other.status() == array::evaluated);
  CHECK(&other.event() == end.get());
  CHECK(!other.event().is_signaled());
  end->signal();
  CHECK(other.status() == array::available);
  CHECK(other.data<float>()[3] == 6.0f);
  auto never = make_ref<Event>();
  other.attach_event(*never);
  other.detach_event();
  CHECK(other.is_available());
  other.detach_event();
  other.attach_event(Event::none());
  CHECK(other.is_available());
}

TEST_CASE("members: groups behind pointers, numbers as text, casts") {
  distributed::Group alone;
  auto raw = alone.raw_group();
  CHECK(raw->rank() == 0);
  CHECK(raw->size() == 1);
  CHECK(distributed::Group(raw) == alone);
  CHECK_THROWS_AS(distributed::Group(std::shared_ptr<distributed::detail::GroupImpl>()),
                  ValueError);
  std::ostringstream os;
  PrintFormatter formatter;
  formatter.print(os, true);
  formatter.capitalize_bool = true;
  formatter.print(os, false);
  formatter.format_options.precision = 2;
  formatter.print(os, 1.0f);
  formatter.print(os, uint8_t{7});
  formatter.print(os, complex64_t(1, -2));
  CHECK(os.str() == "trueFalse1.0071.00-2.00j");
  get_global_formatter().capitalize_bool = true;
  CHECK(to_string(array(true)) == "array(True, dtype=bool)");
  get_global_formatter() = {};
  CHECK(to_string(array(true)) == "array(true, dtype=bool)");
  std::ostringstream lists;
  lists << Ints{1, 2} << Shape{3} << std::vector<double>{};
  CHECK(lists.str() == "(1,2)(3)()");
  CHECK(safe_cast<int8_t>(127) == 127);
  CHECK(safe_cast(uint64_t{5}, "[op]") == 5);
  CHECK_THROWS_WITH(safe_cast<int8_t>(128, "[op]"),
                    "[op] 128 does not fit; -128 to 127 are accepted");
  CHECK(env::max_ops_per_buffer(12) == 12);
  CHECK(env::bfs_max_width() > 0);
  CHECK(!env::residency_debug());
  CHECK(env::metal_gpu_arch().empty());
}
