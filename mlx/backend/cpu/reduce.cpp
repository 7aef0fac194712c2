// Passes the elements of an operand of any layout in logical order to the kernels of isa/reduce.h:
// as rows if the reduced elements are contiguous, as columns if the kept ones are, and as rows
// packed into a small buffer otherwise. Long reductions are divided into chunks of whole blocks,
// whose partial results are combined in the order of the blocks.
#include "mlx/backend/cpu/reduce.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "mlx/backend/cpu/allocator.h"
#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/fused.h"
#include "mlx/backend/cpu/item_size.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/threads.h"
#include "mlx/ops/reduce.h"

namespace mlx::core::cpu {

namespace {

Reducer find_reduction(Reduction kind, Dtype t) {
  const bool arg = kind == Reduction::argmax || kind == Reduction::argmin;
  return arg ? MLX_FOR_ISA(find_arg_reducer)(kind, t) : MLX_FOR_ISA(find_reducer)(kind, t);
}

// --- accumulators to results ---------------------------------------------------------------------

template <class A, class F>
void store_with(const Dtype& t, const void* acc, void* out, int64_t n, F f) {
  const A* a = static_cast<const A*>(acc);
  dispatch(t, [&](auto tag) {
    using O = typename decltype(tag)::type;
    if constexpr (is_inexact(TypeToDtype<O>::value) && requires { static_cast<O>(f(a[0])); })
      for (int64_t i = 0; i < n; ++i) static_cast<O*>(out)[i] = static_cast<O>(f(a[i]));
  });
}
template <class A>
void store_as(Dtype out_type, const void* acc, void* out, int64_t n) {
  store_with<A>(out_type, acc, out, n, [](A x) { return x; });
}
template <class A>
void store_mean(Dtype out_type, const void* acc, void* out, int64_t n, int64_t count) {
  if constexpr (std::is_same_v<A, complex64_t> || std::is_same_v<A, complex128_t>) {
    const auto divisor = static_cast<typename A::value_type>(count);
    store_with<A>(out_type, acc, out, n, [=](A x) { return x / divisor; });
  } else {
    using F = std::conditional_t<std::is_same_v<A, float>, float, double>;
    const F divisor = static_cast<F>(count);
    store_with<A>(out_type, acc, out, n, [=](A x) { return static_cast<F>(x) / divisor; });
  }
}

// Writes n results; `count` is the number of elements reduced to each.
void finish(const Reducer& r, Reduction kind, Dtype in, Dtype out_type, const void* acc, void* out,
            int64_t n, int64_t count) {
  switch (kind) {
    case Reduction::any:
    case Reduction::all: {
      const uint8_t flip = kind == Reduction::all;
      auto each = [&](auto zero) {
        using A = decltype(zero);
        // Constant lengths, so that compilers vectorise the loop.
        constexpr int64_t kSome = 32;
        auto finish_some = [&](int64_t first, auto some) {
          A x[kSome] = {};
          uint8_t truth[kSome];
          std::memcpy(x, static_cast<const A*>(acc) + first, some * sizeof(A));
          for (int k = 0; k < kSome; ++k) truth[k] = static_cast<uint8_t>(x[k] != zero) ^ flip;
          std::memcpy(static_cast<uint8_t*>(out) + first, truth, some);
        };
        int64_t i = 0;
        for (; i + kSome <= n; i += kSome) finish_some(i, std::integral_constant<int64_t, kSome>());
        if (i < n) finish_some(i, n - i);
      };
      switch (r.accumulator) {
        case 1:
          each(uint8_t{});
          break;
        case 2:
          each(uint16_t{});
          break;
        case 4:
          each(uint32_t{});
          break;
        case 8:
          each(uint64_t{});
          break;
        default:
          each(complex128_t{});
      }
      return;
    }
    case Reduction::argmax:
    case Reduction::argmin: {
      // The position is the last member of Best.
      const auto* position = static_cast<const char*>(acc) + (in == complex128 ? 16 : 8);
      for (int64_t i = 0; i < n; ++i, position += r.accumulator)
        static_cast<uint32_t*>(out)[i] =
            static_cast<uint32_t>(*reinterpret_cast<const int64_t*>(position));
      return;
    }
    case Reduction::mean:
      if (!is_inexact(in)) {
        if (in == int64 || in == uint64) return store_mean<double>(out_type, acc, out, n, count);
        return store_mean<int64_t>(out_type, acc, out, n, count);
      }
      if (in == float64) return store_mean<double>(out_type, acc, out, n, count);
      if (in == complex64) return store_mean<complex64_t>(out_type, acc, out, n, count);
      if (in == complex128) return store_mean<complex128_t>(out_type, acc, out, n, count);
      return store_mean<float>(out_type, acc, out, n, count);
    default:
      break;
  }
  if (in == float16 || in == bfloat16) return store_as<float>(out_type, acc, out, n);
  std::memcpy(out, acc, static_cast<size_t>(n) * r.accumulator);
}

// --- iteration -----------------------------------------------------------------------------------

/// Lengths and strides of some axes, merged if they are contiguous.
struct AxisSpace {
  Shape shape;
  Strides strides;
  int64_t size = 1;

