// Devices, streams and their scopes.
#include <algorithm>
#include <iterator>

#include "convert.h"
#include "lock.h"
#include "mlx/backend/threads.h"
#include "mlx/core/stream_choices.h"
#include "mlx/runtime/evaluate.h"
#include "module.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;
using DeviceType = Device::DeviceType;
using AnyStream = std::variant<Stream, ThreadLocalStream, Device, DeviceType>;

// The classes are compared by identity: argument parsing is part of every call.
PyTypeObject *stream_type, *local_type, *device_type, *kind_type;

template <class T>
T value_of(PyObject* o) {
  return instance_of<T>(o);
}

/// The choices of the `with` blocks around the code that runs, in a context variable: each task
/// has its own.
class Choices {
 public:
  /// A null pointer outside of all blocks and on threads without the GIL.
  static const core::StreamChoices* now() {
    if (!holds_lock()) return nullptr;
    PyObject* value = nullptr;
    if (PyContextVar_Get(variable(), nullptr, &value) < 0) PyErr_Clear();
    const nb::object held = nb::steal(value);  // the context holds it as well
    return held.is_valid() ? of(held) : nullptr;
  }
  static void set(core::StreamChoices choices) {
    auto* made = new core::StreamChoices(std::move(choices));
    const nb::capsule value(made,
                            [](void* p) noexcept { delete static_cast<core::StreamChoices*>(p); });
    const nb::object token = nb::steal(PyContextVar_Set(variable(), value.ptr()));
    if (!token.is_valid()) throw nb::python_error();
  }
  /// Notes a block that opens (1) or closes (-1): without one, nothing is looked up.
  static void count(int change) {
    static int open = 0;
    open += change;
    core::set_stream_choices(open > 0 ? now : nullptr);
  }

 private:
  static PyObject* variable() {
    static PyObject* made = PyContextVar_New("mlx.core.stream", nullptr);
    if (!made) throw nb::python_error();
    return made;
  }
  static const core::StreamChoices* of(const nb::object& value) {
    return static_cast<const core::StreamChoices*>(PyCapsule_GetPointer(value.ptr(), nullptr));
  }
};

/// Sets the default device and stream of the code in a `with` block. Blocks of tasks and generators
/// may overlap without nesting.
struct StreamContext {
  StreamOrDevice target;
  core::StreamChoices entered;

  void enter() {
    const Stream s = to_stream(target);
    auto own = std::make_shared<core::StreamChoice>(s, s.device, std::this_thread::get_id());
    core::StreamChoices choices = open_choices();
    choices.push_back(own);
    Choices::set(std::move(choices));
    entered.push_back(std::move(own));
    Choices::count(1);
  }
  void exit() {
    if (entered.empty()) throw ValueError("[stream] the context was not entered");
    // Several tasks may be in blocks of this one object.
    const core::StreamChoices here = open_choices();
    auto own = std::find_if(entered.rbegin(), entered.rend(), [&](const auto& choice) {
      return std::ranges::find(here, choice) != here.end();
    });
    if (own == entered.rend()) own = entered.rbegin();
    (*own)->open = false;
    entered.erase(std::next(own).base());
    Choices::count(-1);
    Choices::set(open_choices());
  }

 private:
  static core::StreamChoices open_choices() {
    core::StreamChoices open;
    if (const core::StreamChoices* now = Choices::now())
      std::ranges::copy_if(*now, std::back_inserter(open), &core::StreamChoice::open,
                           [](const auto& c) -> const core::StreamChoice& { return *c; });
    return open;
  }
};

std::string describe_stream(const ThreadLocalStream& s) {
  return cat("ThreadLocalStream(", core::to_string(s.device), ", ", s.index, ")");
}

}  // namespace

