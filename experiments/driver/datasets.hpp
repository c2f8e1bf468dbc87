// The data set registry: names, facts and how to obtain a tensor.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/core/types.hpp"
#include "common/tensor/coo.hpp"

namespace retensor::driver {

struct Dataset {
  std::string name;
  std::string kind;  ///< real, stand-in, generated, private
  std::string form;  ///< tensor, matrix
  Dims dims;
  Count nnz = 0;
  std::string sha256;  ///< of the binary cache's content, empty where not known
  std::string file;    ///< absolute path, empty when made by a recipe
  std::string recipe;  ///< recipe or generator name, empty for files and private sets
  nlohmann::json recipe_params, paper, stand_in;
  std::string source, licence;
  std::uint64_t line = 0;
};

class DatasetRegistry {
 public:
  /// Throws ParseError with file and line. `path` is datasets/registry.yaml or a user's own file.
  static DatasetRegistry load(const std::string& path);

  const std::map<std::string, Dataset>& all() const { return datasets_; }
  /// Throws InputError naming the nearest data set. A name that is a path to an existing .tns, .mtx
  /// or .tnsb file (plain, gzip, zstd) is accepted too and counts as kind real.
  const Dataset& find(const std::string& name) const;

  /// Tensor from cache_dir (checksum verified), else from file or recipe, then cached. Throws
  /// InputError when dims, nnz or checksum disagree with the registry, or when the set is private.
  std::shared_ptr<const Coo> obtain(const Dataset& d, const std::string& cache_dir) const;
  /// SHA-256 over dims, indices and values of the cached tensor: the identity in case keys.
  std::string checksum(const Dataset& d, const std::string& cache_dir) const;

 private:
  mutable std::map<std::string, Dataset> datasets_;
};

}  // namespace retensor::driver