  void add(int64_t length, int64_t stride) {
    shape.push_back(length);
    strides.push_back(stride);
    size *= length;
  }
  void collapse() {
    if (shape.size() == 1) {
      if (size == 1) strides[0] = 0;
      return;
    }
    std::vector<Strides> all{strides};
    collapse_axes(shape, all);
    strides = all[0];
  }
  int64_t inner() const { return shape.back(); }
  int64_t step() const { return strides.back(); }
  int64_t outer() const { return size / shape.back(); }
  /// Offsets of consecutive positions starting at `begin`.
  void offsets(int64_t begin, int64_t n, int64_t* out) const {
    const int64_t length = shape.back(), step = strides.back();
    int64_t outer = begin / length, i = begin % length;
    for (int64_t done = 0; done < n; ++outer, i = 0) {
      const int64_t base = outer_offset(outer);
      for (; i < length && done < n; ++i) out[done++] = base + i * step;
    }
  }
  /// Offset of the outer position i (all axes but the last).
  int64_t outer_offset(int64_t i) const {
    int64_t offset = 0;
    for (size_t d = shape.size() - 1; d-- > 0; i /= shape[d]) offset += i % shape[d] * strides[d];
    return offset;
  }
};

/// Copies elements of one size at strided positions to contiguous memory.
template <int Size>
void gather(const char* from, const AxisSpace& space, int64_t begin, int64_t n, char* to) {
  struct alignas(Size < 8 ? Size : 8) Element {
    char bytes[Size];
  };
  auto* out = reinterpret_cast<Element*>(to);
  const auto* in = reinterpret_cast<const Element*>(from);
  const int64_t length = space.inner(), step = space.step();
  int64_t outer = begin / length, i = begin % length;
  while (n > 0) {
    const Element* run = in + space.outer_offset(outer++) + i * step;
    const int64_t count = std::min(n, length - i);
    if (step == 1) {
      std::memcpy(out, run, static_cast<size_t>(count) * Size);
    } else {
      for (int64_t k = 0; k < count; ++k) out[k] = run[k * step];
    }
    out += count;
    n -= count;
    i = 0;
  }
}
using Gather = void (*)(const char*, const AxisSpace&, int64_t, int64_t, char*);
Gather gather_of(int itemsize) {
  return dispatch_size(itemsize, [](auto item) -> Gather { return gather<sizeof(item)>; });
}

/// Partial results of a row of accumulators, combined like the carries of a binary counter.
class SumCounter {
 public:
  SumCounter(const Reducer& r, int64_t width)
      : reducer_(r), width_(width), bytes_(static_cast<size_t>(width) * r.accumulator) {}
  /// Address of the next partial result.
  void* next() {
    if (parts_.size() == top_) parts_.emplace_back(new char[bytes_]);
    return parts_[top_].get();
  }
  void push() {
    ++top_;
    for (uint64_t t = count_++; t & 1; t >>= 1) merge();
  }
  void* result() {
    while (top_ > 1) merge();
    return parts_[0].get();
  }
  void clear() { top_ = 0, count_ = 0; }

 private:
  void merge() {
    --top_;
    reducer_.merge(parts_[top_ - 1].get(), parts_[top_].get(), width_);
  }
  const Reducer& reducer_;
  int64_t width_;
  size_t bytes_;
  std::vector<std::unique_ptr<char[]>> parts_;
  size_t top_ = 0;
  uint64_t count_ = 0;
};

struct ReduceJob {
  Reducer reducer;
  Reduction kind;
  AxisSpace kept, reduced;
  const char* in;
  char* out;
  Dtype in_type, out_type;
  int64_t chunk = 0,
          chunks = 1;  ///< elements of a reduction processed at once, and the number of chunks
  std::unique_ptr<char[]> partials;  ///< chunks x kept, if there are several chunks
  const FusedSource* source = nullptr;

