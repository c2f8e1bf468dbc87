// The data set registry: names, facts and how to obtain a tensor.
//
// Files that data sets are fetched as have addresses, a place where they are kept, and checksums.
// Few sources publish a checksum. What arrives is then compared with the registry's dims, nonzeros
// and index ranges, and its checksum is recorded in <cache>/fetched/checksums.yaml; from then on it
// has to agree with that record. datasets/checksums.yaml holds records that users contributed, in
// the same form: they take the place of the first look.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/io/cache.hpp"
#include "common/io/options.hpp"
#include "common/tensor/coo.hpp"
#include "experiments/driver/data/locations.hpp"
#include "experiments/driver/yaml/shape.hpp"

namespace retensor::driver {

/// What a registry says of a file to fetch; empty url: none.
struct FetchSource {
  std::string url;         ///< {01..57} in it stands for the numbers: a file each
  std::string sha256;      ///< as published; empty where the source publishes none
  std::int64_t bytes = 0;  ///< 0: not published
};

/// A file with its address; `path` is relative to a cache folder.
struct FetchedFile {
  std::string url, path;
};

/// The files of a source, in the order of their numbers.
std::vector<FetchedFile> fetched_files(const FetchSource& source);
/// The file, or the folder that holds the files of a source with numbers, relative to a cache.
std::string fetched_path(const FetchSource& source);
/// The address below a mirror, which has the hosts as folders, as `wget --mirror` leaves them.
std::string at_mirror(const std::string& url, const std::string& mirror);

/// What somebody got from an address.
struct Checksum {
  std::string url, sha256;
  std::int64_t bytes = 0;
  std::string by;    ///< who recorded it, and when
  std::string file;  ///< where the record stands
};

/// The records of a registry's folder, of a shared cache and of one's own.
class Checksums {
 public:
  /// Reads FOLDER/checksums.yaml, SHARED/fetched/ and CACHE/fetched/checksums.yaml, where they are.
  /// Throws ParseError.
  Checksums(const std::string& folder, const std::string& shared, const std::string& cache);

  /// What the file may be: as published, else one's own record alone, else all others, which may
  /// contradict each other; empty: nobody knows.
  std::vector<Checksum> expected(const FetchSource& source, const std::string& url) const;
  /// Throws InputError naming every record when the file agrees with none of those expected.
  void check(const FetchSource& source, const std::string& url, const std::string& path) const;
  /// Adds what the file is to one's own records, in place of an earlier one. Like forget() it
  /// writes the file, with what other processes have recorded meanwhile. Throws SystemError.
  void record(const std::string& url, const std::string& path);
  void forget(const std::vector<std::string>& urls);

 private:
  void replace(const std::vector<std::string>& urls, const std::vector<Checksum>& by);
  std::string own_file_;
  std::vector<Checksum> own_, others_;
};

/// What checksums.yaml may hold.
ShapePtr checksums_shape();

struct Dataset {
  std::string name;
  std::string kind;  ///< real, real pattern (structure as published, values partly not), stand-in,
                     ///< generated, private; file for a user's own, given by path
  std::string form;  ///< tensor, matrix
  Dims dims;  ///< 0: not published, the file decides; empty for a tensor file given by its path,
              ///< until with_facts()
  Count nnz = 0;
  std::string sha256;        ///< of the tensor's content, empty where not known
  std::string file;          ///< absolute path; beside a recipe its input
  DType type = DType::f32;   ///< in which values are read from a file that is no .tnsb
  std::string recipe;        ///< recipe or generator name, empty for files and private sets
  bool needs_input = false;  ///< the recipe reads a file or folder that is the user's or fetched
  IndexBase index_base = IndexBase::one;  ///< of the fetched or given .tns
  bool any_mode_order = false;            ///< the file's modes may stand in another order than dims
  std::string input;  ///< absolute path of that; set by who asks for the data set
  FetchSource fetch;  ///< the input of the recipe, or the tensor's file when there is none
  nlohmann::json recipe_params, paper, stand_in;
  std::string variant;  ///< of a stand-in: base, seed, skew or clustering; else empty
  std::string source, licence, cite;
  bool may_be_passed_on = true;  ///< by others than its publisher: copies, what values are kept in
  std::vector<std::string> aliases;
  FilePosition at;
};

/// What the variants of a stand-in change: seed, skew, clustering.
const std::vector<std::string>& stand_in_variants();

/// The `data` member of a row's case: {kind, sha256, dims, nnz}, where the registry quotes papers
/// that use the data set `papers`: their ids, and for a stand-in `for` and `variant`.
nlohmann::json data_object(const Dataset& d, const std::string& sha256, const Dims& dims,
                           Count nnz);

/// The `terms` member of a row, no part of its case: {source, licence, pass_on}, and `cite` where a
/// publication is stated.
nlohmann::json terms_of(const Dataset& d);

/// A stand-in NAME is there with its variants NAME@seed, NAME@skew and NAME@clustering, each a data
/// set like any other. Not thread-safe: names that are no entry (matmul-<m>-<n>-<k>, paths) are
/// added when asked for.
class DatasetRegistry {
 public:
  /// Throws ParseError with file and line. `path` is datasets/registry.yaml or a user's own file;
  /// `recipes` the folder of the programs that it may name, with the parameters that it may set
  /// (recipes.yaml there). A registry is data: nothing beside it runs.
  static DatasetRegistry load(const std::string& path,
                              const std::string& recipes = default_recipes());
  /// The same for text in memory; `path` stands for the file: what it includes is relative to it.
  static DatasetRegistry parse(std::string_view text, const std::string& path,
                               const std::string& recipes = default_recipes());

