#include "common/cpd/updates.hpp"

#include <vector>

#include "common/cpd/normal_equations.hpp"
#include "common/cpd/updates_device.hpp"
#include "common/method/method_spec.hpp"

namespace retensor::cpd {
namespace {

class HostUpdates final : public Updates {
 public:
  explicit HostUpdates(std::uint64_t numbers) : room_(numbers) {}

  Update update(const Matrix& m, const Eigen::MatrixXd& v, Matrix& factor) override {
    Update update;
    update.norms = solve_rows(m, pseudo_inverse(v), factor, room_);
    update.gram = gram(factor);
    update.products = column_products(m, factor);
    return update;
  }

 private:
  std::vector<double> room_;  // for the solution of the longest mode
};

std::span<double> numbers(Eigen::MatrixXd& m) {
  return {m.data(), static_cast<std::size_t>(m.size())};
}
std::span<double> numbers(Eigen::VectorXd& v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}

class DeviceUpdates final : public Updates {
 public:
  explicit DeviceUpdates(std::unique_ptr<UpdatesOnDevice> device) : device_(std::move(device)) {}

  Update update(const Matrix& m, const Eigen::MatrixXd& v, Matrix& factor) override {
    Update update{Eigen::VectorXd(v.rows()), Eigen::MatrixXd(v.rows(), v.cols()),
                  Eigen::VectorXd(v.rows())};
    const auto fill_in = [&](std::span<double> to) {
      Eigen::Map<Eigen::MatrixXd>(to.data(), v.rows(), v.cols()) = pseudo_inverse(v);
    };
    device_->update(m, {v.data(), static_cast<std::size_t>(v.size())}, fill_in, factor,
                    numbers(update.norms), numbers(update.gram), numbers(update.products));
    return update;
  }

 private:
  const std::unique_ptr<UpdatesOnDevice> device_;
};

}  // namespace

std::unique_ptr<Updates> host_updates(std::uint64_t rows, std::uint64_t rank) {
  return std::make_unique<HostUpdates>(rows * rank);
}

#ifndef RETENSOR_CUDA
std::unique_ptr<UpdatesOnDevice> updates_on_device(std::uint64_t, std::uint64_t, DType) {
  no_cuda();
}
#endif

std::unique_ptr<Updates> device_updates(std::uint64_t rows, std::uint64_t rank, DType dtype) {
  return std::make_unique<DeviceUpdates>(updates_on_device(rows, rank, dtype));
}

Eigen::MatrixXd pseudo_inverse(const Eigen::MatrixXd& v) {
  return v.completeOrthogonalDecomposition().pseudoInverse();
}

}  // namespace retensor::cpd