  const char* at(int64_t offset) const { return in + offset * in_type.size(); }
  /// Stores `n` accumulators of one chunk from output `first` on.
  void deliver(int64_t chunk_index, int64_t first, int64_t n, const void* acc) const {
    if (chunks == 1) {
      finish(reducer, kind, in_type, out_type, acc, out + first * out_type.size(), n, reduced.size);
    } else {
      std::memcpy(partials.get() + (chunk_index * kept.size + first) * reducer.accumulator, acc,
                  static_cast<size_t>(n) * reducer.accumulator);
    }
  }
  /// True where a reduction is too short for chunks of that many elements.
  bool is_short(int64_t least_chunk) const { return reduced.size <= 2 * least_chunk; }
  void split(int64_t tiles, int64_t least_chunk);
  void combine_chunks() const;
};

// Few outputs with long reductions: divides the reductions at powers of two, which keeps the order.
void ReduceJob::split(int64_t tiles, int64_t least_chunk) {
  chunk = reduced.size;
  if (tiles < 16 && !is_short(least_chunk)) {
    chunk = least_chunk;
    while (chunk * 64 < reduced.size * tiles) chunk *= 2;
    chunks = (reduced.size + chunk - 1) / chunk;
  }
  if (chunks > 1)
    partials.reset(new char[static_cast<size_t>(chunks * kept.size) * reducer.accumulator]);
}

void ReduceJob::combine_chunks() const {
  constexpr int64_t kWidth = 256;
  const int64_t tiles = (kept.size + kWidth - 1) / kWidth;
  parallel_for(
      tiles, 1,
      [&](int64_t begin, int64_t end) {
        for (int64_t t = begin; t < end; ++t) {
          const int64_t first = t * kWidth, n = std::min(kWidth, kept.size - first);
          SumCounter counter(reducer, n);
          for (int64_t c = 0; c < chunks; ++c) {
            std::memcpy(counter.next(),
                        partials.get() + (c * kept.size + first) * reducer.accumulator,
                        static_cast<size_t>(n) * reducer.accumulator);
            counter.push();
          }
          finish(reducer, kind, in_type, out_type, counter.result(), out + first * out_type.size(),
                 n, reduced.size);
        }
      },
      static_cast<double>(chunks * kept.size));
}

/// Makes reduced elements contiguous in a buffer, by copying or by computing them.
class Packer {
 public:
  explicit Packer(const ReduceJob& job) : job_(job), gather_(gather_of(job.in_type.size())) {
    if (job.source) reader_ = std::make_unique<FusedSource::Reader>(*job.source);
  }
  /// Elements `begin` to `begin + n` of `rows` reductions with distance `step`, at `offset`.
  void pack(int64_t offset, int64_t step, int64_t rows, int64_t begin, int64_t n, char* to) {
    if (reader_ && step == n) {
      n *= rows;
      rows = 1;
    }
    for (; rows > 0; --rows, offset += step, to += n * job_.in_type.size()) {
      if (reader_)
        reader_->read(offset + begin, n, to);
      else
        gather_(job_.at(offset), job_.reduced, begin, n, to);
    }
  }

