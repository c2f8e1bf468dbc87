// retensor dataset fetch: what is to come and what it takes on disk, then the files, verified.
#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "common/io/files.hpp"
#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/data/bytes.hpp"
#include "experiments/driver/data/process.hpp"
#include "experiments/driver/run/table.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
namespace {

/// Length of the text of a nonzero: digits of the largest indices, a blank after each, a value of a
/// digit and the line feed.
Count text_bytes(const Dataset& d) {
  Count line = 2;
  for (const auto length : d.dims) line += std::to_string(length).size() + 1;
  return line * d.nnz;
}

/// Text of tensors packs to a sixth (Uber) or a quarter (FB15k-237, ICEWS14) of its length.
constexpr Count kPacking = 4;

/// Nothing is known of a collection's length from a tensor that a recipe makes of a part of it.
bool is_length_known(const Dataset& d) {
  return d.fetch.bytes > 0 ||
         (d.nnz > 0 && (d.recipe.empty() || fetched_files(d.fetch).size() > 1));
}

Count download_bytes(const Dataset& d) {
  if (!is_length_known(d)) return 0;
  return d.fetch.bytes > 0 ? static_cast<Count>(d.fetch.bytes) : text_bytes(d) / kPacking;
}

/// What the binary cache of the tensor takes.
Count tensor_bytes(const Dataset& d) {
  constexpr Count kHead = 128, kNumber = 4;
  return kHead + kNumber * (d.dims.size() + 1) * d.nnz;
}

/// A length beyond which a server's file is not this data set.
Count most_bytes(const Dataset& d) {
  constexpr Count kHead = Count{64} << 20, kAny = Count{1} << 40;
  return is_length_known(d) ? kHead + 2 * text_bytes(d) : kAny;
}

Count free_bytes(const std::string& folder) {
  struct statvfs facts {};
  if (statvfs(folder.c_str(), &facts) != 0) return 0;
  return static_cast<Count>(facts.f_bavail) * facts.f_frsize;
}

struct Job {
  const Dataset* dataset;
  std::vector<FetchedFile> files, missing;
};

/// Data sets of a paper with an address; those without are said on stderr.
Args names_of_paper(const std::string& paper, const DatasetRegistry& datasets) {
  Args names;
  std::set<std::string> papers;
  for (const auto& [name, d] : datasets.all()) {
    if (!d.paper.is_object()) continue;
    for (const auto& [id, quoted] : d.paper.items()) papers.insert(id);
    if (!d.paper.contains(paper)) continue;
    if (!d.fetch.url.empty())
      names.push_back(name);
    else if (d.kind == "real" || d.kind == "private")
      std::cerr << fmt::format("{}: no address ({})\n", name, d.source);
  }
  if (!papers.contains(paper))
    throw input_error("unknown paper '{}', the registry quotes {}", paper, joined(papers, ", "));
  return names;
}

std::vector<Job> jobs_of(const Args& names, const DatasetRegistry& datasets,
                         const std::string& cache, bool anew) {
  std::vector<Job> jobs;
  for (const auto& name : names) {
    const auto& d = datasets.find(name);
    Job job{&d, datasets.fetched(d, cache), {}};
    std::ranges::copy_if(job.files, std::back_inserter(job.missing), [&](const FetchedFile& f) {
      return anew || !fs::is_regular_file(f.path);
    });
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::string length_text(const Job& job) {
  const auto& d = *job.dataset;
  if (job.missing.empty()) return "here";
  if (!is_length_known(d)) return "not published";
  return (d.fetch.bytes > 0 ? "" : "about ") + bytes_text(download_bytes(d));
}

/// The table of sizes on stderr; returns what is needed on the disk.
Count tell(const std::vector<Job>& jobs, Count free) {
  std::vector<TableRow> rows = {{"data set", "files", "to fetch", "as a tensor", "licence"}};
  Count needed = 0;
  for (const auto& job : jobs) {
    const auto& d = *job.dataset;
    needed += (job.missing.empty() ? 0 : download_bytes(d)) + tensor_bytes(d);
    rows.push_back({d.name, std::to_string(job.files.size()), length_text(job),
                    bytes_text(tensor_bytes(d)), d.licence});
  }
  std::cerr << table_text(rows)
            << fmt::format("on the disk of the cache: {} needed at most, {} free\n",
                           bytes_text(needed), bytes_text(free));
  return needed;
}

/// One file or several for one data set.
class Fetcher {
 public:
  Fetcher(const DatasetRegistry& datasets, const Given& given)
      : datasets_(datasets), given_(given), cache_(given.cache()) {
    program_ = fs::read_symlink("/proc/self/exe").parent_path() / "retensor-fetch";
    if (!fs::is_regular_file(program_))
      throw system_error(
          "{} isn't there: it is built where libcurl is found (Debian: libcurl4-openssl-dev)",
          program_.string());
    mirror_ = given.text("mirror");
    if (mirror_.empty()) mirror_ = environment("RETENSOR_MIRROR");
    if (!mirror_.empty() && !mirror_.starts_with("https://"))
      throw input_error("mirror '{}': expected an address that begins with https://", mirror_);
  }

  int fetch(const Job& job) {
    const auto& d = *job.dataset;
    if (given_.flag("new-checksum")) forget(job);
    int worst = 0;
    for (const auto& file : job.files) worst = std::max(worst, fetch_file(d, file));
    if (worst == 0) worst = verify(job);
    if (worst == 0) std::cout << place(job) << '\n';
    return worst;
  }

 private:
  /// Where the files would be written, even if a shared cache has others.
  std::string own(const FetchedFile& file, const Dataset& d) const {
    const auto all = fetched_files(d.fetch);
    const auto at =
        std::ranges::find_if(all, [&](const FetchedFile& f) { return f.url == file.url; });
    return (fs::path(cache_) / at->path).string();
  }

  std::string place(const Job& job) const {
    const auto& first = job.files.front().path;
    return job.files.size() == 1 ? first : fs::path(first).parent_path().string();
  }

  void forget(const Job& job) const {
    datasets_.checksums(cache_).forget(transformed(job.files, &FetchedFile::url));
    std::error_code ignored;
    for (const auto& file : job.files) fs::remove(own(file, *job.dataset), ignored);
  }

  /// A tensor that was made of an earlier file proves nothing of this one.
  void verify_by_making(const Dataset& d) const {
    const auto made = fs::path(datasets_.cache_file(d, cache_)), own = fs::path(cache_) / "tensors";
    std::error_code ignored;
    if (made.parent_path() == own) fs::remove(made, ignored);
    datasets_.obtain(d, cache_);
  }

  int fetch_file(const Dataset& d, const FetchedFile& file) const {
    const bool shared = file.path != own(file, d);
    if (shared) return 0;
    make_folder(fs::path(file.path).parent_path());
    Args argv = {program_,  "--url",        at_mirror(file.url, mirror_), "--out",
                 file.path, "--most-bytes", std::to_string(most_bytes(d))};
    const auto expected =
        given_.flag("new-checksum") ? std::vector<Checksum>{} : known_checksums(d, file.url);
    if (expected.size() == 1) {
      argv.insert(argv.end(), {"--sha256", expected[0].sha256});
      argv.insert(argv.end(), {"--bytes", std::to_string(expected[0].bytes)});
    }
    for (const char* option : {"cacert", "time-limit"})
      if (const auto value = given_.text(option); !value.empty())
        argv.insert(argv.end(), {std::string("--") + option, value});
    const int code = run_process(argv, "", ChildOutput::to_stderr);
    if (code == 2 && expected.size() == 1 && !expected[0].file.empty())
      std::cerr << fmt::format(
          "{}: this checksum was recorded by {} in {}; where the source has a "
          "new file, --new-checksum takes it\n",
          d.name, expected[0].by, expected[0].file);
    return code;
  }

  std::vector<Checksum> known_checksums(const Dataset& d, const std::string& url) const {
    return datasets_.checksums(cache_).expected(d.fetch, url);
  }

  /// With a checksum, all is compared; without one, the tensor is made: its dims, nonzeros and
  /// indices are what can be verified, and the checksum is recorded.
  int verify(const Job& job) const {
    const auto& d = *job.dataset;
    bool known = true;
    for (const auto& file : job.files) {
      const auto records = known_checksums(d, file.url);
      known = known && !records.empty();
      datasets_.checksums(cache_).check(d.fetch, file.url, file.path);
      for (const auto& record : records)
        if (record.sha256 != records[0].sha256)
          std::cerr << fmt::format("{}: records contradict each other: {} by {}, {} by {}\n",
                                   file.url, records[0].sha256, records[0].by, record.sha256,
                                   record.by);
    }
    if (known) return 0;
    const auto room = ReadOptions().max_unpacked_bytes;
    if (text_bytes(d) > room) {
      std::cerr << fmt::format(
          "{}: not verified: its text takes about {}, this machine unpacks at most {}\n", d.name,
          bytes_text(text_bytes(d)), bytes_text(room));
      return 0;
    }
    verify_by_making(d);
    std::cerr << fmt::format(
        "{}: dims, nonzeros and indices are as published; the checksum is "
        "recorded beside the file\n",
        d.name);
    return 0;
  }

  const DatasetRegistry& datasets_;
  const Given& given_;
  std::string cache_, mirror_;
  fs::path program_;
};

/// Reports what one data set ran into, so that the others come all the same.
int attempt(Fetcher& fetcher, const Job& job) {
  try {
    return fetcher.fetch(job);
  } catch (const InputError& e) {
    std::cerr << fmt::format("retensor: {}\n", e.what());
    return 2;
  } catch (const SystemError& e) {
    std::cerr << fmt::format("retensor: {}\n", e.what());
    return 3;
  }
}

}  // namespace

void add_fetch_options(Options& add) {
  add("paper", word("ID"), "fetch: all data sets of this paper that have an address");
  add("dry-run", flag(), "fetch: sizes and disk space only");
  add("mirror", word("URL"),
      "fetch: https address with the hosts as folders below it (default: $RETENSOR_MIRROR)");
  add("new-checksum", flag(),
      "fetch: takes the file that the source has now and records its checksum");
  add("anyway", flag(), "fetch: even where the disk seems too small");
  add("cacert", word("FILE"), "fetch: PEM file of authorities to trust instead of the system's");
  add("time-limit", word("SECONDS"), "fetch: for the download of a file (default: 4 hours)");
}

int fetch_datasets(const Args& named, const DatasetRegistry& datasets, const Given& given) {
  const auto paper = given.text("paper");
  if (named.empty() == paper.empty())
    throw input_error("dataset: expected fetch NAME... or fetch --paper ID");
  const auto cache = given.cache();
  make_folder(cache);
  const auto jobs = jobs_of(paper.empty() ? named : names_of_paper(paper, datasets), datasets,
                            cache, given.flag("new-checksum"));
  const auto free = free_bytes(cache);
  const auto needed = tell(jobs, free);
  if (given.flag("dry-run")) return 0;
  if (needed > free && !given.flag("anyway"))
    throw system_error(
        "{}: {} needed at most, {} free; nothing was fetched (--anyway "
        "fetches all the same)",
        cache, bytes_text(needed), bytes_text(free));
  Fetcher fetcher(datasets, given);
  int worst = 0;
  for (const auto& job : jobs) worst = std::max(worst, attempt(fetcher, job));
  return worst;
}

}  // namespace retensor::driver
