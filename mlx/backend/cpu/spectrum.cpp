// Whole spectra of real signals from their first halves.
#include <algorithm>
#include <complex>

#include "mlx/backend/common/spectrum_form.h"
#include "mlx/backend/cpu/kernels.h"
#include "mlx/backend/cpu/threads.h"
#include "mlx/ops/fft.h"

namespace mlx::core::cpu {

namespace {

/// Zeros stay positive, as those of a complex signal mostly are.
template <class C>
C conjugated(C x) {
  return {x.real(), 0 - x.imag()};
}

/// Coefficients from `from` on, `step` apart, conjugated or not.
template <class C>
void copy_coefficients(const C* from, int64_t step, int64_t count, bool conjugate, C* to) {
  if (conjugate) {
    for (int64_t k = 0; k < count; ++k) to[k] = conjugated(from[k * step]);
  } else {
    for (int64_t k = 0; k < count; ++k) to[k] = from[k * step];
  }
}

template <class C>
void fill_spectrum_row(const SpectrumForm& f, bool conjugate, const C* in, int64_t number, C* to) {
  const int64_t length = f.shape.back(), step = f.strides.back();
  const SpectrumForm::Row row = f.row(number);
  const int64_t own = f.half_axis == f.last() ? std::min(f.half, length) : row.beyond ? 0 : length;
  copy_coefficients(in + row.own, step, own, conjugate, to);
  const C* const images = in + row.image;
  int64_t k = own;
  if (f.last_is_mirrored()) {
    if (k == 0) copy_coefficients(images, step, 1, !conjugate, to), k = 1;
    copy_coefficients(images + (length - k) * step, -step, length - k, !conjugate, to + k);
  } else {
    copy_coefficients(images + k * step, step, length - k, !conjugate, to + k);
  }
}

template <class C>
void fill(const KernelArgs& args) {
  const View &in = args.in[0], &out = args.out[0];
  const auto& a = attrs_as<SpectrumAttrs>(args.attrs);
  const SpectrumForm form(a.axes, a.n, out.shape(), in.strides());
  const int64_t length = form.shape.back(), rows = form.rows();
  const C* const from = in.as<C>();
  C* const to = out.as<C>();
  parallel_for(
      rows, std::max<int64_t>(1, 4096 / length),
      [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r)
          fill_spectrum_row(form, a.conjugate, from, r, to + r * length);
      },
      static_cast<double>(rows * length));
}

void run_spectrum(const KernelArgs& args) {
  if (args.out[0].size() == 0) return;
  if (args.out[0].dtype() == complex128)
    fill<std::complex<double>>(args);
  else
    fill<std::complex<float>>(args);
}

constexpr KernelEntry kSpectrumKernels[] = {{.op = &op_spectrum, .run = run_spectrum}};

}  // namespace

const std::span<const KernelEntry> spectrum_kernels = kSpectrumKernels;

}  // namespace mlx::core::cpu
