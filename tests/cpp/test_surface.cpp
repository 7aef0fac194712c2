// The public C++ surface as applications use it: each function of surface.def and surface_ops.def
// is called with arguments of the types that it declares, so that a missing one does not compile or
// link.
#include <functional>
#include <ostream>
#include <tuple>
#include <utility>

#include "mlx/distributed/ops.h"
#include "mlx/mlx.h"
#include "mlx/primitives.h"
#include "support.h"

namespace {

namespace mx = mlx::core;
using namespace mlx::core;

using Ints = std::vector<int>;
using Pair = std::pair<int, int>;
using Pairs = std::vector<Pair>;
using Triple = std::tuple<int, int, int>;
using OptArray = std::optional<array>;
using OptInts = std::optional<Ints>;
using OptInt = std::optional<int>;
using OptFloat = std::optional<float>;
using OptDtype = std::optional<Dtype>;
using OptGroup = std::optional<distributed::Group>;
using ArrayPair = std::pair<array, array>;
using ArrayTuple = std::tuple<array, array>;
using ArraysPair = std::pair<Arrays, Arrays>;
using PathAndText = std::pair<std::vector<Ints>, std::string>;
using String = std::string;
using S = StreamOrDevice;
using DeviceInfoMap = std::unordered_map<String, std::variant<String, size_t>>;
using ArrayMap = std::unordered_map<String, array>;
using GGUFMetaDataMap = std::unordered_map<String, GGUFMetaData>;
using ArrayToArray = std::function<array(const array&)>;
using ArraysToArray = std::function<array(const Arrays&)>;
using ArraysToArrays = std::function<Arrays(const Arrays&)>;

int declared = 0;

template <class R, class F, class... A>
void instantiate() {
  R (*volatile call)(A...) = [](A... a) -> R { return F()(std::forward<A>(a)...); };
  declared += call != nullptr;
}

/// Compiles a call with arguments of the types A, and one without the stream where it comes last.
template <class R, class... A, class F>
bool calls(F) {
  instantiate<R, F, A...>();
  constexpr size_t n = sizeof...(A);
  if constexpr (n > 1) {
    using All = std::tuple<A...>;
    if constexpr (std::is_same_v<std::tuple_element_t<n - 1, All>, S>)
      [&]<size_t... I>(std::index_sequence<I...>) {
        instantiate<R, F, std::tuple_element_t<I, All>...>();
      }(std::make_index_sequence<n - 1>());
  }
  return true;
}
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define F(R, name, ...)                                                         \
  const bool JOIN(surface_, __COUNTER__) = calls<R __VA_OPT__(, ) __VA_ARGS__>( \
      [](auto&&... a) -> decltype(auto) { return mx::name(std::forward<decltype(a)>(a)...); });
#include "surface.def"
#include "surface_ops.def"
#undef F

}  // namespace

TEST_CASE("every function of the surface links") { CHECK(declared > 850); }

TEST_CASE("arrays have the members of the surface") {
  std::vector<float> numbers{1, 2, 3, 4, 5, 6};
  array a(numbers.begin(), {2, 3}, float32);
  CHECK(a.size() == 6);
  CHECK(a.ndim() == 2);
  CHECK(a.itemsize() == 4);
  CHECK(a.nbytes() == 24);
  CHECK(a.shape() == Shape{2, 3});
  CHECK(a.shape(-1) == 3);
  CHECK(a.dtype() == float32);
  CHECK(a.strides() == Strides{3, 1});
  CHECK(a.flags().row_contiguous);
  CHECK(a.data<float>()[5] == 6.0f);
  array b = array({1, 2, 3}, int64), c = array({1.5f, 2.5f}, {2, 1}), d = b;
  CHECK(b.dtype() == int64);
  CHECK(c.shape() == Shape{2, 1});
  CHECK(d.id() == b.id());
  array sum_ = sum(b);
  CHECK(!sum_.is_available());
  sum_.eval();
  CHECK(sum_.is_available());
  CHECK(sum_.item<int>() == 6);
  d.overwrite_descriptor(sum_);
  CHECK(d.item<float>() == 6.0f);
}

TEST_CASE("names of the environment, powers of two, axes") {
  CHECK(is_main_thread());
  CHECK(is_power_of_2(64));
  CHECK(!is_power_of_2(0));
  CHECK(next_power_of_2(65) == 128);
  CHECK(normalize_axis_index(-1, 3) == 2);
  CHECK_THROWS_AS(normalize_axis_index(3, 3, "[here] "), IndexError);
  setenv("MLX_TEST_VARIABLE", "12", 1);
  CHECK(get_var("MLX_TEST_VARIABLE", 3) == 12);
  CHECK(get_var("MLX_TEST_VARIABLE", "") == "12");
  CHECK(get_var("MLX_TEST_ABSENT", 3) == 3);
  setenv("MLX_TEST_VARIABLE", "twelve", 1);
  CHECK_THROWS_AS(get_var("MLX_TEST_VARIABLE", 3), ValueError);
}

TEST_CASE("the number of elements along axes") {
  array a = zeros({2, 3, 4});
  CHECK(number_of_elements(a, {0, -1}, false, int32).item<int>() == 8);
  CHECK(number_of_elements(a, {1}, true, float32).item<float>() == doctest::Approx(1.0 / 3));
}
