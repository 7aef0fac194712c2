// Memory of GPUs that arrays share with other libraries, and the CUDA array interface.
#include "device_memory.h"

#include <algorithm>

#include "convert.h"
#include "lock.h"
#include "mlx/backend/backend.h"
#include "mlx/backend/interop.h"
#include "mlx/ops.h"

namespace mlx::python {

namespace {

/// The references of an export, given back once the device is idle.
struct Pinned final : RefCounted {
  Ref<Storage> storage;
  explicit Pinned(Ref<Storage> s) : storage(std::move(s)) {}
  ~Pinned() override { storage->unpin(); }
};

/// Gives foreign memory back with the last buffer over it.
struct Loan final : RefCounted {
  std::function<void()> release;
  explicit Loan(std::function<void()> r) : release(std::move(r)) {}
  ~Loan() override {
    if (release) release();
  }
};

}  // namespace

std::optional<Device> shared_device(const array& a) {
  const Device standard = default_device();
  if (interop_of(standard)) return standard;
  const Ref<Storage>& storage = a.node()->value.storage;
  if (!storage || storage->present() & spaces(Space::host)) return {};
  for (int k = 0; k < device_count(Device::gpu); ++k) {
    const Device d(Device::gpu, k);
    if (storage->present() & spaces(space_of(d)) && interop_of(d)) return d;
  }
  return {};
}

DeviceExport::DeviceExport(array& a, Device on) : device(on) {
  materialize(a);
  owner = exported(a);
  storage = owner.node()->value.storage;
  BlockingRegion waiting;
  storage->wait();
  Ref<Event> arrival;
  const Ref<Buffer> buffer = storage->bring(space_of(on), default_stream(on), arrival);
  if (arrival) arrival->wait();
  if (!(storage->present() & spaces(space_of(on))))
    fail<ValueError>("__dlpack__",
                     "the memory is shared with a consumer on the host; copy=True "
                     "or None copies");
  storage->start_write(space_of(on), {});  // the consumer may write: other replicas go
  storage->pin();
  shape = owner.shape();
  strides = owner.node()->value.strides;
  for (size_t k = 0; k < shape.size(); ++k) repeats |= shape[k] > 1 && strides[k] == 0;
  data = static_cast<char*>(backend_of(on).address(*buffer)) +
         owner.node()->value.offset * static_cast<int64_t>(owner.itemsize());
}

DeviceExport::~DeviceExport() {
  // Work that the consumer has enqueued may still use the memory.
  try {
    interop_of(device)->keep_until_idle(make_ref<Pinned>(std::move(storage)), device.index);
  } catch (...) {
    // A process that was forked has no device, and nothing to wait for.
  }
}

array import_memory(ForeignMemory from, std::optional<Dtype> dtype, bool share) {
  const Dtype narrow = from.dtype == float64      ? float32
                       : from.dtype == complex128 ? complex64
                                                  : from.dtype;
  const Dtype to = dtype.value_or(narrow);
  const auto loan = make_ref<Loan>(std::move(from.release));
  if (share && to != from.dtype)
    throw ValueError("[from_dlpack] another dtype needs a copy; copy=None or True is accepted");
  if (reinterpret_cast<uintptr_t>(from.data) % from.dtype.size() != 0)
    throw ValueError(
        "[from_dlpack] memory that is not aligned to its elements; aligned memory is "
        "accepted");
  if (num_elements(from.shape) == 0) return zeros(from.shape, to);
  Interop& interop = *interop_of(from.device);
  const Stream s = default_stream(from.device);
  const int64_t size = from.dtype.size();
  const auto [first, last] = extent(from.shape, from.strides);
  const auto bytes = static_cast<size_t>((last - first + 1) * size);
  char* const lowest = static_cast<char*>(from.data) + first * size;
  auto storage = make_ref<Storage>(interop.adopt(lowest, bytes, from.device.index, loan), bytes);
  storage->ready = interop.mark(s);
  storage->pin();  // its owner may write at any time
  // Bytes of foreign bools may be any.
  const Dtype read = from.dtype == bool_ ? uint8 : from.dtype;
  array memory(storage, from.shape, from.strides, -first, read);
  if (share && from.dtype != bool_) return memory;
  if (share) {
    array largest = max(memory, false, s);
    if (largest.item<uint8_t>() > 1)
      throw ValueError(
          "[from_dlpack] elements of bool whose bytes are neither 0 nor 1 need a copy; copy=None "
          "or True is accepted");
    return array(storage, from.shape, from.strides, -first, bool_);
  }
  array out = from.dtype == bool_ ? not_equal(memory, array(uint8_t{0}), s) : core::copy(memory, s);
  out = astype(out, to, s);
  evaluate({out});
  return out;
}

//--- the CUDA array interface, version 3

namespace {

/// The element type as NumPy writes it, or null.
const char* type_text(Dtype t) {
  switch (t.val()) {
    case Dtype::Val::bool_:
      return "|b1";
    case Dtype::Val::uint8:
      return "|u1";
    case Dtype::Val::uint16:
      return "<u2";
    case Dtype::Val::uint32:
      return "<u4";
    case Dtype::Val::uint64:
      return "<u8";
    case Dtype::Val::int8:
      return "|i1";
    case Dtype::Val::int16:
      return "<i2";
    case Dtype::Val::int32:
      return "<i4";
    case Dtype::Val::int64:
      return "<i8";
    case Dtype::Val::float16:
      return "<f2";
    case Dtype::Val::float32:
      return "<f4";
    case Dtype::Val::float64:
      return "<f8";
    case Dtype::Val::complex64:
      return "<c8";
    case Dtype::Val::complex128:
      return "<c16";
    case Dtype::Val::bfloat16:
      return nullptr;
  }
  return nullptr;
}

Dtype type_of(const std::string& text) {
  for (int k = 0; k < kNumDtypes; ++k) {
    const Dtype t(static_cast<Dtype::Val>(k));
    const char* own = type_text(t);
    // One byte has no order: any mark stands before it.
    if (own && (text == own || (t.size() == 1 && text.substr(1) == own + 1))) return t;
  }
  throw TypeError(cat("[array] elements of type '", text,
                      "'; native bool, integers, floats and complex are accepted"));
}

[[noreturn]] void no_interface(const char* why) {
  throw nb::attribute_error(cat("__cuda_array_interface__: ", why).c_str());
}

}  // namespace

nb::object to_cuda_interface(nb::handle self) {
  array& a = checked(self.ptr());
  const std::optional<Device> on = shared_device(a);
  if (!on || interop_of(*on)->dlpack_type() != 2) no_interface("the array is not on a CUDA device");
  const char* type = type_text(a.dtype());
  if (!type) no_interface("bfloat16 has no type there; DLPack has");
  auto x = std::make_unique<DeviceExport>(a, *on);
  nb::list shape, strides;
  for (int64_t n : x->shape) shape.append(n);
  for (int64_t n : x->strides) strides.append(n * static_cast<int64_t>(a.itemsize()));
  nb::dict out;
  out["shape"] = nb::tuple(shape);
  out["typestr"] = type;
  out["data"] = nb::make_tuple(a.size() ? reinterpret_cast<uintptr_t>(x->data) : 0, x->repeats);
  out["version"] = 3;
  out["strides"] = nb::none();
  if (!is_row_contiguous(x->shape, x->strides)) out["strides"] = nb::tuple(strides);
  out["stream"] = nb::none();  // the array is computed
  // Consumers keep the array, and nothing else: the memory stays as long.
  nb::capsule kept(x.release(), [](void* p) noexcept { delete static_cast<DeviceExport*>(p); });
  nb::object end = nb::module_::import_("weakref").attr("finalize")(
      self, nb::cpp_function([](nb::handle) {}), kept);
  end.attr("atexit") = false;
  return out;
}

array from_cuda_interface(PyObject* o, std::optional<Dtype> dtype) {
  const nb::object found = nb::handle(o).attr("__cuda_array_interface__");
  const Device device(Device::gpu);
  if (!core::is_available(device) || !interop_of(device))
    throw ValueError("[array] memory of a CUDA device, and there is none here");
  auto given = [&](const char* key) { return found.attr("get")(key, nb::none()); };
  if (!given("mask").is_none())
    throw ValueError("[array] a masked CUDA array; arrays without a mask are accepted");
  ForeignMemory m{nullptr, device, {}, {}, type_of(text_of(found["typestr"])), {}};
  From<Shape> shape;
  if (const nb::object lengths = found["shape"]; !shape.load(lengths.ptr()))
    throw TypeError(
        cat("[array] a shape of type ", class_name(lengths), "; a tuple of integers is accepted"));
  m.shape = std::move(shape.value);
  m.data = reinterpret_cast<void*>(nb::cast<uintptr_t>(found["data"][0]));
  m.strides = row_major(m.shape);
  if (const nb::object strides = given("strides"); !strides.is_none()) {
    for (size_t k = 0; k < m.shape.size(); ++k) {
      const auto bytes = nb::cast<int64_t>(strides[k]);
      if (bytes % m.dtype.size())
        throw ValueError(cat("[array] a stride of ", bytes, " bytes; whole elements are accepted"));
      m.strides[k] = bytes / m.dtype.size();
    }
  }
  if (const nb::object stream = given("stream"); !stream.is_none())
    interop_of(device)->wait_for_handle(reinterpret_cast<void*>(nb::cast<uintptr_t>(stream)),
                                        device.index);
  return import_memory(std::move(m), dtype, false);  // `o` lives until the copy is there
}

}  // namespace mlx::python
