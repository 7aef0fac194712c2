// Sorting, partitioning and searching along any axis of operands of any layout. Lines are copied to
// dense keys, several neighbouring ones at once, sorted there and written back.
#include "mlx/ops/sort.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>

#include "mlx/backend/common/odometer.h"
#include "mlx/backend/cpu/copy.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/radix.h"
#include "mlx/backend/cpu/search.h"

namespace mlx::core::cpu {

namespace {

// --- complex numbers ----------------------------------------------------------------------------

/// Comparison with NaN last: by the real part, then by the imaginary one.
template <class F>
bool float_before(F a, F b) {
  return a < b || (std::isnan(b) && !std::isnan(a));
}
template <class T>
bool sorts_before(T a, T b) {
  if constexpr (is_complex(TypeToDtype<T>::value)) {
    // A NaN in either part sorts a number after those without.
    const bool nan_a = std::isnan(a.real()) || std::isnan(a.imag());
    const bool nan_b = std::isnan(b.real()) || std::isnan(b.imag());
    if (nan_a != nan_b) return nan_b;
    if (float_before(a.real(), b.real())) return true;
    return !float_before(b.real(), a.real()) && float_before(a.imag(), b.imag());
  } else if constexpr (is_floating(TypeToDtype<T>::value)) {
    using F = std::conditional_t<sizeof(T) == 8, double, float>;
    return float_before(static_cast<F>(a), static_cast<F>(b));
  } else {
    return a < b;
  }
}

// --- the lines of an operand --------------------------------------------------------------------

struct SortLines {
  Shape shape;
  std::vector<Strides> strides;
  int64_t n, in_stride, out_stride, count;

  SortLines(const View& in, const View& out, int axis) : strides(2) {
    for (int i : axes_beside(out, axis)) {
      shape.push_back(in.shape()[i]);
      strides[0].push_back(in.strides()[i]);
      strides[1].push_back(out.strides()[i]);
    }
    collapse_axes(shape, strides);
    n = in.shape()[axis];
    in_stride = in.strides()[axis];
    out_stride = out.strides()[axis];
    count = num_elements(shape);
  }
  Odometer<2> odometer() const { return {shape, {strides[0], strides[1]}}; }
  /// Whether elements of a line are neighbours.
  bool dense() const { return in_stride == 1 && out_stride == 1; }
  /// Whether lines follow one another, too.
  bool adjoining() const {
    return dense() &&
           (count == 1 || (shape.size() == 1 && strides[0][0] == n && strides[1][0] == n));
  }
};

constexpr int64_t kGroup = 64;  // lines copied together

/// Distance between lines in scratch memory: not a power of two, to avoid cache set conflicts.
int64_t pitch_of(int64_t n) { return (n + 15) / 16 * 16 + 16; }
/// Scratch bytes of a sort whose lines are distributed over threads; others allocate their own.
template <class E>
size_t scratch_of(int64_t n) {
  return n < kLongLine ? 0 : 3 * static_cast<size_t>(pitch_of(n)) * sizeof(E);
}

/// Elements of a line to keys, or back.
template <class F>
void transfer(int64_t n, int64_t stride, F f) {
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i) f(i, i);
  } else {
    for (int64_t i = 0; i < n; ++i) f(i, i * stride);
  }
}

