// Kernels found in preprocessed source text: their parameters and their threadgroup memory.
#include <cctype>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler.h"

namespace emulated {

namespace {

struct Parameter {
  std::string type, name, attribute, index;
};

struct Signature {
  std::string name;
  std::vector<Parameter> parameters;
};

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)); }

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
  return s;
}

/// Text with a position. Literals are skipped as a whole, and so are lines that begin with '#'.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ >= text_.size(); }
  size_t position() const { return at_; }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  std::string_view between(size_t from, size_t to) const { return text_.substr(from, to - from); }

  /// The next token: a word, a literal, or one character; empty at the end.
  std::string_view next() {
    skip_space();
    const size_t from = at_;
    if (at_end()) return {};
    const char c = text_[at_];
    if (in_word(c)) {
      while (!at_end() && in_word(text_[at_])) ++at_;
    } else if (c == '"' || c == '\'') {
      for (++at_; !at_end() && text_[at_] != c; ++at_) at_ += text_[at_] == '\\';
      at_ = std::min(at_ + 1, text_.size());
    } else {
      ++at_;
    }
    return between(from, at_);
  }
  /// Goes behind the bracket that closes the one just read.
  void close(char open, char closing) {
    for (int depth = 1; depth > 0 && !at_end();) {
      const std::string_view token = next();
      if (token.size() != 1) continue;
      depth += token[0] == open ? 1 : token[0] == closing ? -1 : 0;
    }
  }
  void skip_space() {
    while (!at_end()) {
      if (text_[at_] == '#' && (at_ == 0 || text_[at_ - 1] == '\n')) {
        while (!at_end() && text_[at_] != '\n') ++at_;
      } else if (is_space(text_[at_])) {
        ++at_;
      } else {
        return;
      }
    }
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

/// The parts of a list that top-level commas separate.
std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t from = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (c == '(' || c == '[' || c == '{' || c == '<') ++depth;
    if (c == ')' || c == ']' || c == '}' || c == '>') --depth;
    if (c == ',' && depth == 0) {
      parts.push_back(trimmed(list.substr(from, i - from)));
      from = i + 1;
    }
  }
  if (!trimmed(list).empty()) parts.push_back(trimmed(list.substr(from)));
  return parts;
}

std::string without_line_marks(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (text[at] != '#') out += std::string(text.substr(at, end - at)) + ' ';
    at = end + 1;
  }
  return out;
}

Parameter parameter_of(const std::string& kernel, std::string_view text) {
  const size_t open = text.find("[["), close = text.rfind("]]");
  if (open == text.npos || close == text.npos)
    throw std::runtime_error("kernel '" + kernel + "': parameter '" + std::string(text) +
                             "' has no attribute");
  Parameter p;
  std::string_view attribute = trimmed(text.substr(open + 2, close - open - 2));
  if (const size_t bracket = attribute.find('('); bracket != attribute.npos) {
    p.index = trimmed(attribute.substr(bracket + 1, attribute.rfind(')') - bracket - 1));
    attribute = trimmed(attribute.substr(0, bracket));
  }
  p.attribute = attribute;
  const std::string_view declared = trimmed(text.substr(0, open));
  size_t from = declared.size();
  while (from > 0 && in_word(declared[from - 1])) --from;
  p.type = trimmed(declared.substr(0, from));
  p.name = declared.substr(from);
  return p;
}

/// A member of Thread by the attribute that asks for it.
const std::unordered_map<std::string_view, const char*> kPositions = {
    {"thread_position_in_threadgroup", "t.in_group"},
    {"threadgroup_position_in_grid", "t.group"},
    {"threads_per_threadgroup", "t.group_size"},
    {"dispatch_threads_per_threadgroup", "t.full_group_size"},
    {"threadgroups_per_grid", "t.groups"},
    {"threads_per_grid", "t.grid"},
    {"thread_index_in_simdgroup", "t.lane"},
    {"simdgroup_index_in_threadgroup", "t.simd"},
    {"threads_per_simdgroup", "emulated::kSimdWidth"},
    {"thread_position_in_grid", "emulated::in_grid(t)"},
    {"thread_index_in_threadgroup", "t.simd * emulated::kSimdWidth + t.lane"},
    {"simdgroups_per_threadgroup", "emulated::simd_groups(t)"},
};

constexpr unsigned kFirstArgument = 1000;  // numbers of threadgroup memory that is an argument

