// Fourier transforms by passes over arrays: how a length is divided among passes, and the passes of
// a step. A length with another prime factor than 2, 3, 5 and 7 is convolved with a chirp.
#include "mlx/backend/gpu/families/fft_passes.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "mlx/backend/common/convolution_length.h"
#include "mlx/backend/gpu/families/fft_lines.h"
#include "mlx/backend/gpu/families/step_kernel.h"
#include "mlx/ops/fft.h"

namespace mlx::core::gpu {

namespace {

using device::FftPassArguments;
using Lengths = SmallVector<int64_t, 4>;

/// Factors 8, 7, 5, 3, 4 and 2 of a length, 4 bits each. `left`: the length, then the rest of it.
int64_t radices_of(int64_t& left) {
  int64_t list = 0;
  int bits = 0;
  for (int64_t radix : {8, 7, 5, 3, 4, 2})
    for (; left % radix == 0 && bits < 60; left /= radix, bits += 4) list |= radix << bits;
  return list;
}
bool is_smooth(int64_t n) {
  for (int64_t p : {2, 3, 5, 7})
    while (n % p == 0) n /= p;
  return n == 1;
}

/// Divides a length among so many passes, none longer than `most`, and about equally. False where
/// its factors do not allow that.
bool divide(int64_t length, int passes, int64_t most, Lengths& to) {
  if (passes == 1) {
    if (length <= most) to.push_back(length);
    return length <= most;
  }
  const auto root = static_cast<int64_t>(std::pow(static_cast<double>(length), 1.0 / passes));
  for (int64_t one = std::max<int64_t>(root, 2); one <= most; ++one) {
    if (length % one != 0) continue;
    to.push_back(one);
    if (divide(length / one, passes - 1, most, to)) return true;
    to.pop_back();
  }
  return false;
}

/// Parts of memory that passes read and write.
enum class Place { operand, result, spectrum, first, second };
constexpr int kPlaces = 5;

struct Pass {
  FftPassArguments p;
  Place from, to;
  int64_t blocks;
};

/// The passes of a step.
class Passes {
 public:
  Passes(const FftAttrs& a, const Layout& in, const Layout& out, int processors)
      : size_(real_dtype(in.dtype).size() * 2), processors_(processors) {
    FftPassArguments p = {};
    walks_ = set_fft_operands(p, a, in, out);
    if (!walks_ || p.outer * p.inner == 0) return;
    p.length = is_smooth(a.n) ? a.n : convolution_length(a.n);
    if (p.length == a.n) {
      add(p, Place::operand, Place::result);
    } else {
      add_convolution(p);
    }
  }
  bool walks() const { return walks_; }
  const std::vector<Pass>& list() const { return list_; }

  /// Bytes of the parts of the workspace in front of one; of all of them.
  int64_t bytes_before(Place place) const {
    int64_t bytes = 0;
    for (int k = 0; k < static_cast<int>(place); ++k) bytes += bytes_[k];
    return bytes;
  }
  int64_t bytes() const { return bytes_before(Place::second) + of(Place::second); }

 private:
  int64_t slots() const { return device::kFftBytes / size_; }
  int64_t& of(Place place) { return bytes_[static_cast<int>(place)]; }
  int64_t of(Place place) const { return bytes_[static_cast<int>(place)]; }
  static Place after(Place place) { return place == Place::first ? Place::second : Place::first; }

  /// How a length is divided: several columns beside each other are read at once, if there are any.
  Lengths divided(const FftPassArguments& p) const {
    constexpr int64_t kNeighbours = 8;
    const int64_t some = slots() / kNeighbours, most = p.inner < kNeighbours / 2 ? slots() : some;
    Lengths lengths;
    if (p.length <= most) {
      lengths.push_back(p.length);
      return lengths;
    }
    for (int passes = 2; !divide(p.length, passes, some, lengths); ++passes) lengths.clear();
    return lengths;
  }

  /// Transforms all lines; `p` says how they are read and written. Returns the last place.
  Place add(const FftPassArguments& p, Place from, Place to) {
    const Lengths lengths = divided(p);
    int64_t width = p.inner, left = p.length;
    for (size_t k = 0; k < lengths.size(); ++k) {
      FftPassArguments q = p;
      const bool last = k + 1 == lengths.size();
      left /= lengths[k];
      q.radix = lengths[k];
      q.rows = left;
      q.width = width;
      if (k > 0) {
        q.source = device::kFftArray;
        q.spectrum = q.exchanged_in = q.chirp_in = 0;
      }
      if (!last) q.result = device::kFftArray;
      const Place next = last && to != Place::operand ? to : after(from);
      if (next == Place::first || next == Place::second)
        of(next) = std::max(of(next), aligned(p.outer * p.inner * p.length * size_));
      list_.push_back({q, from, next, 0});
      set_tiles(list_.back());
      from = next;
      width *= lengths[k];
    }
    return from;
  }