 private:
  const ReduceJob& job_;
  Gather gather_;
  std::unique_ptr<FusedSource::Reader> reader_;
};

// Reduced elements are contiguous, or are packed.
void run_rows(ReduceJob& job, double estimate) {
  constexpr int64_t kRows = 64, kElements = 8192;  // of a tile: the larger one of both
  const int64_t large = std::max(kRows, kElements / job.reduced.size);
  const int64_t at_most = std::clamp<int64_t>(job.kept.size / (8 * num_threads()), 1, large);
  const bool direct = !job.source && job.reduced.shape.size() == 1 && job.reduced.step() == 1;
  const Reducer& r = job.reducer;
  const int64_t size = job.in_type.size();
  const int64_t inner = job.kept.inner(), step = job.kept.step();
  // A tile is a range of outputs along the innermost kept axis.
  const int64_t per_run = (inner + at_most - 1) / at_most, tiles = job.kept.outer() * per_run;
  job.split(job.kept.size, 2 * kReduceBlock);
  parallel_for(
      tiles * job.chunks, 1,
      [&](int64_t begin, int64_t end) {
        std::unique_ptr<char[]> acc(new char[at_most * r.accumulator]);
        // Whole blocks that leave room in the first-level cache for what they are computed from.
        const int64_t packed_size = 16384 / size;
        Packer packer(job);
        std::optional<Scratch> packed;
        char* buffer = direct ? nullptr : packed.emplace(packed_size * size).get<char>();
        SumCounter counter(r, 1);
        for (int64_t t = begin; t < end; ++t) {
          const int64_t c = t / tiles, run = t % tiles / per_run, i0 = t % per_run * at_most;
          const int64_t n = std::min(at_most, inner - i0), e0 = c * job.chunk;
          const int64_t elements = std::min(job.chunk, job.reduced.size - e0);
          const int64_t base = job.kept.outer_offset(run) + i0 * step;
          if (direct) {
            r.rows(job.at(base + e0), step, n, elements, e0, acc.get());
          } else if (elements == job.reduced.size && elements <= packed_size / 4) {
            const int64_t at_once = packed_size / elements;
            for (int64_t i = 0; i < n; i += at_once) {
              const int64_t some = std::min(at_once, n - i);
              packer.pack(base + i * step, step, some, 0, elements, buffer);
              r.rows(buffer, elements, some, elements, 0, acc.get() + i * r.accumulator);
            }
          } else {
            for (int64_t i = 0; i < n; ++i) {
              counter.clear();
              for (int64_t e = 0; e < elements; e += packed_size) {
                const int64_t some = std::min(packed_size, elements - e);
                packer.pack(base + i * step, 0, 1, e0 + e, some, buffer);
                r.rows(buffer, 0, 1, some, e0 + e, counter.next());
                counter.push();
              }
              std::memcpy(acc.get() + i * r.accumulator, counter.result(), r.accumulator);
            }
          }
          job.deliver(c, run * inner + i0, n, acc.get());
        }
      },
      estimate);
}

/// Makes rows of `n` elements with distance `step` dense.
template <int Size>
void gather_rows(const char* from, const int64_t* offsets, int rows, int64_t n, int64_t step,
                 char* to) {
  for (int r = 0; r < rows; ++r) {
    const char* row = from + offsets[r] * Size;
    for (int64_t i = 0; i < n; ++i, to += Size) std::memcpy(to, row + i * step * Size, Size);
  }
}
using GatherRows = void (*)(const char*, const int64_t*, int, int64_t, int64_t, char*);
GatherRows gather_rows_of(int itemsize) {
  return dispatch_size(itemsize, [](auto item) -> GatherRows { return gather_rows<sizeof(item)>; });
}

/// Rows of some columns as the kernels read them: in place, or packed or computed.
class ColumnReader {
 public:
  /// Bytes of computed rows, which stay in the second-level cache.
  static constexpr int64_t kComputed = int64_t{1024} << 10;
  static constexpr int64_t kPackedWidth = 64;

  static int64_t least_chunk(const ReduceJob& job) { return (job.source ? 1 : 2) * kReduceBlock; }
  /// The number of columns of a tile: fewer where some threads would have no tile.
  static int64_t width_for(const ReduceJob& job) {
    const int64_t inner = job.kept.inner(), size = job.in_type.size();
    const int64_t most = job.source             ? kComputed / (kReduceBlock * size)
                         : job.kept.step() == 1 ? job.reducer.columns
                                                : kPackedWidth;
    const int64_t width = std::min({inner, most, static_cast<int64_t>(job.reducer.columns)});
    if (!job.is_short(least_chunk(job))) return width;
    // Whole cache lines, and for programs enough elements in a run.
    const int64_t unit = (job.source ? 1024 : 64) / size;
    const int64_t share = (job.kept.size + num_threads() - 1) / num_threads();
    return std::min(width, (share + unit - 1) / unit * unit);
  }
  ColumnReader(const ReduceJob& job, int64_t width)
      : job_(job),
        in_place_(!job.source && job.kept.step() == 1),
        pack_(gather_rows_of(job.in_type.size())) {
    if (!in_place_) memory_.emplace(kReduceBlock * width * job.in_type.size());
    if (job.source) reader_.emplace(*job.source);
    const int64_t bytes = job.kept.size * job.reduced.size * job.in_type.size();
    far_ = in_place_ && prefetches_within_pages() && bytes > static_cast<int64_t>(l3_size() / 2);
    is_narrow_ = job.kept.step() == 1 && width == job.kept.inner() &&
                 width * kReduceLanes <= job.reducer.columns && job.reduced.shape.size() == 1 &&
                 job.reduced.step() == width;
  }
  /// Reduces rows from `first` on of the n columns at element `column` of the operand.
  void reduce(int64_t column, int64_t first, int rows, int64_t n, void* out) {
    const char* from = job_.at(column);
    if (in_place_ && is_narrow_) {
      from += first * n * job_.in_type.size();
    } else if (in_place_) {
      job_.reduced.offsets(first, rows, offsets_);
    } else {
      char* block = memory_->get<char>();
      job_.source ? compute(column, first, rows, n, block) : pack(from, first, rows, n, block);
      from = block;
      for (int i = 0; i < rows; ++i) offsets_[i] = i * n;
    }
    job_.reducer.cols(from, is_narrow_ ? nullptr : offsets_, rows, n, first, out, far_);
  }