/// Calls `run(E* keys, E* spare, E* room) -> E*` on every line, with `room` if several threads may
/// work on it: elements become keys by `load(x, position)`
/// and results by `store(key)`.
template <class E, class T, class O, class Load, class Store, class Run>
void each_line(const SortLines& lines, const T* in, O* out, Load load, Store store, Run run,
               double ns_each, void* scratch) {
  const int64_t n = lines.n, pitch = pitch_of(n);
  const bool threads_inside = scratch && lines.count < 2 * num_threads();
  // Neighbouring lines share cache lines if the axis is not the innermost.
  const bool alone = threads_inside || lines.dense();
  const int64_t group =
      alone ? 1 : std::clamp<int64_t>((1 << 18) / (n * static_cast<int64_t>(sizeof(E))), 1, kGroup);
  auto some = [&](int64_t begin, int64_t end) {
    std::unique_ptr<E[]> memory;
    if (!threads_inside) memory.reset(new E[(group + 1) * pitch]);
    E* const first = threads_inside ? static_cast<E*>(scratch) : memory.get();
    Odometer<2> at = lines.odometer();
    at.seek(begin);
    while (begin < end) {
      int64_t from[kGroup], to[kGroup], g = 0;
      for (; g < group && begin < end; ++g, ++begin, at.next()) from[g] = at[0], to[g] = at[1];
      E *spare = first + group * pitch, *sorted[kGroup];
      auto read = [&](int64_t k, int64_t i, int64_t offset) {
        first[k * pitch + i] = load(in[from[k] + offset], i);
      };
      auto write = [&](int64_t k, int64_t i, int64_t offset) {
        out[to[k] + offset] = store(sorted[k][i]);
      };
      if (g == 1) {
        transfer(n, lines.in_stride, [&](int64_t i, int64_t offset) { read(0, i, offset); });
      } else {
        for (int64_t i = 0; i < n; ++i)
          for (int64_t k = 0; k < g; ++k) read(k, i, i * lines.in_stride);
      }
      for (int64_t k = 0; k < g; ++k) {
        sorted[k] = run(first + k * pitch, spare, threads_inside ? first + 2 * pitch : nullptr);
        // The line's own memory becomes the spare of the next.
        if (sorted[k] == spare) spare = first + k * pitch;
      }
      if (g == 1) {
        transfer(n, lines.out_stride, [&](int64_t i, int64_t offset) { write(0, i, offset); });
      } else {
        for (int64_t i = 0; i < n; ++i)
          for (int64_t k = 0; k < g; ++k) write(k, i, i * lines.out_stride);
      }
    }
  };
  if (threads_inside) {
    some(0, lines.count);
  } else {
    parallel_for(lines.count, group, some,
                 ns_each * static_cast<double>(n) * static_cast<double>(lines.count));
  }
}

/// Sorts the elements E of each line, or moves the one of rank `kth` to its place.
template <class E, class T, class O, class Load, class Store>
void sort_lines(const SortLines& lines, int64_t kth, void* scratch, const T* in, O* out, Load load,
                Store store) {
  each_line<E>(
      lines, in, out, load, store,
      [&](E* a, E* spare, E* room) {
        return kth < 0 ? sort_run(a, spare, lines.n, room)
                       : select_run(a, spare, lines.n, kth, room);
      },
      sizeof(E) > 4 ? 12 : 6, scratch);
}

// --- dense lines --------------------------------------------------------------------------------

/// The signed keys of elements T.
template <class T>
using SignedKey = std::make_signed_t<typename UintOf<sizeof(T)>::type>;
template <class T>
constexpr size_t key_map() {
  return static_cast<size_t>(std::is_same_v<T, float16_t>    ? KeyMap::half
                             : std::is_same_v<T, bfloat16_t> ? KeyMap::brain
                             : KeyOf<T>::kFloat              ? KeyMap::real
                             : KeyOf<T>::kSigned             ? KeyMap::integer
                                                             : KeyMap::natural);
}

/// Calls `run(from, to, rows, room, threads)` on dense lines, several adjoining short ones at once.
/// `room` holds `rooms` keys K for each element, and for at least one line more.
template <class K, class T, class O, class Run>
void each_dense_line(const SortLines& lines, const T* in, O* out, int64_t rooms, Run run,
                     double ns_each, void* scratch) {
  constexpr int64_t kTogether = 2048;
  const int64_t n = lines.n;
  if (scratch && lines.count < 2 * num_threads()) {
    Odometer<2> at = lines.odometer();
    for (int64_t i = 0; i < lines.count; ++i, at.next())
      run(in + at[0], out + at[1], int64_t{1}, static_cast<K*>(scratch), true);
    return;
  }
  const int64_t together = lines.adjoining() ? std::max<int64_t>(1, kTogether / n) : 1;
  auto some = [&](int64_t begin, int64_t end) {
    const std::unique_ptr<K[]> room(new K[(rooms * together + 1) * n]);
    Odometer<2> at = lines.odometer();
    at.seek(begin);
    while (begin < end) {
      const int64_t rows = std::min(together, end - begin);
      run(in + at[0], out + at[1], rows, room.get(), false);
      begin += rows;
      if (together > 1)
        at.seek(std::min(begin, lines.count - 1));
      else
        at.next();
    }
  };
  parallel_for(lines.count, together, some,
               ns_each * static_cast<double>(n) * static_cast<double>(lines.count));
}