  /// The tiles of a pass: as many columns as a block has memory for, or enough for all processors.
  void set_tiles(Pass& pass) const {
    FftPassArguments& p = pass.p;
    int64_t left = p.radix;
    p.radices = radices_of(left);
    const int64_t span = p.rows * p.width, all = p.outer * span;
    const int64_t wanted = std::max<int64_t>(8, all / (2 * processors_) + 1);
    int64_t c = std::min({slots() / p.radix, wanted, all});
    if (span <= c) {
      c -= c % span;
    } else if (p.width <= c) {
      c -= c % p.width;
    }
    p.columns = c;
    p.in_run = std::min(span, c);
    p.out_run = std::min(p.width, c);
    pass.blocks = blocks_of(all, c);
  }

  /// The transform of a chirp, then that of the lines times a chirp, their product, and the inverse
  /// transform. One pass does the three where a block has memory for a line.
  void add_convolution(const FftPassArguments& lines) {
    FftPassArguments chirp = lines;
    chirp.outer = chirp.inner = 1;
    chirp.source = device::kFftChirp;
    chirp.result = device::kFftComplex;
    chirp.exchanged_in = chirp.exchanged_out = 0;
    chirp.kept = lines.length;
    chirp.scale = 1 / static_cast<double>(lines.length);
    of(Place::spectrum) = aligned(lines.length * size_);
    add(chirp, Place::operand, Place::spectrum);

    FftPassArguments there = lines;
    there.chirp_in = 1;
    if (divided(lines).size() == 1) {
      there.chirp_out = there.convolves = there.spectrum = 1;
      add(there, Place::operand, Place::result);
      return;
    }
    there.result = device::kFftArray;
    const Place from = add(there, Place::operand, Place::operand);
    FftPassArguments back = lines;
    back.source = device::kFftArray;
    back.exchanged_in = back.chirp_out = back.spectrum = 1;
    add(back, from, Place::result);
  }

  int64_t size_;  // of a complex number
  int processors_;
  bool walks_ = false;
  std::vector<Pass> list_;
  int64_t bytes_[kPlaces] = {};
};

class PassesKernel final : public StepKernel<FftPassArguments> {
 public:
  PassesKernel(const Step& step, DeviceState& device)
      : StepKernel(step),
        passes_(attrs_as<FftAttrs>(step.attrs.get()), step.operands[0], step.operands[1],
                device.hardware->processors),
        workspace_(step.workspace) {
    bind(p.in, 0);
    bind(p.out, 1);
    // A number of 32 bits is exact in float32, and its angles are, up to this length.
    constexpr int64_t kLong = 1 << 24;
    for (const Pass& pass : passes_.list()) {
      const FftPassArguments& q = pass.p;
      const char* index = q.length > kLong ? "uint64_t" : index_for(q.outer * q.inner * q.length);
      kernels_.push_back(kernels::fft_pass(device, real_dtype(step.operands[0].dtype), index));
    }
  }

 private:
  void run(const Enqueue& to, FftPassArguments& bound,
           std::span<const uint64_t> operands) const override {
    const auto place = [&](Place at) {
      if (at == Place::operand) return bound.in;
      if (at == Place::result) return bound.out;
      return static_cast<int64_t>(operands[workspace_]) + passes_.bytes_before(at);
    };
    for (size_t k = 0; k < kernels_.size(); ++k) {
      const Pass& pass = passes_.list()[k];
      FftPassArguments q = pass.p;
      q.in = place(pass.from);
      q.out = place(pass.to);
      if (q.spectrum) q.spectrum = place(Place::spectrum);
      kernels_[k].launch(to, pass.blocks, q);
    }
  }

  Passes passes_;
  std::vector<KernelOn<FftPassArguments>> kernels_;
  int workspace_;
};

}  // namespace

bool set_fft_operands(FftPassArguments& p, const FftAttrs& a, const Layout& in, const Layout& out) {
  const FftShape lines(a, out);
  p.n = a.n;
  p.outer = lines.outer;
  p.inner = lines.inner;
  const bool half = a.kind == FftKind::hermitian, real = a.kind == FftKind::real;
  p.source = half ? device::kFftHalf : real ? device::kFftReal : device::kFftComplex;
  p.result = half ? device::kFftReal : device::kFftComplex;
  p.there = std::min(in.shape[a.axis], half ? a.n / 2 + 1 : a.n);
  p.step = in.strides[a.axis];
  p.kept = out.shape[a.axis];
  p.exchanged_in = p.exchanged_out = half || a.kind == FftKind::inverse;
  p.scale = a.scale;
  return set_fft_walk(p.walk, in, a.axis);
}

bool find_fft_passes(const Attrs* attrs, const Layout& in, const Layout& out,
                     const DeviceState& device, Requirements& needs) {
  const Passes passes(attrs_as<FftAttrs>(attrs), in, out, device.hardware->processors);
  needs.workspace = static_cast<size_t>(passes.bytes());
  return passes.walks();
}
std::unique_ptr<const OpKernel> prepare_fft_passes(const Step& step, DeviceState& device) {
  return std::make_unique<const PassesKernel>(step, device);
}

}  // namespace mlx::core::gpu
