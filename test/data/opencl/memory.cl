/* Private, local, global and constant memory through pointers of every kind, accesses of every size and alignment. */
#include "kernel.h"

#define PUT(value) *out++ = (ulong)(value)

TABLE uint squares[40] = {0,   1,   4,   9,   16,  25,  36,  49,  64,  81,  100, 121, 144,  169,  196,  225,  256,  289,  324,  361,
                          400, 441, 484, 529, 576, 625, 676, 729, 784, 841, 900, 961, 1024, 1089, 1156, 1225, 1296, 1369, 1444, 1521};
TABLE uchar letters[] = "the quick brown fox jumps over the lazy dog";
TABLE double halves[5] = {0.5, 1.5, 2.5, 3.5, 4.5};

/* Arrays that the compiler keeps in registers, and arrays that it cannot. */
kernel void private_arrays(global ulong *out, global const uint *a, uint n) {
  uint i = global_x();
  if (i >= n) return;
  uint word = a[i];
  out += i * 12;
  int few[6] = {1, 20, 300, 4000, 50000, 600000};
  few[word % 6] += i;
  few[n % 6] -= 7;
  PUT(few[(word >> 8) % 6] + few[(n >> 3) % 6]);
  uint many[50];
  for (uint k = 0; k < 50; k++) many[k] = word + k * k;
  for (uint k = 0; k < 20; k++) many[(word + k * 7) % 50] ^= many[(word * k) % 50];
  PUT(many[word % 50]);
  PUT(many[n % 50]);
  uchar bytes[37];
  for (uint k = 0; k < 37; k++) bytes[k] = (uchar)(word >> (k & 7));
  bytes[word % 37] += 3;
  PUT(bytes[(word >> 4) % 37]);
  char signs[16];
  for (uint k = 0; k < 16; k++) signs[k] = (char)(word * k);
  PUT(signs[word & 15] + signs[i & 15]);
  short shorts[24];
  for (uint k = 0; k < 24; k++) shorts[(k * 5) % 24] = (short)(word - k * 1000);
  PUT(shorts[word % 24] - (ushort)shorts[i % 24]);
  ulong longs[9];
  for (uint k = 0; k < 9; k++) longs[k] = (ulong)word * a[(i + k) % n];
  PUT(longs[word % 9] ^ longs[i % 9]);
  double doubles[7];
  for (uint k = 0; k < 7; k++) doubles[k] = (double)(word >> k) * 0.5;
  doubles[i % 7] += 1;
  PUT(doubles[word % 7]);
  half small[10];
  for (uint k = 0; k < 10; k++) small[k] = (half)(float)((word >> k) & 63);
  PUT((int)(small[word % 10] + small[i % 10]));
  float4 vectors[4];
  for (uint k = 0; k < 4; k++) vectors[k] = (float4)((float)((word >> k) & 255)) + (float4){0, 1, 2, 3};
  PUT(vectors[word & 3][(word >> 2) & 3]);
  uint grid[4][4];
  for (uint k = 0; k < 16; k++) grid[k / 4][k % 4] = word >> k;
  PUT(grid[word & 3][i & 3] + grid[i & 3][word & 3]);
  volatile uint kept = word;
  kept += 5;
  PUT(kept);
}

/* Whatever memory it points to. */
NOINLINE uint sum_of(const uint *numbers, uint count) {
  uint sum = 0;
  for (uint k = 0; k < count; k++) sum = sum * 31 + numbers[k];
  return sum;
}
NOINLINE void fill(uint *numbers, uint count, uint first) {
  for (uint k = 0; k < count; k++) numbers[k] = first + k * 3;
}
NOINLINE void fill_bytes(uchar *bytes, uint count, uint first) {
  for (uint k = 0; k < count; k++) bytes[k] = (uchar)(first + k * 7);
}
NOINLINE ulong mixed_sizes(void *memory) {
  uchar *bytes = (uchar *)memory;
  ushort *shorts = (ushort *)memory + 4;
  uint *words = (uint *)memory + 4;
  ulong *longs = (ulong *)memory + 3;
  uint4 *vectors = (uint4 *)memory + 2;
  bytes[1] = 0x81;
  shorts[0] += (char)bytes[1];
  words[1] ^= (short)shorts[1];
  longs[0] += words[0];
  *vectors = (uint4){words[0], words[1], bytes[0], shorts[0]} + *vectors;
  uint3 three = {words[1], 5, bytes[3]};
  words[8] = three.x;
  words[9] = three.y;
  words[10] = three.z;
  return longs[0] + vectors->z + (ulong)(long)(char)bytes[2] + (ulong)(long)(short)shorts[2];
}

