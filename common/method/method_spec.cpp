#include "common/method/method_spec.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "common/device/device.hpp"

namespace retensor {
namespace {

/// The second part of the id.
Backend backend_of(const std::string& id) {
  const auto first = std::min(id.find('.'), id.size());
  for (const auto backend : {Backend::cpu, Backend::cuda})
    if ((id.substr(first) + ".").starts_with(fmt::format(".{}.", name(backend)))) return backend;
  throw logic_error("method id '{}' names no backend", id);
}

}  // namespace

void no_cuda() {
  throw logic_error("a CUDA method was prepared in a build without CUDA");
}

bool Form::is_published(const std::function<std::string(const std::string&)>& told) const {
  return !own && std::all_of(published.begin(), published.end(), [&](const auto& entry) {
    const auto value = told(entry.first);
    const auto& papers = entry.second;
    return value.empty() || std::find(papers.begin(), papers.end(), value) != papers.end();
  });
}

MethodSpec with_shared(std::vector<Operation> operations, Condition condition, MethodSpec own) {
  if (own.operations.empty()) own.operations = std::move(operations);
  own.conditions.insert(own.conditions.begin(), std::move(condition));
  return own;
}

DescribedMethod::DescribedMethod(MethodSpec spec)
    : spec_(std::move(spec)), backend_(backend_of(spec_.id)) {}

bool DescribedMethod::takes(Operation operation) const {
  const auto& all = spec_.operations;
  return std::find(all.begin(), all.end(), operation) != all.end();
}

Support DescribedMethod::runs_here() const {
  if (backend_ == Backend::cpu) return Support::yes();
  if (const auto device = device::available(); !device.ok) return Support::no(device.reason);
  auto reason = spec_.obstacle ? spec_.obstacle() : std::string();
  return reason.empty() ? Support::yes() : Support::no(std::move(reason));
}

Support DescribedMethod::solves(const Problem& problem, const Params& params) const {
  if (!takes(problem.operation())) {
    std::vector<std::string> expected;
    for (const auto operation : spec_.operations) expected.emplace_back(name(operation));
    return Support::no(fmt::format("supports only {}, not {}", in_words(expected, "and"),
                                   name(problem.operation())));
  }
  for (const auto& condition : spec_.conditions)
    if (auto holds = condition(problem, params); !holds.ok) return holds;
  return Support::yes();
}

Support DescribedMethod::supports(const Problem& problem, const Params& params) const {
  auto support = solves(problem, params);
  return support.ok ? runs_here() : support;
}

std::unique_ptr<Prepared> DescribedMethod::prepare(const Problem& problem,
                                                   const Params& params) const {
  if (!spec_.prepare) no_cuda();
  return spec_.prepare(problem, params);
}

std::optional<Prediction> DescribedMethod::predict(const Problem& outline,
                                                   const Params& params) const {
  if (!spec_.predict) return std::nullopt;
  return spec_.predict(outline, params);
}

reference::Precision DescribedMethod::precision(const Problem& problem,
                                                const Params& params) const {
  return spec_.precision ? spec_.precision(problem, params) : Method::precision(problem, params);
}

}  // namespace retensor
