/*
 * sha256 FILE...: prints the SHA-256 of host files (FIPS 180-4), in the format of sha256sum. The files are shared out among the
 * work-items of the launch.
 */
#include <stdio.h>
#include <string.h>

#include "gpu.h"

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

typedef struct {
  uint32_t state[8];
  uint64_t length;
  uint8_t block[64];
} Sha256;

static uint32_t rotate_right(uint32_t value, int count) { return value >> count | value << (32 - count); }

static void add_block(uint32_t state[8], const uint8_t *block) {
  uint32_t w[64];
  for (int i = 0; i < 16; i++)
    w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
           block[4 * i + 3];
  for (int i = 16; i < 64; i++) {
    uint32_t s0 = rotate_right(w[i - 15], 7) ^ rotate_right(w[i - 15], 18) ^ w[i - 15] >> 3;
    uint32_t s1 = rotate_right(w[i - 2], 17) ^ rotate_right(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (int i = 0; i < 64; i++) {
    uint32_t s1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
    uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
    uint32_t s0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
    uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
  state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

static void sha256_add(Sha256 *hash, const uint8_t *data, size_t size) {
  while (size > 0) {
    size_t filled = hash->length % 64, part = 64 - filled < size ? 64 - filled : size;
    memcpy(hash->block + filled, data, part);
    hash->length += part, data += part, size -= part;
    if (hash->length % 64 == 0) add_block(hash->state, hash->block);
  }
}

static void sha256_finish(Sha256 *hash) {
  uint64_t bits = hash->length * 8;
  uint8_t end[72] = {0x80};
  size_t zeros = (119 - hash->length % 64) % 64;
  for (int i = 0; i < 8; i++) end[1 + zeros + i] = (uint8_t)(bits >> (56 - 8 * i));
  sha256_add(hash, end, 1 + zeros + 8);
}

static int print_sha256(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    fprintf(stderr, "sha256: cannot open %s\n", path);
    return 1;
  }
  Sha256 hash = {{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}, 0, {0}};
  uint8_t data[256];
  for (size_t size; (size = fread(data, 1, sizeof data, file)) > 0;) sha256_add(&hash, data, size);
  fclose(file);
  sha256_finish(&hash);
  const uint32_t *s = hash.state;
  printf("%08x%08x%08x%08x%08x%08x%08x%08x  %s\n", s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], path);
  return 0;
}

int main(int argc, char **argv) {
  int status = 0;
  for (uint32_t i = 1 + global_id(); i < (uint32_t)argc; i += global_size()) status |= print_sha256(argv[i]);
  return status;
}