kernel void generic_pointers(global ulong *out, global uint *a, uint n) {
  WORKGROUP_ARRAY(uint, shared, 1024);
  WORKGROUP_ARRAY(ulong, blocks, 1024);
  uint i = global_x(), self = local_x();
  uint word = i < n ? a[i] : 0;
  uint own[10];
  fill(own, 10, word);
  fill((uint *)shared + self * 4, 4, word + 1);
  workgroup_barrier();
  ulong __attribute__((aligned(16))) block[8];
  for (uint k = 0; k < 8; k++) block[k] = word * 0x100000001ul + k;
  for (uint k = 0; k < 8; k++) blocks[self * 8 + k] = block[k] + 1;
  if (i >= n) return;
  out += i * 10;
  PUT(sum_of(own, 10));
  PUT(sum_of((uint *)shared + self * 4, 4));
  PUT(sum_of((const uint *)a + i, 1));
  /* Another memory for every lane. */
  uint *where = i % 3 == 0 ? own : i % 3 == 1 ? (uint *)shared + self * 4 : (uint *)a + i;
  PUT(sum_of(where, 1));
  where[0] ^= 0x55;
  PUT(own[0] + shared[self * 4]);
  uchar bytes[11];
  fill_bytes(bytes, 11, word);
  PUT(bytes[i % 11]);
  PUT(mixed_sizes(block));
  PUT(mixed_sizes((ulong *)blocks + self * 8));
  ulong sum = 0;
  for (uint k = 0; k < 8; k++) sum = sum * 3 + (block[k] ^ blocks[self * 8 + k]);
  PUT(sum);
  PUT((where == own) + (where > (uint *)0) * 2);
}

typedef struct {
  char c;
  short s;
  int i;
  long l;
  float f;
  double d;
  uchar bytes[5];
  struct {
    ushort x, y;
  } inner[2];
} Record;

typedef struct __attribute__((packed)) {
  uchar c;
  uint i;
  ushort s;
  ulong l;
  float f;
} Packed;

NOINLINE Record changed(Record record, int by) {
  record.c += by;
  record.s -= by;
  record.i *= by;
  record.l ^= by;
  record.f += by;
  record.d *= 2;
  record.bytes[by & 3] = by;
  record.inner[by & 1].x++;
  return record;
}
NOINLINE void change(Packed *packed, int by) {
  packed->c += by;
  packed->i -= by;
  packed->s ^= by;
  packed->l += (ulong)packed->i * packed->s;
  packed->f *= 2;
}

/* Not what lies between the fields. */
NOINLINE void store(global Record *out, const Record *record) {
  out->c = record->c;
  out->s = record->s;
  out->i = record->i;
  out->l = record->l;
  out->f = record->f;
  out->d = record->d;
  for (uint k = 0; k < 5; k++) out->bytes[k] = record->bytes[k];
  out->inner[0] = record->inner[0];
  out->inner[1].x = record->inner[1].x;
  out->inner[1].y = record->inner[1].y;
}

kernel void structures(global Record *out, global Packed *packed, Record record, global const uint *a, uint n) {
  uint i = global_x();
  if (i >= n) return;
  Record other = changed(record, (int)(a[i] & 0x7F));
  if (i & 1) other = changed(other, 3);
  Record records[3] = {record, other, record};
  records[2].s = 77;
  store(out + i, &records[a[i] % 3]);
  Packed mine = packed[i];
  change(&mine, (int)i);
  packed[i] = mine;
  change((Packed *)packed + i, 1);
  packed[i].s += records[i % 3].inner[1].y + records[i % 3].bytes[i % 5];
}

/* Loads of constant tables: at the same place for all lanes, and at different ones. */
kernel void tables(global ulong *out, global const uint *a, constant ulong *b, uint n) {
  uint i = global_x();
  if (i >= n) return;
  out += i * 9;
  PUT(squares[n % 40] + squares[a[i] % 40]);
  PUT(letters[i % 40] * 256 + letters[n % 40]);
  PUT(halves[a[i] % 5] * halves[n % 5] * 4);
  ulong sum = 0;
  for (uint k = 0; k < 20; k++) sum = sum * 5 + b[k];
  PUT(sum);
  PUT(b[i % 20] ^ b[n % 20]);
  PUT(squares[0] + squares[39] + squares[i % 40 ^ 1]);
  sum = 0;
  for (uint k = 0; k < 16; k++) sum += squares[k + n % 8] * k;
  PUT(sum);
  __builtin_nontemporal_store(sum + __builtin_nontemporal_load(a + i), out++);
  const global uint *from = a + n % 7;
  PUT(from[0] + from[1] + from[2] + from[3] + from[4] + from[5] + from[6] + from[7] + from[12]);
}

