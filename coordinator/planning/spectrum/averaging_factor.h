// The averaging walk T of a mask as a sparse factor, for the spectra in mask_graph.h.
#pragma once

#include <vector>

#include "Eigen/SparseCore"
#include "common/base/ids.h"
#include "common/model/mask.h"

namespace sdp {

// Holders of every column, ascending. One pass over the mask by rows: much faster on large masks than asking
// column by column.
std::vector<std::vector<Rank>> HolderLists(const Mask& mask);

// A with T = A A^T: A_ib = m_ib sqrt(p_b / (k_b P_i)), and one more column for the shared components when
// they have a size.
struct AveragingFactor {
  Eigen::SparseMatrix<double, Eigen::RowMajor> matrix;  // (workers, columns)
  Eigen::VectorXd held;                                 // P_i, all positive
};

// Every rank and every column must hold something.
AveragingFactor MakeAveragingFactor(const std::vector<std::vector<Rank>>& holders, int workers,
                                    const std::vector<double>& sizes, double shared_size);

// lambda_2 of T by all eigenvalues of the smaller of A A^T and A^T A, which must be at least 2 x 2.
double SecondEigenvalueDense(const AveragingFactor& factor);

// The same by Lanczos iteration with the first eigenvector taken out: for large factors, which it only
// multiplies with vectors. To about 1e-10; the rare mask on which it does not converge is solved densely.
double SecondEigenvalueLanczos(const AveragingFactor& factor);

}  // namespace sdp
