// Index expressions in terms of slice, take, gather, where and scatter.
//
// An expression is first expanded axis by axis (`Selection`): all integers and slices together are
// one strided slice of the array; the rest are index arrays for some of its axes.
#include "mlx/ops/indexing.h"

#include <algorithm>

#include "mlx/core/error.h"
#include "mlx/ops.h"

namespace mlx::core {
namespace {

using Kind = IndexItem::Kind;

/// One axis of the result, of the array, or of both. An empty ellipsis is kept: it separates the
/// index arrays beside it.
struct AxisItem {
  Kind kind;          // integer, slice, newaxis, array or ellipsis
  array positions{};  // of `array`
  bool is_axis() const { return kind != Kind::newaxis && kind != Kind::ellipsis; }
};

struct Selection {
  std::vector<AxisItem> items;  // in order
  Shape start, stop, step;      // the strided slice of the array
  Shape sliced;                 // shape of the slice
  bool whole = true;            // the slice is the whole array

  int axis_of(size_t index) const {
    return static_cast<int>(std::count_if(items.begin(), items.begin() + index,
                                          [](const AxisItem& s) { return s.is_axis(); }));
  }
  bool has_positions() const {
    return std::any_of(items.begin(), items.end(),
                       [](const AxisItem& s) { return s.kind == Kind::array; });
  }
};

size_t axes_used(const IndexItem& item) {
  if (item.kind == Kind::mask) return item.values.ndim();
  return item.kind == Kind::newaxis || item.kind == Kind::ellipsis ? 0 : 1;
}

/// Exactly one ellipsis: the given one, or one appended at the end.
IndexItems with_ellipsis(const array& a, IndexItems items) {
  size_t used = 0, ellipses = 0;
  for (const IndexItem& item : items) {
    used += axes_used(item);
    ellipses += item.kind == Kind::ellipsis;
  }
  if (ellipses > 1) fail<IndexError>("index", ellipses, " ellipses; one is accepted");
  if (used > a.ndim())
    fail<IndexError>("index", used, " indices for an array with ", a.ndim(),
                     " dimensions; at most ", a.ndim(), " are accepted");
  if (ellipses == 0) items.push_back(IndexItem::ellipsis());
  return items;
}

int64_t checked_integer(int64_t i, int64_t size, size_t axis) {
  int64_t positive = i < 0 ? i + size : i;
  if (positive < 0 || positive >= size)
    fail<IndexError>("index", "index ", i, " is out of range for axis ", axis, " with size ", size,
                     "; ",
                     size ? cat(-size, " to ", size - 1, " are accepted") : "none is accepted");
  return positive;
}

/// Builds a Selection item by item.
struct Builder {
  const array& a;
  Stream s;
  Selection out;

  size_t axis() const { return out.start.size(); }
  int64_t size() const { return a.shape()[axis()]; }

