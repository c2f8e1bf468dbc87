// What stands behind retensor.h: a call becomes a problem, runs by a method, and its result becomes
// arrays. Exceptions end in a status and the text of retensor_last_error().
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "common/advise/trial.hpp"
#include "common/c_api/retensor.h"
#include "common/c_api/views.hpp"
#include "common/core/build_info.hpp"
#include "common/core/message.hpp"
#include "common/decompose/als.hpp"
#include "common/decompose/checkpoint.hpp"
#include "common/decompose/finite.hpp"
#include "common/decompose/normal_equations.hpp"
#include "common/decompose/starts.hpp"
#include "common/decompose/text_params.hpp"
#include "common/device/copy.hpp"
#include "common/device/device.hpp"
#include "common/io/cache.hpp"
#include "common/io/matrix_market.hpp"
#include "common/io/read.hpp"
#include "common/io/tns.hpp"
#include "common/machine/room.hpp"
#include "common/measure/timing.hpp"
#include "common/method/operands.hpp"
#include "common/method/registry.hpp"
#include "common/run/all_modes.hpp"

namespace retensor::c_api {
namespace {

thread_local std::string last_error;  // C has no exceptions to carry it

retensor_status failed(retensor_status status, const char* text) {
  last_error = text;
  return status;
}

template <class Work>
retensor_status guarded(Work work) {
  try {
    last_error.clear();
    work();
    return RETENSOR_OK;
  } catch (const InputError& error) {
    return failed(RETENSOR_INPUT, error.what());
  } catch (const SystemError& error) {
    return failed(RETENSOR_SYSTEM, error.what());
  } catch (const OutOfMemory& error) {
    return failed(RETENSOR_MEMORY, error.what());
  } catch (const std::bad_alloc&) {
    return failed(RETENSOR_MEMORY, "host memory does not suffice");
  } catch (const std::length_error&) {
    return failed(RETENSOR_MEMORY, "host memory does not suffice");
  } catch (const DeviceError& error) {
    return failed(RETENSOR_DEVICE, error.what());
  } catch (const std::exception& error) {
    return failed(RETENSOR_INTERNAL, error.what());
  }
}

const Registry& registry() {
  static const Registry methods = all_methods();
  return methods;
}

const Method* method_at(std::int32_t i) {
  const auto& methods = registry().methods();
  return i >= 0 && static_cast<std::size_t>(i) < methods.size()
             ? methods[static_cast<std::size_t>(i)].get()
             : nullptr;
}

/// The members that the caller's version of the header has; the others are zero.
retensor_call known(const retensor_call* call) {
  retensor_call all{};
  if (call != nullptr) std::memcpy(&all, call, std::min(call->size, sizeof all));
  if (all.operation == nullptr) throw input_error("expected an operation");
  if (!(all.tolerance >= 0))
    throw input_error("found tolerance {}, expected 0 or more", all.tolerance);
  if (all.dense_count < 0 || all.rank_count < 0)
    throw input_error("found a negative number of dense operands or ranks");
  if (all.dense == nullptr) all.dense_count = 0;
  if (all.ranks == nullptr) all.rank_count = 0;
  return all;
}

template <class T>
T* given(T* pointer, const char* what) {
  if (pointer == nullptr) throw input_error("found NULL, expected {}", what);
  return pointer;
}

constexpr const char* kPlace = "a place for the result";

/// A call with its operands as the library has them.
struct Task {
  explicit Task(const retensor_call& asked)
      : call(asked),
        method(call.method == nullptr ? "" : call.method),
        params(cpd::params_in(call.params == nullptr ? "" : call.params)) {
    x = std::make_shared<const Coo>(tensor_of(call.x, "x"));
    if (call.y != nullptr) y = std::make_shared<const Coo>(tensor_of(call.y, "y"));
    for (std::int32_t m = 0; m < call.dense_count; ++m) dense.push_back(matrix_of(call.dense[m]));
    ranks.assign(call.ranks, call.ranks + call.rank_count);
    if (call.constraint != nullptr) constraint = cpd::constraint_from_name(call.constraint);
    law = call.start != nullptr ? cpd::start_from_name(call.start) : cpd::default_start(constraint);
    cpd::check_start(law, constraint);
  }

  bool is_tucker() const { return std::string_view(call.operation) == "tucker"; }

