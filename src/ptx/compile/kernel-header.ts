/** What stands before the code of a kernel: how much of everything a launch has to give it. */
const MAGIC = 0x4b58_5450;
const VERSION = 2;

/** Code follows. */
export const KERNEL_HEADER_BYTES = 32;

export interface KernelHeader {
  /** Rows of each file that the code uses, from the first one on. */
  readonly vectorRows: number;
  readonly accumulatorRows: number;
  readonly parameterBytes: number;
  /** Private memory of a lane. */
  readonly privateBytes: number;
  /** Shared memory of a block, without what a launch adds. */
  readonly sharedBytes: number;
  /** Whether its lanes may wait for what others of their wave do, without saying so. */
  readonly givesWay: boolean;
}

export function writeKernelHeader(bytes: Uint8Array, header: KernelHeader): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, KERNEL_HEADER_BYTES);
  const { vectorRows, accumulatorRows, parameterBytes, privateBytes, sharedBytes, givesWay } = header;
  const sizes = [vectorRows, accumulatorRows, parameterBytes, privateBytes, sharedBytes];
  const words = [MAGIC, VERSION, ...sizes, givesWay ? 1 : 0];
  for (const [i, word] of words.entries()) view.setUint32(i * 4, word, true);
}

/** Undefined for what is no header; sizes are as they stand there. */
export function readKernelHeader(bytes: Uint8Array): KernelHeader | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, KERNEL_HEADER_BYTES);
  const word = (index: number): number => view.getUint32(index * 4, true);
  if (word(0) !== MAGIC || word(1) !== VERSION) return undefined;
  return {
    ...{ vectorRows: word(2), accumulatorRows: word(3) },
    ...{ parameterBytes: word(4), privateBytes: word(5), sharedBytes: word(6), givesWay: word(7) !== 0 },
  };
}
