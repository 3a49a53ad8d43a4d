/*
 * Client side of the RPC protocol between a GPU program and its loader.
 *
 * The shared buffer has, per port, two mailbox words (one written by each side), a 16-byte header and one 64-byte packet per
 * lane. A port belongs to the client while its two words are equal and to the server while they differ; a side hands it over
 * by storing the inverse of its own word. A conversation is a strict alternation of such hand-overs.
 *
 * Every operation is done by all active lanes of a wave together, on one port; lanes of the same wave that took different
 * branches hold different ports, one after the other. Only the first active lane touches words that belong to the whole port.
 *
 * RPC_GENERATION chooses the form of the interface:
 *   19  LLVM 19: the symbol is a pointer to the client struct, opcodes are plain 16-bit numbers, `_end` takes the status
 *   20  LLVM 20 and 21: the symbol is the struct itself, opcodes are 32 bits with class byte 'c', `_end` takes the status
 *   22  LLVM 22: as 20, but `_end` has no argument and returns
 */
#ifndef RPC_H
#define RPC_H

#include "wave.h"
#include <stddef.h>

/* A port stays in registers, uniform over the wave. */
#define RPC_INLINE static inline __attribute__((always_inline))

#ifndef RPC_GENERATION
#define RPC_GENERATION 20
#endif

#if RPC_GENERATION == 19
typedef uint16_t RpcOpcode;
#define RPC_OPCODE(number) (number)
#define RPC_CLIENT_SYMBOL "rpc_client" /* crt.c adds the pointer that the loader looks for */
#elif RPC_GENERATION == 20 || RPC_GENERATION == 22
typedef uint32_t RpcOpcode;
#define RPC_OPCODE(number) (0x63000000u | (number))
#define RPC_CLIENT_SYMBOL "__llvm_rpc_client"
#else
#error "RPC_GENERATION must be 19, 20 or 22"
#endif

enum {
  RPC_EXIT = 1,
  RPC_WRITE_TO_STDOUT = 2,
  RPC_WRITE_TO_STDERR = 3,
  RPC_WRITE_TO_STREAM = 4,
  RPC_WRITE_TO_STDOUT_NEWLINE = 5,
  RPC_READ_FROM_STREAM = 6,
  RPC_READ_FGETS = 7,
  RPC_OPEN_FILE = 8,
  RPC_CLOSE_FILE = 9,
  RPC_MALLOC = 10,
  RPC_FREE = 11,
  RPC_ABORT = 13,
  RPC_FFLUSH = 19,
#ifdef __NVPTX__ /* the arguments of a va_list have their natural alignment */
  RPC_PRINTF_TO_STDOUT = 21,
  RPC_PRINTF_TO_STDERR = 22,
  RPC_PRINTF_TO_STREAM = 23,
#else /* they stand one behind the other */
  RPC_PRINTF_TO_STDOUT = 24,
  RPC_PRINTF_TO_STDERR = 25,
  RPC_PRINTF_TO_STREAM = 26,
#endif
};

#define RPC_SLOTS 8                      /* 64-bit slots of a lane's packet */
#define RPC_PACKET_BYTES (8 * RPC_SLOTS) /* 64 */
#define RPC_FIRST_BYTES 56               /* payload of the first packet of a byte stream, after its size */
#define RPC_MAX_PORTS 4096

/* Address space 1 is global memory: the buffer and the client struct are never in scratch or LDS. */
#define GLOBAL __attribute__((address_space(1)))

typedef struct {
  uint64_t lane_mask;
  RpcOpcode opcode;
  uint8_t padding[8 - sizeof(RpcOpcode)];
} RpcHeader;
_Static_assert(sizeof(RpcHeader) == 16, "the header is 16 bytes");

/* Filled in by the loader before any kernel runs; the lock bits are the client's own. */
typedef struct {
  uint32_t port_count;
  const GLOBAL uint32_t *inbox;
  GLOBAL uint32_t *outbox;
  GLOBAL RpcHeader *header;
  GLOBAL uint64_t *packet;
  uint32_t lock[RPC_MAX_PORTS / 32];
} RpcClient;
_Static_assert(sizeof(RpcClient) == 552, "the loader tells the generation from this size");

#define EXPORTED __attribute__((visibility("protected")))

EXPORTED extern RpcClient rpc_client __asm__(RPC_CLIENT_SYMBOL);

typedef struct {
  const GLOBAL uint32_t *inbox;
  GLOBAL uint32_t *outbox;
  GLOBAL uint64_t *packet; /* this lane's */
  uint32_t index;
  uint32_t out;  /* the value of this side's mailbox word */
  bool owned;    /* the client is known to own the packets */
  bool received; /* the last operation was a receive, not acknowledged yet */
} RpcPort;

#ifdef __NVPTX__
RPC_INLINE void rpc_pause(void) { __nvvm_nanosleep(64); }
#else
RPC_INLINE void rpc_pause(void) { __builtin_amdgcn_s_sleep(2); }
#endif

RPC_INLINE uint32_t rpc_load_mailbox(const GLOBAL uint32_t *word) {
  return wave_first(__scoped_atomic_load_n(word, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM));
}

