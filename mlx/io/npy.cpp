// NumPy's .npy format (numpy.org, "NEP 1"): magic, version, a Python dict literal, the elements.
#include <cctype>
#include <cstring>

#include "mlx/core/error.h"
#include "mlx/io/elements.h"
#include "mlx/io/io.h"
#include "mlx/ops/cast.h"
#include "mlx/ops/view.h"

namespace mlx::core {

namespace io {

array row_contiguous(const array& a) {
  array dense = contiguous(a);
  dense.eval();
  return dense;
}

}  // namespace io

namespace {

constexpr char kNpyMagic[] = "\x93NUMPY";
/// Much more than 64 axes and a dtype need.
constexpr size_t kMaxNpyHeader = 1 << 20;

std::string descriptor(Dtype t) {
  if (t == bfloat16) return "<V2";
  char kind = "buifcV"[static_cast<int>(kindof(t))];
  return std::string(t.size() == 1 ? "|" : "<") + kind + std::to_string(t.size());
}

struct Header {
  Dtype dtype = float32;
  bool swapped = false, fortran = false;
  Shape shape;
};

/// Parses the dict literal of a header. Accepts what NumPy writes: the three keys in any order.
class HeaderParser {
 public:
  HeaderParser(const std::string& text, const std::string& label) : text_(text), label_(label) {}

  Header parse() {
    Header h;
    bool descr = false, order = false, shape = false;
    auto first = [&](bool& seen, const std::string& key) {
      if (std::exchange(seen, true)) bad("the key " + key + " comes twice");
    };
    expect('{');
    for (bool more = true; !accept('}'); more = accept(',')) {
      if (!more) bad("expected , or }");
      std::string key = string();
      expect(':');
      if (key == "descr")
        first(descr, key), parse_descriptor(string(), h);
      else if (key == "fortran_order")
        first(order, key), h.fortran = boolean();
      else if (key == "shape")
        first(shape, key), h.shape = tuple();
      else
        bad("unknown key " + key);
    }
    space();
    if (at_ < text_.size()) bad("text after the end");
    if (!descr || !order || !shape) bad("a key is missing");
    return h;
  }

 private:
  [[noreturn]] void bad(const std::string& what) const {
    fail<FileError>("load", label_, " has a malformed .npy header: ", what, " at character ", at_);
  }
  void space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool accept(char c) {
    space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) bad(std::string("expected ") + c);
  }
  std::string string() {
    space();
    char quote = at_ < text_.size() ? text_[at_] : 0;
    if (quote != '\'' && quote != '"') bad("expected a string");
    size_t end = text_.find(quote, at_ + 1);
    if (end == std::string::npos) bad("a string has no end");
    std::string s = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return s;
  }
  bool boolean() {
    space();
    for (bool value : {true, false}) {
      std::string word = value ? "True" : "False";
      if (text_.compare(at_, word.size(), word) == 0) {
        at_ += word.size();
        return value;
      }
    }
    bad("expected True or False");
  }
  Shape tuple() {
    Shape out;
    size_t axes = 0;
    expect('(');
    for (bool more = true; !accept(')'); more = accept(',')) {
      if (!more) bad("expected , or )");
      space();
      size_t start = at_;
      while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) ++at_;
      if (at_ == start || at_ - start > 18) bad("expected a length");
      if (++axes <= kMaxAxes) out.push_back(std::stoll(text_.substr(start, at_ - start)));
    }
    if (axes > kMaxAxes) bad(cat(axes, " axes; up to ", kMaxAxes, " are accepted,"));
    return out;
  }
  void parse_descriptor(const std::string& d, Header& h) const {
    if (d.size() >= 3 && std::strchr("<>|=", d[0])) {
      for (int i = 0; i < kNumDtypes; ++i) {
        Dtype t = static_cast<Dtype::Val>(i);
        if (descriptor(t).substr(1) != d.substr(1)) continue;
        h.dtype = t;
        h.swapped = d[0] == '>' && t.size() > 1;
        return;
      }
    }
    bad("dtype " + d + "; accepted are bool, integers, floats, complex numbers and V2 (bfloat16)");
  }

  const std::string& text_;
  const std::string& label_;
  size_t at_ = 0;
};

/// The shape as a tuple of Python's: (3, 4), (3,), ().
std::string python_tuple(const Shape& shape) {
  std::string text = "(";
  for (size_t k = 0; k < shape.size(); ++k) text += (k ? ", " : "") + std::to_string(shape[k]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

/// The header, byte for byte as NumPy writes it, including its space for a growing first axis: some
/// readers accept no other form.
std::string header_text(const array& a) {
  std::string text = "{'descr': '" + descriptor(a.dtype()) +
                     "', 'fortran_order': False, 'shape': " + python_tuple(a.shape()) + ", }";
  constexpr size_t kDigits = 21;
  if (a.ndim() > 0) text.append(kDigits - std::to_string(a.shape(0)).size(), ' ');
  return text;
}

std::string with_extension(std::string file, const char* extension) {
  std::string e = extension;
  bool has = file.size() >= e.size() && file.compare(file.size() - e.size(), e.size(), e) == 0;
  return has ? file : file + e;
}

}  // namespace

void save(std::shared_ptr<io::Writer> out, array a) {
  a = io::row_contiguous(a);
  std::string dict = header_text(a);
  bool wide = dict.size() + 64 > 65535;
  size_t prefix = wide ? 12 : 10;
  dict.append((64 - (prefix + dict.size() + 1) % 64) % 64, ' ');
  dict.push_back('\n');
  std::string head = kNpyMagic;
  head += wide ? std::string("\x02\x00", 2) : std::string("\x01\x00", 2);
  for (int i = 0; i < (wide ? 4 : 2); ++i)
    head.push_back(static_cast<char>(dict.size() >> (8 * i)));
  io::put(*out, head.data(), head.size());
  io::put(*out, dict.data(), dict.size());
  if (a.nbytes()) io::put(*out, static_cast<const char*>(a.raw(Access::read)), a.nbytes());
  out->commit();
}

void save(std::string file, array a) {
  a.eval();
  save(io::open_writer(with_extension(std::move(file), ".npy")), std::move(a));
}

array load(std::shared_ptr<io::Reader> in, StreamOrDevice s) {
  char start[8];
  io::take(*in, start, sizeof(start));
  int version = start[6];
  if (std::memcmp(start, kNpyMagic, 6) != 0 || version < 1 || version > 3)
    fail<FileError>("load", in->label(), " is not a .npy file of version 1, 2 or 3");
  unsigned char length[4] = {};
  io::take(*in, reinterpret_cast<char*>(length), version == 1 ? 2 : 4);
  size_t n = length[0] | length[1] << 8 | length[2] << 16 | size_t{length[3]} << 24;
  if (n > in->remaining() || n > kMaxNpyHeader)
    fail<FileError>("load", in->label(), " announces a header of ", n, " bytes at ", 8, ", where ",
                    in->remaining(), " are left; up to ", kMaxNpyHeader, " are accepted");
  std::string text(n, 0);
  io::take(*in, text.data(), n);
  Header h = HeaderParser(text, in->label()).parse();
  Shape stored = h.fortran ? Shape(h.shape.rbegin(), h.shape.rend()) : h.shape;
  array out = io::read_elements(*in, "", stored, h.dtype, h.swapped, s);
  return h.fortran && h.shape.size() > 1 ? transpose(out, s) : out;
}

array load(std::string file, StreamOrDevice s) { return load(io::open_reader(file), s); }

}  // namespace mlx::core
