// Comparison of headers, and texts of what differs.
#include "mlx/distributed/order.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "mlx/core/error.h"

namespace mlx::core::distributed {

bool checks_indices() {
  static const bool off = [] {
    const char* v = std::getenv("MLX_DISTRIBUTED_CHECK");
    return v && std::string_view(v) == "off";
  }();
  return !off;
}

bool Header::agrees(const Header& o) const {
  const bool indices = index == o.index || index == 0 || o.index == 0 || !checks_indices();
  return magic == o.magic && kind == o.kind && dtype == o.dtype && size == o.size &&
         group == o.group && peer == o.peer && number == o.number && count == o.count &&
         step == o.step && indices;
}

void Header::set_line(std::string_view text) {
  // The end of a long path tells more than its beginning.
  if (text.size() > line.size()) text.remove_prefix(text.size() - line.size());
  line.fill(0);
  std::ranges::copy(text, line.begin());
}

std::string Header::line_text() const { return {line.data(), strnlen(line.data(), line.size())}; }

std::string name_ranks(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t k = 0; k < ranks.size(); ++k) {
    if (k) text += k + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[k]);
  }
  return text;
}

std::string describe(const Header& h) {
  if (h.magic != Header::kMagic) return "a message of another program or version";
  if (h.kind > static_cast<uint8_t>(Collective::recv) || h.dtype >= kNumDtypes)
    return "a damaged message";
  std::string text = name_of(h.collective());
  if (h.collective() != Collective::barrier && h.collective() != Collective::split)
    text += cat(" of ", h.count, " ", std::string(dtype_name(static_cast<Dtype::Val>(h.dtype))));
  if (h.collective() == Collective::broadcast) text += cat(" from rank ", h.peer);
  const std::string line = h.line_text();
  return line.empty() ? text : text + " (" + line + ")";
}

namespace {

/// The differences of stories that read alike.
std::string details(const Header& h, const std::vector<Story>& all) {
  std::string text;
  auto differs = [&](auto member) {
    return std::ranges::any_of(all, [&](const Story& s) { return s.second.*member != h.*member; });
  };
  if (differs(&Header::group)) text += cat(", in group ", h.group, " of ", h.size);
  if (differs(&Header::number))
    text += cat(", message ", h.number);
  else if (differs(&Header::step))
    text += cat(", part ", h.step);
  if (differs(&Header::index) && h.index)
    text += cat(", which is number ", h.index, " that the program asked for");
  return text;
}

}  // namespace

std::string disagreement(std::vector<Story> stories) {
  std::ranges::sort(stories, {}, &Story::first);
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (const auto& [rank, h] : stories) {
    std::string text = describe(h) + details(h, stories);
    auto same = std::ranges::find(groups, text, &std::pair<std::string, std::vector<int>>::first);
    if (same == groups.end())
      groups.push_back({std::move(text), {rank}});
    else
      same->second.push_back(rank);
  }
  const bool two = stories[0].second.number == 0;
  std::string text = two ? "sender and receiver disagree: "
                         : cat("ranks disagree at message ", stories[0].second.number, ": ");
  for (size_t k = 0; k < groups.size(); ++k)
    text += (k ? ", " : "") + name_ranks(groups[k].second) +
            (groups[k].second.size() == 1 ? " runs " : " run ") + groups[k].first;
  return text + (two ? "; a message is received as it was sent, in the order of messages and "
                       "collectives between the two"
                     : "; all ranks must run the same collectives in the same order");
}

}  // namespace mlx::core::distributed