  const retensor_call& call;
  std::string method;                                ///< asked for; empty for the default
  std::shared_ptr<const advise::Planned> planned{};  ///< of the method "auto"
  std::map<std::string, ParamValue> params;
  std::shared_ptr<const Coo> x, y;
  std::vector<Matrix> dense;
  Dims ranks;
  cpd::Constraint constraint = cpd::Constraint::none;
  cpd::Start law{};
};

/// Columns of the matrices that a TTM-chain multiplies by: of the lowest mode and of the others.
void set_chain_ranks(const Task& task, ProblemSpec& spec) {
  const std::size_t lowest = spec.mode == 0 ? 1 : 0;
  if (task.dense.size() > lowest) spec.rank = task.dense[lowest].cols();
  const auto last = task.dense.size() - (spec.mode + 1 == task.x->order() ? 2 : 1);
  if (task.dense.size() > 2) spec.rank2 = task.dense[last].cols();
}

ProblemSpec spec_of(const Task& task) {
  ProblemSpec spec;
  spec.operation = operation_from_name(task.call.operation);
  if (task.call.variant != nullptr) spec.variant = task.call.variant;
  spec.mode = task.call.mode;
  spec.dtype = task.x->dtype();
  spec.scalar = task.call.scalar;
  spec.max_sweeps = task.call.max_sweeps;
  spec.tolerance = task.call.tolerance;
  spec.seed = task.call.seed;
  if (spec.operation == Operation::ttm_chain)
    set_chain_ranks(task, spec);
  else if (!task.dense.empty())
    spec.rank = task.dense.front().cols();
  else if (!task.ranks.empty())
    spec.rank = task.ranks.front();
  return spec;
}

void check_operands(const Task& task, const Problem& problem) {
  const auto expected = problem.dense().size();
  const bool drawn = problem.operation() == Operation::cpd && task.dense.empty();
  if (task.dense.size() != expected && !drawn)
    throw input_error("{}: found {} dense operands, expected {}", name(problem.operation()),
                      task.dense.size(), expected);
  const bool pair = problem.operation() == Operation::tew ||  //
                    problem.operation() == Operation::contraction;
  if (pair && task.y == nullptr)
    throw input_error("{}: expected a second tensor", name(problem.operation()));
}

Problem problem_of(const Task& task) {
  Problem problem(spec_of(task), task.x, task.y);
  check_operands(task, problem);
  if (problem.operation() == Operation::cpd && task.dense.empty()) {
    const auto first = cpd::first_factors(task.law, problem.x(), problem.rank(),
                                          problem.spec().seed, task.constraint);
    for (std::size_t m = 0; m < first.size(); ++m) set_operand(problem, m, first[m]);
  }
  for (std::size_t m = 0; m < task.dense.size(); ++m) {
    // Of the mode of its result a chain uses no matrix: any will do.
    if (problem.operation() == Operation::ttm_chain && std::cmp_equal(m, problem.mode())) continue;
    set_operand(problem, m, task.dense[m]);
  }
  return problem;
}

/// How much a caller who names no method wants this one, least first: exact products before those
/// of rounded operands, the host before the device.
int reluctance(const Method& method, const Problem& problem, const Params& params) {
  const bool rounds = method.precision(problem, params).operand_eps > 0;
  return (rounds ? 2 : 0) + (method.backend() == Backend::cuda ? 1 : 0);
}

/// The MTTKRP of a decomposition whose caller names no method.
const Method& default_passes() {
  for (const auto& method : registry().methods())
    if (method->is_default_of_passes() && method->backend() == Backend::cpu) return *method;
  throw logic_error("no method is the default of passes");
}

/// The method of an id. Throws DeviceError where it runs on a GPU and there is none.
const Method& named(const std::string& id) {
  const Method& method = registry().find(id);
  const auto here = method.backend() == Backend::cuda ? method.runs_here() : Support::yes();
  if (!here.ok) throw DeviceError(fmt::format("{}: {}", id, here.reason));
  return method;
}

/// The method asked for, or the one that is wanted most of those that take the problem.
const Method& method_for(const Task& task, const Problem& problem) {
  if (task.planned != nullptr) return *task.planned;
  if (!task.method.empty()) return named(task.method);
  if (problem.operation() == Operation::cpd) return default_passes();
  const Method* best = nullptr;
  int least = 4;
  std::string refusals;
  for (const auto& method : registry().methods()) {
    if (!has_operation(*method, problem.operation())) continue;
    const auto params = method->params().resolve({});
    if (const auto support = supports(*method, problem, params); !support.ok) {
      refusals += fmt::format("; {}: {}", method->id(), support.reason);
      continue;
    }
    const int found = reluctance(*method, problem, params);
    if (found >= least) continue;
    best = method.get();
    least = found;
  }
  if (best == nullptr)
    throw input_error("{}: no method takes this problem{}", name(problem.operation()), refusals);
  return *best;
}

void tell(retensor_result& result, const Task& task, const Method& method,
          const Executed& executed) {
  result.executed = fmt::format("method={}", method.id());
  if (task.planned != nullptr && !task.planned->trial_text().empty())
    result.executed += fmt::format("\ntrial={}\ntrial_time={:.3g} s", task.planned->trial_text(),
                                   task.planned->trial_seconds());
  for (const auto& [fact, value] : executed) result.executed += fmt::format("\n{}={}", fact, value);
}

/// The model with its true fit: that of the last sweep shares the error of the last MTTKRP.
void add_model(const Coo& x, const KruskalModel& model, retensor_result& result) {
  if (!cpd::is_finite(model))
    throw input_error("cpd: found a model of numbers that are not finite, expected finite ones");
  result.add(Result(model));
  result.add("true_fit", {1},
             std::vector<double>{cpd::fit_of(cpd::norm_of(x.values), cpd::square_of(model),
                                             cpd::inner_product(x, model))});
}

void add_result(const Coo& x, const Result& of_run, retensor_result& result) {
  if (const auto* model = std::get_if<KruskalModel>(&of_run)) return add_model(x, *model, result);
  result.add(of_run);
}

std::unique_ptr<StageTimer> timer_for(const Method& method) {
  return method.backend() == Backend::cpu ? make_host_timer() : device::make_event_timer();
}

void run_once(const Task& task, const Problem& problem, const Method& method,
              retensor_result& result) {
  const auto prepared = cpd::prepare_or_refuse(method, problem, task.params);
  const auto timer = timer_for(method);
  timer->start();
  prepared->run(*timer);
  timer->stop();
  add_result(problem.x(), prepared->result(), result);
  tell(result, task, method, prepared->executed());
}

/// A method with a decomposition of its own begins at the operands and has its own parameters.
void check_own_decomposition(const Task& task, const Method& method) {
  const auto& call = task.call;
  if (call.constraint != nullptr || call.checkpoint != nullptr || call.progress != nullptr)
    throw input_error(
        "{}: found a constraint, a checkpoint or a callback, expected them with the method whose "
        "MTTKRP is used",
        method.id());
  if (call.start != nullptr && task.law == cpd::Start::spread)
    throw input_error("{}: found start spread, expected signs, normal, uniform or nvecs",
                      method.id());
}

void check_checkpoint(const Task& task) {
  if (task.call.checkpoint == nullptr || *task.call.checkpoint == '\0') return;
  if (!task.dense.empty())
    throw input_error("cpd: found a checkpoint beside first factors, expected a start and a seed");
  if (std::filesystem::is_directory(task.call.checkpoint))
    throw input_error("cpd: found the folder {} as checkpoint, expected a file",
                      task.call.checkpoint);
}

/// CP-ALS with the MTTKRP of a method that has no decomposition of its own.
void run_als(const Task& task, const Problem& problem, const Method& method,
             retensor_result& result) {
  cpd::Als als(problem, method, task.params, cpd::Place::device, task.constraint);
  const auto timer = timer_for(method);
  timer->start();
  const cpd::Checkpoint checkpoint(task.call.checkpoint == nullptr ? "" : task.call.checkpoint,
                                   problem, task.law, task.call.seed, task.constraint);
  if (const auto kept = checkpoint.load())
    als.resume(*kept);
  else if (task.law == cpd::Start::spread && task.dense.empty())
    als.spread(*timer);
  cpd::Between between;
  if (checkpoint) between.save = [&] { checkpoint.save(als.model()); };
  if (task.call.progress != nullptr)
    between.progress = [&] {
      task.call.progress(static_cast<std::int32_t>(als.fit().size()), als.fit().back());
    };
  cpd::sweep_to_end(als, *timer, between);
  timer->stop();
  checkpoint.remove();
  add_model(problem.x(), als.model(), result);
  tell(result, task, method, als.mttkrp().executed());
}

tucker::Settings settings_of(const Task& task) {
  Dims ranks = task.ranks;
  if (ranks.empty())
    for (const auto& factor : task.dense) ranks.push_back(factor.cols());
  return {ranks, task.call.max_sweeps, task.call.tolerance, task.call.seed,
          task.call.start == nullptr ? cpd::Start::normal : task.law};
}

/// What HOOI takes none of, and what it would find only after its chains are prepared.
void check_tucker(const Task& task) {
  const auto& call = task.call;
  if (call.max_sweeps < 1)
    throw input_error("tucker: found max_sweeps {}, expected at least 1", call.max_sweeps);
  if (call.constraint != nullptr || call.checkpoint != nullptr || call.progress != nullptr)
    throw input_error("tucker: found a constraint, a checkpoint or a callback, expected none");
  tucker::check_settings(settings_of(task), task.x->dims);
  if (!task.dense.empty() && task.dense.size() != task.x->dims.size())
    throw input_error("tucker: found {} factors, expected {}", task.dense.size(),
                      task.x->dims.size());
  for (std::size_t m = 0; m < task.dense.size(); ++m) {
    const Matrix& factor = task.dense[m];
    const auto rows = task.x->dims[m], cols = settings_of(task).ranks[m];
    if (factor.rows() != rows || factor.cols() != cols || factor.dtype() != task.x->dtype())
      throw input_error("tucker: found a factor of mode {} of {} x {} {}, expected {} x {} {}", m,
                        factor.rows(), factor.cols(), name(factor.dtype()), rows, cols,
                        name(task.x->dtype()));
  }
}

/// A problem of the TTM-chain, to ask methods whether they take it.
Problem chain_of(const Task& task) {
  return {tucker::chain_spec(settings_of(task).ranks, 0, task.x->dtype()), task.x};
}

void run_tucker(const Task& task, retensor_result& result) {
  const auto settings = settings_of(task);
  const Method& method = method_for(task, chain_of(task));
  tucker::Hooi hooi(task.x, settings, method, task.params);
  if (!task.dense.empty()) hooi.start(task.dense);
  do hooi.sweep();
  while (!hooi.finished());
  if (!cpd::is_finite(hooi.model().factors) || !cpd::is_finite(hooi.model().core))
    throw input_error("tucker: found a model of numbers that are not finite, expected finite ones");
  result.add(hooi.model(), settings.ranks);
  tell(result, task, method, hooi.chain(0).executed());
}

/// A problem of MTTKRP that stands for a decomposition whose method gives it.
Problem passes_of(const Problem& problem) {
  return cpd::mttkrp_problem(problem, std::make_shared<std::vector<Matrix>>(problem.dense()));
}

bool gives_passes(const Problem& problem, const Method& method) {
  return problem.operation() == Operation::cpd && !has_operation(method, Operation::cpd);
}

/// What would be ignored beside the rank and the first factors of cpd.
void check_cpd(const Task& task) {
  check_checkpoint(task);
  if (task.ranks.size() > 1)
    throw input_error("cpd: found {} ranks, expected one", task.ranks.size());
}

/// What a decomposition by any method refuses.
void check_decomposition(const Task& task) {
  if (task.is_tucker())
    check_tucker(task);
  else if (operation_from_name(task.call.operation) == Operation::cpd)
    check_cpd(task);
  else
    return;
  if (task.call.start != nullptr && !task.dense.empty())
    throw input_error("{}: found a start beside first factors, expected one of them",
                      task.call.operation);
  if (task.x->nnz() == 0) throw input_error("{}: the tensor has no nonzeros", task.call.operation);
  cpd::check_norm(task.x->values);
  expect_room_for_factors(
      task.x->dims,
      task.is_tucker() ? settings_of(task).ranks : Dims(task.x->dims.size(), spec_of(task).rank),
      task.x->dtype());
}

/// The task with the planner's choice in place of the method "auto": for one run, of a
/// decomposition for the passes of all sweeps. Close calls are settled by running, where the method
/// is prepared.
Task planned(const retensor_call& call) {
  Task task(call);
  check_decomposition(task);
  if (task.method != "auto") return task;
  if (!task.params.empty())
    throw input_error("found parameters beside the method auto, expected those of a method");
  const bool decomposes = task.is_tucker() || operation_from_name(call.operation) == Operation::cpd;
  const Problem problem = task.is_tucker() ? chain_of(task) : problem_of(task);
  const Problem asked = problem.operation() == Operation::cpd ? passes_of(problem) : problem;
  const advise::Wish wish{.calls = decomposes ? std::max(1.0, 1.0 * call.max_sweeps) : 1.0};
  task.planned = std::make_shared<const advise::Planned>(
      advise::advise_here(registry(), asked, tensor_facts(*task.x), wish), wish, true);
  return task;
}

void run(const Task& task, retensor_result& result) {
  if (task.is_tucker()) return run_tucker(task, result);
  const Problem problem = problem_of(task);
  const Method& method = method_for(task, problem);
  if (gives_passes(problem, method)) return run_als(task, problem, method, result);
  if (problem.operation() == Operation::cpd) check_own_decomposition(task, method);
  run_once(task, problem, method, result);
}

void refuse_unless_supported(const Task& task) {
  const Problem problem = task.is_tucker() ? chain_of(task) : problem_of(task);
  const Method& method = method_for(task, problem);
  const auto params = method.params().resolve(task.params);
  if (problem.operation() == Operation::cpd && !gives_passes(problem, method))
    check_own_decomposition(task, method);
  const auto support = gives_passes(problem, method) ? supports(method, passes_of(problem), params)
                                                     : supports(method, problem, params);
  if (!support.ok) throw input_error("{}: {}", method.id(), support.reason);
}

/// What writes a file of that name. Throws InputError for the name of a format that is not written
/// here, under which nothing could read the text.
auto writer_of(const std::string& path) -> void (*)(const std::string&, const Coo&) {
  if (path.ends_with(".mtx")) return write_matrix_market;
  if (path.ends_with(".tnsb")) return write_cache;
  for (const char* ending : {".smtx", ".npz", ".h5", ".hdf5", ".gz", ".zst", ".tar"})
    if (path.ends_with(ending))
      throw input_error(
          "{}: found the ending {}, expected .tns, .tnsb or .mtx; other formats are written by "
          "'retensor dataset convert'",
          path, ending);
  return [](const std::string& to, const Coo& tensor) { write_tns(to, tensor); };
}

}  // namespace
}  // namespace retensor::c_api

