// Signatures for `inspect`, from the first lines of docstrings.
#include "signature.h"

#include <algorithm>

namespace mlx::python {

namespace {

/// As in inspect.Parameter.
enum Kind : int {
  positional_only,
  positional_or_keyword,
  var_positional,
  keyword_only,
  var_keyword
};

struct Merged {
  std::string name, annotation;
  Kind kind;
  PyObject* fallback = nullptr;
};

Kind kind_of(const Overload::Parameter& p) {
  if (!p.positional) return keyword_only;
  return p.keyword ? positional_or_keyword : positional_only;
}

using List = std::vector<Merged>;

List::iterator find(List& list, const std::string& name) {
  return std::ranges::find(list, name, &Merged::name);
}

/// Adds a name that some signatures have; one that is there already keeps its kind.
void add(List& list, const std::string& name, const Overload::Parameter& p, bool first) {
  auto known = find(list, name);
  if (known == list.end())
    list.push_back({name, p.annotation, first ? kind_of(p) : keyword_only,
                    p.fallback || first ? p.fallback : Py_None});
  else if (!known->fallback)
    known->fallback = p.fallback;
}

/// A parameter that a signature does without is not required.
void relax(List& list, const std::vector<std::string>& names) {
  for (Merged& m : list)
    if (!m.fallback && std::ranges::find(names, m.name) == names.end()) m.fallback = Py_None;
}

List merge(const Overload& first) {
  List list;
  for (const Overload* o = &first; o; o = o->next.get())
    for (const auto& p : o->parameters)
      if (p.keyword || o == &first) add(list, PyUnicode_AsUTF8(p.name), p, o == &first);
  for (const Overload* o = &first; o; o = o->next.get()) {
    std::vector<std::string> names, standard;
    for (size_t i = 0; i < o->parameters.size(); ++i) {
      const auto& p = o->parameters[i];
      // A positional parameter has the name that the first signature gives it.
      if (!p.keyword && i < first.parameters.size())
        names.push_back(PyUnicode_AsUTF8(first.parameters[i].name));
      names.push_back(PyUnicode_AsUTF8(p.name));
      standard.push_back(PyUnicode_AsUTF8(p.standard ? p.standard : p.name));
      if (p.standard) add(list, standard.back(), p, false);
    }
    relax(list, names);
    relax(list, standard);
  }
  std::ranges::stable_sort(list, {}, &Merged::kind);
  // After an optional one no positional parameter can be required.
  bool optional = false;
  for (Merged& m : list) {
    if (m.kind > positional_or_keyword) break;
    if (optional && !m.fallback) m.fallback = Py_None;
    optional = optional || m.fallback;
  }
  return list;
}

void add_variadic(List& list, const Overload& first) {
  for (const Overload* o = &first; o; o = o->next.get()) {
    if (!o->star.empty() && find(list, o->star) == list.end())
      list.push_back({o->star, "", var_positional});
    if (!o->star_star.empty() && find(list, o->star_star) == list.end())
      list.push_back({o->star_star, "", var_keyword});
  }
  std::ranges::stable_sort(list, {}, &Merged::kind);
}

/// The text behind the arrow, where all signatures agree.
std::string result_of(const Overload& first) {
  std::string result;
  for (const Overload* o = &first; o; o = o->next.get()) {
    const size_t at = o->signature.rfind(" -> ");
    std::string one = at == std::string::npos ? "" : o->signature.substr(at + 4);
    if (o != &first && one != result) return "";
    result = std::move(one);
  }
  return result;
}

}  // namespace

nb::object inspect_signature(const Overload& first) {
  nb::module_ inspect = nb::module_::import_("inspect");
  nb::object parameter = inspect.attr("Parameter"), empty = parameter.attr("empty");
  nb::object kinds[] = {parameter.attr("POSITIONAL_ONLY"), parameter.attr("POSITIONAL_OR_KEYWORD"),
                        parameter.attr("VAR_POSITIONAL"), parameter.attr("KEYWORD_ONLY"),
                        parameter.attr("VAR_KEYWORD")};
  List merged = merge(first);
  add_variadic(merged, first);
  nb::list parameters;
  for (const Merged& m : merged) {
    nb::object annotation =
        m.annotation.empty() ? empty : nb::object(nb::str(m.annotation.c_str()));
    nb::object fallback = m.fallback ? nb::borrow(m.fallback) : empty;
    parameters.append(parameter(m.name, kinds[m.kind], nb::arg("default") = fallback,
                                nb::arg("annotation") = annotation));
  }
  std::string result = result_of(first);
  nb::object returned = result.empty() ? empty : nb::object(nb::str(result.c_str()));
  return inspect.attr("Signature")(parameters, nb::arg("return_annotation") = returned);
}

}  // namespace mlx::python
