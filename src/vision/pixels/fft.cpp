// SPDX-License-Identifier: Apache-2.0
#include "vision/fft.h"

#include <numbers>

#include "vision/image.h"

namespace minnow::vision {
namespace {

constexpr size_t kLargestRadix = 61;
constexpr size_t kLanes = 32;  // rows that are transformed together

template <class T>
void step(const FftStep<T>& s) {
  if constexpr (sizeof(T) == 4)
    fft_loops().step32(s);
  else
    fft_loops().step64(s);
}

/// e^(-2 pi i k / n).
template <class T>
void put_root(std::vector<T>& to, uint64_t k, uint64_t n) {
  const double angle = -2 * std::numbers::pi * static_cast<double>(k % n) / static_cast<double>(n);
  to.push_back(static_cast<T>(std::cos(angle)));
  to.push_back(static_cast<T>(std::sin(angle)));
}

}  // namespace

int64_t fast_size(int64_t n) {
  if (n < 0 || n >= 2125764000) return -1;
  n = std::max<int64_t>(n, 1);
  int64_t best = -1;
  for (int64_t five = 1; five < INT32_MAX; five *= 5) {
    for (int64_t three = five; three < INT32_MAX; three *= 3) {
      int64_t size = three;
      while (size < n) size *= 2;
      if (size < INT32_MAX && (best < 0 || size < best)) best = size;
    }
  }
  return best;
}

template <class T>
Fft<T>::Fft(size_t length) : length_(length), work_(2 * length) {
  std::vector<size_t> radices;
  size_t left = length;
  for (const size_t radix : {4u, 2u, 3u, 5u})
    for (; left % radix == 0 && left > 1; left /= radix) radices.push_back(radix);
  for (size_t radix = 7; left > 1 && radix <= kLargestRadix; radix += 2)
    for (; left % radix == 0; left /= radix) radices.push_back(radix);
  if (left > 1) {
    const size_t size = static_cast<size_t>(fast_size(2 * static_cast<int64_t>(length) - 1));
    inner_ = std::make_unique<Fft>(size);
    work_ = 2 * size + inner_->work();
    kernel_.assign(2 * size, T(0));
    std::vector<double> kernel_re(size), kernel_im(size);
    for (size_t i = 0; i < length; ++i) {
      put_root(chirp_, static_cast<uint64_t>(i) * i % (2 * length), 2 * length);
      kernel_re[i] = kernel_re[(size - i) % size] = static_cast<double>(chirp_[2 * i]);
      kernel_im[i] = kernel_im[(size - i) % size] = -static_cast<double>(chirp_[2 * i + 1]);
    }
    std::copy(kernel_re.begin(), kernel_re.end(), kernel_.begin());
    std::copy(kernel_im.begin(), kernel_im.end(), kernel_.begin() + static_cast<int64_t>(size));
    std::vector<T> work(inner_->work());
    inner_->run(kernel_.data(), kernel_.data() + size, 1, false, work.data());
    return;
  }
  size_t n = length, span = 1;
  for (const size_t radix : radices) {
    Step next{radix, n / radix, span, {}, {}};
    for (size_t p = 0; p < next.outer; ++p)
      for (size_t k = 0; k < radix; ++k) put_root(next.twiddles, static_cast<uint64_t>(p) * k, n);
    for (size_t k = 0; k < radix; ++k) put_root(next.roots, k, radix);
    steps_.push_back(std::move(next));
    n /= radix;
    span *= radix;
  }
}

template <class T>
void Fft<T>::run_from(const T* from_re, const T* from_im, size_t stride, T* re, T* im, size_t lanes, bool inverse, T* work) const {
  // The inverse is the transform with the parts exchanged.
  if (inverse) std::swap(re, im), std::swap(from_re, from_im);
  if (inner_) {
    const size_t size = inner_->length();
    T* const a_re = work;
    T* const a_im = a_re + size * lanes;
    T* const rest = a_im + size * lanes;
    const auto turn = [&](T* x_re, T* x_im, const T* by_re, const T* by_im, size_t apart, size_t count) {
      for (size_t i = 0; i < count; ++i) {
        const T c = by_re[apart * i], s = by_im[apart * i];
        for (size_t l = 0; l < lanes; ++l) {
          const T r = x_re[i * lanes + l], m = x_im[i * lanes + l];
          x_re[i * lanes + l] = r * c - m * s;
          x_im[i * lanes + l] = r * s + m * c;
        }
      }
    };
    for (size_t i = 0; i < length_; ++i) {
      std::copy_n(from_re + i * stride, lanes, a_re + i * lanes);
      std::copy_n(from_im + i * stride, lanes, a_im + i * lanes);
    }
    std::fill(a_re + length_ * lanes, a_re + size * lanes, T(0));
    std::fill(a_im + length_ * lanes, a_im + size * lanes, T(0));
    turn(a_re, a_im, chirp_.data(), chirp_.data() + 1, 2, length_);
    inner_->run(a_re, a_im, lanes, false, rest);
    turn(a_re, a_im, kernel_.data(), kernel_.data() + size, 1, size);
    inner_->run(a_re, a_im, lanes, true, rest);
    turn(a_re, a_im, chirp_.data(), chirp_.data() + 1, 2, length_);
    const T scale = T(1) / static_cast<T>(size);
    for (size_t i = 0; i < length_ * lanes; ++i) {
      re[i] = a_re[i] * scale;
      im[i] = a_im[i] * scale;
    }
    return;
  }
  // Each step goes from one place to the other; the last one ends in re and im unless the first one reads there.
  T *to_re = re, *to_im = im, *other_re = work, *other_im = work + length_ * lanes;
  if (steps_.size() % 2 == 0 || from_re == re) std::swap(to_re, other_re), std::swap(to_im, other_im);
  size_t apart = stride;
  for (const Step& s : steps_) {
    step(FftStep<T>{from_re, from_im, to_re, to_im, s.radix, s.outer, s.span * lanes, apart, s.twiddles.data(), s.roots.data()});
    from_re = to_re, from_im = to_im;
    std::swap(to_re, other_re), std::swap(to_im, other_im);
    apart = s.span * s.radix * lanes;
  }
  if (from_re == re) return;
  if (!steps_.empty()) stride = lanes;
  for (size_t i = 0; i < length_; ++i) {
    std::copy_n(from_re + i * stride, lanes, re + i * lanes);
    std::copy_n(from_im + i * stride, lanes, im + i * lanes);
  }
}

template <class T>
void fft_columns(const Fft<T>& fft, T* re, T* im, size_t width, size_t stride, bool inverse) {
  const size_t n = fft.length(), groups = (width + kLanes - 1) / kLanes;
  for_rows(static_cast<int64_t>(groups), static_cast<int64_t>(32 * n * kLanes), [&](int64_t first, int64_t last) {
    std::vector<T> block((2 * n + fft.work()) * kLanes);
    for (int64_t g = first; g < last; ++g) {
      const size_t x = static_cast<size_t>(g) * kLanes, lanes = std::min(kLanes, width - x);
      T* const b_re = block.data();
      T* const b_im = b_re + n * lanes;
      fft.run_from(re + x, im + x, stride, b_re, b_im, lanes, inverse, b_im + n * lanes);
      for (size_t y = 0; y < n; ++y) {
        std::copy_n(b_re + y * lanes, lanes, re + y * stride + x);
        std::copy_n(b_im + y * lanes, lanes, im + y * stride + x);
      }
    }
  });
}

template <class T>
void fft_rows(const Fft<T>& fft, T* re, T* im, size_t height, size_t stride, bool inverse) {
  const size_t n = fft.length(), groups = (height + kLanes - 1) / kLanes;
  for_rows(static_cast<int64_t>(groups), static_cast<int64_t>(32 * n * kLanes), [&](int64_t first, int64_t last) {
    std::vector<T> block((2 * n + fft.work()) * kLanes);
    for (int64_t g = first; g < last; ++g) {
      const size_t y = static_cast<size_t>(g) * kLanes, lanes = std::min(kLanes, height - y);
      T* const b_re = block.data();
      T* const b_im = b_re + n * lanes;
      turn(re + y * stride, stride, lanes, n, b_re, lanes);
      turn(im + y * stride, stride, lanes, n, b_im, lanes);
      fft.run(b_re, b_im, lanes, inverse, b_im + n * lanes);
      turn(b_re, lanes, n, lanes, re + y * stride, stride);
      turn(b_im, lanes, n, lanes, im + y * stride, stride);
    }
  });
}

template class Fft<float>;
template class Fft<double>;
template void fft_columns(const Fft<float>&, float*, float*, size_t, size_t, bool);
template void fft_columns(const Fft<double>&, double*, double*, size_t, size_t, bool);
template void fft_rows(const Fft<float>&, float*, float*, size_t, size_t, bool);
template void fft_rows(const Fft<double>&, double*, double*, size_t, size_t, bool);

}  // namespace minnow::vision