/// f(begin, end) on ranges of n elements.
template <class F>
void each_part(int64_t n, bool threads, F f) {
  if (threads)
    parallel_for(n, 1 << 14, f, 0.3 * static_cast<double>(n));
  else
    f(int64_t{0}, n);
}
template <class T, class O>
void convert_keys(KeysFn convert, const T* from, O* to, int64_t n, bool threads) {
  static_assert(sizeof(T) == sizeof(O));
  if (!convert && static_cast<const void*>(from) == to) return;
  each_part(n, threads, [&](int64_t begin, int64_t end) {
    if (convert)
      convert(from + begin, to + begin, end - begin);
    else
      std::memcpy(static_cast<void*>(to + begin), from + begin,
                  static_cast<size_t>(end - begin) * sizeof(T));
  });
}

/// Sorts keys in the place of the results.
template <class T>
void sort_dense(const SortLines& lines, int64_t kth, void* scratch, const T* in, T* out) {
  using K = SignedKey<T>;
  const KeySorts<K>& kernels = key_sorts<K>();
  const int64_t n = lines.n;
  each_dense_line<K>(
      lines, in, out, 0,
      [&](const T* from, T* to, int64_t rows, K* spare, bool threads) {
        K* const keys = reinterpret_cast<K*>(to);
        convert_keys(kernels.to_keys[key_map<T>()], from, keys, rows * n, threads);
        K* const room = threads ? spare + n : nullptr;
        if (kth < 0 && rows > 1)
          kernels.sort(keys, n, rows, spare);
        else if (kth < 0)
          sort_keys(keys, spare, n, room);
        else
          for (int64_t i = 0; i < rows; ++i) select_run(keys + i * n, spare, n, kth, room);
        convert_keys(kernels.from_keys[key_map<T>()], keys, to, rows * n, threads);
      },
      sizeof(T) > 4 ? 4 : 2, scratch);
}

/// Positions of shorter lines fit below keys of 16 bits in 32.
constexpr int64_t kShortPositions = 1 << 15;

/// Sorts keys K that have positions in their lower halves.
template <class K, class T>
void argsort_packed(const SortLines& lines, int64_t kth, void* scratch, const T* in,
                    uint32_t* out) {
  const KeySorts<K>& kernels = key_sorts<K>();
  const PackKeysFn pack =
      sizeof(T) == 1 ? kernels.pack_bytes[KeyOf<T>::kSigned ? 0 : 1] : kernels.pack[key_map<T>()];
  const int64_t n = lines.n;
  auto order = [&](K* keys, K* spare, K* room) {
    if constexpr (sizeof(K) == 8) {
      if (kth >= 0) return select_packed(keys, spare, n, kth, room);
    }
    sort_keys(keys, spare, n, room);
  };
  each_dense_line<K>(
      lines, in, out, 1,
      [&](const T* from, uint32_t* to, int64_t rows, K* keys, bool threads) {
        K* const spare = keys + rows * n;
        if (threads)
          each_part(n, true, [&](int64_t begin, int64_t end) {
            pack(from + begin, keys + begin, end - begin, 1, begin);
          });
        else
          pack(from, keys, n, rows, 0);
        if (kth < 0 && rows > 1)
          kernels.sort(keys, n, rows, spare);
        else
          for (int64_t i = 0; i < rows; ++i)
            order(keys + i * n, spare, threads ? spare + n : nullptr);
        each_part(rows * n, threads, [&](int64_t begin, int64_t end) {
          kernels.positions(keys + begin, 4 * sizeof(K), to + begin, end - begin);
        });
      },
      sizeof(K) > 4 ? 5 : 3, scratch);
}
/// Elements of 8 bytes.
template <class T>
void argsort_wide(const SortLines& lines, void* scratch, const T* in, uint32_t* out) {
  using K = int64_t;
  const KeysFn convert = key_sorts<K>().to_order[key_map<T>()];
  const int64_t n = lines.n;
  each_dense_line<K>(
      lines, in, out, 3,
      [&](const T* from, uint32_t* to, int64_t rows, K* room, bool threads) {
        for (int64_t i = 0; i < rows; ++i, from += n, to += n) {
          if (convert) convert_keys(convert, from, room, n, threads);
          order_keys(convert ? room : reinterpret_cast<const K*>(from), n, room + n, to,
                     threads ? room + 3 * n : nullptr);
        }
      },
      6, scratch);
}

