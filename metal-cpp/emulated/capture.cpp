// Captures: MTLCaptureManager and what describes a capture. A document names the kernels of the
// command buffers that were committed meanwhile. As on a Mac, documents are allowed where the
// variable MTL_CAPTURE_ENABLED is 1.
#include "capture.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <vector>

#include "runtime.h"

namespace emulated {

namespace {

constexpr long kDocument = 2;  // MTLCaptureDestinationGPUTraceDocument

Class& descriptor_class();
Class& manager_class();
Class& url_class();

/// NSURL, of a file.
struct Url : Object {
  explicit Url(std::string p) : Object(url_class()), path(std::move(p)) {}
  const std::string path;
};

/// MTLCaptureDescriptor.
struct Descriptor : Object {
  Descriptor() : Object(descriptor_class()) {}
  Owner<Object> object;
  long destination = 1;
  Owner<Url> url;
};

/// MTLCaptureManager.
struct Manager : Object {
  Manager() : Object(manager_class()) {}
  std::mutex mutex;
  std::string path;  // of the capture that is under way, or empty
  std::vector<std::string> kernels;
};

Manager& manager() {
  static Manager& made = []() -> Manager& {
    auto& m = *new Manager;
    stays(m);
    return m;
  }();
  return made;
}

bool supports(Object*, Selector, long destination) {
  const char* const enabled = std::getenv("MTL_CAPTURE_ENABLED");
  return destination == kDocument && enabled && !std::strcmp(enabled, "1");
}

/// The reason why a capture cannot begin, or empty.
std::string refused(const Manager& m, const Descriptor& d) {
  if (!supports(nullptr, nullptr, d.destination))
    return "[metal] captures to this destination are not allowed";
  if (!m.path.empty()) return "[metal] a capture is under way";
  if (!d.object || !d.url) return "[metal] a capture without an object or a file";
  if (access(d.url->path.c_str(), F_OK) == 0)
    return "[metal] the file of a capture exists: " + d.url->path;
  if (!std::ofstream(d.url->path)) return "[metal] no file can be made: " + d.url->path;
  return {};
}

bool start(Manager* m, Selector, Descriptor* d, Id* error) {
  std::lock_guard lock(m->mutex);
  const std::string problem = refused(*m, *d);
  if (!problem.empty()) {
    if (error) *error = autorelease(new Error(problem));
    return false;
  }
  m->path = d->url->path;
  m->kernels.clear();
  return true;
}

void stop(Manager* m, Selector) {
  std::lock_guard lock(m->mutex);
  std::ofstream file(m->path);
  for (const std::string& name : m->kernels) file << name << '\n';
  m->path.clear();
}

Class managers() {
  Class c = object_class("MTLCaptureManager");
  c.add("supportsDestination:", supports);
  c.add("startCaptureWithDescriptor:error:", start);
  c.add("stopCapture", stop);
  c.add(
      "isCapturing", +[](Manager* m, Selector) -> bool {
        std::lock_guard lock(m->mutex);
        return !m->path.empty();
      });
  return c;
}
Class descriptors() {
  Class c = object_class("MTLCaptureDescriptor");
  c.add(
      "setCaptureObject:",
      +[](Descriptor* d, Selector, Object* o) { d->object = Owner<Object>(o); });
  c.add(
      "setDestination:",
      +[](Descriptor* d, Selector, long destination) { d->destination = destination; });
  c.add("setOutputURL:", +[](Descriptor* d, Selector, Url* u) { d->url = Owner<Url>(u); });
  return c;
}
#define EMULATED_CLASS(NAME, MAKE)         \
  Class& NAME() {                          \
    static Class& made = *new Class(MAKE); \
    return made;                           \
  }
EMULATED_CLASS(manager_class, managers())
EMULATED_CLASS(descriptor_class, descriptors())
EMULATED_CLASS(url_class, object_class("NSURL"))
#undef EMULATED_CLASS

}  // namespace

void add_capture_classes() {
  add_class("MTLCaptureDescriptor", [](Object*, Selector) -> Id { return new Descriptor; });
  class_methods("MTLCaptureManager")
      .add("sharedCaptureManager", +[](Object*, Selector) -> Id { return &manager(); });
  class_methods("NSURL").add(
      "fileURLWithPath:", +[](Object*, Selector, String* path) -> Id {
        return autorelease(new Url(path->text));
      });
}

void note_in_capture(const std::string& kernel) {
  Manager& m = manager();
  std::lock_guard lock(m.mutex);
  if (!m.path.empty()) m.kernels.push_back(kernel);
}

}  // namespace emulated
