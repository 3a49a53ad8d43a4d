/*
 * The GPU side of RPC in C, written from the specification: many waves whose steps are
 * interleaved at random, each in one conversation after the other. Compiled to WebAssembly, with the server's buffer as memory.
 * It shares no code with the server nor with the client in TypeScript.
 */
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

enum { MAX_WAVES = 64, MAX_LANES = 64, MAX_PORTS = 256, MAX_STREAM = 400 };
enum { NOOP, INCREMENT, STREAM, INTERFACE, MALLOC_FREE, WRITE, READ, PRINTF, KINDS };
/* Opcodes of the C library by number. */
enum { OP_NOOP = 0, OP_WRITE_TO_STDOUT = 2, OP_READ_FROM_STREAM = 6, OP_MALLOC = 10, OP_FREE = 11, OP_PRINTF_PACKED = 24 };

#define EXPORT(name) __attribute__((export_name(#name)))

typedef struct {
  u32 line, kind, port, out, owned, received, count, at, longest, step, round;
  u64 mask, counter, random, noise;
  u32 lanes[MAX_LANES], size[MAX_LANES];
  u64 value[MAX_LANES];
  u8 flag;
} Wave;

static Wave waves[MAX_WAVES];
static u8 locked[MAX_PORTS];
static u32 wave_count, port_count, lane_count, opcode_bits, opcode_class, self_tests;
static u32 *inbox, *outbox;
static u8 *headers;
static u64 *packets;
static u64 seed, done, wanted;
static u32 failure;

static u64 next_random(u64 *state) {
  u64 x = *state;
  x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  return *state = x;
}
static u32 below(Wave *w, u32 limit) { return (u32)((next_random(&w->random) >> 20) % limit); }
static u64 *slots(Wave *w, u32 i) { return packets + ((u64)w->port * lane_count + w->lanes[i]) * 8; }
static void fail(Wave *w, u32 where) {
  if (failure == 0) failure = (w->kind + 1) * 1000000 + where;
}
#define EXPECT(condition) do { if (!(condition)) fail(w, __LINE__); } while (0)

/* Byte k of what lane i of this conversation sends. */
static u8 pattern(Wave *w, u32 i, u32 k) { return (u8)(1 + (w->counter * 7 + w->lanes[i] * 31 + k * 13) % 250); }

static void hand_over(Wave *w) {
  w->out ^= 1;
  __atomic_store_n(&outbox[w->port], w->out, __ATOMIC_RELEASE);
  w->owned = 0;
}
static int owns(Wave *w) {
  if (!w->owned && __atomic_load_n(&inbox[w->port], __ATOMIC_ACQUIRE) == w->out) w->owned = 1;
  return w->owned;
}
static int try_open(Wave *w, u32 opcode) {
  u32 from = below(w, port_count);
  for (u32 n = 0; n < port_count; n++) {
    u32 i = (from + n) % port_count;
    if (locked[i]) continue;
    u32 out = __atomic_load_n(&outbox[i], __ATOMIC_RELAXED);
    if (__atomic_load_n(&inbox[i], __ATOMIC_ACQUIRE) != out) continue;
    locked[i] = 1;
    w->port = i, w->out = out, w->owned = 1, w->received = 0;
    u64 noise = w->noise = next_random(&w->random);
    u8 *header = headers + 16 * i;
    *(u64 *)header = w->mask;
    *(u64 *)(header + 8) = noise;
    if (opcode_bits == 16) *(unsigned short *)(header + 8) = (unsigned short)opcode;
    else *(u32 *)(header + 8) = opcode;
    for (u32 lane = 0; lane < lane_count; lane++)
      for (u32 k = 0; k < 8; k++) packets[((u64)i * lane_count + lane) * 8 + k] = noise + lane;
    return 1;
  }
  return 0;
}
/* Unlocks; checks that nobody touched the packets of inactive lanes. */
static void close_port(Wave *w) {
  for (u32 lane = 0; lane < lane_count; lane++)
    if (!(w->mask >> lane & 1))
      for (u32 k = 0; k < 8; k++) EXPECT(packets[((u64)w->port * lane_count + lane) * 8 + k] == w->noise + lane);
  locked[w->port] = 0;
}