/// Sorts bytes by their counts, short lines as numbers of 16 bits.
template <class T>
void sort_bytes(const SortLines& lines, const T* in, T* out) {
  constexpr int64_t kShort = 512;
  const int64_t n = lines.n;
  each_dense_line<int16_t>(
      lines, in, out, 1,
      [&](const T* from, T* to, int64_t rows, int16_t* keys, bool) {
        using S = std::conditional_t<KeyOf<T>::kSigned, int8_t, uint8_t>;
        const S* given = reinterpret_cast<const S*>(from);
        S* sorted = reinterpret_cast<S*>(to);
        if (n > kShort) {
          for (int64_t i = 0; i < rows; ++i) count_keys(given + i * n, n, sorted + i * n);
        } else {
          for (int64_t i = 0; i < rows * n; ++i) keys[i] = given[i];
          key_sorts<int16_t>().sort(keys, n, rows, keys + rows * n);
          for (int64_t i = 0; i < rows * n; ++i) sorted[i] = static_cast<S>(keys[i]);
        }
        if constexpr (std::is_same_v<T, bool>)
          for (int64_t i = 0; i < rows * n; ++i) sorted[i] = sorted[i] != 0;
      },
      1.5, nullptr);
}

// --- elements without keys ----------------------------------------------------------------------

/// Sorts indices by comparison, for elements without keys.
template <class T, class O, class Store>
void sort_by_comparison(const SortLines& lines, const T* in, O* out, Store store) {
  parallel_for(
      lines.count, 1,
      [&](int64_t begin, int64_t end) {
        std::vector<T> values(lines.n);
        std::vector<uint32_t> order(lines.n);
        Odometer<2> at = lines.odometer();
        at.seek(begin);
        for (; begin < end; ++begin, at.next()) {
          for (int64_t i = 0; i < lines.n; ++i) values[i] = in[at[0] + i * lines.in_stride];
          std::iota(order.begin(), order.end(), 0u);
          std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
            return sorts_before(values[a], values[b]);
          });
          for (int64_t i = 0; i < lines.n; ++i)
            out[at[1] + i * lines.out_stride] = store(values, order[i]);
        }
      },
      50.0 * static_cast<double>(lines.n) * static_cast<double>(lines.count));
}

void run_sort(const KernelArgs& args) {
  auto& a = attrs_as<SortAttrs>(args.attrs);
  const View &in = args.in[0], &out = args.out[0];
  if (out.size() == 0) return;
  const SortLines lines(in, out, a.axis);
  if (lines.n == 1) return copy_strided(in, out);
  dispatch(in.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_complex(TypeToDtype<T>::value)) {
      sort_by_comparison(lines, in.as<T>(), out.as<T>(),
                         [](const auto& values, uint32_t i) { return values[i]; });
    } else {
      using Key = KeyOf<T>;
      if constexpr (sizeof(T) > 1) {
        if (lines.dense()) return sort_dense(lines, a.kth, args.workspace, in.as<T>(), out.as<T>());
        using K = SignedKey<T>;
        sort_lines<K>(
            lines, a.kth, args.workspace, in.as<T>(), out.as<T>(),
            [](T x, int64_t) { return static_cast<K>(Key::to_key(x) ^ Key::kSign); },
            [](K key) { return Key::from_key(static_cast<Key::K>(key ^ Key::kSign)); });
      } else {
        if (lines.dense() && lines.n <= kMostCounted)
          return sort_bytes(lines, in.as<T>(), out.as<T>());
        sort_lines<uint8_t>(
            lines, a.kth, args.workspace, in.as<T>(), out.as<T>(),
            [](T x, int64_t) { return Key::to_key(x); },
            [](uint8_t key) { return Key::from_key(key); });
      }
    }
  });
}

