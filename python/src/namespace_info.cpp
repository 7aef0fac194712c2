// The inspection API of the array API standard.
#include "module.h"

namespace mlx::python {

namespace {

/// The result of mx.__array_namespace_info__().
struct NamespaceInfo {};

nb::object dtypes_of_kind(nb::handle kind) {
  nb::module_ core = nb::module_::import_("mlx.core");
  nb::dict out;
  for (const char* name : {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                           "uint64", "float32", "float64", "complex64", "complex128"}) {
    nb::object t = core.attr(name == std::string_view("bool") ? "bool_" : name);
    if (kind.is_none() || nb::cast<bool>(core.attr("isdtype")(t, kind))) out[name] = t;
  }
  return out;
}

void check_device(nb::handle device) {
  Device d;
  if (!device.is_none() && !load_device(device.ptr(), d))
    fail<TypeError>("__array_namespace_info__", "a device of type ", class_name(device),
                    "; devices are accepted");
}

}  // namespace

void bind_namespace_info(nb::module_& m) {
  nb::class_<NamespaceInfo> c(m, "_ArrayNamespaceInfo", "Properties by the array API standard.");
  def(
      c, "capabilities(self) -> dict[str, bool | int]",
      [](nb::handle) -> nb::object {
        nb::dict out;
        out["boolean indexing"] = true;
        out["data-dependent shapes"] = true;
        out["max dimensions"] = 64;
        return out;
      },
      "What the functions can do.");
  def(
      c, "default_device(self) -> Device", [](nb::handle) { return nb::cast(default_device()); },
      "The device of new arrays.");
  def(
      c, "devices(self) -> tuple[Device, ...]",
      [](nb::handle) -> nb::object {
        nb::list out;
        for (auto type : {Device::cpu, Device::gpu})
          for (int i = 0; i < device_count(type); ++i) out.append(nb::cast(Device(type, i)));
        return nb::tuple(out);
      },
      "The devices that are there.");
  def(
      c, "default_dtypes(self, *, device: Device | None = None) -> dict[str, Dtype]",
      [](nb::handle, nb::handle device) -> nb::object {
        check_device(device);
        nb::dict out;
        out["real floating"] = nb::steal(to_python(float32));
        out["complex floating"] = nb::steal(to_python(complex64));
        out["integral"] = nb::steal(to_python(int32));
        out["indexing"] = nb::steal(to_python(uint32));
        return out;
      },
      "The dtypes of new arrays, by kind.");
  def(
      c,
      "dtypes(self, *, device: Device | None = None, kind: str | tuple[str, ...] | None = None) -> "
      "dict[str, Dtype]",
      [](nb::handle, nb::handle device, nb::handle kind) {
        check_device(device);
        return dtypes_of_kind(kind);
      },
      "The dtypes of the standard that are there, by name.");
  def(m, "__array_namespace_info__() -> _ArrayNamespaceInfo",
      [] { return nb::cast(NamespaceInfo{}); });
}

}  // namespace mlx::python