/* A wave is a function that goes on where it left off; every WAIT is a spin. */
#define WAIT_AT(place, condition) do { w->line = place; case place: if (!(condition)) return 0; } while (0)
#define WAIT(condition) WAIT_AT(__COUNTER__ + 1, condition)
#define EACH for (u32 i = 0; i < w->count; i++)
#define SEND(...) do { WAIT(owns(w)); EACH { u64 *d = slots(w, i); __VA_ARGS__; } hand_over(w); w->received = 0; } while (0)
#define RECEIVE(...) do { if (w->received) hand_over(w); WAIT(owns(w)); EACH { u64 *d = slots(w, i); __VA_ARGS__; } w->received = 1; } while (0)
#define OPEN(opcode) WAIT(try_open(w, opcode))
/* The size of lane i is w->size[i]. */
#define SEND_N() do { \
    w->longest = 0; EACH if (w->size[i] > w->longest) w->longest = w->size[i]; \
    SEND({ d[0] = w->size[i]; for (u32 k = 0; k < 56 && k < w->size[i]; k++) ((u8 *)(d + 1))[k] = pattern(w, i, k); }); \
    for (w->at = 56; w->at < w->longest; w->at += 64) \
      SEND({ for (u32 k = 0; k < 64 && w->at + k < w->size[i]; k++) ((u8 *)d)[k] = pattern(w, i, w->at + k); }); \
  } while (0)
/* Expects w->size[i] bytes, each of them `byte`. */
#define RECEIVE_N(byte) do { \
    w->longest = 0; \
    RECEIVE({ EXPECT(d[0] == w->size[i]); for (u32 k = 0; k < 56 && k < w->size[i]; k++) EXPECT(((u8 *)(d + 1))[k] == (u8)(byte)); }); \
    EACH if (w->size[i] > w->longest) w->longest = w->size[i]; \
    for (w->at = 56; w->at < w->longest; w->at += 64) \
      RECEIVE({ for (u32 k = 0; k < 64 && w->at + k < w->size[i]; k++) EXPECT(((u8 *)d)[k] == (u8)(byte)); }); \
  } while (0)
#define BYTE_AT (pattern(w, i, (w->at < 56 ? 0 : w->at) + k))

static void begin(Wave *w) {
  static const u32 borders[] = {0, 1, 8, 55, 56, 57, 63, 64, 65, 119, 120, 121, 183, 184, 185};
  w->line = 0, w->counter++, w->kind = below(w, KINDS), w->count = 0, w->mask = 0;
  u32 style = below(w, 6), one = below(w, lane_count);
  for (u32 lane = 0; lane < lane_count; lane++) {
    if (style < 3 ? lane != one : style < 5 && below(w, 3) != 0) continue;
    w->lanes[w->count++] = lane;
    w->mask |= 1ull << lane;
  }
  if (w->count == 0) w->lanes[w->count++] = one, w->mask = 1ull << one;
  EACH w->size[i] = below(w, 4) == 0 ? below(w, MAX_STREAM) : borders[below(w, sizeof borders / sizeof *borders)];
  EACH w->value[i] = next_random(&w->random);
}

static const char format[] = "%d:%s:%s\n";
static u32 digits(u64 n) { u32 count = 1; while (n > 9) n /= 10, count++; return count; }

