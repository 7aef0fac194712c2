// DLPack import and export, with plain and versioned capsules.
#include <cstring>

#include "convert.h"
#include "lock.h"
#include "mlx/backend/backend.h"
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
constexpr int32_t kCpu = 1;
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

template <class M>
PyObject* export_capsule(array& a, DlDevice device, bool copied) {
  auto x = std::make_unique<Export>(a);
  auto* m = new M{};
  m->tensor = {x->data,
               device,
               static_cast<int32_t>(x->shape.size()),
               dl_type(a.dtype()),
               x->shape.data(),
               x->strides.data(),
               0};
  if constexpr (std::is_same_v<M, ManagedVersioned>) {
    m->major = 1;
    m->flags = (x->repeats ? kReadOnly : 0) | (copied ? kCopied : 0);
  }
  m->context = x.release();
  m->deleter = [](M* m) {
    delete static_cast<Export*>(m->context);
    delete m;
  };
  PyObject* capsule = PyCapsule_New(m, capsule_name<M>, destroy_capsule<M>);
  if (!capsule) m->deleter(m);
  return capsule;
}

/// Takes ownership of the content of a capsule.
template <class M>
array import_capsule(PyObject* capsule, std::optional<Dtype> dtype, bool share) {
  auto* m = static_cast<M*>(PyCapsule_GetPointer(capsule, capsule_name<M>));
  if (!m) throw nb::python_error();
  const DlTensor& t = m->tensor;
  if (t.device.type != kCpu)
    throw ValueError(cat("[from_dlpack] memory of DLPack device ", t.device.type,
                         "; memory of the CPU is accepted"));
  Dtype source = dtype_from(t.dtype);
  if (t.ndim < 0 || static_cast<size_t>(t.ndim) > kMaxAxes)
    throw ValueError(
        cat("[from_dlpack] an array with ", t.ndim, " axes; up to ", kMaxAxes, " are accepted"));
  Shape shape(t.shape, t.shape + t.ndim);
  Strides strides = t.strides ? Strides(t.strides, t.strides + t.ndim) : row_major(shape);
  char* data = static_cast<char*>(t.data) + t.byte_offset;
  bool read_only = false;
  if constexpr (std::is_same_v<M, ManagedVersioned>) read_only = m->flags & kReadOnly;
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
  auto release = [m] {
    if (!m->deleter) return;
    release_with_lock(
        [](void* o) {
          auto* managed = static_cast<M*>(o);
          managed->deleter(managed);
        },
        m);
  };
  auto storage = make_ref<Storage>(data + first * source.size(),
                                   static_cast<size_t>(last - first + 1) * source.size(), release);
  storage->pin();
  return array(std::move(storage), std::move(shape), std::move(strides), -first, source);
}

}  // namespace

array from_dlpack(PyObject* o, std::optional<Dtype> dtype, bool share, std::optional<bool> copy) {
  bool shared = share && copy && !*copy;
  nb::object capsule;
  if (PyCapsule_CheckExact(o)) {
    capsule = nb::borrow(o);
  } else {
    nb::object method = nb::handle(o).attr("__dlpack__");
    try {
      capsule = method(nb::arg("max_version") = nb::make_tuple(1, 0));
    } catch (nb::python_error& e) {
      if (!e.matches(PyExc_TypeError)) throw;
      capsule = method();
    }
  }
  if (PyCapsule_IsValid(capsule.ptr(), capsule_name<ManagedVersioned>))
    return import_capsule<ManagedVersioned>(capsule.ptr(), dtype, shared);
  return import_capsule<Managed>(capsule.ptr(), dtype, shared);
}

namespace {

/// True for an axis along which the address decreases.
bool runs_backwards(const array& a) {
  if (is_constant(a)) return false;
  evaluate({a});
  const Strides& strides = a.node()->value.strides;
  for (size_t k = 0; k < a.ndim(); ++k)
    if (a.shape()[k] > 1 && strides[k] < 0) return true;
  return false;
}

/// The first number of a pair.
int64_t first_of(nb::handle pair, const char* name) {
  From<int64_t> first;
  if (!PySequence_Check(pair.ptr()) || nb::len(pair) != 2 || !first.load(nb::object(pair[0]).ptr()))
    fail<TypeError>("__dlpack__", name, " of type ", class_name(pair),
                    "; None and a pair of integers are accepted");
  return first.value;
}

}  // namespace

PyObject* to_dlpack(nb::handle a, nb::handle max_version, nb::handle device,
                    std::optional<bool> copy) {
  if (!device.is_none() && first_of(device, "dl_device") != kCpu)
    throw nb::buffer_error("[__dlpack__] arrays are exported in the memory of the CPU only");
  array duplicate;
  array* source = &checked(a.ptr());
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
  bool versioned = !max_version.is_none() && first_of(max_version, "max_version") >= 1;
  DlDevice cpu_device{kCpu, 0};
  bool copied = source == &duplicate;
  return versioned ? export_capsule<ManagedVersioned>(*source, cpu_device, copied)
                   : export_capsule<Managed>(*source, cpu_device, copied);
}

}  // namespace mlx::python