void run_argsort(const KernelArgs& args) {
  auto& a = attrs_as<SortAttrs>(args.attrs);
  const View &in = args.in[0], &out = args.out[0];
  if (out.size() == 0) return;
  const SortLines lines(in, out, a.axis);
  uint32_t* positions = out.as<uint32_t>();
  if (lines.n == 1) {
    std::memset(positions, 0, static_cast<size_t>(out.size()) * sizeof(uint32_t));
    return;
  }
  dispatch(in.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = in.as<T>();
    if constexpr (is_complex(TypeToDtype<T>::value)) {
      sort_by_comparison(lines, x, positions, [](const auto&, uint32_t i) { return i; });
    } else if constexpr (sizeof(T) == 8) {
      if (a.kth < 0 && lines.dense() && lines.n <= INT32_MAX)
        return argsort_wide(lines, args.workspace, x, positions);
      sort_lines<KeyAt>(
          lines, a.kth, args.workspace, x, positions,
          [](T v, int64_t i) { return KeyAt{KeyOf<T>::to_order(v), static_cast<uint64_t>(i)}; },
          [](KeyAt e) { return static_cast<uint32_t>(e.position); });
    } else {
      if constexpr (sizeof(T) == 4) {
        if (lines.dense())
          return argsort_packed<int64_t>(lines, a.kth, args.workspace, x, positions);
        if (a.kth < 0)
          return sort_lines<int64_t>(
              lines, a.kth, args.workspace, x, positions,
              [](T v, int64_t i) {
                const auto key = static_cast<int32_t>(KeyOf<T>::to_order(v) ^ KeyOf<T>::kSign);
                return (int64_t{key} << 32) | i;
              },
              [](int64_t e) { return static_cast<uint32_t>(e); });
      } else if (lines.dense() && lines.n < kShortPositions) {
        return argsort_packed<int32_t>(lines, a.kth, args.workspace, x, positions);
      }
      sort_lines<Packed>(
          lines, a.kth, args.workspace, x, positions,
          [](T v, int64_t i) {
            return Packed{uint64_t{KeyOf<T>::to_order(v)} << 32 | static_cast<uint64_t>(i)};
          },
          [](Packed e) { return static_cast<uint32_t>(e.bits); });
    }
  });
}

// --- searching ----------------------------------------------------------------------------------

/// Values in the form in which they are compared: keys if there are any.
template <class T>
auto comparable(T x) {
  if constexpr (is_complex(TypeToDtype<T>::value))
    return x;
  else
    return KeyOf<T>::to_order(x);
}
template <class K>
bool comes_before(const K& a, const K& b) {
  if constexpr (std::is_integral_v<K>)
    return a < b;
  else
    return sorts_before(a, b);
}

/// Positions of `count` values in sequences of n elements. The searches are interleaved, so that
/// their memory accesses overlap.
constexpr int kAbreast = 16;
template <class T>
void search(const T* const* from, int64_t n, int64_t step, const T* values, int count, bool right,
            uint32_t* out) {
  decltype(comparable(T{})) keys[kAbreast];
  int64_t low[kAbreast] = {};
  for (int k = 0; k < count; ++k) keys[k] = comparable(values[k]);
  auto advance = [&](int64_t probe, int64_t by) {
    for (int k = 0; k < count; ++k) {
      const auto x = comparable(from[k][(low[k] + probe) * step]);
      const bool behind = right ? !comes_before(keys[k], x) : comes_before(x, keys[k]);
      low[k] += behind ? by : 0;
    }
  };
  int64_t length = n;
  for (; length > 1; length -= length / 2) advance(length / 2 - 1, length / 2);
  if (length == 1) advance(0, 1);
  for (int k = 0; k < count; ++k) out[k] = static_cast<uint32_t>(low[k]);
}

// Searches dense values in one sequence with the search kernels.
void search_sequence(const View& sorted, const char* first, const char* values, int64_t count,
                     bool right, uint32_t* out) {
  constexpr int64_t kValues = 1024;
  const Dtype t = sorted.dtype();
  const int64_t n = sorted.shape().back();
  const Comparable comparable(t);
  const SortedSequence sequence(first, t, n, sorted.strides().back());
  parallel_for(
      count, kValues,
      [&](int64_t begin, int64_t end) {
        alignas(64) int64_t buffer[kValues];
        for (int64_t i = begin; i < end; i += kValues) {
          const int64_t some = std::min(kValues, end - i);
          sequence.search(comparable.read(values + i * t.size(), some, buffer), some, right,
                          out + i);
        }
      },
      static_cast<double>(count) * (1 + std::log2(1.0 + static_cast<double>(n))));
}

