// debug_nans, debug_lines and profile.
#include "mlx/runtime/profile.h"

#include "function.h"
#include "lines.h"
#include "lock.h"
#include "mlx/runtime/evaluate.h"
#include "mlx/runtime/observe.h"
#include "module.h"

namespace mlx::python {

namespace {

namespace core = mlx::core;

uint32_t current_line() {
  if (!holds_lock()) return 0;
  const std::string line = line_of_program();
  return line.empty() ? 0 : core::intern_origin(line);
}

/// The state of a watch that was switched; as a context manager it restores the previous state, and
/// may be entered again.
struct WatchScope {
  core::Watch what;
  bool on;
  bool entered = false;
  std::vector<bool> before;
};

WatchScope set_watch(core::Watch what, bool on) {
  core::set_origin_source(current_line);
  return {what, on, false, {core::watch(what, on)}};
}

struct PythonProfile {
  core::Profile profile;
  std::string file;
};

void finish() { core::synchronize(); }

}  // namespace

void bind_profile(nb::module_& m) {
  nb::class_<WatchScope> scope(m, "DebugScope");
  scope.attr("__doc__") =
      "A debugging aid that is on or off; as a context manager it restores the previous state.";
  def(
      scope, "__enter__(self) -> DebugScope",
      [](nb::handle self) {
        auto& s = instance_of<WatchScope>(self);
        // The call has already switched it; entering again switches it again.
        if (std::exchange(s.entered, true)) s.before.push_back(core::watch(s.what, s.on));
        return nb::borrow(self);
      },
      "Itself; turns the aid on or off again where it has been left.");
  def(
      scope, "__exit__(self, *args: object) -> None",
      [](nb::handle self, Star) {
        auto& s = instance_of<WatchScope>(self);
        if (s.before.empty()) return;
        core::watch(s.what, s.before.back());
        s.before.pop_back();
      },
      "Puts back what was before.");
  def(m, "debug_nans(on: bool = True) -> DebugScope",
      [](bool on) { return nb::cast(set_watch(core::watch_nans, on)); });
  def(m, "debug_lines(on: bool = True) -> DebugScope",
      [](bool on) { return nb::cast(set_watch(core::watch_origins, on)); });
  nb::class_<PythonProfile> profile(m, "Profile");
  profile.attr("__doc__") = "Times of executed steps; made by profile().";
  def(
      profile, "__enter__(self) -> Profile",
      [](nb::handle self) {
        finish();
        core::set_origin_source(current_line);
        instance_of<PythonProfile>(self).profile.start();
        return nb::borrow(self);
      },
      "Starts to record.");
  def(
      profile, "__exit__(self, *args: object) -> None",
      [](nb::handle self, Star) {
        finish();
        auto& p = instance_of<PythonProfile>(self);
        p.profile.stop();
        if (!p.file.empty()) p.profile.save(p.file);
      },
      "Waits for what has been launched, stops, and writes the file.");
  def(
      profile, "summary(self) -> str",
      [](nb::handle self) { return instance_of<PythonProfile>(self).profile.summary(); },
      "A table: calls, time, share of the time and GB/s, one line a step.");
  def(
      profile, "__str__(self) -> str",
      [](nb::handle self) { return instance_of<PythonProfile>(self).profile.summary(); },
      "The summary.");
  def(m, "profile(file: str | None = None) -> Profile", [](const std::optional<std::string>& file) {
    nb::object o =
        nb::cast(new PythonProfile{{}, file.value_or("")}, nb::rv_policy::take_ownership);
    return o;
  });
}

}  // namespace mlx::python