std::string argument_of(const std::string& kernel, const Parameter& p) {
  const std::string type = "<" + p.type + ">";
  if (p.attribute == "buffer")
    return "emulated::Argument" + type + "::at(t.buffers[" + p.index + "])";
  if (p.attribute == "threadgroup")
    return "emulated::Argument" + type + "::at(emulated_hooks->shared(" +
           std::to_string(kFirstArgument) + " + " + p.index + ", t.shared_sizes[" + p.index +
           "], 16))";
  const auto found = kPositions.find(p.attribute);
  if (found == kPositions.end())
    throw std::runtime_error("kernel '" + kernel + "': the attribute '" + p.attribute + "' of '" +
                             p.name + "' is unknown");
  return "emulated::Position" + type + "::of(" + found->second + ")";
}

/// Text of the entry: a call with arguments from a Thread, and the masks of what must be bound.
std::string entry_of(const Signature& s) {
  std::string call, masks[2] = {"0", "0"};
  for (const Parameter& p : s.parameters) {
    call += (call.empty() ? "" : ", ") + argument_of(s.name, p);
    if (p.attribute == "buffer") masks[0] += " | 1ull << " + p.index;
    if (p.attribute == "threadgroup") masks[1] += " | 1ull << " + p.index;
  }
  return "extern \"C\" const emulated::Kernel " + s.name +
         "_kernel = {[](const emulated::Thread& t) { (void)t; " + s.name + "(" + call + "); }, " +
         masks[0] + ", " + masks[1] + "};\n";
}

/// One declaration `threadgroup T name[n]` as a reference to memory of the device.
std::string shared_declaration(std::string_view text, unsigned id) {
  size_t from = 0;
  const size_t dimensions = std::min(text.find('['), text.size());
  const std::string_view head = trimmed(text.substr(0, dimensions));
  from = head.size();
  while (from > 0 && in_word(head[from - 1])) --from;
  const std::string type(trimmed(head.substr(0, from))), name(head.substr(from));
  const std::string array(text.substr(dimensions));
  return "typedef " + type + " emulated_type_" + std::to_string(id) + array + "; emulated_type_" +
         std::to_string(id) + "& " + name + " = emulated::shared<emulated_type_" +
         std::to_string(id) + ">(" + std::to_string(id) + ");";
}

/// A list of parameters with spaces in place of the attributes.
std::string without_attributes(std::string_view list) {
  std::string out(list);
  for (size_t from = 0; (from = out.find("[[", from)) != out.npos;) {
    const size_t end = out.find("]]", from) + 2;
    for (; from < end; ++from)
      if (!is_space(out[from])) out[from] = ' ';
  }
  return out;
}

/// A kernel's body with its declarations of threadgroup memory changed.
std::string body_of(std::string_view body, unsigned& id) {
  Reader reader(body);
  std::string out;
  size_t done = 0;
  std::string before = "{";
  while (!reader.at_end()) {
    reader.skip_space();
    const size_t from = reader.position();
    const std::string token(reader.next());
    const bool begins = before == "{" || before == ";" || before == "}";
    before = token;
    if (token != "threadgroup" || !begins) continue;
    const size_t type = reader.position();
    bool memory = true;
    std::string_view last;
    int brackets = 0;
    while (!reader.at_end() && (last = reader.next()) != ";") {
      brackets += last == "[" ? 1 : last == "]" ? -1 : 0;
      if (brackets == 0 && (last == "*" || last == "&" || last == "=")) memory = false;
    }
    before = ";";
    if (!memory) continue;
    const auto declared = reader.between(type, reader.position() - 1);
    out += std::string(body.substr(done, from - done));
    out += shared_declaration(trimmed(declared), id++);
    done = reader.position();
  }
  return out + std::string(body.substr(done));
}

}  // namespace

std::string translate(const std::string& text) {
  Reader reader(text);
  std::string out, entries;
  size_t done = 0;
  while (!reader.at_end()) {
    if (reader.next() != "kernel") continue;
    std::string_view token = reader.next();
    while (token == "]") token = reader.next();  // [[kernel]]
    if (token != "void") continue;
    Signature s;
    s.name = reader.next();
    if (reader.next() != "(") continue;
    const size_t list = reader.position();
    reader.close('(', ')');
    const std::string_view given = reader.between(list, reader.position() - 1);
    const std::string parameters = without_line_marks(given);
    for (std::string_view p : split(parameters)) s.parameters.push_back(parameter_of(s.name, p));
    out += text.substr(done, list - done) + without_attributes(given);
    done = list + given.size();
    if (reader.next() != "{") continue;  // a declaration
    const size_t body = reader.position();
    reader.close('{', '}');
    unsigned id = 0;
    out += text.substr(done, body - done);
    out += body_of(reader.between(body, reader.position()), id);
    done = reader.position();
    entries += entry_of(s);
  }
  return out + text.substr(done) + "\n" + entries;
}

}  // namespace emulated
