/** What the loader needs of a program once it is loaded: kernels, RPC client, clock. */

import { WavewrightError } from '../base/errors.ts';
import { hex } from '../base/text.ts';
import { PROGRAM_KERNEL } from '../codeobject/code-object.ts';
import { kernelName } from '../codeobject/kernel-name.ts';
import type { Extent } from '../hsa/queues/packet.ts';
import { scratchSizeBytes } from './launch.ts';
import type { LoadedProgram, ProgramKernel } from './loaded-program.ts';
import type { KernelResources } from './resource-usage.ts';
import { detectGeneration, type Generation } from './rpc/protocol/generation.ts';

/** Names in one hint. */
const MAX_LISTED = 20;
const CLOCK_SYMBOL = '__llvm_libc_clock_freq';

export class ProgramImage {
  readonly name: string;
  /** Undefined for a program without an RPC client. */
  readonly generation: Generation | undefined;
  readonly begin: ProgramKernel;
  readonly start: ProgramKernel;
  readonly end: ProgramKernel;
  /** Constructors and destructors that generation P23 runs as kernels of their own. */
  readonly init: ProgramKernel | undefined;
  readonly fini: ProgramKernel | undefined;
  readonly program: LoadedProgram;

  /** Throws BAD_INPUT when it is no program. The caller disposes of `program`. */
  constructor(program: LoadedProgram, name: string) {
    this.name = name;
    this.program = program;
    this.begin = this.#requireKernel('_begin');
    this.start = this.#requireKernel(PROGRAM_KERNEL);
    this.end = this.#requireKernel('_end');
    this.generation = detectGeneration((symbol) => program.findSymbol(symbol)?.sizeBytes);
    const names = program.constructorKernels(this.generation);
    this.init = names && this.program.findKernel(names.init);
    this.fini = names && this.program.findKernel(names.fini);
  }

  /** Lanes of the widest wave of the image: packets are made for it. */
  get laneCount(): 32 | 64 {
    return this.program.kernels.some(({ wavefrontSize }) => wavefrontSize === 64) ? 64 : 32;
  }

  /** Stores the client struct where the program looks for it. Throws BAD_INPUT when that is nowhere. */
  writeClient({ clientSymbol, clientIsPointer }: Generation, struct: Uint8Array): void {
    const { address } = this.program.findSymbol(clientSymbol)!;
    if (!clientIsPointer) {
      this.#write(address, struct, `symbol ${clientSymbol}`);
      return;
    }
    const pointer = this.program.readImage(address, 8);
    if (pointer === undefined) throw this.#outside(`symbol ${clientSymbol}`, address, 8);
    const target = new DataView(pointer.buffer, pointer.byteOffset, 8).getBigUint64(0, true);
    this.#write(target, struct, `the pointer ${clientSymbol}`);
  }

  /** `what` says who names the address. */
  #write(address: bigint, bytes: Uint8Array, what: string): void {
    if (!this.program.writeImage(address, bytes)) throw this.#outside(what, address, bytes.length);
  }

  #outside(what: string, address: bigint, sizeBytes: number): WavewrightError {
    const found = `${what} is ${hex(address)}, expected the address of ${sizeBytes} bytes of the image`;
    return new WavewrightError('BAD_INPUT', found, { file: this.name });
  }

  /** Tells programs that ask for the time how fast the device's clock runs. */
  writeClockFrequency(frequencyHz: number): void {
    const symbol = this.program.findSymbol(CLOCK_SYMBOL);
    if (symbol === undefined) return;
    const frequency = new Uint8Array(BigUint64Array.of(BigInt(frequencyHz)).buffer);
    this.#write(symbol.address, frequency, `symbol ${CLOCK_SYMBOL}`);
  }

  /**
   * `stackSizeBytes`: scratch of a work-item at least; by default what the kernel needs, or as much as is
   * usual where the compiler could not know.
   */
  resources(kernel: ProgramKernel, threads: Extent, stackSizeBytes?: number): KernelResources {
    return this.program.resources(kernel, {
      scratchSizeBytes: scratchSizeBytes(kernel, stackSizeBytes),
      workgroupSize: threads[0] * threads[1] * threads[2],
    });
  }

  /** Kernels that are no part of the start-up code. */
  get otherKernels(): ProgramKernel[] {
    const startUp = [this.init, this.begin, this.start, this.end, this.fini];
    return this.program.kernels.filter((kernel) => !startUp.includes(kernel));
  }

  get usesClock(): boolean {
    return this.program.findSymbol(CLOCK_SYMBOL) !== undefined;
  }

  #requireKernel(name: string): ProgramKernel {
    const kernel = this.program.findKernel(name);
    if (kernel !== undefined) return kernel;
    const found = this.program.kernels.map(kernelName);
    const start = 'a program needs _begin, _start and _end, which the start-up code of the C library has';
    const listed = `${found.slice(0, MAX_LISTED).join(', ')}${found.length > MAX_LISTED ? ', …' : ''}`;
    const single = `\`wavewright dispatch ${this.name} --kernel=${found[0]} --grid=... --workgroup=...\` runs a kernel alone`;
    throw new WavewrightError('BAD_INPUT', `the image has no kernel '${name}'`, {
      section: 'symbol table',
      hint: found.length === 0 ? `${start}; found no kernel` : `${start}; found ${listed}: ${single}`,
    });
  }
}