template <>
struct From<Stream> : FromBound<Stream> {};
template <>
struct From<ThreadLocalStream> : FromBound<ThreadLocalStream> {};
template <>
struct From<StreamContext> : FromBound<StreamContext> {};
template <>
struct From<DeviceType> {
  DeviceType value = Device::cpu;
  bool load(PyObject* o) { return nb::try_cast(nb::handle(o), value); }
  DeviceType get() { return value; }
};

PyObject* to_python(const Stream& s) { return nb::cast(s).release().ptr(); }
PyObject* to_python(const Device& d) { return nb::cast(d).release().ptr(); }

bool load_device(PyObject* o, Device& out) {
  if (Py_TYPE(o) == device_type) {
    out = value_of<Device>(o);
    return true;
  }
  From<DeviceType> type;
  if (!type.load(o)) return false;
  out = Device(type.value);
  return true;
}

bool load_stream(PyObject* o, StreamOrDevice& out) {
  if (o == Py_None) return true;
  if (Py_TYPE(o) == stream_type)
    out = value_of<Stream>(o);
  else if (Py_TYPE(o) == local_type)
    out = value_of<ThreadLocalStream>(o);
  else if (Device d; load_device(o, d))
    out = d;
  else
    return false;
  return true;
}

namespace {

template <class T>
bool is_same(const T& a, nb::handle o) {
  From<T> other;
  return other.load(o.ptr()) && a == other.get();
}

void bind_classes(nb::module_& m) {
  nb::enum_<DeviceType>(m, "DeviceType", "Kinds of processors.")
      .value("cpu", Device::cpu)
      .value("gpu", Device::gpu)
      .export_values();
  nb::object kind = m.attr("DeviceType");
  kind_type = reinterpret_cast<PyTypeObject*>(kind.ptr());
  def(
      kind, "__eq__(self, arg: object, /) -> bool",
      [](DeviceType a, nb::handle o) {
        Device d;
        return load_device(o.ptr(), d) && d == Device(a);
      },
      "True for the same kind, and for its first device.");
  def(
      kind, "__hash__(self) -> int", [](DeviceType a) { return static_cast<int64_t>(a); },
      "A number by kind.");

  nb::class_<Device> device(m, "Device", "A device type and the index of one device of that type.");
  device.def(nb::init<DeviceType, int>(), nb::arg("type"), nb::arg("index") = 0);
  device_type = reinterpret_cast<PyTypeObject*>(device.ptr());
  def_property(
      device, "type(self) -> DeviceType", [](const Device& d) { return nb::cast(d.type); },
      "The kind.");
  def_property(
      device, "index(self) -> int", [](const Device& d) { return d.index; },
      "Which one of its kind.");
  def(
      device, "__repr__(self) -> str", [](const Device& d) { return core::to_string(d); },
      "The kind and the number.");
  def(
      device, "__eq__(self, arg: object, /) -> bool",
      [](const Device& d, nb::handle o) { return is_same(d, o); },
      "True for the same device, and for its kind where it is the first.");
  def(
      device, "__hash__(self) -> int",
      [](const Device& d) { return static_cast<int64_t>(d.type) + 2 * d.index; },
      "A number by device.");

  nb::class_<Stream> stream(m, "Stream",
                            "A queue of work on a device; only its thread may use it.");
  stream_type = reinterpret_cast<PyTypeObject*>(stream.ptr());
  nb::class_<ThreadLocalStream> local(m, "ThreadLocalStream",
                                      "A stream that each thread has its own copy of.");
  local_type = reinterpret_cast<PyTypeObject*>(local.ptr());
  auto common = [](nb::handle c, auto tag, auto text) {
    using T = decltype(tag);
    def_property(
        c, "device(self) -> Device", [](const T& s) { return nb::cast(s.device); },
        "The device of the stream.");
    def_property(c, "index(self) -> int", [](const T& s) { return s.index; }, "Its number.");
    def(c, "__repr__(self) -> str", text, "The device and the number.");
    def(
        c, "__eq__(self, arg: object, /) -> bool",
        [](const T& s, nb::handle o) { return is_same(s, o); }, "True for the same stream.");
    def(
        c, "__hash__(self) -> int", [](const T& s) { return int64_t{s.index}; },
        "A number by stream.");
  };
  common(stream, Stream(), [](const Stream& s) { return core::to_string(s); });
  common(local, ThreadLocalStream(), [](const ThreadLocalStream& s) { return describe_stream(s); });
}

void bind_scope(nb::module_& m) {
  nb::class_<StreamContext> context(m, "StreamContext", "A `with` block with a default stream.");
  auto make = [](nb::handle s) {
    StreamContext c;
    if (s.is_none() || !load_stream(s.ptr(), c.target))
      fail<TypeError>("stream", "an object of type ", class_name(s),
                      "; streams and devices are accepted");
    return c;
  };
  context.def(nb::new_([make](nb::handle s) { return make(s); }), nb::arg("s"));
  def(
      context, "__enter__(self) -> None", [](StreamContext& c) { c.enter(); },
      "Makes the stream the default.");
  def(
      context,
      "__exit__(self, exc_type: type | None = None, exc_value: object | None = None, "
      "traceback: object | None = None) -> None",
      [](StreamContext& c, nb::handle, nb::handle, nb::handle) { c.exit(); },
      "Puts the earlier default back.");
  def(m, "stream(s: Stream | ThreadLocalStream | Device | DeviceType) -> StreamContext",
      [](nb::handle s) { return nb::module_::import_("mlx.core").attr("StreamContext")(s); });
}

void bind_defaults(nb::module_& m) {
  def(m, "default_device() -> Device", [] { return nb::cast(default_device()); });
  def(m, "set_default_device(device: Device | DeviceType) -> None",
      [](const Device& d) { set_default_device(d); });
  def(m, "get_num_threads() -> int", [] { return static_cast<int64_t>(get_num_threads()); });
  def(m, "set_num_threads(n: int) -> None", [](int n) { set_num_threads(n); });
  def(m, "default_stream(device: Device | DeviceType) -> Stream",
      [](const Device& d) { return default_stream(d); });
  def(m, "set_default_stream(stream: Stream) -> None",
      [](const Stream& s) { set_default_stream(s); });
  def(m, "new_stream(device: Device | DeviceType) -> Stream",
      [](const Device& d) { return new_stream(d); });
  def(m, "new_thread_unsafe_stream(device: Device | DeviceType) -> Stream",
      [](const Device& d) { return new_thread_unsafe_stream(d); });
  def(m, "new_thread_local_stream(device: Device | DeviceType) -> ThreadLocalStream",
      [](const Device& d) { return nb::cast(new_thread_local_stream(d)); });
  def(m, "clear_streams() -> None", [] { clear_streams(); });
  def(m, "synchronize(stream: StreamOrDevice = None) -> None", [](const StreamOrDevice& s) {
    core::synchronize(to_stream(s));
    run_releases();
  });
  def(m, "is_available(device: Device | DeviceType) -> bool",
      [](const Device& d) { return is_available(d); });
  def(m, "device_count(device_type: DeviceType) -> int",
      [](DeviceType t) { return device_count(t); });
  def(m, "device_info(d: None | Device | DeviceType = None) -> dict[str, str | int]",
      [](nb::handle d) -> nb::object {
        Device device = default_device();
        if (!d.is_none() && !load_device(d.ptr(), device))
          fail<TypeError>("device_info", "an object of type ", class_name(d),
                          "; devices are accepted");
        nb::dict out;
        if (!is_available(device)) return out;
        for (const auto& [key, value] : core::device_info(device))
          std::visit([&out, name = key.c_str()](const auto& v) { out[name] = nb::cast(v); }, value);
        return out;
      });
}

}  // namespace

void bind_devices(nb::module_& m) {
  bind_classes(m);
  bind_scope(m);
  bind_defaults(m);
}

}  // namespace mlx::python