using namespace retensor;
using c_api::guarded;

int32_t retensor_c_api() {
  return RETENSOR_C_API;
}

const char* retensor_version() {
  return build_info().version.c_str();
}

const char* retensor_last_error() {
  return c_api::last_error.c_str();
}

const char* retensor_method_id(int32_t i) {
  const auto* method = c_api::method_at(i);
  return method == nullptr ? nullptr : method->id().data();
}

const char* retensor_method_summary(int32_t i) {
  const auto* method = c_api::method_at(i);
  return method == nullptr ? nullptr : method->summary().data();
}

int32_t retensor_method_solves(int32_t i, const char* operation) {
  const auto* method = c_api::method_at(i);
  if (method == nullptr || operation == nullptr) return 0;
  const auto all = method->operations();
  return std::any_of(all.begin(), all.end(), [&](auto one) { return name(one) == operation; });
}

retensor_status retensor_supports(const retensor_call* call) {
  return guarded([&] {
    const auto all = c_api::known(call);
    c_api::refuse_unless_supported(c_api::planned(all));
  });
}

retensor_status retensor_run(const retensor_call* call, retensor_result** result) {
  return guarded([&] {
    auto*& place = *c_api::given(result, c_api::kPlace);
    const auto all = c_api::known(call);
    auto made = std::make_unique<retensor_result>();
    c_api::run(c_api::planned(all), *made);
    place = made.release();
  });
}