  void keep(Kind kind, int64_t start, int64_t length, int64_t step, array positions = {}) {
    out.whole &= start == 0 && length == size() && (step == 1 || length <= 1);
    out.items.push_back({kind, std::move(positions)});
    out.start.push_back(start);
    out.step.push_back(step);
    out.sliced.push_back(length);
    // If a negative step passes the first element, stop is negative at this point, whatever is
    // added.
    int64_t stop = start + length * step;
    out.stop.push_back(stop < 0 ? -a.shape()[axis() - 1] - 1 : stop);
  }
  void add_slice(const IndexItem& item) {
    int64_t n = size(), step = item.step.value_or(1);
    if (step == 0) fail<ValueError>("index", "a slice with step 0; any other step is accepted");
    step = std::clamp(step, -n - 1, n + 1);  // larger steps select the first element only, too
    auto clamp = [&](std::optional<int64_t> v, int64_t otherwise) {
      if (!v) return otherwise;
      int64_t i = *v < 0 ? *v + n : *v;
      return step > 0 ? std::clamp<int64_t>(i, 0, n) : std::clamp<int64_t>(i, -1, n - 1);
    };
    int64_t start = clamp(item.start, step > 0 ? 0 : n - 1);
    int64_t stop = clamp(item.stop, step > 0 ? n : -1);
    int64_t span = step > 0 ? stop - start : start - stop;
    int64_t length = span <= 0 ? 0 : (span - 1) / std::abs(step) + 1;
    if (length == 0) {
      keep(Kind::slice, 0, 0, 1);
    } else {
      keep(Kind::slice, start, length, step);
    }
  }
  void add_mask(const array& mask) {
    for (size_t i = 0; i < mask.ndim(); ++i)
      if (mask.shape()[i] != a.shape()[axis() + i])
        fail<IndexError>("index", "a mask of shape ", to_string(mask.shape()), " on axes from ",
                         axis(), " of an array of shape ", to_string(a.shape()),
                         "; the lengths must agree");
    for (array& positions : nonzero(mask, s)) keep(Kind::array, 0, size(), 1, std::move(positions));
  }
  void add(const IndexItem& item, size_t filled) {
    switch (item.kind) {
      case Kind::integer:
        return keep(Kind::integer, checked_integer(item.index, size(), axis()), 1, 1);
      case Kind::slice:
        return add_slice(item);
      case Kind::ellipsis:
        if (filled == 0) out.items.push_back({Kind::ellipsis, {}});
        while (filled--) keep(Kind::slice, 0, size(), 1);
        return;
      case Kind::newaxis:
        return out.items.push_back({Kind::newaxis, {}});
      case Kind::array:
        return keep(Kind::array, 0, size(), 1, item.values);
      case Kind::mask:
        return add_mask(item.values);
    }
  }
};

/// Expands the items. True and False become an axis of length 1 that is selected once or never: the
/// axis is inserted into `a`.
Selection select(array& a, const IndexItems& given, Stream s) {
  IndexItems items = with_ellipsis(a, given);
  size_t used = 0, position = 0;
  for (const IndexItem& item : items) used += axes_used(item);
  size_t filled = a.ndim() - used;
  for (IndexItem& item : items) {
    if (item.kind == Kind::mask && item.values.ndim() == 0) {
      a = expand_dims(a, static_cast<int>(position), s);
      item.values = reshape(item.values, {1}, s);
    }
    position += item.kind == Kind::ellipsis ? filled : axes_used(item);
  }
  Builder builder{a, s, {}};
  for (const IndexItem& item : items) builder.add(item, filled);
  return std::move(builder.out);
}

array sliced(const array& a, const Selection& at, Stream s) {
  return at.whole ? a : slice(a, at.start, at.stop, at.step, s);
}

/// Drops the axes of integers and inserts the new axes.
array without_integers(const array& a, const Selection& at, Stream s) {
  std::vector<int> dropped, added;
  int axis = 0, kept = 0;
  for (const AxisItem& axis_item : at.items) {
    if (axis_item.kind == Kind::newaxis) added.push_back(kept++);
    if (axis_item.kind == Kind::integer) dropped.push_back(axis++);
    if (axis_item.kind == Kind::slice) ++axis, ++kept;
  }
  array out = dropped.empty() ? a : squeeze(a, dropped, s);
  return added.empty() ? out : expand_dims(out, added, s);
}

/// The index arrays, the axes of the slice that they index, and the position of their axes in the
/// result.
struct Advanced {
  std::vector<array> positions;
  std::vector<int> axes;
  Shape shape;    // broadcast shape of the index arrays
  int place = 0;  // number of result axes before theirs
};

/// Throws IndexError for index arrays on an axis of length 0: every index is out of range.
void require_elements(const array& source, const Advanced& adv) {
  bool any = num_elements(adv.shape) > 0;
  for (size_t i = 0; i < adv.axes.size(); ++i)
    if (source.shape(adv.axes[i]) == 0 && (any || adv.positions[i].ndim() == 0))
      fail<IndexError>("index", "positions of shape ", to_string(adv.positions[i].shape()),
                       " for axis ", adv.axes[i], " with size 0; none is accepted");
}

Advanced advanced(const Selection& at) {
  Advanced out;
  // Adjacent index arrays (an integer counts as one) keep their position; otherwise their axes come
  // first.
  int first = -1, last = -1, count = 0, before = 0;
  for (size_t i = 0; i < at.items.size(); ++i) {
    const AxisItem& axis_item = at.items[i];
    if (axis_item.kind == Kind::array || axis_item.kind == Kind::integer) {
      if (first < 0) first = static_cast<int>(i);
      last = static_cast<int>(i);
      ++count;
    } else if (first < 0 && axis_item.kind != Kind::ellipsis) {
      ++before;
    }
    if (axis_item.kind == Kind::array) {
      out.positions.push_back(axis_item.positions);
      out.axes.push_back(at.axis_of(i));
    }
  }
  out.shape = broadcast_indices(out.positions, "index");
  out.place = last - first + 1 == count ? before : 0;
  return out;
}

/// Moves `count` leading axes to before axis `place` of the remaining axes.
array move_leading(const array& a, int count, int place, Stream s) {
  if (place == 0 || count == 0) return a;
  std::vector<int> order;
  for (int i = 0; i < place; ++i) order.push_back(count + i);
  for (int i = 0; i < count; ++i) order.push_back(i);
  for (int i = count + place; i < static_cast<int>(a.ndim()); ++i) order.push_back(i);
  return transpose(a, order, s);
}

/// The inverse: `count` axes at `place` to the front.
array move_to_front(const array& a, int count, int place, Stream s) {
  if (place == 0 || count == 0) return a;
  std::vector<int> order;
  for (int i = 0; i < count; ++i) order.push_back(place + i);
  for (int i = 0; i < static_cast<int>(a.ndim()); ++i)
    if (i < place || i >= place + count) order.push_back(i);
  return transpose(a, order, s);
}

/// Axes of the slice that are not axes of the result: axes of integers and index arrays.
std::vector<int> consumed_axes(const Selection& at) {
  std::vector<int> out;
  for (size_t i = 0; i < at.items.size(); ++i)
    if (at.items[i].kind == Kind::array || at.items[i].kind == Kind::integer)
      out.push_back(at.axis_of(i));
  return out;
}

/// Axes of the result, without those of the index arrays, that are new.
std::vector<int> new_axes(const Selection& at) {
  std::vector<int> out;
  int axis = 0;
  for (const AxisItem& axis_item : at.items) {
    if (axis_item.kind == Kind::newaxis) out.push_back(axis);
    axis += axis_item.kind == Kind::newaxis || axis_item.kind == Kind::slice;
  }
  return out;
}

array read_positions(const array& source, const Selection& at, Stream s) {
  Advanced adv = advanced(at);
  require_elements(source, adv);
  int rank = static_cast<int>(adv.shape.size());
  std::vector<int> consumed = consumed_axes(at), added = new_axes(at);
  if (consumed.size() == 1 && added.empty()) return take(source, adv.positions[0], adv.axes[0], s);
  Shape sizes = source.shape();
  for (int axis : adv.axes) sizes[axis] = 1;
  array out = gather(source, adv.positions, adv.axes, sizes, s);
  for (int& axis : consumed) axis += rank;
  for (int& axis : added) axis += rank;
  out = squeeze(out, consumed, s);
  if (!added.empty()) out = expand_dims(out, added, s);
  return move_leading(out, rank, adv.place, s);
}

/// `value` broadcast as the right-hand side of an assignment to `shape`.
array fit(array value, const Shape& shape, Stream s) {
  while (value.ndim() > shape.size() && value.shape()[0] == 1) value = squeeze(value, 0, s);
  Shape both =
      value.ndim() > shape.size() ? Shape{} : broadcast_shapes(value.shape(), shape, "index");
  if (value.ndim() > shape.size() || both != shape)
    fail("index", "a value of shape ", to_string(value.shape()), " for a selection of shape ",
         to_string(shape), "; it must broadcast to it");
  return value.shape() == shape ? value : broadcast_to(value, shape, s);
}

array combine(const array& old, const array& value, UpdateKind kind, Stream s) {
  switch (kind) {
    case UpdateKind::set:
      return value;
    case UpdateKind::add:
      return add(old, value, s);
    case UpdateKind::subtract:
      return subtract(old, value, s);
    case UpdateKind::multiply:
      return multiply(old, value, s);
    case UpdateKind::divide:
      return astype(divide(old, value, s), old.dtype(), s);
    case UpdateKind::maximum:
      return maximum(old, value, s);
    case UpdateKind::minimum:
      return minimum(old, value, s);
  }
  __builtin_unreachable();
}

ScatterMode mode_of(UpdateKind kind) {
  switch (kind) {
    case UpdateKind::set:
      return ScatterMode::set;
    case UpdateKind::add:
    case UpdateKind::subtract:
      return ScatterMode::add;
    case UpdateKind::multiply:
      return ScatterMode::multiply;
    case UpdateKind::divide:
      return ScatterMode::divide;
    case UpdateKind::maximum:
      return ScatterMode::maximum;
    case UpdateKind::minimum:
      return ScatterMode::minimum;
  }
  __builtin_unreachable();
}

array update_slice(const array& source, const Selection& at, const array& value, UpdateKind kind,
                   Stream s) {
  Shape shape, inner;  // shape of the selection, and of the slice
  for (size_t i = 0; i < at.items.size(); ++i) {
    Kind kind = at.items[i].kind;
    if (kind == Kind::newaxis) shape.push_back(1);
    if (kind == Kind::slice) shape.push_back(at.sliced[at.axis_of(i)]);
  }
  array v = fit(value, shape, s);
  std::vector<int> added = new_axes(at), consumed = consumed_axes(at);
  if (!added.empty()) v = squeeze(v, added, s);
  if (!consumed.empty()) v = expand_dims(v, consumed, s);
  return combine(source, v, kind, s);
}

array update_positions(const array& source, const Selection& at, const array& value,
                       UpdateKind kind, Stream s) {
  Advanced adv = advanced(at);
  require_elements(source, adv);
  int rank = static_cast<int>(adv.shape.size());
  Shape shape;
  for (size_t i = 0; i < at.items.size(); ++i) {
    if (at.items[i].kind == Kind::newaxis) shape.push_back(1);
    if (at.items[i].kind == Kind::slice) shape.push_back(at.sliced[at.axis_of(i)]);
  }
  shape.insert(shape.begin() + adv.place, adv.shape.begin(), adv.shape.end());
  array v = move_to_front(fit(value, shape, s), rank, adv.place, s);
  std::vector<int> added = new_axes(at), consumed = consumed_axes(at);
  for (int& axis : added) axis += rank;
  for (int& axis : consumed) axis += rank;
  if (!added.empty()) v = squeeze(v, added, s);
  v = expand_dims(v, consumed, s);
  if (kind == UpdateKind::subtract && v.dtype() != bool_) v = negative(v, s);
  return scatter(source, adv.positions, v, adv.axes, mode_of(kind), s);
}

/// A single mask over the leading axes: handled without index arrays.
bool is_leading_mask(const IndexItems& items) {
  if (items.empty() || items[0].kind != Kind::mask) return false;
  return std::all_of(items.begin() + 1, items.end(), [](const IndexItem& i) {
    return i.kind == Kind::ellipsis ||
           (i.kind == Kind::slice && !i.start && !i.stop && i.step.value_or(1) == 1);
  });
}

array update_masked(const array& a, const array& mask, const array& value, UpdateKind kind,
                    Stream s) {
  if (kind == UpdateKind::set) return masked_scatter(a, mask, value, s);
  array values = masked_scatter(a, mask, value, s);
  Shape covering = mask.shape();
  covering.resize(a.ndim(), 1);
  return where(reshape(mask, covering, s), combine(a, values, kind, s), a, s);
}

}  // namespace

IndexItem IndexItem::positions(const core::array& a) {
  if (a.dtype() == bool_) return {.kind = Kind::mask, .values = a};
  if (issubdtype(a.dtype(), core::integer)) return {.kind = Kind::array, .values = a};
  if (a.size() == 0) return {.kind = Kind::array, .values = astype(a, int32)};
  fail<IndexError>("index", "an index array of ", dtype_name(a.dtype()),
                   "; integer and boolean arrays are accepted");
}

array index_read(const array& a, const IndexItems& items, StreamOrDevice s) {
  Stream stream = to_stream(s);
  if (is_leading_mask(items) && items[0].values.ndim() > 0) {
    with_ellipsis(a, items);
    return at_mask(a, items[0].values, stream);
  }
  array source = a;
  Selection at = select(source, items, stream);
  source = sliced(source, at, stream);
  return at.has_positions() ? read_positions(source, at, stream)
                            : without_integers(source, at, stream);
}

array index_update(const array& a, const IndexItems& items, const array& value, UpdateKind kind,
                   StreamOrDevice s) {
  Stream stream = to_stream(s);
  array v = astype(value, a.dtype(), stream);
  if (is_leading_mask(items)) {
    with_ellipsis(a, items);
    return update_masked(a, items[0].values, v, kind, stream);
  }
  array whole = a;
  Selection at = select(whole, items, stream);
  array source = kind == UpdateKind::set && !at.has_positions() ? whole : sliced(whole, at, stream);
  array updated = at.has_positions() ? update_positions(source, at, v, kind, stream)
                                     : update_slice(source, at, v, kind, stream);
  array out = at.whole ? updated : slice_update(whole, updated, at.start, at.stop, at.step, stream);
  return out.shape() == a.shape() ? out : reshape(out, a.shape(), stream);
}

}  // namespace mlx::core
