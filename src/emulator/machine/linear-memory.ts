/** A shared WebAssembly memory of fixed size, and what TypeScript sees of it. */
import { WavewrightError } from '../../base/errors.ts';
import { ModuleBuilder } from '../../wasm/module.ts';

const MAX_PAGES = 65536;
/** Sizes to try, largest first: reserving address space fails where it is limited. */
const PAGE_COUNTS = [MAX_PAGES, 32768, 16384, 4096];
const WASM_PAGE_BYTES = 65536;

/** A memory as TypeScript and the modules of lowered code see it. */
export class LinearMemory {
  readonly memory: WebAssembly.Memory;
  readonly buffer: SharedArrayBuffer;
  /** Of 64 KiB. */
  readonly pages: number;
  readonly view: DataView;
  readonly bytes: Uint8Array;
  readonly words: Int32Array;
  readonly #fill: FillBytes;

  /** `memory` is shared. */
  constructor(memory: WebAssembly.Memory) {
    this.memory = memory;
    this.buffer = memory.buffer as SharedArrayBuffer;
    this.pages = this.buffer.byteLength / WASM_PAGE_BYTES;
    this.view = new DataView(this.buffer);
    this.bytes = new Uint8Array(this.buffer);
    this.words = new Int32Array(this.buffer);
    const instance = new WebAssembly.Instance(fillModule(), { host: { memory } });
    this.#fill = instance.exports['fill'] as FillBytes; // reason: of the module below
  }

  /** Sets bytes from `start` to before `end`. */
  fill(value: number, start: number, end: number): void {
    this.#fill(start, value, end - start);
  }
}

/** As many addresses have the same high word. */
const WINDOW_BYTES = 2 ** 32;

/** A memory whose bytes have addresses: `windowHi << 32 | offset`. */
export class WindowMemory extends LinearMemory {
  /** High word of every address in this memory. */
  readonly windowHi: number;

  constructor(memory: WebAssembly.Memory, windowHi: number) {
    super(memory);
    this.windowHi = windowHi;
  }

  address(offset: number): bigint {
    return BigInt(this.windowHi * WINDOW_BYTES + (offset >>> 0));
  }

  /** Offset of an address in this memory; undefined outside the window. */
  offset(address: bigint): number | undefined {
    // Doubles are exact here: windows begin below 2^53, and what is rounded stays far away from them.
    const offset = Number(address) - this.windowHi * WINDOW_BYTES;
    return offset >= 0 && offset < WINDOW_BYTES ? offset : undefined;
  }
}

type FillBytes = (start: number, value: number, sizeBytes: number) => void;

let compiled: WebAssembly.Module | undefined;

/** `fill` by WebAssembly's instruction: engines fill typed arrays of shared memory element by element. */
function fillModule(): WebAssembly.Module {
  if (compiled) return compiled;
  const module = new ModuleBuilder();
  module.importMemory('host', 'memory', { minPages: 0, maxPages: MAX_PAGES, shared: true });
  const f = module.function(['i32', 'i32', 'i32'], []);
  for (let i = 0; i < 3; i++) f.get(f.param(i));
  f.memoryFill();
  module.export('fill', f);
  compiled = new WebAssembly.Module(module.toBytes());
  return compiled;
}

/** A module that imports two memories: core specification 3.0 allows that, older engines do not. */
const TWO_MEMORIES = Uint8Array.of(
  ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
  ...[0x02, 0x0f, 0x02, 0x01, 0x61, 0x01, 0x61, 0x02, 0x00, 0x00, 0x01, 0x61, 0x01, 0x62, 0x02, 0x00, 0x00],
);

/** Throws UNSUPPORTED where a module cannot have two memories. */
export function expectTwoMemories(isSupported = WebAssembly.validate(TWO_MEMORIES)): void {
  if (isSupported) return;
  throw new WavewrightError('UNSUPPORTED', 'this engine runs no WebAssembly modules with several memories', {
    hint: 'Node 22 and Chromium 120 and later ones do',
  });
}

/**
 * At most `maxSizeBytes`, less where address space is limited. Throws LIMIT_EXCEEDED when there is not enough
 * for the smallest device, and UNSUPPORTED.
 */
export function createLinearMemory(maxSizeBytes: number, what: string): WebAssembly.Memory {
  expectTwoMemories();
  const limit = Math.min(MAX_PAGES, Math.ceil(maxSizeBytes / WASM_PAGE_BYTES));
  const counts = [limit, ...PAGE_COUNTS.filter((pages) => pages < limit)];
  let cause: unknown;
  for (const pages of counts) {
    try {
      // Grown at once: V8 collects garbage first for a memory that is large from the start, which takes
      // longer than starting up.
      const memory = new WebAssembly.Memory({ initial: 1, maximum: pages, shared: true });
      memory.grow(pages - 1);
      return memory;
    } catch (error) {
      cause = error;
    }
  }
  throw new WavewrightError('LIMIT_EXCEEDED', `no address space for ${what}`, {
    cause,
    hint: 'at least 512 MiB of virtual address space are needed',
  });
}
