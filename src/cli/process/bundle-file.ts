import { WavewrightError } from '../../base/errors.ts';
import type { BundleTarget } from '../../profile/format/bundle.ts';

const { closeSync, openSync, writeSync } = process.getBuiltinModule('node:fs');

/** Bytes that are collected before they are written. */
const BUFFER_BYTES = 2 ** 20;

/**
 * A bundle that is written to a file as it grows, in place: what there is of it stays readable when the
 * process ends before it is complete.
 */
export class BundleFile implements BundleTarget, Disposable {
  readonly #file: string;
  readonly #descriptor: number;
  #parts: Uint8Array[] = [];
  #waitingBytes = 0;
  #isClosed = false;

  /** Throws IO. */
  constructor(file: string) {
    this.#file = file;
    this.#descriptor = attempt(file, () => openSync(file, 'w'));
  }

  append(bytes: Uint8Array): void {
    this.#parts.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes >= BUFFER_BYTES) this.#flush();
  }

  restart(bytes: Uint8Array): void {
    this.#flush();
    this.#write(bytes, 0);
  }

  #flush(): void {
    for (const part of this.#parts) this.#write(part, null);
    this.#parts = [];
    this.#waitingBytes = 0;
  }

  #write(bytes: Uint8Array, position: number | null): void {
    attempt(this.#file, () => {
      for (let at = 0; at < bytes.length; ) {
        at += writeSync(this.#descriptor, bytes, at, bytes.length - at, position === null ? null : position + at);
      }
    });
  }

  [Symbol.dispose](): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    try {
      this.#flush();
    } finally {
      attempt(this.#file, () => closeSync(this.#descriptor));
    }
  }
}

function attempt<T>(file: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new WavewrightError('IO', `cannot be written (${code})`, { file, cause: error });
  }
}
