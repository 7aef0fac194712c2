// Einstein summation in three steps: subscripts are parsed into lists of labels, a contraction path
// is found from the label sets, and every contraction becomes sums, transpositions and one matmul
// or product.
#include "mlx/ops/einsum.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "mlx/core/error.h"
#include "mlx/ops.h"
#include "mlx/ops/materialized.h"

namespace mlx::core {
namespace {

using Label = int;  // a letter, or kEllipsis + the distance from the last axis of "..."
using Labels = std::vector<Label>;
constexpr Label kEllipsis = 256;
constexpr size_t kOptimal = 8;  // maximum number of operands for the exhaustive search

struct Expression {
  std::vector<Labels> inputs;
  Labels output;
  std::map<Label, int64_t> sizes;
};

bool contains(const Labels& labels, Label l) {
  return std::find(labels.begin(), labels.end(), l) != labels.end();
}

/// The labels of one term; "..." takes `rest` axes.
Labels parse_term(const std::string& term, int64_t rest) {
  Labels out;
  for (size_t i = 0; i < term.size(); ++i) {
    unsigned char c = term[i];
    if (std::isalpha(c)) {
      out.push_back(c);
    } else if (term.compare(i, 3, "...") == 0 && term.find("...", i + 1) == std::string::npos) {
      for (int64_t k = rest; k-- > 0;) out.push_back(kEllipsis + static_cast<Label>(k));
      i += 2;
    } else {
      fail("einsum", "subscripts \"", term, "\"; letters and one ellipsis \"...\" are accepted");
    }
  }
  return out;
}

bool has_ellipsis(const std::string& term) { return term.find("...") != std::string::npos; }

/// How the subscripts spell a label.
std::string label_name(Label l) {
  return l < kEllipsis ? "'" + std::string(1, static_cast<char>(l)) + "'" : "an axis of '...'";
}

void note_size(std::map<Label, int64_t>& sizes, Label label, int64_t n, const Shape& shape) {
  int64_t& known = sizes.emplace(label, n).first->second;
  if (known == 1) known = n;
  if (n != 1 && n != known)
    fail("einsum", "an operand of shape ", to_string(shape), " with length ", n, " for ",
         label_name(label), ", which has length ", known,
         " before; equal lengths or 1 are accepted");
}

/// Labels of an implicit result: the ellipsis, then the letters that occur once.
Labels implicit_output(const std::vector<Labels>& inputs, int64_t ellipsis) {
  std::map<Label, int> count;
  for (const Labels& labels : inputs)
    for (Label l : labels) ++count[l];
  Labels out;
  while (ellipsis-- > 0) out.push_back(kEllipsis + static_cast<Label>(ellipsis));
  for (auto [label, n] : count)
    if (label < kEllipsis && n == 1) out.push_back(label);
  return out;
}

Expression parse(std::string text, const std::vector<array>& operands) {
  if (operands.empty()) fail("einsum", "no operands; at least one is needed");
  std::erase(text, ' ');
  size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  std::vector<std::string> terms{""};
  for (char c : left) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  if (terms.size() != operands.size())
    fail("einsum", terms.size(), " terms for ", operands.size(),
         " operands; the numbers must agree");
  Expression e;
  int64_t ellipsis = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const Shape& shape = operands[i].shape();
    bool open = has_ellipsis(terms[i]);
    int64_t letters = static_cast<int64_t>(terms[i].size()) - (open ? 3 : 0);
    int64_t rest = static_cast<int64_t>(shape.size()) - letters;
    Labels labels = parse_term(terms[i], std::max<int64_t>(rest, 0));
    if (labels.size() != shape.size())
      fail("einsum", "subscripts \"", terms[i], "\" for an operand of shape ", to_string(shape),
           "; one letter for each axis is needed");
    if (open) ellipsis = std::max(ellipsis, rest);
    for (size_t j = 0; j < labels.size(); ++j) note_size(e.sizes, labels[j], shape[j], shape);
    e.inputs.push_back(std::move(labels));
  }
  if (arrow == std::string::npos) {
    e.output = implicit_output(e.inputs, ellipsis);
  } else {
    e.output = parse_term(text.substr(arrow + 2), ellipsis);
  }
  std::set<Label> seen;
  for (Label l : e.output) {
    if (!e.sizes.contains(l))
      fail("einsum", "label '", static_cast<char>(l),
           "' of the result in no operand; labels of operands are accepted");
    if (!seen.insert(l).second)
      fail("einsum", "label '", static_cast<char>(l), "' twice in the result; once is accepted");
  }
  return e;
}

// --- path --------------------------------------------------------------------------------------

using LabelSet = std::set<Label>;

/// Costs of contractions over label sets.
struct Search {
  std::vector<LabelSet> inputs;
  LabelSet output;
  const std::map<Label, int64_t>& sizes;