// Sequences are the last axis of the first operand; its leading axes are those of the values.
void run_searchsorted(const KernelArgs& args) {
  const bool right = attrs_as<SearchSortedAttrs>(args.attrs).right;
  const View &sorted = args.in[0], &values = args.in[1], &out = args.out[0];
  const int64_t n = sorted.shape().back(), step = sorted.strides().back();
  if (out.size() == 0) return;
  const Shape rows(sorted.shape().begin(), sorted.shape().end() - 1);
  const int64_t count = num_elements(rows), each = out.size() / count;
  const bool dense = values.strides() == row_major(values.shape());
  // Sequences that would need a copy are searched in place if there are few values.
  const bool copied = step != 1 || Comparable(sorted.dtype()).converts();
  if (dense && !is_complex(values.dtype()) && each >= 16 && (!copied || n <= 4 * each)) {
    const Odometer<1> start(rows, {Strides(sorted.strides().begin(), sorted.strides().end() - 1)});
    return parallel_for(
        count, 1,
        [&](int64_t begin, int64_t end) {
          Odometer<1> at = start;
          at.seek(begin);
          for (; begin < end; ++begin, at.next())
            search_sequence(sorted, sorted.as<char>() + at[0] * sorted.dtype().size(),
                            values.as<char>() + begin * each * values.dtype().size(), each, right,
                            out.as<uint32_t>() + begin * each);
        },
        3.0 * static_cast<double>(out.size()));
  }
  // Offsets of the sequence, iterated with the values: their further axes have stride 0.
  Strides sequence(values.ndim(), 0);
  for (int i = 0; i + 1 < sorted.ndim(); ++i) sequence[i] = sorted.strides()[i];
  Shape shape = values.shape();
  std::vector<Strides> strides{values.strides(), sequence};
  collapse_axes(shape, strides);
  dispatch(values.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_for(
        out.size(), 256,
        [&](int64_t begin, int64_t end) {
          Odometer<2> at(shape, {strides[0], strides[1]});
          at.seek(begin);
          while (begin < end) {
            T some[kAbreast];
            const T* from[kAbreast];
            const int64_t first = begin;
            int count = 0;
            for (; count < kAbreast && begin < end; ++count, ++begin, at.next()) {
              some[count] = values.as<T>()[at[0]];
              from[count] = sorted.as<T>() + at[1];
            }
            search(from, n, step, some, count, right, out.as<uint32_t>() + first);
          }
        },
        2.0 * static_cast<double>(out.size()) * (2 + std::log2(1.0 + static_cast<double>(n))));
  });
}

size_t sort_workspace(std::span<const Layout> operands, int, const Attrs* attrs) {
  const int64_t n = operands[0].shape[attrs_as<SortAttrs>(attrs).axis];
  switch (operands[0].dtype.size()) {
    case 1:
      return scratch_of<uint8_t>(n);
    case 2:
      return scratch_of<uint16_t>(n);
    case 4:
      return scratch_of<uint32_t>(n);
    default:
      return scratch_of<uint64_t>(n);
  }
}
size_t argsort_workspace(std::span<const Layout> operands, int, const Attrs* attrs) {
  const int64_t n = operands[0].shape[attrs_as<SortAttrs>(attrs).axis];
  return operands[0].dtype.size() == 8 ? scratch_of<KeyAt>(n) : scratch_of<Packed>(n);
}

constexpr KernelEntry kSortKernels[] = {
    {.op = &op_sort, .run = run_sort, .workspace = sort_workspace, .keeps_order = true},
    {.op = &op_argsort, .run = run_argsort, .workspace = argsort_workspace, .keeps_order = true},
    {.op = &op_searchsorted, .run = run_searchsorted}};

}  // namespace

const std::span<const KernelEntry> sort_kernels = kSortKernels;

}  // namespace mlx::core::cpu
