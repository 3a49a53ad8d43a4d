/*
 * A program in the form of LLVM 23's GPU libc, from the specification: the client struct of 2,096 bytes with a
 * doorbell, constructors and destructors as kernels that the compiler makes, and an `_end` without an argument.
 */
typedef unsigned int u32;
typedef unsigned long long u64;

#define EXPORTED __attribute__((visibility("protected"), used))
#define KERNEL EXPORTED __attribute__((amdgpu_kernel)) void
#define GLOBAL __attribute__((address_space(1)))
#define SYSTEM __MEMORY_SCOPE_SYSTEM

typedef struct { GLOBAL u64 *value; GLOBAL u64 *mailbox; u32 event; } Doorbell;
typedef struct { u64 lanes; u32 opcode, padding; } Header;
typedef struct {
  u32 port_count;
  GLOBAL Doorbell *doorbell;
  GLOBAL u32 *inbox, *outbox;
  GLOBAL Header *header;
  GLOBAL u64 *packet;
  u32 lock[512];
} Client;
_Static_assert(sizeof(Client) == 2096, "");

EXPORTED Client __llvm_rpc_client;
static int constructed, rings;

static u32 lane(void) { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }

/* One lane talks for itself: the others wait their turn. */
static long ask(u32 number, const char *text, u32 size, u64 slot0) {
  Client *c = &__llvm_rpc_client;
  long answer = 0;
  for (u32 turn = 0; turn < __builtin_amdgcn_wavefrontsize(); turn++) {
    if (turn != lane()) continue;
    u32 port = 0, out;
    for (;; port = (port + 1) % c->port_count) {
      u32 bit = 1u << port % 32;
      if (__scoped_atomic_fetch_or(&c->lock[port / 32], bit, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) & bit) continue;
      out = __scoped_atomic_load_n(&c->outbox[port], __ATOMIC_RELAXED, SYSTEM);
      if (__scoped_atomic_load_n(&c->inbox[port], __ATOMIC_ACQUIRE, SYSTEM) == out) break;
      __scoped_atomic_fetch_and(&c->lock[port / 32], ~bit, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
    }
    c->header[port].lanes = 1ull << lane();
    c->header[port].opcode = 0x63000000u | number;
    if (c->doorbell->value) {
      rings++;
      if (__scoped_atomic_fetch_add(c->doorbell->value, 1, __ATOMIC_RELAXED, SYSTEM) == 0) *c->doorbell->mailbox = c->doorbell->event;
    }
    GLOBAL u64 *packet = c->packet + ((u64)port * __builtin_amdgcn_wavefrontsize() + lane()) * 8;
    packet[0] = slot0;
    for (u32 i = 0; i < size; i++) ((GLOBAL char *)(packet + 1))[i] = text[i];
    __scoped_atomic_store_n(&c->outbox[port], out ^= 1, __ATOMIC_RELEASE, SYSTEM);
    while (__scoped_atomic_load_n(&c->inbox[port], __ATOMIC_ACQUIRE, SYSTEM) != out) __builtin_amdgcn_s_sleep(2);
    answer = (long)packet[0];
    __scoped_atomic_fetch_and(&c->lock[port / 32], ~(1u << port % 32), __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
  }
  return answer;
}

enum { WRITE_TO_STDOUT = 2, WRITE_TO_STDOUT_NEWLINE = 5, MALLOC = 10, TEST_INCREMENT = 0x8000 };
#define SAY(text) ask(WRITE_TO_STDOUT_NEWLINE, text, sizeof text - 1, sizeof text - 1)

__attribute__((constructor)) static void construct(void) {
  constructed = 1;
  SAY("constructor");
}
__attribute__((destructor)) static void destruct(void) { SAY("destructor"); }

KERNEL _begin(int argc, char **argv, char **envp) {
  if (argc == 2 && argv[2] == 0 && envp[0] && constructed) SAY("begin");
}

KERNEL _start(int argc, char **argv, char **envp, int *result) {
  (void)argc, (void)envp;
  char letter = (char)('a' + lane() % 26);
  long written = ask(WRITE_TO_STDOUT, &letter, 1, 1);
  long address = ask(MALLOC, 0, 0, 2 << 20);
  int good = written == 1 && address != 0 && address % (2 << 20) == 0 && ask(TEST_INCREMENT, 0, 0, 41) == 42 && rings == 0;
  __scoped_atomic_fetch_or(result, good ? argv[1][0] - '0' : 64, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

KERNEL _end(void) { SAY(" end"); }