  explicit Search(const Expression& e) : output(e.output.begin(), e.output.end()), sizes(e.sizes) {
    for (const Labels& labels : e.inputs) inputs.emplace_back(labels.begin(), labels.end());
  }
  double volume(const LabelSet& labels) const {
    double v = 1;
    for (Label l : labels) v *= static_cast<double>(sizes.at(l));
    return v;
  }
  /// Multiplications and additions to combine `terms` operands, with or without a sum.
  double work(const LabelSet& all, const LabelSet& kept, size_t terms) const {
    double each = std::max<double>(1, static_cast<double>(terms) - 1);
    return volume(all) * (each + (all.size() > kept.size()));
  }
  static LabelSet unite(const LabelSet& a, const LabelSet& b) {
    LabelSet out = a;
    out.insert(b.begin(), b.end());
    return out;
  }
  /// Labels of `all` that the result or one of the `others` needs.
  LabelSet kept(const LabelSet& all, const std::vector<LabelSet>& others) const {
    LabelSet out;
    for (Label l : all) {
      bool needed = output.contains(l);
      for (const LabelSet& o : others) needed = needed || o.contains(l);
      if (needed) out.insert(l);
    }
    return out;
  }
};

struct Path {
  std::vector<std::vector<int>> steps;
  double cost = 0;
  size_t scaling = 0;
};

/// Removes the operands of a step and appends the result; returns the cost of the step.
double apply(const Search& search, std::vector<LabelSet>& list, const std::vector<int>& step,
             size_t* scaling) {
  LabelSet all;
  for (int i : step) all = Search::unite(all, list[i]);
  for (size_t i = step.size(); i-- > 0;) list.erase(list.begin() + step[i]);
  LabelSet kept = search.kept(all, list);
  *scaling = std::max(*scaling, all.size());
  double cost = search.work(all, kept, step.size());
  list.push_back(std::move(kept));
  return cost;
}

/// The cheapest order: the best split of every subset of operands.
std::vector<std::vector<int>> optimal_steps(const Search& search) {
  size_t n = search.inputs.size(), full = (size_t{1} << n) - 1;
  std::vector<LabelSet> labels(full + 1);
  std::vector<double> cost(full + 1, std::numeric_limits<double>::infinity());
  std::vector<size_t> split(full + 1, 0);
  for (size_t s = 1; s <= full; ++s) {
    LabelSet all;
    std::vector<LabelSet> others;
    for (size_t i = 0; i < n; ++i) {
      if (s >> i & 1) {
        all = Search::unite(all, search.inputs[i]);
      } else {
        others.push_back(search.inputs[i]);
      }
    }
    bool single = (s & (s - 1)) == 0;
    labels[s] = single ? all : search.kept(all, others);
    if (single) cost[s] = 0;
    for (size_t a = (s - 1) & s; a > s - a && !single; a = (a - 1) & s) {
      size_t b = s - a;
      double c = cost[a] + cost[b] + search.work(Search::unite(labels[a], labels[b]), labels[s], 2);
      if (c < cost[s]) {
        cost[s] = c;
        split[s] = a;
      }
    }
  }
  // Indices into the shrinking list, innermost contractions first.
  std::vector<size_t> list;
  for (size_t i = 0; i < n; ++i) list.push_back(size_t{1} << i);
  std::vector<std::vector<int>> steps;
  auto emit = [&](auto&& self, size_t s) -> void {
    if (split[s] == 0) return;
    size_t a = split[s], b = s - a;
    self(self, a);
    self(self, b);
    int i = static_cast<int>(std::find(list.begin(), list.end(), a) - list.begin());
    int j = static_cast<int>(std::find(list.begin(), list.end(), b) - list.begin());
    steps.push_back({std::min(i, j), std::max(i, j)});
    list.erase(list.begin() + std::max(i, j));
    list.erase(list.begin() + std::min(i, j));
    list.push_back(s);
  };
  emit(emit, full);
  return steps;
}

/// Repeatedly contracts the pair whose result adds the least memory, then the cheapest.
std::vector<std::vector<int>> greedy_steps(const Search& search) {
  std::vector<LabelSet> list = search.inputs;
  std::vector<std::vector<int>> steps;
  while (list.size() > 1) {
    std::pair<double, double> best{std::numeric_limits<double>::infinity(), 0};
    std::vector<int> choice;
    for (int i = 0; i < static_cast<int>(list.size()); ++i) {
      for (int j = i + 1; j < static_cast<int>(list.size()); ++j) {
        std::vector<LabelSet> others = list;
        others.erase(others.begin() + j);
        others.erase(others.begin() + i);
        LabelSet all = Search::unite(list[i], list[j]), kept = search.kept(all, others);
        double growth = search.volume(kept) - search.volume(list[i]) - search.volume(list[j]);
        std::pair<double, double> rank{growth, search.work(all, kept, 2)};
        if (choice.empty() || rank < best) {
          best = rank;
          choice = {i, j};
        }
      }
    }
    size_t unused = 0;
    apply(search, list, choice, &unused);
    steps.push_back(choice);
  }
  return steps;
}

Path find_path(const Search& search) {
  Path path;
  size_t n = search.inputs.size();
  path.steps = n == 1          ? std::vector<std::vector<int>>{{0}}
               : n <= kOptimal ? optimal_steps(search)
                               : greedy_steps(search);
  std::vector<LabelSet> list = search.inputs;
  for (const auto& step : path.steps) path.cost += apply(search, list, step, &path.scaling);
  return path;
}

// --- contraction -------------------------------------------------------------------------------

struct Term {
  array value;
  Labels labels;
};

int position(const Labels& labels, Label l) {
  return static_cast<int>(std::find(labels.begin(), labels.end(), l) - labels.begin());
}

/// Takes diagonals of repeated labels, and drops axes of length 1 that broadcast.
Term prepare(const array& a, Labels labels, const std::map<Label, int64_t>& sizes, Stream s) {
  Term t{a, std::move(labels)};
  for (size_t i = 0; i < t.labels.size();) {
    if (t.value.shape()[i] == 1 && sizes.at(t.labels[i]) != 1) {
      t.value = squeeze(t.value, static_cast<int>(i), s);
      t.labels.erase(t.labels.begin() + i);
      continue;
    }
    auto again = std::find(t.labels.begin() + i + 1, t.labels.end(), t.labels[i]);
    int j = static_cast<int>(again - t.labels.begin());
    if (again == t.labels.end()) {
      ++i;
    } else if (t.value.shape()[j] == 1 && sizes.at(t.labels[i]) != 1) {
      t.value = squeeze(t.value, j, s);
      t.labels.erase(again);
    } else {
      t.value = diagonal(t.value, 0, static_cast<int>(i), j, s);
      Label l = t.labels[i];
      t.labels.erase(t.labels.begin() + j);
      t.labels.erase(t.labels.begin() + i);
      t.labels.push_back(l);
    }
  }
  return t;
}

/// Sums over the labels that are no longer needed.
void sum_out(Term& t, const LabelSet& needed, Stream s) {
  std::vector<int> axes;
  Labels left;
  for (size_t i = 0; i < t.labels.size(); ++i) {
    if (needed.contains(t.labels[i])) {
      left.push_back(t.labels[i]);
    } else {
      axes.push_back(static_cast<int>(i));
    }
  }
  if (axes.empty()) return;
  t.value = sum(t.value, axes, false, s);
  t.labels = std::move(left);
}

array arranged(const Term& t, const Labels& order, Stream s) {
  std::vector<int> axes;
  for (Label l : order) axes.push_back(position(t.labels, l));
  return transpose(t.value, axes, s);
}

Labels joined(std::initializer_list<const Labels*> parts) {
  Labels out;
  for (const Labels* p : parts) out.insert(out.end(), p->begin(), p->end());
  return out;
}

/// `t` with an axis for every label of `order`, of length 1 where it has none.
array aligned(const Term& t, const Labels& order, Stream s) {
  Labels own;
  std::vector<int> missing;
  for (size_t i = 0; i < order.size(); ++i) {
    if (contains(t.labels, order[i])) {
      own.push_back(order[i]);
    } else {
      missing.push_back(static_cast<int>(i));
    }
  }
  array a = arranged(t, own, s);
  return missing.empty() ? a : expand_dims(a, missing, s);
}

/// The product of two terms, summed over the labels that are not kept.
Term contract(Term a, Term b, const LabelSet& kept, Stream s) {
  LabelSet needed_a = kept, needed_b = kept;
  needed_a.insert(b.labels.begin(), b.labels.end());
  needed_b.insert(a.labels.begin(), a.labels.end());
  sum_out(a, needed_a, s);
  sum_out(b, needed_b, s);
  Labels batch, left, right, summed;
  for (Label l : a.labels)
    (!contains(b.labels, l) ? left : kept.contains(l) ? batch : summed).push_back(l);
  for (Label l : b.labels)
    if (!contains(a.labels, l)) right.push_back(l);
  Labels result = joined({&batch, &left, &right});
  if (summed.empty()) {
    return {multiply(aligned(a, result, s), aligned(b, result, s), s), result};
  }
  a.value = materialized(a.value, s);
  b.value = materialized(b.value, s);
  array x = arranged(a, joined({&batch, &left, &summed}), s);
  array y = arranged(b, joined({&batch, &summed, &right}), s);
  Shape shape(x.shape().begin(), x.shape().begin() + batch.size() + left.size());
  shape.insert(shape.end(), y.shape().end() - right.size(), y.shape().end());
  auto matrix = [&](const array& v, size_t rows, size_t columns) {
    Shape to(v.shape().begin(), v.shape().begin() + batch.size());
    auto middle = v.shape().begin() + batch.size() + rows;
    to.push_back(num_elements(Shape(v.shape().begin() + batch.size(), middle)));
    to.push_back(num_elements(Shape(middle, middle + columns)));
    return reshape(v, to, s);
  };
  array product =
      matmul(matrix(x, left.size(), summed.size()), matrix(y, summed.size(), right.size()), s);
  return {reshape(product, shape, s), result};
}

std::string describe(const std::string& subscripts, const Search& search, const Path& path) {
  LabelSet all;
  for (const LabelSet& labels : search.inputs) all = Search::unite(all, labels);
  std::ostringstream out;
  out << "  Contraction:  " << subscripts << "\n"
      << "  Labels in one step:  " << all.size() << " all at once, " << path.scaling
      << " on this path\n"
      << "  Operations:  " << search.work(all, search.output, search.inputs.size())
      << " all at once, " << path.cost << " on this path\n";
  return out.str();
}

}  // namespace

