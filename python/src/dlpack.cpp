// DLPack import and export, with plain and versioned capsules.
#include <cstring>

#include "convert.h"
#include "device_memory.h"
#include "lock.h"
#include "mlx/backend/backend.h"
#include "mlx/backend/interop.h"
#include "mlx/core/trace.h"
#include "mlx/ops.h"

namespace mlx::python {

namespace {

// The ABI of DLPack 1.0.
struct DlDevice {
  int32_t type, index;
};
struct DlType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  int32_t ndim;
  DlType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct Managed {
  DlTensor tensor;
  void* context;
  void (*deleter)(Managed*);
};
struct ManagedVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(ManagedVersioned*);
  uint64_t flags;
  DlTensor tensor;
};
constexpr uint64_t kReadOnly = 1, kCopied = 2;
constexpr int32_t kCpu = 1, kCuda = 2, kCudaHost = 3;  // the last is host memory that is pinned
enum Code : uint8_t { code_int, code_uint, code_float, code_bfloat = 4, code_complex, code_bool };

template <class M>
constexpr const char* capsule_name = std::is_same_v<M, Managed> ? "dltensor" : "dltensor_versioned";
template <class M>
constexpr const char* used_name =
    std::is_same_v<M, Managed> ? "used_dltensor" : "used_dltensor_versioned";

DlType dl_type(Dtype t) {
  uint8_t code = t == bool_       ? code_bool
                 : is_unsigned(t) ? code_uint
                 : t == bfloat16  ? code_bfloat
                 : is_complex(t)  ? code_complex
                 : is_floating(t) ? code_float
                                  : code_int;
  return {code, static_cast<uint8_t>(8 * t.size()), 1};
}

Dtype dtype_from(DlType t) {
  for (int i = 0; t.lanes == 1 && i < kNumDtypes; ++i) {
    Dtype d(static_cast<Dtype::Val>(i));
    DlType u = dl_type(d);
    if (u.code == t.code && u.bits == t.bits) return d;
  }
  throw ValueError(cat("[from_dlpack] elements of DLPack code ", int{t.code}, " with ", int{t.bits},
                       " bits and ", t.lanes,
                       " lanes; bool, integers, floats and complex are accepted"));
}

template <class M>
void destroy_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, capsule_name<M>)) return;
  auto* m = static_cast<M*>(PyCapsule_GetPointer(capsule, capsule_name<M>));
  m->deleter(m);
}

/// A capsule over an export: of the host's memory, or of a device's.
template <class M, class Memory>
PyObject* make_capsule(std::unique_ptr<Memory> x, DlDevice device, Dtype dtype, bool copied) {
  auto* m = new M{};
  m->tensor = {x->data,
               device,
               static_cast<int32_t>(x->shape.size()),
               dl_type(dtype),
               x->shape.data(),
               x->strides.data(),
               0};
  if constexpr (std::is_same_v<M, ManagedVersioned>) {
    m->major = 1;
    m->flags = (x->repeats ? kReadOnly : 0) | (copied ? kCopied : 0);
  }
  m->context = x.release();
  m->deleter = [](M* m) {
    delete static_cast<Memory*>(m->context);
    delete m;
  };
  PyObject* capsule = PyCapsule_New(m, capsule_name<M>, destroy_capsule<M>);
  if (!capsule) m->deleter(m);
  return capsule;
}

