/*
 * sha256(uint *digests, const uint *words, int items, int blocks): SHA-256 of one message for each work-item: `blocks` blocks of 16 big-endian
 * words, padding included. Word w of block b of message i stands at words[(b * 16 + w) * items + i], word w of its digest at digests[w * items + i].
 * Launch: one dimension, any group size, `items` work-items.
 */
#include "gpu.clh"

constant uint ROUND[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static inline uint rotated(uint x, int by) { return x >> by | x << (32 - by); }

kernel void sha256(global uint *digests, global const uint *words, int items, int blocks) {
  int i = global_id_x();
  uint state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  for (int block = 0; block < blocks; block++) {
    uint w[16];
    for (int t = 0; t < 16; t++) w[t] = words[(block * 16 + t) * items + i];
    uint a = state[0], b = state[1], c = state[2], d = state[3];
    uint e = state[4], f = state[5], g = state[6], h = state[7];
#pragma clang loop unroll_count(16)
    for (int t = 0; t < 64; t++) {
      if (t >= 16) {
        uint x = w[(t + 1) & 15], y = w[(t + 14) & 15];
        w[t & 15] += w[(t + 9) & 15] + (rotated(x, 7) ^ rotated(x, 18) ^ x >> 3) + (rotated(y, 17) ^ rotated(y, 19) ^ y >> 10);
      }
      uint first = h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g)) + ROUND[t] + w[t & 15];
      uint second = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + first;
      d = c, c = b, b = a, a = first + second;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
  }
  for (int word = 0; word < 8; word++) digests[word * items + i] = state[word];
}
