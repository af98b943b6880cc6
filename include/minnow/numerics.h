// SPDX-License-Identifier: Apache-2.0
// Numerical functions beside the operators: factorizations of matrices, Fourier transforms and streams of random numbers. They form a
// separate library, Minnow::numerics (64-bit machines), and compute at once.
//
//   using namespace minnow;
//   numerics::Generator generator(42);                                   // the numbers of NumPy's default_rng(42)
//   Tensor a = generator.draw("standard_normal", {3, 3});
//   Tensor x = numerics::solve(a, generator.draw("uniform", {3, 1}, {0, 1}));
//   numerics::SVD svd = numerics::svd(a);                                // a = u diag(s) v^H
//
// Matrices are the last two axes of a tensor of f64 or complex128; other axes form a stack, whose matrices are computed on several threads
// if that is faster. Functions throw InvalidArgument (an Error of kind invalid_argument) for other dtypes and for shapes that do not fit,
// and OutOfMemory. They do not change their inputs. Any thread may call them.
#pragma once
#include <minnow/tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace minnow::numerics {

/// A matrix is singular or not positive definite, or an iteration did not converge. Its kind is invalid_argument.
class MINNOW_API NoSolution : public Error {
 public:
  explicit NoSolution(const char* sentence) : Error(ErrorKind::invalid_argument, sentence) {}
};

// ---- Equations and determinants

/// x [.., n, k] of a x = b; a [.., n, n], b [.., n, k] with the same other axes and dtype. NoSolution where a matrix is singular.
/// Gaussian elimination with partial pivoting, for larger real matrices by blocks (Toledo 1997, "Locality of reference in LU
/// decomposition").
MINNOW_API Tensor solve(const TensorView& a, const TensorView& b);
/// The inverses [.., n, n] of a [.., n, n]. NoSolution where a matrix is singular.
MINNOW_API Tensor inverse(const TensorView& a);
/// The determinants [..] of a [.., n, n]; 1 for n = 0.
MINNOW_API Tensor determinant(const TensorView& a);
struct LogDeterminant {
  Tensor sign;  // [..], of length 1, or 0 for a singular matrix; of the dtype of a
  Tensor log;   // [..], f64: the logarithm of the absolute value; -infinity for a singular matrix
};
/// Determinants that may be beyond the range of f64.
MINNOW_API LogDeterminant log_determinant(const TensorView& a);

// ---- Factorizations

/// l [.., n, n], lower triangles, of a = l l^H; the lower triangle of a [.., n, n] is read. NoSolution where a is not positive definite.
MINNOW_API Tensor cholesky(const TensorView& a);

struct QR {
  Tensor q;  // [.., m, k] with orthonormal columns, k = min(m, n), or m if complete
  Tensor r;  // [.., k, n], upper triangles
};
/// a = q r of a [.., m, n], by Householder's reflections in blocks (Schreiber, Van Loan 1989).
MINNOW_API QR qr(const TensorView& a, bool complete = false);
struct Reflections {
  Tensor factors;  // [.., n, m]: the transposes of R above the diagonal and of the vectors below
  Tensor tau;      // [.., min(m, n)]
};
/// The same factorization as LAPACK's geqrf stores it.
MINNOW_API Reflections qr_reflections(const TensorView& a);

struct SVD {
  Tensor u;  // [.., m, k] with orthonormal columns, k = min(m, n)
  Tensor s;  // [.., k], f64, falling
  Tensor v;  // [.., n, k] with orthonormal columns
};
/// a = u diag(s) v^H of a [.., m, n] with finite elements. NoSolution where an element is not finite or the iteration does not converge.
/// Real matrices: reduction to two diagonals and QR steps (Golub, Kahan 1965; Demmel, Kahan 1990). Complex ones: Jacobi's rotations (Drmac,
/// Veselic 2008).
MINNOW_API SVD svd(const TensorView& a);
/// Only s.
MINNOW_API Tensor singular_values(const TensorView& a);

struct Eigen {
  Tensor values;   // [.., n]
  Tensor vectors;  // [.., n, n]: columns of length 1
};
/// Eigenvalues (f64, rising) and eigenvectors of symmetric or Hermitian matrices a [.., n, n]; reads only the lower triangle. Throws
/// NoSolution like svd(). Reduction to three diagonals and QL steps (Dubrulle, Martin, Wilkinson 1968).
MINNOW_API Eigen eigh(const TensorView& a);
/// Only the values.
MINNOW_API Tensor eigh_values(const TensorView& a);
/// Eigenvalues (complex128, in no order) and right eigenvectors (complex128) of any square matrices a [.., n, n]. NoSolution as for svd().
/// Hessenberg's form and QR steps with Wilkinson's shifts (Francis 1961).
MINNOW_API Eigen eig(const TensorView& a);
/// Only the values.
MINNOW_API Tensor eig_values(const TensorView& a);

// ---- Discrete Fourier transforms along the last axis, of any length, in double precision, O(n log n) for every n

/// y[k] = the sum over j of x[j] e^(-2 pi i j k / n), complex128 [.., n]; x [.., n] of any numeric dtype, n > 0.
MINNOW_API Tensor fft(const TensorView& x);
/// The inverse of fft(): the other sign in the exponent, divided by n.
MINNOW_API Tensor inverse_fft(const TensorView& x);
/// The first n / 2 + 1 elements of fft() of real x [.., n]; the others are their conjugates. InvalidArgument for complex x.
MINNOW_API Tensor real_fft(const TensorView& x);
/// The inverse of real_fft(): f64 [.., length] of x [.., length / 2 + 1].
MINNOW_API Tensor inverse_real_fft(const TensorView& x, int64_t length);

// ---- Random numbers

/// A stream of random numbers: PCG64 (O'Neill 2014) and the distributions of NumPy's Generator, with the same numbers to the last bit for
/// the same seed and the same calls (but for functions of the C library, whose last bits differ between systems). One thread at a time.
class MINNOW_API Generator {
 public:
  /// As numpy.random.default_rng(seed).
  explicit Generator(uint64_t seed);
  ~Generator();
  Generator(Generator&&) noexcept;
  Generator& operator=(Generator&&) noexcept;

  /// Numbers of a distribution with these parameters, in NumPy's order and under NumPy's names: "random", "uniform" (low, high), "normal"
  /// (loc, scale), "gamma" (shape, scale), "binomial" (n, p), "poisson" (lam) ... f64, or i64 for distributions of integers; `dtype` f32 is
  /// possible for "random", "standard_normal", "standard_exponential" and "standard_gamma".
  /// Throws InvalidArgument for an unknown name, another count of parameters, and parameters outside the distribution's domain.
  Tensor draw(std::string_view distribution, const Shape& shape, std::span<const double> parameters, DType dtype = DType::undefined);
  Tensor draw(std::string_view distribution, const Shape& shape, std::initializer_list<double> parameters = {},
              DType dtype = DType::undefined) {
    return draw(distribution, shape, std::span<const double>(parameters.begin(), parameters.size()), dtype);
  }
  /// Integers in [low, high), equally likely (Lemire 2019). `dtype`: an integer type that holds them, or bool. InvalidArgument where
  /// low >= high.
  Tensor integers(int64_t low, int64_t high, const Shape& shape, DType dtype = DType::i64);
  /// 0 ... n - 1 in random order, i64 [n].
  Tensor permutation(int64_t n);

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace minnow::numerics
