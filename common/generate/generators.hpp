// Generated tensors. A generator is deterministic in its arguments and independent of the number of
// threads: every random number comes from a counter (from one stream in sampled_*). Nonzeros have
// distinct coordinates, sorted in natural order, and the count that was asked for exactly.
#pragma once

#include <cstdint>
#include <vector>

#include "common/core/types.hpp"
#include "common/generate/values.hpp"
#include "common/tensor/coo.hpp"
#include "common/tensor/matrix.hpp"

namespace retensor {

/// What every generator is asked for; all throw InputError when nnz passes the number of
/// coordinates or a coordinate needs more than 127 bits.
struct Target {
  Dims dims;
  Count nnz = 0;
  std::uint64_t seed = 1;
  DType dtype = DType::f32;
  ValueModel values = ValueModel::uniform;
};

/// Every set of nnz coordinates alike, at any density up to 1.
Coo uniform(const Dims& dims, Count nnz, std::uint64_t seed, DType dtype,
            ValueModel values = ValueModel::uniform);

/// The tensor of the product of an m x n matrix A and an n x k matrix B: dims mn x nk x mk and a
/// one at (i n + j, j k + l, i k + l) for every i, j, l. Contracting modes 0 and 1 with the
/// row-major entries of A and B gives the row-major entries of A B.
Coo matmul_tensor(std::uint64_t m, std::uint64_t n, std::uint64_t k, DType dtype = DType::f32);

/// Stochastic Kronecker tensors (PASTA section IV.B.1; Leskovec et al. 2010).
struct KroneckerLaw {
  Dims initiator_dims;            ///< one base per mode
  std::vector<double> initiator;  ///< weights of its cells, last mode fastest; scaled to sum 1
};
/// A binary initiator: each mode takes its lower half with probability `skew` in (0, 1); with
/// probability `clustering` in [0, 1] all modes take the same half, else each for itself. So `skew`
/// alone sets the degree laws and `clustering` gathers nonzeros near the diagonal.
KroneckerLaw binary_initiator(int order, double skew, double clustering = 0);
/// Draws nonzeros with the cell probabilities of the repeated Kronecker product. The number of
/// products is the smallest that covers every mode; what falls outside the dims is stripped.
Coo kronecker(const Target& target, const KroneckerLaw& law);

/// Power-law graphs stacked to slices (PASTA section IV.B.2).
struct PowerLaw {
  /// P(vertex of rank r) ~ r^-exponent, >= 0: one for all modes or one for each (slice modes too).
  std::vector<double> exponents{1};
  std::vector<int> slice_modes;  ///< dense modes: the draws go around their indices in turn
  /// So many ranks in a row have neighbouring indices; a random permutation spreads these runs.
  /// From the mode's length on, ranks lie in their order.
  std::uint64_t run = 1;
  /// Clustering: so many draws in a row fall into the same run of every mode but the slice modes.
  /// Neither changes the law of a mode's ranks.
  std::uint64_t group = 1;
};
Coo power_law(const Target& target, const PowerLaw& law);
/// The index of `mode` at which power_law puts rank `rank` (0-based).
Index power_law_index(const Target& target, const PowerLaw& law, int mode, std::uint64_t rank);

/// How nonzeros spread over the sparse tiles beyond the one that each tile has.
enum class TileSpread { equal, exponential, power_law };
/// Tensors with a given number of non-empty tiles and a share of dense ones. Tiles lie on a grid of
/// `edge` (the mode length where that is shorter), are chosen uniformly and lie wholly inside the
/// dims; cells inside a tile are chosen uniformly.
struct TiledLaw {
  std::uint64_t edge = 16;
  Count tiles = 1;          ///< non-empty tiles, dense and sparse
  double dense_share = 0;   ///< share of the nonzeros that lies in dense tiles
  double dense_fill = 0.5;  ///< share of the cells of a dense tile that is filled, at most
  TileSpread spread = TileSpread::exponential;
  double exponent = 1;  ///< of TileSpread::power_law: excess of the r-th tile ~ r^-exponent
};
/// Nonzeros of each tile, dense tiles first; throws InputError when tiles, shares and nnz disagree.
std::vector<Count> tile_counts(const Target& target, const TiledLaw& law);
Coo tiled(const Target& target, const TiledLaw& law);

/// Nonzeros uniform in the band -lower <= j - i <= upper of modes 0 and 1; further modes are free.
struct BandedLaw {
  std::uint64_t lower = 0;
  std::uint64_t upper = 0;
};
Coo banded(const Target& target, const BandedLaw& law);

/// Nonzeros uniform in `blocks` diagonal blocks; block b holds the indices from floor(b I / blocks)
/// to before floor((b + 1) I / blocks) of a mode of length I.
struct BlockLaw {
  std::uint64_t blocks = 1;
};
Coo block_diagonal(const Target& target, const BlockLaw& law);

/// The matrix of the five-point Laplacian on an nx x ny grid with Dirichlet boundary: 4 on the
/// diagonal, -1 to each neighbour, x fastest; 5 nx ny - 2 nx - 2 ny nonzeros.
Coo poisson_2d(std::uint64_t nx, std::uint64_t ny, DType dtype = DType::f32);

/// A CP model seen at uniform coordinates (all of them when nnz is the number of coordinates).
struct LowRankLaw {
  int rank = 1;
  double noise = 0;  ///< deviation of the added normal noise over the model's own deviation
};
/// Factor of `mode`, length x rank in f64: independent uniform entries of mean 0 and variance 1, so
/// that entries of the model have variance `rank`.
Matrix low_rank_factor(const Target& target, const LowRankLaw& law, int mode);
/// The target's value model is not used: the values are the model's.
Coo low_rank(const Target& target, const LowRankLaw& law);

/// Tensors of one sequential stream of random numbers, four laws. They reproduce, bit by bit, the
/// files on which other programs were measured, which is what they are for. The target's value
/// model is not used: values are the multiples of 1/10000 in (0, 1). All throw InputError when a
/// round of draws finds hardly any new coordinate.
Coo sampled_uniform(const Target& target);
/// Independent modes; P(rank r) is the integral of x^-exponent from r + 1 to r + 2, ranks are
/// scattered over the indices (length 2: all at index 0). exponent > 0.
Coo sampled_zipf(const Target& target, double exponent);
/// Normal clouds around uniform centers in a torus; lengths in units of the modes.
struct SampledClusters {
  std::uint64_t centers = 1;
  double sigma = 0.05;  ///< deviation in [0, 1]
};
Coo sampled_clusters(const Target& target, const SampledClusters& law);
/// Blocks of a grid, drawn with replacement; each takes 0.5 to 1.5 times `fill` of its cells in
/// draws with replacement, of which those beyond the dims are lost.
struct SampledBlocks {
  std::uint64_t edge = 16;
  double fill = 0.5;  ///< in (0, 1]
};
Coo sampled_blocks(const Target& target, const SampledBlocks& law);

}  // namespace retensor
