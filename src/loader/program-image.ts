/** What the loader needs of a program's image once it is loaded: kernels, RPC client, clock. */

import { WavewrightError } from '../base/errors.ts';
import { hex } from '../base/text.ts';
import type { Executable } from '../hsa/executables/executable.ts';
import type { KernelSymbol } from '../hsa/executables/kernel-symbol.ts';
import { CodeObjectReader } from '../hsa/executables/loaded-code-object.ts';
import type { Agent } from '../hsa/objects/agent.ts';
import type { Extent } from '../hsa/queues/packet.ts';
import type { Runtime } from '../hsa/runtime/runtime.ts';
import { scratchSizeBytes } from './launch.ts';
import { type KernelResources, kernelResources } from './resource-usage.ts';
import { detectGeneration, type Generation } from './rpc/protocol/generation.ts';

/** Names in one hint. */
const MAX_LISTED = 20;
const CLOCK_SYMBOL = '__llvm_libc_clock_freq';

export class ProgramImage implements Disposable {
  readonly name: string;
  /** Undefined for a program without an RPC client. */
  readonly generation: Generation | undefined;
  readonly begin: KernelSymbol;
  readonly start: KernelSymbol;
  readonly end: KernelSymbol;
  /** Constructors and destructors that generation P23 runs as kernels of their own. */
  readonly init: KernelSymbol | undefined;
  readonly fini: KernelSymbol | undefined;
  readonly #runtime: Runtime;
  readonly executable: Executable;

  /** Loads and links the image. Throws BAD_INPUT when it is no program, and what loading throws. */
  constructor(runtime: Runtime, agent: Agent, bytes: Uint8Array, name: string) {
    this.name = name;
    this.#runtime = runtime;
    this.executable = runtime.createExecutable();
    try {
      this.executable.loadCodeObject(agent, new CodeObjectReader(bytes, name));
      // The program's own start-up code calls them, or the loader starts their kernels in the order that it
      // wants.
      this.executable.freeze({ constructors: 'none' });
      this.begin = this.#requireKernel('_begin');
      this.start = this.#requireKernel('_start');
      this.end = this.#requireKernel('_end');
      this.init = this.#kernel('amdgcn.device.init');
      this.fini = this.#kernel('amdgcn.device.fini');
      this.generation = detectGeneration((symbol) => this.executable.findSymbol(symbol)?.sizeBytes);
    } catch (error) {
      this.executable[Symbol.dispose]();
      throw error;
    }
  }

  /** Lanes of the widest wave of the image: packets are made for it. */
  get laneCount(): 32 | 64 {
    const kernels = this.executable.symbols.filter((symbol) => symbol.kind === 'kernel');
    return kernels.some(({ wavefrontSize }) => wavefrontSize === 64) ? 64 : 32;
  }

  /** Stores the client struct where the program looks for it. Throws BAD_INPUT when that is nowhere. */
  writeClient({ clientSymbol, clientIsPointer }: Generation, struct: Uint8Array): void {
    const { address } = this.executable.getSymbol(clientSymbol);
    if (!clientIsPointer) {
      this.#view(address, struct.length, `symbol ${clientSymbol}`).set(struct);
      return;
    }
    const pointer = this.#view(address, 8, `symbol ${clientSymbol}`);
    const target = new DataView(pointer.buffer, pointer.byteOffset, 8).getBigUint64(0, true);
    this.#view(target, struct.length, `the pointer ${clientSymbol}`).set(struct);
  }

  /** Bytes of the loaded image; `what` says who names this address. */
  #view(address: bigint, sizeBytes: number, what: string): Uint8Array {
    const { address: start, sizeBytes: imageSizeBytes } = this.executable.loadedCodeObjects[0]!;
    if (address < start || address + BigInt(sizeBytes) > start + BigInt(imageSizeBytes)) {
      const found = `${what} is ${hex(address)}, expected the address of ${sizeBytes} bytes of the image`;
      throw new WavewrightError('BAD_INPUT', found, { file: this.name });
    }
    return this.#runtime.view(address, sizeBytes);
  }

  /** Tells programs that ask for the time how fast the device's clock runs. */
  writeClockFrequency(frequencyHz: number): void {
    const symbol = this.executable.findSymbol(CLOCK_SYMBOL);
    if (symbol === undefined) return;
    const bytes = this.#view(symbol.address, 8, `symbol ${CLOCK_SYMBOL}`);
    new DataView(bytes.buffer, bytes.byteOffset, 8).setBigUint64(0, BigInt(frequencyHz), true);
  }

  /**
   * `stackSizeBytes`: scratch of a work-item at least; by default what the kernel needs, or as much as is
   * usual where the compiler could not know.
   */
  resources(kernel: KernelSymbol, threads: Extent, stackSizeBytes?: number): KernelResources {
    const parsed = kernel.codeObject.codeObject.kernels.find(({ symbol }) => symbol.name === kernel.name)!;
    return kernelResources(kernel, parsed.descriptor, {
      processor: kernel.agent.requireDevice().properties.processor,
      scratchSizeBytes: scratchSizeBytes(kernel, stackSizeBytes),
      workgroupSize: threads[0] * threads[1] * threads[2],
    });
  }

  /** Kernels that are no part of the start-up code. */
  get otherKernels(): KernelSymbol[] {
    const startUp = [this.init, this.begin, this.start, this.end, this.fini];
    const kernels = this.executable.symbols.filter((symbol) => symbol.kind === 'kernel');
    return kernels.filter((kernel) => !startUp.includes(kernel));
  }

  get usesClock(): boolean {
    return this.executable.findSymbol(CLOCK_SYMBOL) !== undefined;
  }

  [Symbol.dispose](): void {
    this.executable[Symbol.dispose]();
  }

  #kernel(name: string): KernelSymbol | undefined {
    const symbol = this.executable.findSymbol(`${name}.kd`);
    return symbol?.kind === 'kernel' ? symbol : undefined;
  }

  #requireKernel(name: string): KernelSymbol {
    const kernel = this.#kernel(name);
    if (kernel !== undefined) return kernel;
    const kernels = this.executable.symbols.filter(({ kind }) => kind === 'kernel');
    const found = kernels.map((symbol) => symbol.name.replace(/\.kd$/, ''));
    const start = 'a program needs _begin, _start and _end, which the start-up code of the C library has';
    const listed = `${found.slice(0, MAX_LISTED).join(', ')}${found.length > MAX_LISTED ? ', …' : ''}`;
    const single = `\`wavewright dispatch ${this.name} --kernel=${found[0]} --grid=... --workgroup=...\` runs a kernel alone`;
    throw new WavewrightError('BAD_INPUT', `the image has no kernel '${name}'`, {
      section: 'symbol table',
      hint: found.length === 0 ? `${start}; found no kernel` : `${start}; found ${listed}: ${single}`,
    });
  }
}
