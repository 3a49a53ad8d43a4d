#include "runtime.h"
#include "rpc.h"
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) void *malloc(size_t size) {
  RpcPort port = rpc_open(RPC_MALLOC);
  rpc_fill(&port)[0] = size;
  rpc_send(&port);
  void *memory = (void *)rpc_receive(&port)[0];
  rpc_close(&port);
  return memory;
}

void *calloc(size_t count, size_t size) {
  size_t total;
  if (__builtin_mul_overflow(count, size, &total)) return NULL;
  void *memory = malloc(total);
  return memory == NULL ? NULL : memset(memory, 0, total);
}

/* The server does not answer. */
__attribute__((noinline)) void free(void *memory) {
  RpcPort port = rpc_open(RPC_FREE);
  rpc_fill(&port)[0] = (uint64_t)memory;
  rpc_send(&port);
  rpc_close(&port);
}

/* The round trip before the last packet makes sure that the server listens: after it, the wave is gone. */
static _Noreturn void end_program(uint32_t number, uint64_t status) {
  RpcPort port = rpc_open(number);
  rpc_fill(&port);
  rpc_send(&port);
  rpc_receive(&port);
  rpc_fill(&port)[0] = status;
  rpc_send(&port);
  rpc_close(&port);
  wave_end();
}

__attribute__((noinline)) void exit(int status) {
  run_destructors();
  end_program(RPC_EXIT, (uint64_t)status);
}

__attribute__((noinline)) void abort(void) { end_program(RPC_ABORT, 0); }

__attribute__((noinline)) int atoi(const char *string) {
  while (*string == ' ' || (*string >= '\t' && *string <= '\r')) string++;
  int negative = *string == '-';
  if (negative || *string == '+') string++;
  unsigned value = 0;
  for (; *string >= '0' && *string <= '9'; string++) value = value * 10 + (unsigned)(*string - '0');
  return (int)(negative ? 0 - value : value);
}

int abs(int value) { return value < 0 ? -value : value; }