RPC_INLINE bool rpc_try_lock(uint32_t index) {
  uint32_t bit = 1u << (index % 32), before = 0;
  if (wave_is_first())
    before = __scoped_atomic_fetch_or(&rpc_client.lock[index / 32], bit, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  bool taken = (wave_first(before) & bit) == 0;
  wave_fence(__ATOMIC_ACQUIRE, "agent");
  return taken;
}

RPC_INLINE void rpc_unlock(uint32_t index) {
  wave_fence(__ATOMIC_RELEASE, "agent");
  if (wave_is_first())
    __scoped_atomic_fetch_and(&rpc_client.lock[index / 32], ~(1u << (index % 32)), __ATOMIC_RELAXED,
                              __MEMORY_SCOPE_DEVICE);
}

/* Takes a free port for the active lanes. `number` is one of RPC_..., the same in every active lane. */
RPC_INLINE RpcPort rpc_open(uint32_t number) {
  uint64_t lanes = wave_ballot(true);
  uint32_t index = 0, count = rpc_client.port_count, out;
  for (;;) {
    if (rpc_try_lock(index)) {
      out = rpc_load_mailbox(&rpc_client.outbox[index]);
      if (rpc_load_mailbox(&rpc_client.inbox[index]) == out) break;
      rpc_unlock(index); /* abandoned by a wave that did not wait for its reply, and not served yet */
    }
    if (++index == count) {
      index = 0;
      rpc_pause();
    }
  }
  wave_fence(__ATOMIC_ACQUIRE, "");
  if (wave_is_first()) {
    rpc_client.header[index].lane_mask = lanes;
    rpc_client.header[index].opcode = (RpcOpcode)RPC_OPCODE(number);
  }
  return (RpcPort){
      .inbox = &rpc_client.inbox[index],
      .outbox = &rpc_client.outbox[index],
      .packet = rpc_client.packet + ((uint64_t)index * WAVE_SIZE + wave_lane()) * RPC_SLOTS,
      .index = index,
      .out = out,
      .owned = true,
      .received = false,
  };
}

RPC_INLINE void rpc_close(const RpcPort *port) { rpc_unlock(port->index); }

RPC_INLINE void rpc_hand_over(RpcPort *port) {
  port->out ^= 1;
  port->owned = false;
  wave_fence(__ATOMIC_RELEASE, "");
  if (wave_is_first())
    __scoped_atomic_store_n(port->outbox, port->out, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
}

RPC_INLINE GLOBAL uint64_t *rpc_await(RpcPort *port) {
  if (!port->owned) {
    while (rpc_load_mailbox(port->inbox) != port->out) rpc_pause();
    wave_fence(__ATOMIC_ACQUIRE, "");
    port->owned = true;
  }
  return port->packet;
}

/* This lane's packet, to be filled; rpc_send then gives all of them to the server. */
RPC_INLINE GLOBAL uint64_t *rpc_fill(RpcPort *port) { return rpc_await(port); }

RPC_INLINE void rpc_send(RpcPort *port) {
  rpc_hand_over(port);
  port->received = false;
}

/* This lane's packet as the server sent it; valid until the next operation on the port. */
RPC_INLINE const GLOBAL uint64_t *rpc_receive(RpcPort *port) {
  if (port->received) rpc_hand_over(port);
  port->received = true;
  return rpc_await(port);
}

/* Sends `size` bytes, which may differ between the lanes; all of them take part until the longest is through. */
RPC_INLINE void rpc_send_bytes(RpcPort *port, const void *data, uint64_t size) {
  GLOBAL uint64_t *packet = rpc_fill(port);
  packet[0] = size;
  __builtin_memcpy((void *)(packet + 1), data, size < RPC_FIRST_BYTES ? size : RPC_FIRST_BYTES);
  rpc_send(port);
  for (uint64_t at = RPC_FIRST_BYTES; wave_any(at < size); at += RPC_PACKET_BYTES) {
    packet = rpc_fill(port);
    if (at < size) {
      uint64_t rest = size - at;
      __builtin_memcpy((void *)packet, (const char *)data + at, rest < RPC_PACKET_BYTES ? rest : RPC_PACKET_BYTES);
    }
    rpc_send(port);
  }
}

/* Receives a byte stream, keeps its first `capacity` bytes and returns its size; both may differ between the lanes. */
RPC_INLINE uint64_t rpc_receive_bytes(RpcPort *port, void *data, uint64_t capacity) {
  const GLOBAL uint64_t *packet = rpc_receive(port);
  uint64_t size = packet[0], kept = size < capacity ? size : capacity;
  __builtin_memcpy(data, (const void *)(packet + 1), kept < RPC_FIRST_BYTES ? kept : RPC_FIRST_BYTES);
  for (uint64_t at = RPC_FIRST_BYTES; wave_any(at < size); at += RPC_PACKET_BYTES) {
    packet = rpc_receive(port);
    if (at < kept) {
      uint64_t rest = kept - at;
      __builtin_memcpy((char *)data + at, (const void *)packet, rest < RPC_PACKET_BYTES ? rest : RPC_PACKET_BYTES);
    }
  }
  return size;
}

#endif
