// The CTC loss: sums over alignments from the first step to the last, and for its derivative also
// from the last to the first. Sequences of a batch are shared among threads.
#include "mlx/ops/ctc.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mlx/backend/cpu/cpu_info.h"
#include "mlx/backend/cpu/isa/ctc.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/threads.h"
#include "mlx/core/error.h"

namespace mlx::core::cpu {

namespace {

constexpr int64_t kFront = 2;  // logarithms of zero in front of the states

/// The sizes and operands of all sequences.
template <class T>
struct Batch {
  const T* x;
  const int32_t *targets, *input_lengths, *target_lengths;
  int64_t count, steps, classes, labels, row;
  int32_t blank;

  explicit Batch(const KernelArgs& k)
      : x(k.in[0].as<const T>()),
        targets(k.in[1].as<const int32_t>()),
        input_lengths(k.in[2].as<const int32_t>()),
        target_lengths(k.in[3].as<const int32_t>()),
        count(k.in[0].shape()[0]),
        steps(k.in[0].shape()[1]),
        classes(k.in[0].shape()[2]),
        labels(k.in[1].shape()[1]),
        row(2 * labels + 1 + kFront),
        blank(attrs_as<CtcAttrs>(k.attrs).blank) {}

  /// f(sequence) for each, in parallel.
  template <class F>
  void each(F f) const {
    const double ns = 4.0 * static_cast<double>(count * steps) * static_cast<double>(row);
    auto range = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(i);
    };
    parallel_for(count, 1, range, ns);
  }
};

/// One sequence: the class of each state, and whether a state is reached from the one two in front.
template <class T>
class Sequence {
 public:
  Sequence(const Batch<T>& b, int64_t i, CtcKernel kernel)
      : b_(b),
        x_(b.x + i * b.steps * b.classes),
        kernel_(kernel),
        steps_(length("input_lengths", b.input_lengths[i], b.steps, "steps")),
        labels_(length("target_lengths", b.target_lengths[i], b.labels, "labels")),
        states_(2 * labels_ + 1),
        path_(states_, b.blank),
        skips_(states_, static_cast<T>(kCtcLeast)),
        scores_(states_) {
    const int32_t* labels = b.targets + i * b.labels;
    for (int64_t k = 0; k < labels_; ++k) {
      if (labels[k] < 0 || labels[k] >= b.classes)
        fail<IndexError>("ctc_loss", "label ", labels[k], " of ", b.classes, " classes; 0 to ",
                         b.classes - 1, " are accepted");
      path_[2 * k + 1] = labels[k];
      // A label may follow another one at once where they differ.
      const bool differs = k > 0 && labels[k] != labels[k - 1] && labels[k] != b.blank;
      if (differs) skips_[2 * k + 1] = 0;
    }
  }

  /// Fills the rows of sums; returns the negative log-likelihood.
  T forward(T* sums) {
    const T least = static_cast<T>(kCtcLeast);
    std::fill(sums, sums + b_.steps * b_.row, least);
    if (steps_ == 0) return labels_ == 0 ? 0 : std::numeric_limits<T>::infinity();
    read_scores(0);
    for (int64_t k = 0; k < std::min<int64_t>(2, states_); ++k)
      sums[kFront + k] = not_less(scores_[k], least);
    for (int64_t t = 1; t < steps_; ++t) {
      read_scores(t);
      T* row = sums + t * b_.row;
      step(row - b_.row, row + kFront, nullptr, nullptr, 0);
    }
    const T* end = sums + (steps_ - 1) * b_.row + kFront + states_;
    const T last = end[-1], before = end[-2];  // `least` in front of a single state
    const T largest = not_less(last, before);
    const T nll = -(largest + std::log(std::exp(last - largest) + std::exp(before - largest)));
    return nll > -static_cast<T>(0.5 * kCtcLeast) ? std::numeric_limits<T>::infinity() : nll;
  }

