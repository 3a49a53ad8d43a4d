#include "rpc.h"
#include <stdio.h>
#include <string.h>

/*
 * The opcode of a port is one number, but lanes may name different streams: this runs the body once per opcode among the
 * active lanes, each time with the lanes that want it.
 */
#define FOR_EACH_OPCODE(number, opcode)                                        \
  for (bool waiting = true; waiting;)                                          \
    for (uint32_t number = wave_first(opcode); waiting && number == (opcode); waiting = false)

static uint64_t write_bytes(uint32_t number, FILE *stream, const void *data, uint64_t size) {
  RpcPort port = rpc_open(number);
  if (number == RPC_WRITE_TO_STREAM) {
    rpc_fill(&port)[0] = (uint64_t)stream;
    rpc_send(&port);
  }
  rpc_send_bytes(&port, data, size);
  uint64_t written = rpc_receive(&port)[0];
  rpc_close(&port);
  return written;
}

static __attribute__((noinline)) uint64_t write_to(FILE *stream, const void *data, uint64_t size) {
  uint32_t opcode = stream == stdout   ? RPC_WRITE_TO_STDOUT
                    : stream == stderr ? RPC_WRITE_TO_STDERR
                                       : RPC_WRITE_TO_STREAM;
  uint64_t written = 0;
  FOR_EACH_OPCODE(number, opcode) written = write_bytes(number, stream, data, size);
  return written;
}

size_t fwrite(const void *data, size_t size, size_t count, FILE *stream) {
  return size == 0 ? 0 : write_to(stream, data, size * count) / size;
}

int fputs(const char *string, FILE *stream) {
  size_t length = strlen(string);
  return write_to(stream, string, length) == length ? 0 : EOF;
}

int fputc(int character, FILE *stream) {
  unsigned char byte = (unsigned char)character;
  return write_to(stream, &byte, 1) == 1 ? byte : EOF;
}

int putchar(int character) { return fputc(character, stdout); }

__attribute__((noinline)) int puts(const char *string) {
  uint64_t length = strlen(string);
  return write_bytes(RPC_WRITE_TO_STDOUT_NEWLINE, stdout, string, length) == length + 1 ? 0 : EOF;
}

/* The server parses the format and asks for the argument area, then for one %s string per lane and round. */
static int print(uint32_t number, FILE *stream, const char *format, const void *arguments) {
  RpcPort port = rpc_open(number);
  if (number == RPC_PRINTF_TO_STREAM) {
    rpc_fill(&port)[0] = (uint64_t)stream;
    rpc_send(&port);
  }
  rpc_send_bytes(&port, format, strlen(format) + 1);
  rpc_send_bytes(&port, arguments, rpc_receive(&port)[0]);
  int result;
  for (;;) {
    const GLOBAL uint64_t *packet = rpc_receive(&port);
    const char *string = (const char *)packet[1];
    result = (int)packet[0];
    if (!wave_any(string != NULL)) break;
    rpc_send_bytes(&port, string, string == NULL ? 0 : strlen(string) + 1);
  }
  rpc_close(&port);
  return result;
}

/* On GPUs a va_list is a pointer to the arguments. */
__attribute__((noinline)) int vfprintf(FILE *stream, const char *format, va_list arguments) {
  uint32_t opcode = stream == stdout   ? RPC_PRINTF_TO_STDOUT
                    : stream == stderr ? RPC_PRINTF_TO_STDERR
                                       : RPC_PRINTF_TO_STREAM;
  int result = EOF;
  FOR_EACH_OPCODE(number, opcode) result = print(number, stream, format, arguments);
  return result;
}

int vprintf(const char *format, va_list arguments) { return vfprintf(stdout, format, arguments); }

int printf(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int result = vfprintf(stdout, format, arguments);
  va_end(arguments);
  return result;
}

int fprintf(FILE *stream, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int result = vfprintf(stream, format, arguments);
  va_end(arguments);
  return result;
}

__attribute__((noinline)) FILE *fopen(const char *path, const char *mode) {
  RpcPort port = rpc_open(RPC_OPEN_FILE);
  rpc_send_bytes(&port, path, strlen(path) + 1);
  uint64_t size = strlen(mode) + 1;
  GLOBAL char *text = (GLOBAL char *)rpc_fill(&port);
  for (uint64_t i = 0; i < RPC_PACKET_BYTES; i++) text[i] = i < size ? mode[i] : 0;
  rpc_send(&port);
  FILE *stream = (FILE *)rpc_receive(&port)[0];
  rpc_close(&port);
  return stream;
}

/* A request of one slot and an answer of one slot. */
static uint64_t ask(uint32_t number, uint64_t question) {
  RpcPort port = rpc_open(number);
  rpc_fill(&port)[0] = question;
  rpc_send(&port);
  uint64_t answer = rpc_receive(&port)[0];
  rpc_close(&port);
  return answer;
}

__attribute__((noinline)) int fclose(FILE *stream) { return ask(RPC_CLOSE_FILE, (uint64_t)stream) == 0 ? 0 : EOF; }

__attribute__((noinline)) int fflush(FILE *stream) { return (int)ask(RPC_FFLUSH, (uint64_t)stream); }

__attribute__((noinline)) size_t fread(void *data, size_t size, size_t count, FILE *stream) {
  RpcPort port = rpc_open(RPC_READ_FROM_STREAM);
  GLOBAL uint64_t *packet = rpc_fill(&port);
  packet[0] = size * count;
  packet[1] = (uint64_t)stream;
  rpc_send(&port);
  rpc_receive_bytes(&port, data, size * count);
  uint64_t read = rpc_receive(&port)[0];
  rpc_close(&port);
  return size == 0 ? 0 : read / size;
}

__attribute__((noinline)) char *fgets(char *line, int capacity, FILE *stream) {
  RpcPort port = rpc_open(RPC_READ_FGETS);
  GLOBAL uint64_t *packet = rpc_fill(&port);
  packet[0] = (uint64_t)capacity;
  packet[1] = (uint64_t)stream;
  rpc_send(&port);
  uint64_t size = rpc_receive_bytes(&port, line, capacity < 0 ? 0 : (uint64_t)capacity);
  rpc_close(&port);
  return size == 0 ? NULL : line;
}