/// Takes ownership of the content of a capsule.
template <class M>
array import_capsule(PyObject* capsule, std::optional<Dtype> dtype, bool share, bool may_share) {
  auto* m = static_cast<M*>(PyCapsule_GetPointer(capsule, capsule_name<M>));
  if (!m) throw nb::python_error();
  const DlTensor& t = m->tensor;
  const bool on_host = t.device.type == kCpu || t.device.type == kCudaHost;
  const Device device(Device::gpu, t.device.index);
  if (!on_host) {
    Interop* interop = interop_of(device);
    if (!interop || interop->dlpack_type() != t.device.type)
      throw ValueError(
          cat("[from_dlpack] memory of DLPack device ", t.device.type, ", number ", t.device.index,
              "; memory of the CPU",
              core::is_available(Device(Device::gpu)) ? " and of the GPUs here is" : " is",
              " accepted"));
  }
  Dtype source = dtype_from(t.dtype);
  if (t.ndim < 0 || static_cast<size_t>(t.ndim) > kMaxAxes)
    throw ValueError(
        cat("[from_dlpack] an array with ", t.ndim, " axes; up to ", kMaxAxes, " are accepted"));
  Shape shape(t.shape, t.shape + t.ndim);
  Strides strides = t.strides ? Strides(t.strides, t.strides + t.ndim) : row_major(shape);
  char* data = static_cast<char*>(t.data) + t.byte_offset;
  bool read_only = false;
  if constexpr (std::is_same_v<M, ManagedVersioned>) read_only = m->flags & kReadOnly;
  auto release = [m] {
    if (!m->deleter) return;
    release_with_lock(
        [](void* o) {
          auto* managed = static_cast<M*>(o);
          managed->deleter(managed);
        },
        m);
  };
  if (!on_host) {
    const bool kept = source != float64 && source != complex128 && source != bool_;
    share = share || (may_share && !read_only && (dtype ? *dtype == source : kept));
    if (share && read_only)
      throw ValueError(
          "[from_dlpack] read-only memory needs a copy; copy=None or True is accepted");
    PyCapsule_SetName(capsule, used_name<M>);
    return import_memory(
        {data, device, std::move(shape), std::move(strides), source, std::move(release)}, dtype,
        share);
  }
  if (!share) {
    for (int64_t& s : strides) s *= source.size();
    return copy_strided(data, std::move(shape), strides, source, dtype);
  }
  bool narrowed = !dtype && (source == float64 || source == complex128);
  if (read_only || narrowed || (dtype && *dtype != source))
    throw ValueError(
        "[from_dlpack] read-only memory or another dtype needs a copy; copy=None or "
        "True is accepted");
  auto [first, last] = extent(shape, strides);
  if (source == bool_ && !are_bools(data + first, static_cast<size_t>(last - first + 1)))
    throw ValueError(
        "[from_dlpack] elements of bool whose bytes are neither 0 nor 1 need a copy; copy=None or "
        "True is accepted");
  PyCapsule_SetName(capsule, used_name<M>);
  auto storage = make_ref<Storage>(data + first * source.size(),
                                   static_cast<size_t>(last - first + 1) * source.size(), release);
  storage->pin();
  return array(std::move(storage), std::move(shape), std::move(strides), -first, source);
}

/// The device here whose memory an object has, or none: it is the host's, or unknown.
std::optional<Device> device_of_producer(PyObject* o) {
  if (!core::is_available(Device(Device::gpu)) || !has_attr(o, "__dlpack_device__")) return {};
  const nb::object found = nb::handle(o).attr("__dlpack_device__")();
  const Device device(Device::gpu, nb::cast<int>(nb::int_(found[1])));
  Interop* interop = interop_of(device);
  if (!interop || interop->dlpack_type() != nb::cast<int>(nb::int_(found[0]))) return {};
  return device;
}

/// The result of `__dlpack__`; the memory of a device is ready for work on the default stream.
nb::object capsule_of(PyObject* o) {
  const nb::object method = nb::handle(o).attr("__dlpack__");
  nb::dict options;
  if (const std::optional<Device> device = device_of_producer(o)) {
    Interop& interop = *interop_of(*device);
    options["stream"] = reinterpret_cast<uintptr_t>(interop.handle(default_stream(*device)));
  }
  nb::dict versioned;
  versioned.update(options);
  versioned["max_version"] = nb::make_tuple(1, 0);
  try {
    return method(**versioned);
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_TypeError)) throw;
    return method(**options);
  }
}

/// Memory of a device in a capsule that comes without a stream belongs to the default one.
template <class M>
void wait_for_capsule(PyObject* capsule) {
  const DlDevice& d =
      static_cast<M*>(PyCapsule_GetPointer(capsule, capsule_name<M>))->tensor.device;
  if (d.type != kCuda) return;
  void* const standard = reinterpret_cast<void*>(1);
  if (Interop* interop = interop_of(Device(Device::gpu, d.index)))
    interop->wait_for_handle(standard, d.index);
}

}  // namespace

array from_dlpack(PyObject* o, std::optional<Dtype> dtype, bool share, std::optional<bool> copy) {
  const bool shared = share && copy && !*copy;
  const bool may_share = share && !copy;  // memory of a device, as other libraries do
  nb::object capsule;
  if (PyCapsule_CheckExact(o)) {
    capsule = nb::borrow(o);
    if (PyCapsule_IsValid(o, capsule_name<ManagedVersioned>))
      wait_for_capsule<ManagedVersioned>(o);
    else if (PyCapsule_IsValid(o, capsule_name<Managed>))
      wait_for_capsule<Managed>(o);
  } else {
    capsule = capsule_of(o);
  }
  if (PyCapsule_IsValid(capsule.ptr(), capsule_name<ManagedVersioned>))
    return import_capsule<ManagedVersioned>(capsule.ptr(), dtype, shared, may_share);
  return import_capsule<Managed>(capsule.ptr(), dtype, shared, may_share);
}

