/* Kernels with classes: operators, inheritance, virtual functions, lambdas, recursion, constants, arguments by value. */
#include "hip.h"

template <typename T> struct Complex {
  T re, im;
  __device__ Complex operator+(Complex other) const { return {re + other.re, im + other.im}; }
  __device__ Complex operator-(Complex other) const { return {re - other.re, im - other.im}; }
  __device__ Complex operator*(Complex other) const {
    return {re * other.re - im * other.im, re * other.im + im * other.re};
  }
  __device__ Complex operator/(Complex other) const {
    T square = other.norm();
    Complex product = *this * Complex{other.re, -other.im};
    return {product.re / square, product.im / square};
  }
  __device__ T norm() const { return re * re + im * im; }
};

/* How many steps a number takes to leave the circle of radius 2, for the points of an image. */
struct View {
  double left, top, step;
  uint width, height;
};
extern "C" __global__ void mandelbrot(uint *out, View view, uint limit) {
  uint x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= view.width || y >= view.height) return;
  Complex<double> c{view.left + x * view.step, view.top - y * view.step}, z{0, 0};
  uint steps = 0;
  while (steps < limit && z.norm() <= 4) {
    z = z * z + c;
    steps++;
  }
  out[y * view.width + x] = steps;
}

/* Newton's method for z^3 = 1. */
extern "C" __global__ void newton(Complex<float> *out, const Complex<float> *in, uint n) {
  uint i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Complex<float> z = in[i];
  for (uint step = 0; step < 6; step++) {
    Complex<float> square = z * z;
    z = z - (square * z - Complex<float>{1, 0}) / (square * Complex<float>{3, 0});
  }
  out[i] = z;
}

class Shape {
 public:
  float scale;
  __device__ explicit Shape(float scale) : scale(scale) {}
  __device__ virtual float area() const { return 0; }
  __device__ virtual uint corners() const { return 0; }
  __device__ float cost(float price) const { return area() * price + corners(); }
};
class Disc : public Shape {
 public:
  using Shape::Shape;
  __device__ __noinline__ float area() const override { return 3.140625f * scale * scale; }
};
class Rectangle : public Shape {
 public:
  float ratio;
  __device__ Rectangle(float scale, float ratio) : Shape(scale), ratio(ratio) {}
  __device__ __noinline__ float area() const override { return scale * scale * ratio; }
  __device__ __noinline__ uint corners() const override { return 4; }
};
class Square : public Rectangle {
 public:
  __device__ explicit Square(float scale) : Rectangle(scale, 1) {}
  __device__ __noinline__ float area() const override { return scale * scale; }
};

/* Threads of a wave call different functions. */
extern "C" __global__ void shapes(float *out, const uint *kinds, const float *scales, uint n) {
  uint i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Disc disc(scales[i]);
  Rectangle rectangle(scales[i], 0.25f);
  Square square(scales[n - 1 - i]);
  const Shape *all[] = {&disc, &rectangle, &square};
  float sum = 0;
  for (uint k = 0; k < 3; k++) sum = sum * 0.5f + all[(kinds[i] >> k * 2) % 3]->cost(0.75f);
  out[i] = sum;
}

__constant__ const ulong PRIMES[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
__constant__ uint weights[4] = {1, 10, 100, 1000};

template <uint N> struct Power {
  template <typename T> static __device__ constexpr T of(T x) { return x * Power<N - 1>::of(x); }
};
template <> struct Power<0> {
  template <typename T> static __device__ constexpr T of(T) { return 1; }
};

template <typename F> __device__ uint count_if(uint from, uint to, F condition) {
  uint count = 0;
  for (uint x = from; x < to; x++) count += condition(x) ? 1 : 0;
  return count;
}

__device__ __noinline__ uint ackermann(uint m, uint n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void mixed(ulong *out, const uint *in, uint n) {
  uint i = blockIdx.x * blockDim.x + threadIdx.x;
  ulong even = __ballot(i < n && in[i] % 2 == 0);
  if (i >= n) return;
  uint x = in[i];
  out += i * 6;
  out[0] = even;
  out[1] = count_if(0, 40, [x](uint k) { return (x >> k % 32 ^ k) & 1; });
  out[2] = Power<7>::of((ulong)x) + Power<3>::of(x);
  out[3] = PRIMES[x % 12] * PRIMES[i % 12];
  out[4] = weights[x & 3] * weights[x >> 2 & 3];
  out[5] = ackermann(x & 1, x >> 1 & 3);
}