array einsum(const std::string& subscripts, const std::vector<array>& operands, StreamOrDevice s) {
  Stream stream = to_stream(s);
  Expression e = parse(subscripts, operands);
  Dtype type = operands[0].dtype();
  for (const array& a : operands) type = promote_types(type, a.dtype());
  std::vector<Term> terms;
  for (size_t i = 0; i < operands.size(); ++i)
    terms.push_back(prepare(cast_to(operands[i], type, stream), e.inputs[i], e.sizes, stream));

  LabelSet output(e.output.begin(), e.output.end());
  for (const auto& step : find_path(Search(e)).steps) {
    if (step.size() < 2) break;
    Term a = std::move(terms[step[0]]), b = std::move(terms[step[1]]);
    terms.erase(terms.begin() + step[1]);
    terms.erase(terms.begin() + step[0]);
    LabelSet kept = output;
    for (const Term& t : terms) kept.insert(t.labels.begin(), t.labels.end());
    terms.push_back(contract(std::move(a), std::move(b), kept, stream));
  }
  sum_out(terms[0], output, stream);
  return cast_to(arranged(terms[0], e.output, stream), type, stream);
}

std::pair<std::vector<std::vector<int>>, std::string> einsum_path(
    const std::string& subscripts, const std::vector<array>& operands) {
  Expression e = parse(subscripts, operands);
  Search search(e);
  Path path = find_path(search);
  return {path.steps, describe(subscripts, search, path)};
}

}  // namespace mlx::core