  /// From now on the values of files that are named by their paths are read in this type: those of
  /// other data sets stay in single precision.
  void read_paths_in(DType type) { path_type_ = type; }

  /// What a copy of a tensor of this size, or a file derived from its values, has to say: the terms
  /// of the data set with these mode lengths, in any order, that may not be passed on; else empty.
  std::string restriction(const Dims& dims, Count nnz) const;

  const std::map<std::string, Dataset>& all() const { return datasets_; }
  std::vector<std::string> names() const;
  /// A stand-in's name and those of its variants; throws InputError for any other data set.
  std::vector<std::string> with_variants(const std::string& name) const;
  /// Throws InputError naming the nearest data set. Aliases count; matmul-<m>-<n>-<k> needs no
  /// entry. A name that is a path to an existing .tns, .mtx or .tnsb file (plain, gzip, zstd) is
  /// accepted too and counts as kind file.
  const Dataset& find(const std::string& name) const;
  /// find() with dims and nnz known: reads the file of a path.
  const Dataset& with_facts(const std::string& name) const;

  /// Tensor from cache_dir (checksum verified), else from a file <name>.tnsb, .tns or .mtx (also
  /// .gz, .zst) that was put into cache_dir, else from file, recipe or generator, then cached;
  /// values in single precision, or as read_paths_in() says. With `input` set it is made anew.
  /// Throws InputError when dims, nnz or checksum disagree with the registry, or when there is
  /// nothing to obtain it from.
  std::shared_ptr<const Coo> obtain(const Dataset& d, const std::string& cache_dir) const;
  /// What the cached tensor's header states; makes it where there is none or a damaged one.
  CacheFacts cached_facts(const Dataset& d, const std::string& cache_dir) const;
  /// SHA-256 over dims, indices and values of the cached tensor: the identity in case keys.
  std::string checksum(const Dataset& d, const std::string& cache_dir) const;
  /// The files of `fetch` with absolute paths: in the shared cache where they are there, else in
  /// cache_dir. Throws InputError when the set has none.
  std::vector<FetchedFile> fetched(const Dataset& d, const std::string& cache_dir) const;
  /// The records of checksums beside the registry and in the caches.
  Checksums checksums(const std::string& cache_dir) const;
  /// Where obtain() keeps the tensor.
  std::string cache_file(const Dataset& d, const std::string& cache_dir) const;
  /// Why the set can't be obtained here; empty when it can.
  std::string obstacle(const Dataset& d, const std::string& cache_dir) const;

 private:
  struct Origin;
  Origin origin_of(const Dataset& d, const std::string& cache_dir) const;
  Origin recipe_origin(const Dataset& d, const std::string& cache_dir) const;
  void check_fetched(const Dataset& d, const std::string& cache_dir) const;
  void record_fetched(const Dataset& d, const std::string& cache_dir) const;

  std::string folder_;   ///< of the registry
  std::string recipes_;  ///< their folder
  DType path_type_ = DType::f32;
  std::map<std::string, std::string> aliases_;
  mutable std::map<std::string, Dataset> datasets_;
};

/// "117659 x 26 x 117659"; "?" for a length that is not published.
std::string dims_text(const Dims& dims);
/// Whether all lengths are.
bool are_published(const Dims& dims);

/// Throws InputError when the tensor has not the registry's dims, nnz and checksum.
void check_against_registry(const Dataset& d, const Coo& tensor);

/// A generator of common/generate that `make: {recipe: ...}` may name.
struct Generator {
  std::vector<std::string> params;
  Coo (*make)(const nlohmann::json& params);
};
const std::map<std::string, Generator>& generators();

/// Throws InputError when a parameter is missing or wrong.
Coo generate(const std::string& generator, const nlohmann::json& params);

/// What the registry and the files that it includes may hold (experiments/schema/README.md).
ShapePtr registry_shape();
/// The recipes of a folder and the parameters of each that a registry may set.
ShapePtr recipes_shape();
/// What a variant of a stand-in may change of its generator's parameters: all but dims and nnz.
ShapePtr stand_in_variant_shape(const std::string& generator);

}  // namespace retensor::driver
