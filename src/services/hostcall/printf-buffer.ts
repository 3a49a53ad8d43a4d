/**
 * The buffer of `hidden_printf_buffer`, into which kernels put what they print: OpenCL's printf, and HIP's
 * with `-mprintf-kind=buffered`. Two dwords come first, the bytes in use and the room behind them; then
 * records. The metadata lists what can be printed (`amdhsa.printf`); the host prints when the kernel has
 * ended.
 */
import { WavewrightError } from '../../base/errors.ts';
import { OpenclFormat } from './opencl-printf.ts';
import { printArguments, printfText } from './printf-message.ts';
import type { Print } from './server.ts';

export const PRINTF_BUFFER_SIZE_BYTES = 4 * 2 ** 20;
const HEADER_SIZE_BYTES = 8;
/** Bits of the control dword in front of a record of HIP; those above are the record's size. */
const TO_STDERR = 1;
const IS_CONSTANT = 2;
const SIZE_SHIFT = 2;

const utf8 = new TextEncoder();

/** What a kernel's code object can print: OpenCL's formats by number, or HIP's by their hash. */
export class PrintfFormats {
  readonly #opencl = new Map<number, OpenclFormat>();
  readonly #hip = new Map<bigint, Uint8Array>();

  /** `lines`: those of `amdhsa.printf`. Throws BAD_INPUT. */
  constructor(lines: readonly string[]) {
    for (const line of lines) {
      const hashed = /^0:0:([0-9a-f]{1,16}),([\s\S]*)$/.exec(line);
      if (hashed) this.#hip.set(BigInt(`0x${hashed[1]}`), utf8.encode(hashed[2]));
      else {
        const format = OpenclFormat.parse(line);
        this.#opencl.set(format.number, format);
      }
    }
  }

  /** Prints what a kernel left in the buffer. Throws RPC_PROTOCOL where that is no record, LIMIT_EXCEEDED. */
  print(buffer: Uint8Array<SharedArrayBuffer>, print: Print): void {
    // The kernel has ended, but what its waves stored may come from anyone: only a copy stays what it was
    // looked at for.
    const used = new DataView(buffer.buffer, buffer.byteOffset).getUint32(0, true);
    const records = buffer.slice(HEADER_SIZE_BYTES, HEADER_SIZE_BYTES + used);
    const next = this.#hip.size > 0 ? this.#printHip : this.#printOpencl;
    for (let at = 0; at < records.length; ) {
      const rest = records.subarray(at);
      const sizeBytes = rest.length < 4 ? 0 : next.call(this, new DataView(rest.buffer, rest.byteOffset), rest, print);
      if (sizeBytes < 4 || sizeBytes > rest.length) {
        throw new WavewrightError('RPC_PROTOCOL', `the printf buffer holds no record`, {
          offset: HEADER_SIZE_BYTES + at,
        });
      }
      at += sizeBytes;
    }
  }

  /** Bytes of the record, 0 for none. */
  #printOpencl(view: DataView, rest: Uint8Array, print: Print): number {
    const format = this.#opencl.get(view.getUint32(0, true));
    if (format === undefined || 4 + format.sizeBytes > rest.length) return 0;
    print('stdout', format.text(rest.subarray(4, 4 + format.sizeBytes)));
    return 4 + format.sizeBytes;
  }

  #printHip(view: DataView, rest: Uint8Array, print: Print): number {
    const control = view.getUint32(0, true);
    const sizeBytes = control >>> SIZE_SHIFT;
    const isConstant = (control & IS_CONSTANT) !== 0;
    if (sizeBytes < (isConstant ? 12 : 4) || sizeBytes > rest.length) return 0;
    const stream = control & TO_STDERR ? 'stderr' : 'stdout';
    if (!isConstant) print(stream, printfText(rest.subarray(4, sizeBytes)));
    else {
      const format = this.#hip.get(view.getBigUint64(4, true));
      if (format === undefined) return 0;
      print(stream, printArguments(format, rest.subarray(12, sizeBytes)));
    }
    return sizeBytes;
  }
}

/** An empty buffer. */
export function initializePrintfBuffer(buffer: Uint8Array<SharedArrayBuffer>): void {
  buffer.fill(0);
  new DataView(buffer.buffer, buffer.byteOffset).setUint32(4, buffer.length - HEADER_SIZE_BYTES, true);
}