namespace {

/// True for an axis along which the address decreases.
bool runs_backwards(array a) {
  if (is_constant(a)) return false;
  evaluate({a});
  const Strides& strides = a.node()->value.strides;
  for (size_t k = 0; k < a.ndim(); ++k)
    if (a.shape()[k] > 1 && strides[k] < 0) return true;
  return false;
}

std::pair<int64_t, int64_t> integer_pair(nb::handle pair, const char* name) {
  From<int64_t> first, second;
  if (!PySequence_Check(pair.ptr()) || nb::len(pair) != 2 ||
      !first.load(nb::object(pair[0]).ptr()) || !second.load(nb::object(pair[1]).ptr()))
    fail<TypeError>("__dlpack__", name, " of type ", class_name(pair),
                    "; None and a pair of integers are accepted");
  return {first.value, second.value};
}

template <class Memory>
PyObject* to_capsule(std::unique_ptr<Memory> x, DlDevice device, nb::handle max_version,
                     bool copied) {
  const Dtype dtype = x->owner.dtype();
  const bool versioned =
      !max_version.is_none() && integer_pair(max_version, "max_version").first >= 1;
  return versioned ? make_capsule<ManagedVersioned>(std::move(x), device, dtype, copied)
                   : make_capsule<Managed>(std::move(x), device, dtype, copied);
}

/// The device to export to: the one asked for; else the array's for consumers that name a stream,
/// as those of device memory do. Others, NumPy among them, read the host's.
std::optional<Device> export_device(const array& a, nb::handle stream, nb::handle asked) {
  if (asked.is_none()) return stream.is_none() ? std::nullopt : shared_device(a);
  const auto [type, index] = integer_pair(asked, "dl_device");
  if (type == kCpu) return {};
  const Device device(Device::gpu, static_cast<int>(index));
  Interop* interop = interop_of(device);
  if (!interop || interop->dlpack_type() != type)
    throw nb::buffer_error("[__dlpack__] arrays are exported in the memory of the CPU only");
  return device;
}

PyObject* to_device_capsule(array& a, Device device, nb::handle max_version,
                            std::optional<bool> copy) {
  const Stream s = default_stream(device);
  array duplicate;
  array* source = &a;
  auto pinned_on_host = [&] {
    const Ref<Storage>& bytes = a.node()->value.storage;
    return bytes && bytes->pinned() && !(bytes->present() & spaces(space_of(device)));
  };
  if ((copy && *copy) || runs_backwards(a) || pinned_on_host()) {
    if (copy && !*copy)
      throw nb::buffer_error(
          "[__dlpack__] negative strides, and memory that a consumer on the host uses, need a "
          "copy; copy=None copies");
    duplicate = core::copy(contiguous(a, false, s), s);
    source = &duplicate;
  }
  auto x = std::make_unique<DeviceExport>(*source, device);
  return to_capsule(std::move(x), {interop_of(device)->dlpack_type(), device.index}, max_version,
                    source == &duplicate);
}

}  // namespace

PyObject* to_dlpack(nb::handle a, nb::handle stream, nb::handle max_version, nb::handle device,
                    std::optional<bool> copy) {
  array* source = &checked(a.ptr());
  array values = exported(*source);
  // Another thread may assign to an array that was waited for.
  if (!is_constant(values)) source = &values;
  // The array is ready when this returns, on whichever stream the consumer works.
  if (const std::optional<Device> on = export_device(*source, stream, device))
    return to_device_capsule(*source, *on, max_version, copy);
  array duplicate;
  if (copy && *copy) {
    array dense = contiguous(*source);
    duplicate = array::copy_of(host_data(dense), dense.shape(), dense.dtype());
    source = &duplicate;
  } else if (runs_backwards(*source)) {
    // Consumers exist that end the process there.
    if (copy) throw nb::buffer_error("[__dlpack__] negative strides need a copy; copy=None copies");
    duplicate = contiguous(*source);
    source = &duplicate;
  }
  return to_capsule(std::make_unique<Export>(*source), {kCpu, 0}, max_version,
                    source == &duplicate);
}

}  // namespace mlx::python
