// The op of random numbers by rejection.
#include "mlx/ops/draw.h"

#include "mlx/core/error.h"
#include "mlx/ops.h"

namespace mlx::core {

namespace {

size_t parameters_of(Draw kind) { return kind == Draw::binomial ? 2 : 1; }

Arrays build_draw(const Arrays& in, const Attrs* attrs, Stream s) {
  const auto& a = attrs_as<DrawAttrs>(attrs);
  const array& key = in[0];
  if (in.size() != 1 + parameters_of(a.kind) || key.dtype() != uint32 || key.ndim() == 0 ||
      key.shape(-1) != 2)
    fail("draw", "a key of shape ", to_string(key.shape()), " and dtype ", dtype_name(key.dtype()),
         "; two uint32 and the parameters of the distribution are accepted");
  for (size_t i = 1; i < in.size(); ++i) {
    const Shape& shape = in[i].shape();
    bool fits =
        in[i].dtype() == float64 && shape == in[1].shape() && shape.size() + 1 >= key.ndim();
    for (size_t axis = 0; fits && axis + 1 < key.ndim(); ++axis)
      fits = shape[axis] == key.shape(static_cast<int>(axis));
    if (!fits)
      fail("draw", "parameters of shape ", to_string(shape), " and dtype ",
           dtype_name(in[i].dtype()), "; float64 of one shape is accepted");
  }
  return {make_node(op_draw, in[1].shape(), float64, s, std::span<const array>(in),
                    make_attrs(DrawAttrs(a)))};
}

}  // namespace

constinit const OpDef op_draw{.name = "draw",
                              .kind = OpKind::kernel,
                              .build = build_draw,
                              .vjp = rules::draw_vjp,
                              .jvp = rules::draw_jvp,
                              .vmap = rules::draw_vmap};

array draw(Draw kind, const array& key, const Arrays& parameters, Stream s) {
  Arrays in{key};
  in.insert(in.end(), parameters.begin(), parameters.end());
  return build_draw(in, make_attrs(DrawAttrs{kind}).get(), s)[0];
}

}  // namespace mlx::core
