// Matrix Market coordinate files: real, integer or pattern entries; general, symmetric or
// skew-symmetric. Symmetric files hold the lower triangle, of which the other half is made here.
//
// And `.smtx` of the Deep Learning Matrix Collection (arXiv 2006.10901): the pattern of a matrix in
// CSR. Three lines: rows, columns and nonzeros with commas between; where each row starts, rows + 1
// numbers; the column of each nonzero, from zero, row by row. Values are not kept.
#pragma once

#include <string>
#include <string_view>

#include "common/io/options.hpp"
#include "common/tensor/coo.hpp"

namespace retensor {

/// Whether the content begins with the banner "%%MatrixMarket" (in any case).
bool is_matrix_market(std::string_view bytes);

/// An order-2 tensor: the entries of the file in its order, then the mirrored ones; pattern entries
/// are 1. Throws ParseError with line and column of the first flaw; dense (array), complex and
/// Hermitian files are refused.
Coo parse_matrix_market(std::string_view bytes, const std::string& name,
                        const ReadOptions& options = {});

/// Writes coordinates and real values in the order of the nonzeros; complete or not at all. Throws
/// InputError unless the tensor has two modes, SystemError when the file can't be written.
void write_matrix_market(const std::string& path, const Coo& matrix);

/// A matrix of ones in the order of the file. Throws ParseError with line and column of the first
/// flaw: starts that fall or do not end with the nonzeros, columns beyond the matrix or twice in a
/// row.
Coo parse_smtx(std::string_view bytes, const std::string& name, const ReadOptions& options = {});

/// Writes the pattern, columns sorted within a row. Throws InputError unless the tensor has two
/// modes, SystemError when the file can't be written; it appears only when complete.
void write_smtx(const std::string& path, const Coo& matrix);

}  // namespace retensor
