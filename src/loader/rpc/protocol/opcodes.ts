/** RPC opcodes of the GPU C library, by number without the class byte. */

export const OPCODES = {
  NOOP: 0,
  EXIT: 1,
  WRITE_TO_STDOUT: 2,
  WRITE_TO_STDERR: 3,
  WRITE_TO_STREAM: 4,
  WRITE_TO_STDOUT_NEWLINE: 5,
  READ_FROM_STREAM: 6,
  READ_FGETS: 7,
  OPEN_FILE: 8,
  CLOSE_FILE: 9,
  MALLOC: 10,
  FREE: 11,
  HOST_CALL: 12,
  ABORT: 13,
  FEOF: 14,
  FERROR: 15,
  CLEARERR: 16,
  FSEEK: 17,
  FTELL: 18,
  FFLUSH: 19,
  UNGETC: 20,
  PRINTF_TO_STDOUT: 21,
  PRINTF_TO_STDERR: 22,
  PRINTF_TO_STREAM: 23,
  PRINTF_TO_STDOUT_PACKED: 24,
  PRINTF_TO_STDERR_PACKED: 25,
  PRINTF_TO_STREAM_PACKED: 26,
  REMOVE: 27,
  RENAME: 28,
  SYSTEM: 29,
} as const;

export type OpcodeName = keyof typeof OPCODES;

/** What the offload runtime asks for under its own class byte; the conversation is HOST_CALL's. */
export const OFFLOAD_HOST_CALL = 0x6f00_0000;
