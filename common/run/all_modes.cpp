#include "common/run/all_modes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace retensor {
namespace {

bool mode_by_mode(const Method& method, const Problem& problem) {
  return problem.operation() == Operation::mttkrp_all && !method.takes_all_modes();
}

/// Rows of one matrix below those of another.
void copy_rows(const Matrix& from, std::uint64_t first, Matrix& to) {
  dispatch(to.dtype(), [&]<class T>() {
    const auto source = from.view<T>();
    const auto target = to.view<T>();
    for (std::uint64_t i = 0; i < source.rows; ++i)
      std::copy_n(source.row(i), source.cols, target.row(first + i));
  });
}

class ModeByMode : public Prepared, private Passes {
 public:
  ModeByMode(const Method& method, const Problem& problem, const Params& params)
      : problem_(problem) {
    for (int m = 0; m < problem.x().order(); ++m) {
      problems_.push_back(std::make_unique<const Problem>(problem.of_mode(m)));
      runs_.push_back(method.prepare(*problems_.back(), params));
    }
  }

  void run(StageTimer& timer) override {
    for (auto& run : runs_) run->run(timer);
  }

  Result result() override {
    std::uint64_t rows = 0;
    for (const auto length : problem_.x().dims) rows += length;
    Matrix all(rows, problem_.rank(), problem_.dtype());
    rows = 0;
    for (auto& run : runs_) {
      const auto one = std::get<Matrix>(run->result());
      copy_rows(one, rows, all);
      rows += one.rows();
    }
    return all;
  }

  Executed executed() const override {
    Executed facts = runs_.front()->executed();
    facts["modes"] = fmt::format("{} runs, each prepared for its mode", runs_.size());
    return facts;
  }

  Footprint footprint() const override {
    Footprint sum;
    for (const auto& run : runs_) {
      sum.format_bytes += run->footprint().format_bytes;
      sum.device_bytes += run->footprint().device_bytes;
    }
    return sum;
  }

  Work work() const override { return work_model(problem_); }
  void refresh(int m) override {
    for (auto& run : runs_) run->refresh(m);
  }
  Passes* passes() override { return this; }

 private:
  void run_mode(int mode, StageTimer& timer) override {
    runs_.at(static_cast<std::size_t>(mode))->run(timer);
  }
  Matrix mode_result(int mode) override {
    return std::get<Matrix>(runs_.at(static_cast<std::size_t>(mode))->result());
  }

  const Problem& problem_;
  std::vector<std::unique_ptr<const Problem>> problems_;
  std::vector<std::unique_ptr<Prepared>> runs_;
};

}  // namespace

bool has_operation(const Method& method, Operation operation) {
  const auto all = method.operations();
  const auto has = [&](Operation one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  };
  return has(operation) || (operation == Operation::mttkrp_all && has(Operation::mttkrp));
}

Support supports(const Method& method, const Problem& problem, const Params& params) {
  auto support = solves(method, problem, params);
  return support.ok ? method.runs_here() : support;
}

Support solves(const Method& method, const Problem& problem, const Params& params) {
  if (!mode_by_mode(method, problem)) return method.solves(problem, params);
  for (int m = 0; m < problem.x().order(); ++m)
    if (auto one = method.solves(problem.of_mode(m), params); !one.ok) return one;
  return Support::yes();
}

std::unique_ptr<Prepared> prepare(const Method& method, const Problem& problem,
                                  const Params& params) {
  if (!mode_by_mode(method, problem)) return method.prepare(problem, params);
  return std::make_unique<ModeByMode>(method, problem, params);
}

}  // namespace retensor