/* One step; 1 when the conversation is over. */
static int step(Wave *w) {
  switch (w->line) {
  case 0:
    switch (w->kind) {
    case NOOP: goto noop;
    case INCREMENT: goto increment;
    case STREAM: goto stream;
    case INTERFACE: goto interface;
    case MALLOC_FREE: goto malloc_free;
    case WRITE: goto write;
    case READ: goto read;
    default: goto printf;
    }
  noop:
    OPEN(opcode_class + OP_NOOP);
    SEND({ d[0] = w->value[i]; });
    goto over;
  increment:
    OPEN(self_tests);
    SEND({ d[0] = w->value[i]; });
    RECEIVE({ EXPECT(d[0] == w->value[i] + 1); });
    goto over;
  stream:
    OPEN(self_tests + 2);
    SEND_N();
    w->at = 0;
    RECEIVE_N(BYTE_AT);
    goto over;
  interface:
    OPEN(self_tests + 1);
    w->flag = below(w, 2), w->round = 0;
    SEND({ d[0] = w->flag; });
    for (w->step = 0; w->step < 9; w->step++) {
      if (w->step == 8 ? w->flag : (0x35 >> w->step) & 1) { /* sends at 0, 2, 4, 5 */
        w->round++;
        SEND({ d[0] = w->round; });
      } else {
        w->round++;
        RECEIVE({ EXPECT(d[0] == w->round); });
      }
    }
    EXPECT(w->round == 9);
    goto over;
  malloc_free:
    OPEN(opcode_class + OP_MALLOC);
    EACH w->size[i] = below(w, 3) == 0 ? 2 << 20 : 1 + below(w, 9000);
    SEND({ d[0] = w->size[i]; });
    RECEIVE({ w->value[i] = d[0]; EXPECT(d[0] != 0); EXPECT(d[0] % (w->size[i] == 2 << 20 ? 2 << 20 : 4096) == 0); });
    close_port(w);
    OPEN(opcode_class + OP_FREE);
    SEND({ d[0] = w->value[i]; });
    goto over;
  write:
    OPEN(opcode_class + OP_WRITE_TO_STDOUT);
    SEND_N();
    RECEIVE({ EXPECT(d[0] == w->size[i]); });
    goto over;
  read:
    OPEN(opcode_class + OP_READ_FROM_STREAM);
    SEND({ d[0] = w->size[i]; d[1] = 0x1001; });
    w->at = 0;
    RECEIVE_N(0x5a);
    RECEIVE({ EXPECT(d[0] == w->size[i]); });
    goto over;
  printf:
    OPEN(opcode_class + OP_PRINTF_PACKED);
    SEND({ d[0] = sizeof format; for (u32 k = 0; k < sizeof format; k++) ((u8 *)(d + 1))[k] = (u8)format[k]; });
    RECEIVE({ EXPECT(d[0] == 20); });
    /* The second string is null in odd lanes; no lane has a first one but those with a size above 100. */
    EACH w->value[i] &= 0xffffff;
    SEND({
      d[0] = 20;
      u8 *area = (u8 *)(d + 1);
      u32 number = (u32)w->value[i];
      u64 first = w->size[i] > 100 ? 0x100 + i : 0, second = w->lanes[i] % 2 ? 0 : 0x200 + i;
      __builtin_memcpy(area, &number, 4), __builtin_memcpy(area + 4, &first, 8), __builtin_memcpy(area + 12, &second, 8);
    });
    EACH w->step = 0;
    for (;;) {
      w->round = 0;
      RECEIVE({
        if (d[1] != 0) w->round = 1;
        /* What the lane sends next: 0 nothing, else a string of size - 1 bytes and its NUL. */
        w->value[i] = (w->value[i] & 0xffffff) | (d[1] << 32);
        EXPECT(d[1] == 0 || d[1] == 0x100 + i || d[1] == 0x200 + i);
      });
      if (!w->round) break;
      SEND({
        u64 asked = w->value[i] >> 32;
        u32 size = asked == 0 ? 0 : asked < 0x200 ? 31 : 7;
        d[0] = size;
        for (u32 k = 0; k < size; k++) ((u8 *)(d + 1))[k] = k == size - 1 ? 0 : 'a';
      });
    }
    EACH {
      u64 expected = digits(w->value[i] & 0xffffff) + 3 + (w->size[i] > 100 ? 30 : 6) + (w->lanes[i] % 2 ? 6 : 6);
      EXPECT(slots(w, i)[0] == expected);
    }
    goto over;
  }
over:
  close_port(w);
  return 1;
}

EXPORT(configure)
void configure(u32 ports, u32 lanes, u32 bits, u32 class, u32 tests, u32 count, u32 from, u8 *a, u8 *b, u8 *h, u8 *p) {
  port_count = ports, lane_count = lanes, opcode_bits = bits, opcode_class = class, self_tests = tests;
  wave_count = count, inbox = (u32 *)a, outbox = (u32 *)b, headers = h, packets = (u64 *)p;
  seed = 0x9e3779b97f4a7c15ull * (from + 1) | 1, done = 0, failure = 0;
  for (u32 i = 0; i < MAX_PORTS; i++) locked[i] = 0;
  for (u32 i = 0; i < count; i++) {
    waves[i].random = next_random(&seed), waves[i].counter = i << 20;
    begin(&waves[i]);
  }
}

/* Steps waves at random; after `limit` conversations no further ones begin. The number that is over. */
EXPORT(run)
double run(u32 steps, double limit) {
  wanted = (u64)limit;
  for (u32 n = 0; n < steps && failure == 0; n++) {
    Wave *w = &waves[(next_random(&seed) >> 20) % wave_count];
    if (w->line == 0 && done >= wanted) continue;
    if (step(w)) done++, begin(w);
  }
  return (double)done;
}

/* Waves that are in the middle of a conversation. */
EXPORT(busy)
u32 busy(void) {
  u32 count = 0;
  for (u32 i = 0; i < wave_count; i++) count += waves[i].line != 0;
  return count;
}

/* 0, or the kind of conversation and the line of the first expectation that failed. */
EXPORT(failed)
u32 failed(void) { return failure; }