  /// Fills the derivatives of the negative log-likelihood, which is `nll`.
  void backward(const T* sums, T nll, T* slopes) {
    std::fill(slopes, slopes + b_.steps * b_.classes, T(0));
    if (steps_ == 0 || std::isinf(nll)) return;
    const T least = static_cast<T>(kCtcLeast);
    // From the end, the states have the opposite order.
    std::ranges::reverse(path_);
    std::vector<T> skips(states_, least), sum(states_), weights(states_);
    for (int64_t k = 2; k < states_; ++k) skips[k] = skips_[states_ + 1 - k];
    skips_.swap(skips);
    std::vector<T> rows(2 * (kFront + states_), least);
    T *before = rows.data(), *after = before + kFront + states_;
    for (int64_t t = steps_; t-- > 0; std::swap(before, after)) {
      const T* states = sums + t * b_.row + kFront;
      std::reverse_copy(states, states + states_, sum.begin());
      read_scores(t);
      if (t == steps_ - 1) {
        for (int64_t k = 0; k < states_; ++k) {
          const bool ends = k < 2;
          after[kFront + k] = ends ? not_less(scores_[k], least) : least;
          weights[k] = ends ? std::exp(sum[k] + nll) : 0;
        }
      } else {
        step(before, after + kFront, weights.data(), sum.data(), nll);
      }
      T* slope = slopes + t * b_.classes;
      for (int64_t k = 0; k < states_; ++k) slope[path_[k]] -= weights[k];
    }
  }

 private:
  static int64_t length(const char* what, int32_t given, int64_t most, const char* of) {
    if (given < 0 || given > most)
      fail<ValueError>("ctc_loss", what, " with ", given, " of ", most, " ", of, "; 0 to ", most,
                       " are accepted");
    return given;
  }
  /// The larger one; a NaN takes precedence.
  static T not_less(T a, T b) { return a > b || std::isnan(a) ? a : b; }

  void read_scores(int64_t t) {
    const T* row = x_ + t * b_.classes;
    for (int64_t k = 0; k < states_; ++k) scores_[k] = row[path_[k]];
  }
  void step(const T* before, T* after, T* weights, const T* others, T offset) const {
    kernel_({.before = before,
             .skips = skips_.data(),
             .scores = scores_.data(),
             .after = after,
             .weights = weights,
             .others = others,
             .offset = static_cast<double>(offset),
             .least = kCtcLeast,
             .n = states_});
  }

  const Batch<T>& b_;
  const T* x_;
  CtcKernel kernel_;
  int64_t steps_, labels_, states_;
  std::vector<int32_t> path_;
  std::vector<T> skips_, scores_;
};

CtcKernel ctc_kernel(Dtype t) { return MLX_FOR_ISA(find_ctc)(t); }

template <class T>
void run_loss(const KernelArgs& k) {
  const Batch<T> b(k);
  const CtcKernel kernel = ctc_kernel(k.in[0].dtype());
  T *nll = k.out[0].as<T>(), *sums = k.out[1].as<T>();
  b.each(
      [&](int64_t i) { nll[i] = Sequence<T>(b, i, kernel).forward(sums + i * b.steps * b.row); });
}

template <class T>
void run_slope(const KernelArgs& k) {
  const Batch<T> b(k);
  const CtcKernel kernel = ctc_kernel(k.in[0].dtype());
  const T *nll = k.in[4].as<const T>(), *sums = k.in[5].as<const T>();
  T* slopes = k.out[0].as<T>();
  b.each([&](int64_t i) {
    Sequence<T>(b, i, kernel)
        .backward(sums + i * b.steps * b.row, nll[i], slopes + i * b.steps * b.classes);
  });
}

void loss(const KernelArgs& k) {
  k.in[0].dtype() == float64 ? run_loss<double>(k) : run_loss<float>(k);
}
void slope(const KernelArgs& k) {
  k.in[0].dtype() == float64 ? run_slope<double>(k) : run_slope<float>(k);
}

constexpr KernelEntry kCtcKernels[] = {{.op = &op_ctc, .run = loss, .contiguous = 0xf},
                                       {.op = &op_ctc_slope, .run = slope, .contiguous = 0x3f}};

}  // namespace

const std::span<const KernelEntry> ctc_kernels = kCtcKernels;

}  // namespace mlx::core::cpu
