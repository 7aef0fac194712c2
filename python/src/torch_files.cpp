// Files of torch.save: mlx/_torch_files.py reads what is in them, this file the elements.
#include "archive.h"
#include "convert.h"
#include "mlx/io/elements.h"
#include "module.h"

namespace mlx::python {

namespace {

/// None, a stream or a device, as Python's functions take them.
nb::object object_of_stream(const core::StreamOrDevice& s) {
  return std::visit(
      [](const auto& v) -> nb::object {
        if constexpr (std::is_same_v<decltype(v), const std::monostate&>)
          return nb::none();
        else
          return nb::cast(v);
      },
      s);
}

}  // namespace

nb::object load_torch(Archive& archive, const core::StreamOrDevice& s) {
  nb::object read =
      nb::cpp_function([&archive, s](nb::handle info, nb::handle dtype, int64_t n, bool swapped) {
        From<Dtype> type;
        if (!type.load(dtype.ptr())) throw TypeError("[load] a dtype of another type");
        auto elements = [&](const std::shared_ptr<core::io::Reader>& in) {
          return core::io::read_elements(*in, "", Shape{n}, type.get(), swapped, s);
        };
        return nb::steal(wrap(archive.entry(info, elements)));
      });
  return nb::module_::import_("mlx._torch_files")
      .attr("load")(archive.zip(), read, nb::arg("stream") = object_of_stream(s));
}

}  // namespace mlx::python
