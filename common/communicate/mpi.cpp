// MPI's counts are 31 bits: more elements at a time go in pieces or are refused.
#include "common/communicate/mpi.hpp"

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <string>

#include "common/core/message.hpp"

namespace retensor::communicate {
namespace {

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw system_error("{}: {}", call, text.substr(0, static_cast<std::size_t>(length)));
}

int to_int(Count count) {
  if (count > static_cast<Count>(std::numeric_limits<int>::max()))
    throw input_error("{} elements in one message, MPI's interface takes 2^31 - 1", count);
  return static_cast<int>(count);
}

MPI_Datatype type_of(Element type) {
  if (type == Element::f32) return MPI_FLOAT;
  return type == Element::f64 ? MPI_DOUBLE : MPI_UINT64_T;
}

/// Parts as MPI takes them: lengths and where each begins.
struct Layout {
  explicit Layout(const Parts& parts) {
    Count at = 0;
    for (const auto part : parts) {
      counts.push_back(to_int(part));
      places.push_back(to_int(at));
      at += part;
    }
    to_int(at);
  }
  std::vector<int> counts, places;
};

class Mpi final : public Communicator {
 public:
  Mpi(MPI_Comm comm, bool owned, std::shared_ptr<Traffic> traffic)
      : Communicator(std::move(traffic)), comm_(comm), owned_(owned) {
    check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(comm, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(comm, &size_), "MPI_Comm_size");
  }
  ~Mpi() override {
    if (owned_) MPI_Comm_free(&comm_);
  }
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void barrier() override { check(MPI_Barrier(comm_), "MPI_Barrier"); }

  std::unique_ptr<Communicator> split(int group) override {
    MPI_Comm part = MPI_COMM_NULL;
    check(MPI_Comm_split(comm_, group, rank_, &part), "MPI_Comm_split");
    return std::make_unique<Mpi>(part, true, shared_traffic());
  }

 protected:
  void do_all_reduce(void* values, Count count, Element type) override {
    constexpr Count kPiece = Count{1} << 28;
    for (Count at = 0; at < count; at += kPiece)
      check(MPI_Allreduce(MPI_IN_PLACE, static_cast<char*>(values) + at * bytes_of(type),
                          to_int(std::min(kPiece, count - at)), type_of(type), MPI_SUM, comm_),
            "MPI_Allreduce");
  }

  void do_all_gather(void* all, const Parts& bytes) override {
    const Layout to(bytes);
    check(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, to.counts.data(),
                         to.places.data(), MPI_BYTE, comm_),
          "MPI_Allgatherv");
  }

  void do_reduce_scatter(const void* all, void* mine, const Parts& parts, Element type) override {
    const Layout from(parts);
    check(MPI_Reduce_scatter(all, mine, from.counts.data(), type_of(type), MPI_SUM, comm_),
          "MPI_Reduce_scatter");
  }

  Parts do_exchange(const Parts& sent) override {
    Parts come(sent.size());
    check(MPI_Alltoall(sent.data(), 1, MPI_UINT64_T, come.data(), 1, MPI_UINT64_T, comm_),
          "MPI_Alltoall");
    return come;
  }

  void do_all_to_all(const void* out, const Parts& sent, void* in, const Parts& come) override {
    const Layout from(sent), to(come);
    check(MPI_Alltoallv(out, from.counts.data(), from.places.data(), MPI_BYTE, in, to.counts.data(),
                        to.places.data(), MPI_BYTE, comm_),
          "MPI_Alltoallv");
  }

 private:
  MPI_Comm comm_;
  bool owned_;
  int rank_ = 0, size_ = 1;
};

}  // namespace

MpiSession::MpiSession(int& argc, char**& argv) {
  check(MPI_Init(&argc, &argv), "MPI_Init");
}

MpiSession::~MpiSession() {
  if (std::uncaught_exceptions() > 0) end_all(3);
  MPI_Finalize();
}

std::unique_ptr<Communicator> MpiSession::world() const {
  return std::make_unique<Mpi>(MPI_COMM_WORLD, false, std::make_shared<Traffic>());
}

void MpiSession::end_all(int code) {
  MPI_Abort(MPI_COMM_WORLD, code);
}

}  // namespace retensor::communicate
