// Files that data sets are fetched as: their addresses, where they are kept, and their checksums.
//
// Few sources publish a checksum. What arrives is then compared with the registry's dims, nonzeros
// and index ranges, and its checksum is recorded in <cache>/fetched/checksums.yaml; from then on it
// has to agree with that record. datasets/checksums.yaml holds records that users contributed, in
// the same form: they take the place of the first look.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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
  /// Adds what the file is to one's own records, in place of an earlier one; save() keeps them.
  void record(const std::string& url, const std::string& path);
  void forget(const std::string& url);
  void save() const;

 private:
  std::string own_file_;
  std::vector<Checksum> own_, others_;
};

/// What checksums.yaml may hold.
ShapePtr checksums_shape();

}  // namespace retensor::driver
