/* What C has and OpenCL C does not: recursion, function pointers, variable arguments, wide integers, data with values. */
#include "kernel.h"

#define PUT(value) *out++ = (ulong)(value)

typedef int (*Operation)(int, int);

NOINLINE int add(int a, int b) { return a + b; }
NOINLINE int multiply(int a, int b) { return a * b; }
NOINLINE int smaller(int a, int b) { return a < b ? a : b; }
NOINLINE int power(int a, int b) { return b <= 0 ? 1 : a * power(a, b - 1); }
static const Operation OPERATIONS[] = {add, multiply, smaller, power};

NOINLINE int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}
NOINLINE ulong fibonacci(uint n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
NOINLINE int is_odd(uint n);
NOINLINE int is_even(uint n) { return n == 0 ? 1 : is_odd(n - 1); }
NOINLINE int is_odd(uint n) { return n == 0 ? 0 : is_even(n - 1); }

kernel void calls(ulong *out, const int *a, uint n) {
  uint i = global_x();
  if (i >= n) return;
  out += i * 7;
  int x = a[i] & 1023;
  PUT(OPERATIONS[x & 3](x, (int)(i & 7)));
  PUT(OPERATIONS[n & 3](x, 3));
  PUT(ackermann((int)(i & 1) + 1, x & 7));
  PUT(fibonacci((uint)x % 9));
  PUT(is_even((uint)x & 15) + (is_odd(i & 7) ? 10 : 20));
  Operation chosen = x > 500 ? add : multiply;
  int sum = 0;
  for (int k = 0; k < (x & 3) + 1; k++) {
    sum += chosen(sum, x + k);
    if (sum & 1) chosen = smaller;
  }
  PUT(sum);
  PUT(power(3, x & 7) + (x & 1 ? power(2, 5) : 0));
}

NOINLINE ulong variable_arguments(uint count, ...) {
  __builtin_va_list list;
  __builtin_va_start(list, count);
  ulong sum = 0;
  for (uint k = 0; k < count; k++) {
    switch (k & 3) {
      case 0: sum += __builtin_va_arg(list, int); break;
      case 1: sum = sum * 3 + __builtin_va_arg(list, ulong); break;
      case 2: sum ^= (ulong)__builtin_va_arg(list, double); break;
      default: sum += *__builtin_va_arg(list, const int *);
    }
  }
  __builtin_va_end(list);
  return sum;
}

/*
 * Frames of a depth that only run time knows. (For alloca with a size that is not constant clang 19 says that it does not support it,
 * or confuses addresses of a lane with those of a wave.)
 */
typedef struct Node {
  const struct Node *next;
  ulong value;
  uint array[5];
} Node;
NOINLINE ulong linked_list(uint count, uint seed, const Node *before) {
  Node node = {before, (ulong)seed * count};
  node.array[(seed + count) % 5] = count;
  if (count > 1) return linked_list(count - 1, seed ^ count, &node) + node.array[seed % 5];
  ulong sum = 0;
  for (const Node *at = &node; at; at = at->next) sum = sum * 5 + at->value + at->array[(seed + count) % 5];
  return sum;
}

kernel void stacks(ulong *out, const int *a, uint n) {
  uint i = global_x();
  if (i >= n) return;
  out += i * 4;
  int x = a[i] & 0xFFFF;
  PUT(variable_arguments(7, x, (ulong)x << 20, 2.0 * x, a + i, -x, 77ul, 3.5));
  PUT(i & 1 ? variable_arguments(1, x) : variable_arguments(2, -x, 5ul));
  PUT(linked_list(n % 13 + 3, (uint)x, 0));
  PUT(linked_list((uint)x % 20 + 1, i, 0));
}

typedef _BitInt(37) Odd;
typedef unsigned _BitInt(100) Wide;

kernel void wide_integers(ulong *out, const ulong *a, const ulong *b, uint n) {
  uint i = global_x();
  if (i >= n) return;
  out += i * 24;
  unsigned __int128 x = (unsigned __int128)a[i] << 64 | b[i], y = (unsigned __int128)b[i] << 40 | a[i] >> 7;
  __int128 z = (__int128)x, w = (__int128)y;
  if (y == 0) y = 3;
  if (w == 0 || w == -1) w = 5;
#define PUT2(value)                            \
  do {                                         \
    unsigned __int128 both = (unsigned __int128)(value); \
    PUT(both);                                 \
    PUT(both >> 64);                           \
  } while (0)
  PUT2(x + y);
  PUT2(x - y);
  PUT2(x * y);
  PUT2(x / y);
  PUT2(z % w);
  PUT2(x << (b[i] & 127));
  PUT2(z >> (a[i] & 127));
  PUT2((x < y) + (z < w) * 2 + (x == y) * 4);
  Odd odd = (Odd)a[i];
  odd = odd * 3 + (Odd)b[i];
  PUT(odd >> 2);
  PUT(odd < 0);
  Wide wide = (Wide)x;
  wide = wide * (Wide)y + 1;
  PUT(wide >> 36);
  PUT(wide);
  PUT((ulong)((double)a[i] * 0.5));
  PUT(__builtin_clzll(a[i] | 1));
  PUT(0);
  PUT(a[i] >= b[i]);
}

typedef struct {
  uint a : 3;
  int b : 7;
  uint c : 22;
  ulong d : 40;
  long e : 24;
  bool f : 1;
} Fields;

typedef enum { FIRST, SECOND = 7, THIRD } Kind;

static int counter = 5;
static int table[4] = {10, 20, 30, 40};
static int *const pointers[3] = {&table[1], &counter, &table[3]};
static const char *const names[3] = {"alpha", "beta", "gamma"};
static uint zeros[16];

kernel void data(ulong *out, const uint *a, uint n) {
  uint i = global_x();
  if (i >= n) return;
  out += i * 8;
  uint x = a[i];
  Fields fields = {0};
  fields.a = x;
  fields.b = (int)(x >> 3);
  fields.c += x >> 5;
  fields.d = (ulong)x * x;
  fields.e = (int)x;
  fields.f = x & 4;
  PUT(fields.a + fields.b * 10);
  PUT(fields.c ^ (long)fields.e);
  PUT(fields.d + fields.f);
  PUT(*pointers[x % 3] + *pointers[n % 3]);
  PUT(names[x % 3][x & 3] + names[n % 3][1]);
  Kind kind = x & 1 ? SECOND : x & 2 ? THIRD : FIRST;
  PUT(kind);
  PUT(zeros[x & 15]);
  char text[40];
  __builtin_memset(text, 'a' + x % 20, sizeof text);
  __builtin_memcpy(text + 3, names[1], 5);
  __builtin_memmove(text + 5, text + 1, x & 31);
  ulong hash = 0;
  for (uint k = 0; k < sizeof text; k++) hash = hash * 31 + text[k];
  PUT(hash);
}

/* LDS of functions: where it lies depends on the kernel that calls. */
WORKGROUP_ARRAY(uint, board, 64);
WORKGROUP_ARRAY(uint, other_board, 100);

NOINLINE void write_board(uint value) { board[local_x()] = value; }
NOINLINE void write_other_board(uint value) { other_board[local_x()] = value; }
NOINLINE uint read_board(uint at) { return board[at % group_size_x()]; }
NOINLINE uint read_other_board(uint at) { return other_board[at % group_size_x()] * 3; }

kernel void boards(uint *out, const uint *a, uint n) {
  uint i = global_x();
  write_board(i < n ? a[i] : i);
  workgroup_barrier();
  if (i < n) out[i] = read_board(local_x() + 1);
}

kernel void other_boards(uint *out, const uint *a, uint n) {
  WORKGROUP_ARRAY(uint, own, 64);
  uint i = global_x();
  write_other_board(i < n ? a[i] : i);
  write_board(i);
  own[local_x()] = i * 5;
  workgroup_barrier();
  uint (*const readers[2])(uint) = {read_board, read_other_board};
  if (i < n) out[i] = readers[i & 1](i) + read_other_board(i + 7) + own[group_size_x() - 1 - local_x()];
}