retensor_status retensor_read(const char* path, int32_t dtype, retensor_result** result) {
  return guarded([&] {
    auto*& place = *c_api::given(result, c_api::kPlace);
    ReadOptions options;
    options.keep_type = dtype == RETENSOR_OWN;
    if (!options.keep_type) options.dtype = c_api::dtype_of(dtype);
    options.duplicates = Duplicates::sum;
    auto made = std::make_unique<retensor_result>();
    made->add(read_tensor(c_api::given(path, "a path"), options));
    place = made.release();
  });
}

retensor_status retensor_write(const char* path, const retensor_tensor* tensor) {
  return guarded([&] {
    const std::string name = c_api::given(path, "a path");
    c_api::writer_of(name)(name, c_api::tensor_of(tensor, "x"));
  });
}

const char* retensor_result_name(const retensor_result* result, int32_t i) {
  if (result == nullptr) return nullptr;
  const auto* name = result->name(static_cast<std::size_t>(i));
  return name == nullptr ? nullptr : name->c_str();
}

const retensor_array* retensor_result_array(const retensor_result* result, int32_t i) {
  return result == nullptr ? nullptr : result->array(static_cast<std::size_t>(i));
}

const char* retensor_result_executed(const retensor_result* result) {
  return result == nullptr ? "" : result->executed.c_str();
}

void retensor_result_free(retensor_result* result) {
  delete result;
}

retensor_status retensor_from_device(void* host, const void* device, size_t bytes) {
  return guarded([&] { device::copy_to_host(host, device, bytes); });
}

retensor_status retensor_to_device(void* device, const void* host, size_t bytes) {
  return guarded([&] { device::copy_to_device(device, host, bytes); });
}

retensor_status retensor_device_allocate(size_t bytes, void** device) {
  return guarded([&] {
    auto*& place = *c_api::given(device, "a place for the address");  // before anything is taken
    place = device::allocate_bytes(bytes);
  });
}

void retensor_device_free(void* device) {
  device::release_bytes(device);
}