/* Halves of registers; values that are only bytes in memory; no alignment. */
kernel void narrow_accesses(global uchar *out, global const uchar *a, global const short *b, uint n) {
  WORKGROUP_ARRAY(uchar, bytes, 1024);
  WORKGROUP_ARRAY(short, shorts, 512);
  uint i = global_x(), self = local_x();
  uint at = i < n ? i : 0;
  bytes[self] = a[at];
  bytes[self + 512] = a[at] >> 1;
  shorts[self] = b[at];
  shorts[self + 256] = -b[at];
  workgroup_barrier();
  if (i >= n) return;
  uint other = self ^ 1;
  if (other >= group_size_x()) other = self;
  out += i * 64;
  union { short2 pair; uchar bytes[4]; } u;
  short2 pair;
  pair.x = a[i];
  pair.y = (char)a[n - 1 - i];
  *(global short2 *)(out) = pair;
  pair.x = (char)bytes[other];
  pair.y = bytes[other + 512];
  *(global short2 *)(out + 4) = pair;
  pair.x = shorts[other];
  pair.y = shorts[self + 256];
  *(global short2 *)(out + 8) = pair * (short)3;
  pair.y = b[i];
  pair.x = b[n - 1 - i];
  *(global short2 *)(out + 12) = pair + (short)1;
  uint both = (uint)a[i] << 16 | a[n - 1 - i] << 24;
  *(global ushort *)(out + 16) = both >> 16;
  out[18] = both >> 24;
  out[19] = (uchar)(both >> 16);
  typedef uint __attribute__((aligned(1))) Anywhere;
  typedef ulong __attribute__((aligned(1))) AnywhereLong;
  typedef uint4 __attribute__((aligned(1))) AnywhereVector;
  typedef ushort __attribute__((aligned(1))) AnywhereShort;
  *(global Anywhere *)(out + 21) = *(global const Anywhere *)(a + i % 13);
  *(global AnywhereLong *)(out + 25) = *(global const AnywhereLong *)(a + i % 17);
  *(global AnywhereVector *)(out + 33) = *(global const AnywhereVector *)(a + i % 19);
  *(global AnywhereShort *)(out + 49) = *(local AnywhereShort *)(bytes + self % 5);
  *(global Anywhere *)(out + 51) = *(local Anywhere *)(bytes + self % 7);
  *(global AnywhereLong *)(out + 55) = *(local AnywhereLong *)(bytes + self % 3);
  out[63] = a[i] + *(volatile global const uchar *)(a + i);
}

/* LDS in every size; its size comes from the launch. */
kernel void local_sizes(global ulong *out, local ulong *scratch, global const ulong *a, uint n) {
  uint i = global_x(), self = local_x(), count = group_size_x();
  ulong own = i < n ? a[i] : 7;
  scratch[self] = own;
  scratch[self + count] = ~own;
  local uint *words = (local uint *)(scratch + 2 * count);
  words[self] = (uint)own;
  words[self + count] = (uint)(own >> 32);
  local uint4 *vectors = (local uint4 *)(scratch + 4 * count);
  uint4 vector = {(uint)own, self, i, 9};
  vectors[self] = vector;
  workgroup_barrier();
  uint next = (self + 1) % count;
  if (i >= n) return;
  out += i * 8;
  PUT(scratch[next] - scratch[next + count]);
  PUT(words[next] + (ulong)words[next + 1 < count ? next + 1 : 0] * 3);
  uint4 found = vectors[next];
  PUT(found.x + (ulong)found.y * found.z + found.w);
  uint3 three = vectors[self].yzw;
  PUT(three.x + three.y * three.z);
  ulong2 two = *(local ulong2 *)(vectors + next);
  PUT(two.x ^ two.y);
  PUT(vectors[next].y + vectors[self].z);
  PUT(scratch[0] + scratch[count - 1]);
  PUT(*((local double *)scratch + self) == 0);
}
