// Parsing of signatures.
#include "signature_text.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>

namespace mlx::python {

namespace {

using std::string_view;

string_view trim(string_view s) {
  const size_t a = s.find_first_not_of(" \n"), b = s.find_last_not_of(" \n");
  return a == s.npos ? "" : s.substr(a, b - a + 1);
}

/// Where `what` first stands outside brackets and quotes, or npos.
size_t find_outside(string_view s, string_view what) {
  int depth = 0;
  char quote = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    const char c = s[i];
    if (quote) {
      if (c == quote) quote = 0;
    } else if (depth == 0 && s.substr(i).starts_with(what)) {
      return i;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else {
      depth += (c == '[' || c == '(') - (c == ']' || c == ')');
      if (depth < 0) break;
    }
  }
  return s.npos;
}

bool is_name(string_view s) {
  auto is_letter = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  auto continues = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  return !s.empty() && is_letter(s[0]) && std::ranges::all_of(s, continues);
}

struct Parser {
  const std::string& text;
  SignatureText out;
  bool slash = false, star = false;

  [[noreturn]] void refuse(const char* why) const {
    throw std::logic_error(std::string(why) + " in the signature " + text);
  }

  std::string name(string_view s) const {
    if (!is_name(s)) refuse("not a name");
    return std::string(s);
  }

  void add_slash() {
    if (slash || star || out.parameters.empty()) refuse("/ in the wrong place");
    slash = true;
    for (auto& p : out.parameters) p.keyword = false;
  }

  void add_variadic(string_view own, bool has_default) {
    if (has_default) refuse("a default of * or **");
    if (own.starts_with("**")) {
      out.star_star = name(own.substr(2));
      return;
    }
    if (star) refuse("two *");
    star = true;
    if (own != "*") out.star = name(own.substr(1));
  }

  void add(string_view part) {
    if (!out.star_star.empty()) refuse("a parameter after **");
    if (part == "/") return add_slash();
    const size_t equals = find_outside(part, " = ");
    const string_view declared = trim(part.substr(0, equals));
    const size_t colon = declared.find(':');
    const string_view own = trim(declared.substr(0, colon));
    std::string annotation, fallback;
    if (colon != declared.npos) {
      annotation = trim(declared.substr(colon + 1));
      if (annotation.empty() || annotation.front() == '=' || annotation.back() == '=')
        refuse("not an annotation");
    }
    if (equals != part.npos) fallback = trim(part.substr(equals + 3));
    if (own.starts_with('*')) return add_variadic(own, equals != part.npos);
    const auto named = [&](const auto& p) { return p.name == own; };
    if (std::ranges::any_of(out.parameters, named)) refuse("two parameters of one name");
    out.parameters.push_back({name(own), annotation, fallback, !star, true});
  }

  void parse() {
    const size_t open = text.find('(');
    if (open == text.npos) refuse("no parenthesis");
    out.name = name(string_view(text).substr(0, open));
    string_view rest = string_view(text).substr(open + 1);
    const size_t close = find_outside(rest, ")");
    if (close == rest.npos) refuse("no closing parenthesis");
    const string_view tail = trim(rest.substr(close + 1));
    if (tail.starts_with("->"))
      out.result = trim(tail.substr(2));
    else if (!tail.empty())
      refuse("text after the parenthesis");
    rest = trim(rest.substr(0, close));
    while (!rest.empty()) {
      const size_t comma = find_outside(rest, ",");
      add(trim(rest.substr(0, comma)));
      rest = comma == rest.npos ? "" : trim(rest.substr(comma + 1));
    }
  }
};

}  // namespace

SignatureText parse_signature(const std::string& text) {
  Parser parser{text, {}};
  parser.parse();
  return std::move(parser.out);
}

}  // namespace mlx::python
