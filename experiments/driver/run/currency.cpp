// Rows outlive the code that they measured. What has to be the same: the declarations, or for CUDA
// the kernels' machine code and the host code; or somebody measured a sample again.
#include "experiments/driver/run/currency.hpp"

#include <algorithm>
#include <array>

#include "common/core/hash.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/spec/case.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 5> kNames = {"sources", "kernels", "confirmed", "unknown",
                                                    "stale"};

/// Of two methods that a row depends on; unknown where one is.
std::string joined_hash(const std::string& own, const std::string& inner) {
  return own.empty() || inner.empty() ? "" : sha256_hex(own + inner);
}

}  // namespace

std::string_view name(Currency currency) {
  return kNames[static_cast<std::size_t>(currency)];
}

RowCode code_of(std::string_view method, std::string_view architecture) {
  const auto& methods = provenance().methods;
  auto found = methods.find(method);
  if (found == methods.end()) found = methods.find(method.substr(0, method.find('.')));
  if (found == methods.end()) return {};
  const auto& code = found->second;
  if (!is_gpu_method(method)) return {code.source, "", ""};
  const auto kernels = code.kernels.find(architecture);
  return {code.source, code.host, kernels == code.kernels.end() ? "" : kernels->second};
}

RowCode code_of_case(const json& row_case, std::string_view architecture) {
  auto code = code_of(text_of(row_case, "method"), architecture);
  const auto params = row_case.find("params");
  if (params == row_case.end() || !params->contains("mttkrp")) return code;
  const auto inner = code_of(text_of(*params, "mttkrp"), architecture);
  // The processes of a distributed method launch the kernels of their MTTKRP alone.
  const bool distributed = row_case.contains("foreign");
  return {joined_hash(code.source, inner.source), joined_hash(code.host, inner.host),
          distributed ? inner.kernels : joined_hash(code.kernels, inner.kernels)};
}

RowCode stated_code(const json& line) {
  return {text_of(line, "source_hash"), text_of(line, "host_hash"), text_of(line, "kernel_hash")};
}

void state_code(const RowCode& code, json& line) {
  line["source_hash"] = code.source;
  if (!code.host.empty()) line["host_hash"] = code.host;
  if (!code.kernels.empty()) line["kernel_hash"] = code.kernels;
}

Currency compare_code(const RowCode& measured, const RowCode& today) {
  if (measured.source == today.source) return Currency::sources;
  if (measured.host.empty() || measured.host != today.host) return Currency::stale;
  if (measured.kernels.empty()) return Currency::stale;
  if (today.kernels.empty()) return Currency::unknown;
  return measured.kernels == today.kernels ? Currency::kernels : Currency::stale;
}

std::string architecture_of(const json& machine) {
  const auto& capability = field(machine, "gpu.compute_capability");
  auto text = capability.is_string() ? capability.get<std::string>() : "";
  text.erase(std::remove(text.begin(), text.end(), '.'), text.end());
  return text;
}

void Confirmations::take(const json& line, const std::set<std::string>& measured_on) {
  for (const auto& key : line.value("keys", json::array()))
    if (key.is_string())
      confirmed_[key.get<std::string>()].push_back({stated_code(line), measured_on});
}

bool Confirmations::cover(const std::string& key, const RowCode& today,
                          const std::string& device) const {
  const auto found = confirmed_.find(key);
  return found != confirmed_.end() && std::ranges::any_of(found->second, [&](const auto& one) {
           return one.devices.count(device) != 0 &&
                  compare_code(one.code, today) != Currency::stale;
         });
}

Currency currency_of(const json& line, const std::string& device, std::string_view architecture,
                     const Confirmations& confirmations) {
  if (field(line, "case.foreign.kind").is_string() &&
      field(line, "case.foreign.kind") != "distributed")
    return Currency::sources;  // no code here outdates it
  const auto today = code_of_case(line["case"], architecture);
  const auto found = compare_code(stated_code(line), today);
  const bool confirmed =
      found == Currency::stale && confirmations.cover(text_of(line, "key"), today, device);
  return confirmed ? Currency::confirmed : found;
}

}  // namespace retensor::driver
