// Recursive descent; a nesting limit keeps hostile input from the stack's end.
#include "experiments/driver/judge/audit/formula.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace retensor::driver {
namespace {

constexpr int kMaxDepth = 50;
constexpr int kMaxOperands = 1000;  // a chain of operators is evaluated as deep as it is long

bool begins_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool in_word(char c) {
  return begins_word(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

class Parser {
 public:
  Parser(const std::string& text, const FilePosition& at) : text_(text), at_(at) {}

  Check check() {
    Check result;
    result.text = text_;
    result.left = sum();
    const auto& known = relations();
    const auto relation =
        std::ranges::find_if(known, [&](const std::string& word) { return take(word); });
    if (relation == known.end()) refuse("a relation: = == < <= > >=");
    result.relation = *relation;
    result.right = sum();
    blanks();
    if (next_ < text_.size()) refuse("an operator or the end");
    return result;
  }

 private:
  using Kind = Formula::Kind;

  [[noreturn]] void refuse(const std::string& expected) {
    blanks();
    auto where = at_;
    where.column += next_;
    const auto found =
        next_ < text_.size() ? fmt::format("'{}'", text_.substr(next_, 20)) : "the end";
    throw ParseError(where, found, expected);
  }

  void blanks() {
    while (next_ < text_.size() && text_[next_] == ' ') ++next_;
  }

  char peek() {
    blanks();
    return next_ < text_.size() ? text_[next_] : '\0';
  }

  bool take(const std::string& sign) {
    blanks();
    if (text_.compare(next_, sign.size(), sign) != 0) return false;
    next_ += sign.size();
    return true;
  }

  void need(const std::string& sign) {
    if (!take(sign)) refuse("'" + sign + "'");
  }

  template <class... Operands>
  static Formula joined(Kind kind, Operands... operands) {
    Formula f;
    f.kind = kind;
    (f.parts.push_back(std::move(operands)), ...);
    return f;
  }

  /// What `next` reads, joined from the left by either of two signs.
  Formula chain(Formula (Parser::*next)(), const char* sign, Kind kind, const char* other,
                Kind other_kind) {
    auto left = (this->*next)();
    for (;;) {
      if (take(sign))
        left = joined(kind, std::move(left), (this->*next)());
      else if (take(other))
        left = joined(other_kind, std::move(left), (this->*next)());
      else
        return left;
    }
  }
  Formula sum() { return chain(&Parser::product, "+", Kind::sum, "-", Kind::difference); }
  Formula product() { return chain(&Parser::factor, "*", Kind::product, "/", Kind::quotient); }

  Formula factor() {
    if (++depth_ > kMaxDepth) refuse(fmt::format("at most {} levels", kMaxDepth));
    if (++operands_ > kMaxOperands) refuse(fmt::format("at most {} operands", kMaxOperands));
    auto result = take("-") ? joined(Kind::negation, factor()) : raised(atom());
    --depth_;
    return result;
  }

  Formula raised(Formula base) {
    return take("^") ? joined(Kind::power, std::move(base), factor()) : base;
  }

  Formula atom() {
    if (take("(")) {
      auto inner = sum();
      need(")");
      return inner;
    }
    return begins_word(peek()) ? name_or_call() : number();
  }

  Formula number() {
    blanks();
    const auto end = std::min(text_.find_first_not_of("0123456789.", next_), text_.size());
    const auto value = parse_printed(text_.substr(next_, end - next_));
    if (!value) refuse("a number, a name or '('");
    next_ = end;
    Formula f;
    f.number = value->value;
    return f;
  }

  std::string word() {
    if (!begins_word(peek())) refuse("a name");
    const auto start = next_;
    while (next_ < text_.size() && in_word(text_[next_])) ++next_;
    return text_.substr(start, next_ - start);
  }

  std::string path() {
    auto name = word();
    while (next_ < text_.size() && text_[next_] == '.') {
      ++next_;
      name += "." + word();
    }
    return name;
  }

  Formula name_or_call() {
    Formula f;
    f.kind = Kind::name;
    f.word = path();
    if (!take("(")) return f;
    const auto start = next_;
    if (begins_word(peek())) {
      f.table = word();
      f.kind = take(":") ? Kind::rows : Kind::call;
    }
    if (f.kind != Kind::rows) {
      f.kind = Kind::call;
      f.table.clear();
      next_ = start;
    }
    f.parts.push_back(sum());
    while (f.kind == Kind::call && take(",")) f.parts.push_back(sum());
    need(")");
    return f;
  }

  const std::string& text_;
  FilePosition at_;
  std::size_t next_ = 0;
  int depth_ = 0, operands_ = 0;
};

std::optional<Estimate> over_rows(const Formula& f, const Names& names) {
  std::vector<Estimate> numbers;
  for (const auto& row : names.rows(f.table))
    if (const auto number = evaluate(f.parts[0], *row)) numbers.push_back(*number);
  if (numbers.empty()) return {};
  return reduction_of(f.word, numbers);
}

}  // namespace

Check parse_check(const std::string& text, const FilePosition& at) {
  return Parser(text, at).check();
}

std::optional<Estimate> evaluate(const Formula& f, const Names& names) {
  using Kind = Formula::Kind;
  if (f.kind == Kind::number) return Estimate::exact(f.number);
  if (f.kind == Kind::name) return names.value(f.word);
  if (f.kind == Kind::rows) return over_rows(f, names);
  std::vector<Estimate> parts;
  // All are evaluated though one may be empty, so that an unknown name never goes unseen.
  for (const auto& part : f.parts)
    if (const auto number = evaluate(part, names)) parts.push_back(*number);
  if (parts.size() < f.parts.size()) return {};
  switch (f.kind) {
    case Kind::negation:
      return -parts[0];
    case Kind::sum:
      return parts[0] + parts[1];
    case Kind::difference:
      return parts[0] - parts[1];
    case Kind::product:
      return parts[0] * parts[1];
    case Kind::quotient:
      return parts[0] / parts[1];
    case Kind::power:
      return power(parts[0], parts[1]);
    default:
      return function_of(f.word, parts);
  }
}

}  // namespace retensor::driver