 private:
  void compute(int64_t column, int64_t first, int rows, int64_t n, char* out) {
    const int64_t all = job_.kept.size, runs = n == all ? 1 : rows, length = n * rows / runs;
    for (int64_t r = 0; r < runs; ++r, out += length * job_.in_type.size())
      reader_->read((first + r) * all + column, length, out);
  }
  void pack(const char* from, int64_t first, int rows, int64_t n, char* out) {
    job_.reduced.offsets(first, rows, offsets_);
    pack_(from, offsets_, rows, n, job_.kept.step(), out);
  }

  const ReduceJob& job_;
  bool in_place_, is_narrow_, far_;
  GatherRows pack_;
  int64_t offsets_[kReduceBlock];
  std::optional<Scratch> memory_;
  std::optional<FusedSource::Reader> reader_;
};

// Kept elements are contiguous, or are packed.
void run_columns(ReduceJob& job, double estimate) {
  const int64_t inner = job.kept.inner(), step = job.kept.step();
  const int64_t width = ColumnReader::width_for(job);
  const int64_t per_run = (inner + width - 1) / width, tiles = job.kept.outer() * per_run;
  job.split(tiles, ColumnReader::least_chunk(job));
  parallel_for(
      tiles * job.chunks, 1,
      [&](int64_t begin, int64_t end) {
        SumCounter counter(job.reducer, width);
        ColumnReader reader(job, width);
        for (int64_t t = begin; t < end; ++t) {
          const int64_t c = t / tiles, run = t % tiles / per_run, i0 = t % per_run * width;
          const int64_t n = std::min(width, inner - i0), e0 = c * job.chunk;
          const int64_t elements = std::min(job.chunk, job.reduced.size - e0);
          const int64_t column = job.kept.outer_offset(run) + i0 * step;
          counter.clear();
          for (int64_t e = 0; e < elements; e += kReduceBlock) {
            const int rows = static_cast<int>(std::min<int64_t>(kReduceBlock, elements - e));
            reader.reduce(column, e0 + e, rows, n, counter.next());
            counter.push();
          }
          job.deliver(c, run * inner + i0, n, counter.result());
        }
      },
      estimate);
}

void run_reduce(const KernelArgs& args) {
  auto& a = attrs_as<ReduceAttrs>(args.attrs);
  reduce(args.in[0], a.kind, a.axes, args.out[0], args.source);
}

/// The number of axes that are kept, if these are the first ones; else 0.
int kept_rows(const Layout& in, const Attrs* attrs) {
  auto& axes = attrs_as<ReduceAttrs>(attrs).axes;
  const int first = static_cast<int>(in.shape.size() - axes.size());
  for (size_t k = 0; k < axes.size(); ++k)
    if (axes[k] != first + static_cast<int>(k)) return 0;
  return first;
}

/// True if whole rows or whole columns are reduced.
bool takes_source(const Layout& in, const Attrs* attrs) {
  auto& axes = attrs_as<ReduceAttrs>(attrs).axes;
  const int rank = static_cast<int>(in.shape.size()), count = static_cast<int>(axes.size());
  const int first = kept_rows(in, attrs);
  if (first + count == rank)
    return num_elements(Shape(in.shape.begin() + first, in.shape.end())) > 1;
  if (axes.empty() || axes.back() != count - 1) return false;
  const auto middle = in.shape.begin() + count;
  return num_elements(Shape(in.shape.begin(), middle)) > 1 &&
         num_elements(Shape(middle, in.shape.end())) > 1;
}

constexpr KernelEntry kReduceKernels[] = {
    {.op = &op_reduce, .run = run_reduce, .takes_source = takes_source, .rows = kept_rows},
    {.op = &op_arg_reduce, .run = run_reduce, .rows = kept_rows}};

}  // namespace

const std::span<const KernelEntry> reduce_kernels = kReduceKernels;

std::optional<RowReduction> RowReduction::of(const Step& step, const Layout& in, int axis) {
  if (step.op != &op_reduce && step.op != &op_arg_reduce) return {};
  auto& a = attrs_as<ReduceAttrs>(step.attrs.get());
  int64_t elements = 1;
  for (size_t k = in.shape.size(); k-- > static_cast<size_t>(axis) + 1; elements *= in.shape[k]) {
    const bool dense = in.shape[k] == 1 || in.strides[k] == elements;
    if (!dense || !std::ranges::binary_search(a.axes, static_cast<int>(k))) return {};
  }
  if (elements == 0 || std::ranges::binary_search(a.axes, axis)) return {};
  return RowReduction(a.kind, in.dtype, step.operands[step.n_inputs].dtype, elements);
}

RowReduction::RowReduction(Reduction kind, Dtype in, Dtype out, int64_t elements)
    : reducer_(find_reduction(kind, in)),
      kind_(kind),
      in_type_(in),
      out_type_(out),
      elements_(elements) {}

void RowReduction::run(const void* in, int64_t stride, int64_t rows, void* out) const {
  constexpr int64_t kBytes = 2048;
  alignas(64) char accumulators[kBytes];
  const int64_t most = kBytes / reducer_.accumulator;
  for (int64_t i = 0; i < rows; i += most) {
    const int64_t some = std::min(most, rows - i);
    reducer_.rows(static_cast<const char*>(in) + i * stride * in_type_.size(), stride, some,
                  elements_, 0, accumulators);
    finish(reducer_, kind_, in_type_, out_type_, accumulators,
           static_cast<char*>(out) + i * out_type_.size(), some, elements_);
  }
}

void reduce(const View& in, Reduction kind, const std::vector<int>& axes, const View& out,
            const FusedSource* source) {
  ReduceJob job{.reducer = find_reduction(kind, in.dtype()),
                .kind = kind,
                .kept = {},
                .reduced = {},
                .in = static_cast<const char*>(in.data),
                .out = static_cast<char*>(out.data),
                .in_type = in.dtype(),
                .out_type = out.dtype(),
                .partials = nullptr,
                .source = source};
  for (int i = 0; i < in.ndim(); ++i) {
    const bool reduced = std::binary_search(axes.begin(), axes.end(), i);
    (reduced ? job.reduced : job.kept).add(in.shape()[i], in.strides()[i]);
  }
  if (job.kept.size == 0) return;
  if (job.reduced.size == 0) {
    std::unique_ptr<char[]> nothing(new char[job.kept.size * job.reducer.accumulator]);
    job.reducer.fill(nothing.get(), job.kept.size);
    return finish(job.reducer, kind, job.in_type, job.out_type, nothing.get(), job.out,
                  job.kept.size, 0);
  }
  const bool position = kind == Reduction::argmax || kind == Reduction::argmin;
  if (position && job.reduced.size == 1) {
    std::memset(job.out, 0, static_cast<size_t>(job.kept.size * job.out_type.size()));
    return;
  }
  job.kept.collapse();
  job.reduced.collapse();
  const double n = static_cast<double>(job.kept.size) * static_cast<double>(job.reduced.size);
  const bool rows = job.reduced.step() == 1 && job.reduced.size > 1;
  const bool columns =
      job.kept.size > 1 &&
      (job.reduced.size == 1 || std::abs(job.kept.step()) < std::abs(job.reduced.step()));
  const double estimate = n * in.dtype().size() / 30 + 4.0 * static_cast<double>(job.kept.size) +
                          (source ? source->cost() : 0);
  if (!rows && columns) {
    run_columns(job, estimate);
  } else {
    run_rows(job, rows ? estimate : 4 * estimate);
  }
  if (job.chunks > 1) job.combine_chunks();
}

}  // namespace mlx::core::cpu
