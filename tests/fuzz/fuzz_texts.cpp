// Fuzzing of the parsers of texts: subscripts of einsum, signatures of bound functions.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "mlx/core/error.h"
#include "mlx/ops.h"
#include "mlx/runtime/evaluate.h"
#include "python/src/signature_text.h"
#include "texts.h"

namespace mlx::core {
namespace {

constexpr int64_t kMost = 1 << 12;  // terms of a sum that is evaluated

[[noreturn]] void found(const char* what, const std::string& text) {
  std::fprintf(stderr, "%s: %s\n", what, text.c_str());
  std::abort();
}

// ---- einsum

/// The lengths of the axes of each operand; empty if there are too many. 9 stands for a length that
/// does not fit 32 bits.
std::vector<Shape> shapes_of(std::string_view digits) {
  std::vector<Shape> shapes(1);
  if (digits.size() > 80) return {};
  for (char c : digits) {
    if (c == ',')
      shapes.emplace_back();
    else
      shapes.back().push_back(c == '9' ? int64_t{1} << 33 : c & 7);
    if (shapes.size() > 10) return {};
  }
  return shapes;
}

int64_t value_at(size_t operand, int64_t i) {
  return (i * 5 + static_cast<int64_t>(operand)) % 7 - 3;
}

Arrays operands_of(const std::vector<Shape>& shapes, bool small) {
  Arrays operands;
  for (size_t k = 0; k < shapes.size(); ++k) {
    if (!small) {
      operands.push_back(broadcast_to(array(1), shapes[k]));
      continue;
    }
    std::vector<int32_t> values(num_elements(shapes[k]));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(value_at(k, i));
    operands.push_back(array(values.begin(), shapes[k]));
  }
  return operands;
}

/// The sum, one term after the other. Axes of "..." have the labels 1000, 1001, … from the last.
class Sum {
 public:
  Sum(std::string text, const std::vector<Shape>& shapes) : shapes_(shapes) {
    std::erase(text, ' ');
    const size_t arrow = text.find("->");
    std::string left = text.substr(0, arrow) + ',';
    size_t most = 0;
    for (size_t comma; (comma = left.find(',')) != left.npos; left.erase(0, comma + 1)) {
      const std::string term = left.substr(0, comma);
      const size_t axes = shapes[terms_.size()].size();
      const bool open = term.find('.') != term.npos;
      const size_t rest = open ? axes + 3 - term.size() : 0;
      most = std::max(most, rest);
      terms_.push_back(labels_of(term, rest));
    }
    for (size_t k = 0; k < terms_.size(); ++k)
      for (size_t i = 0; i < terms_[k].size(); ++i) {
        int64_t& n = lengths_.try_emplace(terms_[k][i], 1).first->second;
        if (shapes[k][i] != 1) n = shapes[k][i];
      }
    result_ = labels_of(arrow == text.npos ? implicit(most) : text.substr(arrow + 2), most);
  }

  Shape shape() const {
    Shape shape;
    for (int label : result_) shape.push_back(lengths_.at(label));
    return shape;
  }

  std::vector<int32_t> values() const {
    std::vector<int32_t> out(num_elements(shape()), 0);
    int64_t n = 1;
    for (auto [label, length] : lengths_) n *= length;
    for (int64_t t = 0; t < n; ++t) {
      std::map<int, int64_t> at;
      int64_t left = t, product = 1;
      for (auto [label, length] : lengths_) {
        at[label] = left % length;
        left /= length;
      }
      for (size_t k = 0; k < terms_.size(); ++k)
        product *= value_at(k, offset(terms_[k], shapes_[k], at));
      out[offset(result_, shape(), at)] += static_cast<int32_t>(product);
    }
    return out;
  }

 private:
  static std::vector<int> labels_of(const std::string& term, size_t rest) {
    std::vector<int> labels;
    for (size_t i = 0; i < term.size(); ++i) {
      if (term[i] != '.') {
        labels.push_back(static_cast<unsigned char>(term[i]));
        continue;
      }
      for (size_t axis = rest; axis-- > 0;) labels.push_back(1000 + static_cast<int>(axis));
      i += 2;
    }
    return labels;
  }

  std::string implicit(size_t rest) const {
    std::map<int, int> count;
    for (const auto& term : terms_)
      for (int label : term) ++count[label];
    std::string out = rest ? "..." : "";
    for (auto [label, n] : count)
      if (label < 1000 && n == 1) out += static_cast<char>(label);
    return out;
  }

  /// Axes of length 1 broadcast.
  static int64_t offset(const std::vector<int>& labels, const Shape& shape,
                        const std::map<int, int64_t>& at) {
    int64_t out = 0;
    for (size_t i = 0; i < labels.size(); ++i)
      out = out * shape[i] + (shape[i] == 1 ? 0 : at.at(labels[i]));
    return out;
  }

  const std::vector<Shape>& shapes_;
  std::vector<std::vector<int>> terms_;
  std::vector<int> result_;
  std::map<int, int64_t> lengths_;
};

bool is_small(const std::vector<Shape>& shapes) {
  int64_t n = 1;
  for (const Shape& shape : shapes)
    for (int64_t length : shape) n = std::min(kMost + 1, n * std::max<int64_t>(length, 1));
  return n <= kMost;
}

// ---- signatures

std::string printed(const python::SignatureText& s) {
  std::string out;
  bool slash = false, star = false;
  auto add = [&](const std::string& part) { out += (out.empty() ? "" : ", ") + part; };
  for (const auto& p : s.parameters) slash |= !p.keyword;
  for (const auto& p : s.parameters) {
    if (slash && p.keyword) add("/");
    slash &= !p.keyword;
    if (!star && !p.positional) add("*" + s.star);
    star |= !p.positional;
    add(p.name + (p.annotation.empty() ? "" : ": " + p.annotation) +
        (p.fallback.empty() ? "" : " = " + p.fallback));
  }
  if (slash) add("/");
  if (!star && !s.star.empty()) add("*" + s.star);
  if (!s.star_star.empty()) add("**" + s.star_star);
  return s.name + "(" + out + ")" + (s.result.empty() ? "" : " -> " + s.result);
}

}  // namespace

void fuzz_einsum(std::string_view text) {
  const size_t line = text.find('\n');
  if (line == text.npos) return;
  const std::vector<Shape> shapes = shapes_of(text.substr(0, line));
  const std::string subscripts(text.substr(line + 1));
  const bool small = is_small(shapes);
  Arrays operands;
  try {
    if (shapes.empty()) return;
    operands = operands_of(shapes, small);
  } catch (const std::exception&) {
    return;  // too many elements for an array
  }
  try {
    einsum_path(subscripts, operands);
    array result = einsum(subscripts, operands);
    if (!small) return;
    const Sum sum(subscripts, shapes);
    if (result.shape() != sum.shape()) found("Another shape", to_string(result.shape()));
    result = contiguous(result);
    result.eval();
    const std::vector<int32_t> values = sum.values();
    if (!std::equal(values.begin(), values.end(), result.data<int32_t>()))
      found("Another sum", subscripts);
  } catch (const ValueError&) {
  } catch (const SizeError&) {
    if (small) found("Too large", subscripts);
  } catch (const std::exception& e) {
    found("Not a ValueError", e.what());
  }
}

void fuzz_signature(std::string_view text) {
  python::SignatureText parsed;
  try {
    parsed = python::parse_signature(std::string(text));
  } catch (const std::logic_error&) {
    return;
  }
  const std::string again = printed(parsed);
  if (python::parse_signature(again) != parsed) found("Another signature when printed", again);
}

}  // namespace mlx::core
