#include "common/decompose/checkpoint.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "common/core/hash.hpp"
#include "common/core/message.hpp"
#include "common/decompose/als.hpp"
#include "common/io/files.hpp"

namespace retensor::cpd {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr std::size_t kDigest = 64;

std::string digest_of(const Coo& x) {
  Sha256 hash;
  const auto add = [&](const auto& all) { hash.update(all.data(), all.size() * sizeof(all[0])); };
  add(x.dims);
  for (const auto& indices : x.indices) add(indices);
  x.values.visit(add);
  return hash.hex();
}

json to_json(const Matrix& m) {
  return m.values().visit([&](const auto& all) -> json {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(all.data());
    return {{"rows", m.rows()},
            {"cols", m.cols()},
            {"type", name(m.dtype())},
            {"values", json::binary({bytes, bytes + all.size() * sizeof(all[0])})}};
  });
}

// Shapes are compared before anything of their size is allocated.
Matrix matrix_from(const json& j, const Matrix& like) {
  const std::uint64_t rows = j.at("rows"), cols = j.at("cols");
  const auto type = dtype_from_name(j.at("type").get<std::string>());
  check_factor(rows, cols, type, like);
  Matrix m(rows, cols, type);
  const auto& bytes = j.at("values").get_binary();
  if (bytes.size() != m.bytes()) throw input_error("a factor has another size than it states");
  m.values().visit([&](auto& all) { std::memcpy(all.data(), bytes.data(), bytes.size()); });
  return m;
}

std::string content_of(const std::string& path) {
  // A folder opens, and reading it throws what is no error of this library.
  if (std::filesystem::is_directory(path))
    throw system_error("{}: found a folder, expected a file", path);
  std::ifstream file(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw system_error("{}: can't be read", path);
  return content;
}

void check_identity(const Identity& found, const Identity& expected) {
  for (const auto& [key, value] : expected) {
    const auto at = found.find(key);
    const std::string other = at == found.end() ? "none" : at->second;
    if (other != value)
      throw input_error("a checkpoint of another run: found {} {}, expected {}", key, other, value);
  }
}

void check_count(const char* what, std::size_t found, std::uint64_t expected) {
  if (found != expected) throw input_error("found {} {}, expected {}", found, what, expected);
}

/// Refuses what json::from_cbor would follow down its stack: lists within lists, and texts without
/// a stated length, which may hold each other. The writer makes none. Stops without a word at what
/// is no CBOR, of which json::from_cbor tells.
void check_depth(std::string_view cbor) {
  constexpr std::size_t kDeepest = 8;     // a checkpoint has 4 levels
  constexpr unsigned kUnstated = 31;      // as a length
  std::vector<std::uint64_t> left = {1};  // items still to come, of each open list
  for (std::size_t at = 0; !left.empty() && at < cbor.size();) {
    const auto head = static_cast<unsigned char>(cbor[at++]);
    const unsigned kind = head >> 5, info = head & 31;
    if (info == kUnstated) throw input_error("found a part without a stated length");
    const std::size_t width = info < 24 ? 0 : std::size_t{1} << (info - 24);
    if (info > 27 || width > cbor.size() - at) return;
    std::uint64_t count = info < 24 ? info : 0;
    for (const auto end = at + width; at < end; ++at)
      count = count << 8 | static_cast<unsigned char>(cbor[at]);
    --left.back();
    if (kind == 2 || kind == 3) {  // bytes, text
      if (count > cbor.size() - at) return;
      at += count;
    } else if (kind == 4 || kind == 5) {       // a list, a map of keys and values
      const std::uint64_t most = cbor.size();  // an item has a byte
      left.push_back(std::min(count, most) * (kind == 5 ? 2 : 1));
    }
    if (left.size() > kDeepest)
      throw input_error("found more than {} lists within each other", kDeepest);
    while (!left.empty() && left.back() == 0) left.pop_back();
  }
}

KruskalModel model_from(std::string_view content, const Identity& identity,
                        const Problem& problem) {
  if (content.size() < kDigest || sha256_hex(content.substr(kDigest)) != content.substr(0, kDigest))
    throw input_error("not an intact checkpoint: its checksum is wrong");
  check_depth(content.substr(kDigest));
  const json j = json::from_cbor(content.substr(kDigest));
  if (j.at("version") != kVersion)
    throw input_error("found a checkpoint of version {}, expected {}", j.at("version").dump(),
                      kVersion);
  check_identity(j.at("identity").get<Identity>(), identity);
  KruskalModel model;
  model.weights = j.at("weights").get<std::vector<double>>();
  model.fit = j.at("fit").get<std::vector<double>>();
  const json& factors = j.at("factors");
  check_count("weights", model.weights.size(), problem.rank());
  check_count("factors", factors.size(), problem.dense().size());
  for (std::size_t m = 0; m < factors.size(); ++m)
    model.factors.push_back(matrix_from(factors[m], problem.dense()[m]));
  return model;
}

}  // namespace

Identity identity_of(const Problem& problem, Constraint constraint) {
  return {{"tensor", digest_of(problem.x())},
          {"type", std::string(name(problem.dtype()))},
          {"rank", std::to_string(problem.rank())},
          {"seed", std::to_string(problem.spec().seed)},
          {"operands", std::string(name(problem.spec().operands))},
          {"constraint", std::string(name(constraint))}};
}

void save_checkpoint(const std::string& path, const Identity& identity, const KruskalModel& model) {
  json factors = json::array();
  for (const auto& factor : model.factors) factors.push_back(to_json(factor));
  const json j = {{"version", kVersion},
                  {"identity", identity},
                  {"weights", model.weights},
                  {"fit", model.fit},
                  {"factors", std::move(factors)}};
  std::string content;
  json::to_cbor(j, content);
  const std::string digest = sha256_hex(content);
  AtomicFile file(path);
  file.write(digest.data(), digest.size());
  file.write(content.data(), content.size());
  file.commit();
}

std::optional<KruskalModel> load_checkpoint(const std::string& path, const Identity& identity,
                                            const Problem& problem) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  try {
    return model_from(content_of(path), identity, problem);
  } catch (InputError& e) {
    e.add_context(path);
    throw;
  } catch (const json::exception& e) {
    throw input_error("{}: not an intact checkpoint: {}", path, e.what());
  }
}

Checkpoint::Checkpoint(std::string path, const Problem& problem, Start law, std::uint64_t seed,
                       Constraint constraint)
    : path_(std::move(path)), problem_(problem) {
  if (path_.empty()) return;
  identity_ = identity_of(problem, constraint);
  identity_["seed"] = std::to_string(seed);
  identity_["operands"] = name(law);
}

std::optional<KruskalModel> Checkpoint::load() const {
  return path_.empty() ? std::nullopt : load_checkpoint(path_, identity_, problem_);
}

void Checkpoint::save(const KruskalModel& model) const {
  if (!path_.empty()) save_checkpoint(path_, identity_, model);
}

void Checkpoint::remove() const {
  if (!path_.empty()) std::filesystem::remove(path_);
}

}  // namespace retensor::cpd
