/** The few functions of Linux that Node does not have, by node:ffi; numbers are those of x86-64 and arm64. */
import type * as Ffi from 'node:ffi';
import { WavewrightError } from '../base/errors.ts';
import { importFfi } from '../base/node-ffi.ts';

const { closeSync } = process.getBuiltinModule('node:fs');

const DEFINITIONS = {
  memfd_create: { arguments: ['string', 'uint32'], return: 'int32' },
  ftruncate: { arguments: ['int32', 'int64'], return: 'int32' },
  fcntl: { arguments: ['int32', 'int32', 'int32'], return: 'int32' },
  mmap: { arguments: ['uint64', 'uint64', 'int32', 'int32', 'int32', 'int64'], return: 'int64' },
  sendmsg: { arguments: ['int32', 'buffer', 'int32'], return: 'int64' },
  getsockopt: { arguments: ['int32', 'int32', 'int32', 'buffer', 'buffer'], return: 'int32' },
  syscall: { arguments: ['int64', 'uint64', 'int64', 'int64', 'int64', 'int64', 'int64'], return: 'int64' },
} as const satisfies Ffi.FunctionDefinitions;

const MFD_CLOEXEC = 1;
const MFD_ALLOW_SEALING = 2;
const F_ADD_SEALS = 1033;
const F_GET_SEALS = 1034;
/** F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW: nobody changes its size, so that no access is behind its end. */
const SIZE_SEALS = 1 | 2 | 4;
const PROT_READ_WRITE = 1 | 2;
const MAP_SHARED_FIXED_NORESERVE = 0x01 | 0x10 | 0x4000;
const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
const SCM_RIGHTS = 1;
const MSG_NOSIGNAL = 0x4000;
/** The system call, by what Node calls the machine. */
const SYS_FUTEX: Readonly<Record<string, bigint>> = { x64: 202n, arm64: 98n };
const FUTEX_WAKE_BITSET = 10n;
const ALL_WAITERS = 0x7fff_ffffn;

export interface PeerCredentials {
  readonly processId: number;
  readonly userId: number;
}

/** Errors are of the code IO: Linux says no more through this way. */
export class LinuxCalls {
  readonly #ffi: typeof Ffi;
  readonly #functions: Ffi.WrappedFunctionsFromDefinitions<typeof DEFINITIONS>;

  readonly #futex: bigint;

  private constructor(ffi: typeof Ffi, futex: bigint) {
    this.#ffi = ffi;
    this.#futex = futex;
    this.#functions = ffi.dlopen('libc.so.6', DEFINITIONS).functions;
  }

  /** Throws UNSUPPORTED elsewhere than on Linux on x86-64 and arm64. */
  static async load(): Promise<LinuxCalls> {
    const futex = SYS_FUTEX[process.arch];
    if (process.platform !== 'linux' || futex === undefined) {
      const what = `native programs on ${process.platform} ${process.arch}`;
      throw new WavewrightError('UNSUPPORTED', what, { hint: 'exec is for Linux on x64 and arm64' });
    }
    return new LinuxCalls(await importFfi(), futex);
  }

  /** The descriptor of a file in memory whose size stays what it is. */
  createMemoryFile(name: string, sizeBytes: number): number {
    const file = this.#functions.memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0) throw failure('memfd_create');
    try {
      if (this.#functions.ftruncate(file, BigInt(sizeBytes)) !== 0) throw failure('ftruncate');
      if (this.#functions.fcntl(file, F_ADD_SEALS, SIZE_SEALS) !== 0) throw failure('sealing a memfd');
      return file;
    } catch (error) {
      closeSync(file);
      throw error;
    }
  }

  /** Puts pages of the file, from `offset` on, in the place of this process's memory, whose contents go. */
  mapPages(address: bigint, sizeBytes: number, file: number, offset: number): void {
    const [length, start] = [BigInt(sizeBytes), BigInt(offset)];
    const at = this.#functions.mmap(address, length, PROT_READ_WRITE, MAP_SHARED_FIXED_NORESERVE, file, start);
    if (at !== address) throw failure('mapping a memfd');
  }

  /** Whether nobody changes the size of a file that `createMemoryFile` may have made. */
  hasFixedSize(file: number): boolean {
    const seals = this.#functions.fcntl(file, F_GET_SEALS, 0);
    return seals >= 0 && (seals & SIZE_SEALS) === SIZE_SEALS;
  }

  addressOf(buffer: SharedArrayBuffer): bigint {
    return this.#ffi.getRawPointer(new Uint8Array(buffer));
  }

  /** Who is at the other end of a socket. */
  peerOf(socket: number): PeerCredentials {
    const value = new Uint32Array(3);
    const length = Uint32Array.of(value.byteLength);
    if (this.#functions.getsockopt(socket, SOL_SOCKET, SO_PEERCRED, value, length) !== 0) throw failure('getsockopt');
    return { processId: value[0]!, userId: value[1]! };
  }

  /** Sends a byte that brings a file. */
  sendFile(socket: number, file: number): void {
    const byte = Uint8Array.of(0);
    const part = BigUint64Array.of(this.#ffi.getRawPointer(byte), 1n);
    // struct cmsghdr with one descriptor: length, level and type, the number.
    const control = new BigUint64Array(3);
    new DataView(control.buffer).setBigUint64(0, 20n, true);
    new Int32Array(control.buffer).set([SOL_SOCKET, SCM_RIGHTS, file], 2);
    // struct msghdr: name, its length, parts, their number, control, its length, flags.
    const [parts, controls] = [this.#ffi.getRawPointer(part), this.#ffi.getRawPointer(control)];
    const message = BigUint64Array.of(0n, 0n, parts, 1n, controls, BigInt(control.byteLength), 0n);
    if (this.#functions.sendmsg(socket, message, MSG_NOSIGNAL) !== 1n) throw failure('sendmsg');
  }

  /** Wakes all threads, of all processes, that wait for the word to change, for one of these bits. */
  wake(address: bigint, bits: number): void {
    this.#functions.syscall(this.#futex, address, FUTEX_WAKE_BITSET, ALL_WAITERS, 0n, 0n, BigInt(bits >>> 0));
  }
}

function failure(what: string): WavewrightError {
  return new WavewrightError('IO', `${what} failed`);
}
