/**
 * PTX modules on a device: placed in its memory, linked with each other, and told to the device. A name that
 * one module leaves `.extern` is what another one defines.
 */
import { WavewrightError } from '../base/errors.ts';
import type { SourceLine } from '../codeobject/line-table.ts';
import type { Device } from '../device/device.ts';
import { guestAddress } from '../device/guest-address.ts';
import type { Dispatch } from '../device/launch.ts';
import { faultText } from '../launch/fault-text.ts';
import { UNKNOWN_STACK_BYTES } from '../launch/private-memory.ts';
import { KERNEL_HEADER_BYTES, readKernelHeader, writeKernelHeader } from '../ptx/compile/kernel-header.ts';
import type { ImageKernel, PtxImage, Relocation } from '../ptx/compile/module.ts';
import { type StackNeeds, stackNeeds } from '../ptx/compile/stack-needs.ts';
import { DebugLines } from '../ptx/text/debug-lines.ts';
import { parseSource } from '../ptx/text/parser.ts';
import type { PtxSource } from '../ptx/text/source.ts';
import { RequestServer } from '../services/cuda/request-server.ts';
import type { Print } from '../services/hostcall/server.ts';
import { compileTexts } from './compile-texts.ts';
import { REQUESTS_SYMBOL } from './device-library.ts';
import type { NvptxExecutable, NvptxLoadOptions, PtxKernel, PtxSymbol, PtxText } from './executable.ts';
import { kernelMetadata } from './kernel-metadata.ts';
import { LinkedNames, type Placed } from './link.ts';

export type { PtxKernel, PtxText } from './executable.ts';

interface Loaded extends Placed {
  readonly source: PtxSource;
  readonly view: Uint8Array;
  /** Made when a place is first asked for. */
  debugLines?: DebugLines;
}

/** `using` frees its memory; nothing of it may run any more. */
export class PtxExecutable implements NvptxExecutable {
  readonly kernels: readonly PtxKernel[];
  /** Variables, kernels and functions by their names. */
  readonly symbols: ReadonlyMap<string, PtxSymbol>;
  /** Device memory of code and variables. */
  readonly sizeBytes: number;
  readonly #device: Device;
  readonly #loaded: Loaded[] = [];
  readonly #names: LinkedNames;
  /** Where code asks its runtime for something. */
  readonly #requests: RequestServer | undefined;
  #isDisposed = false;

  /**
   * Compiles, places and links. Throws BAD_INPUT for what is no PTX, names that nothing defines and names
   * that are defined twice, UNSUPPORTED by name for what is not implemented, LIMIT_EXCEEDED.
   */
  constructor(device: Device, texts: readonly PtxText[], { wanted = [], ...services }: NvptxLoadOptions = {}) {
    this.#device = device;
    const images = compileTexts(texts, wanted);
    try {
      for (const { image, source } of images) this.#place(image, source);
      this.#names = new LinkedNames(this.#loaded);
      for (const loaded of this.#loaded) this.#relocate(loaded);
      this.kernels = this.#linkKernels();
      this.symbols = this.#names.symbols;
    } catch (error) {
      for (const { address } of this.#loaded) device.memory.free(address);
      throw error;
    }
    for (const loaded of this.#loaded) this.#publish(loaded);
    const requests = this.symbols.get(REQUESTS_SYMBOL);
    if (requests) {
      this.#requests = new RequestServer(device.memory, services);
      const address = new Uint8Array(BigUint64Array.of(this.#requests.address).buffer);
      this.write(requests.address, address);
    }
    this.sizeBytes = this.#loaded.reduce((sum, { view }) => sum + view.length, 0);
  }

  get names(): Iterable<string> {
    return this.symbols.keys();
  }

  serve(): number {
    return this.#requests?.poll() ?? 0;
  }

  resetServices(): void {
    this.#requests?.reset();
  }

  printTo(print: Print): void {
    if (this.#requests) this.#requests.onPrint = print;
  }

  symbol(name: string): PtxSymbol | undefined {
    return this.symbols.get(name);
  }

  addressOf(name: string): bigint {
    const symbol = this.symbols.get(name);
    if (symbol !== undefined) return symbol.address;
    throw new WavewrightError('USAGE', `there is no variable or function '${name}'`);
  }

  read(address: bigint, sizeBytes: number): Uint8Array | undefined {
    return this.#view(address, sizeBytes)?.slice();
  }

  write(address: bigint, bytes: Uint8Array): boolean {
    const view = this.#view(address, bytes.length);
    view?.set(bytes);
    return view !== undefined;
  }

  #view(address: bigint, sizeBytes: number): Uint8Array | undefined {
    const found = this.#loadedAt(address);
    const offset = found && Number(address - found.address);
    if (offset === undefined || offset + sizeBytes > found!.view.length) return undefined;
    return found!.view.subarray(offset, offset + sizeBytes);
  }

  errorOf(dispatch: Dispatch, kernel: Pick<PtxKernel, 'name'>, privateSizeBytes?: number): WavewrightError | undefined {
    const { error, fault } = dispatch;
    if (error || !fault) return error;
    const placed = { ...fault, ...this.#linesOf(fault.pc) };
    const { message, report, ...context } = faultText(placed, { kernel: kernel.name, privateSizeBytes });
    const code = fault.kind === 'unsupported' ? 'UNSUPPORTED' : 'GPU_FAULT';
    const assertion = this.#requests?.assertion;
    const headline = assertion === undefined ? report.headline : `device-side assert triggered: ${assertion}`;
    const what = assertion === undefined ? message : `${headline}; ${message}`;
    const text = [what, ...dispatch.describeWaves((pc) => this.sourceText(pc))].join('\n  ');
    const section = `kernel '${kernel.name}'`;
    return new WavewrightError(code, text, { section, report: { ...report, headline }, ...context });
  }

  #place(image: PtxImage, source: PtxSource): void {
    const { memory } = this.#device;
    const sizeBytes = Math.max(1, image.bytes.length);
    const address = memory.allocate(sizeBytes, { label: `module ${image.name}` });
    const view = memory.view(address, sizeBytes);
    view.set(image.bytes);
    this.#loaded.push({ image, source, address, view });
  }

  /** The header of each kernel says what it needs with all that it calls. */
  #linkKernels(): PtxKernel[] {
    const { functions } = this.#names;
    const needs = stackNeeds(functions, this.#names.calleesOf);
    const all = [...needs.values()];
    const rows = (field: 'vectorRows' | 'accumulatorRows'): number => Math.max(0, ...all.map((each) => each[field]));
    const found: PtxKernel[] = [];
    for (const each of functions) {
      const kernel = each.isKernel && each.placed.image.kernels.find(({ offset }) => offset === each.offset);
      if (!kernel) continue;
      const own = needs.get(each)!;
      const { isOpen } = own;
      const whole: StackNeeds = {
        isOpen,
        givesWay: own.givesWay || (isOpen && all.some(({ givesWay }) => givesWay)),
        privateBytes: own.privateBytes + (isOpen ? UNKNOWN_STACK_BYTES : 0),
        // What a register names may be any function.
        vectorRows: isOpen ? rows('vectorRows') : own.vectorRows,
        accumulatorRows: isOpen ? rows('accumulatorRows') : own.accumulatorRows,
      };
      const { view } = this.#loaded.find((loaded) => loaded === each.placed)!;
      const bytes = view.subarray(kernel.offset, kernel.offset + KERNEL_HEADER_BYTES);
      writeKernelHeader(bytes, { ...readKernelHeader(bytes)!, ...whole });
      found.push(kernelOf(kernel, each.placed.address, whole));
    }
    return found;
  }

  #relocate(loaded: Loaded): void {
    const { image, view } = loaded;
    const data = new DataView(view.buffer, view.byteOffset, view.length);
    for (const relocation of image.relocations) {
      const { offset, symbol, addend, sizeBytes, mask } = relocation;
      const target = this.#names.address(symbol, loaded);
      if (target === undefined) throw undefinedSymbol(loaded, relocation);
      const shift = trailingZeros(mask);
      const value = ((target + addend) & mask) >> shift;
      for (let i = 0; i < sizeBytes; i++) data.setUint8(offset + i, Number((value >> BigInt(8 * i)) & 0xffn));
    }
  }

  #publish({ image, address, view }: Loaded): void {
    const { name, functions } = image;
    this.#device.publishCode({
      ...{ address, sizeBytes: view.length, name },
      symbols: functions.map((each) => ({
        ...{ name: each.name, address: address + BigInt(each.offset), sizeBytes: each.sizeBytes },
      })),
      sourceLine: (pc) => this.sourceLine(pc),
    });
  }

  /** The line of the source that a compiler named in the text, or else that of the text. */
  sourceLine(pc: bigint): SourceLine | undefined {
    return this.#linesOf(pc).source;
  }

  /** `text`: the line of the PTX text, where that names one of the source. */
  #linesOf(pc: bigint): { readonly source?: SourceLine; readonly text?: SourceLine } {
    const loaded = this.#loadedAt(pc);
    const offset = loaded?.image.lines.at(Number(pc - loaded.address));
    if (offset === undefined) return {};
    const text = { file: loaded!.image.name, ...loaded!.source.position(offset) };
    loaded!.debugLines ??= new DebugLines(parseSource(loaded!.source));
    const source = loaded!.debugLines.at(offset);
    return source ? { source, text } : { source: text };
  }

  /** The same as text. */
  sourceText(pc: bigint): string | undefined {
    const source = this.sourceLine(pc);
    return source && `${source.file}:${source.line}:${source.column}`;
  }

  #loadedAt(at: bigint): Loaded | undefined {
    return this.#loaded.find(({ address, view }) => at >= address && at < address + BigInt(view.length));
  }

  [Symbol.dispose](): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#requests?.[Symbol.dispose]();
    for (const { address } of this.#loaded) {
      this.#device.withdrawCode(address);
      this.#device.memory.free(address);
    }
  }
}

function trailingZeros(mask: bigint): bigint {
  let shift = 0n;
  while (mask > 0n && ((mask >> shift) & 1n) === 0n) shift++;
  return shift;
}

function undefinedSymbol({ image, source }: Loaded, { symbol, textOffset }: Relocation): WavewrightError {
  const what = `nothing defines '${symbol}'`;
  return textOffset > 0 ? source.error(textOffset, what) : new WavewrightError('BAD_INPUT', what, { file: image.name });
}

function kernelOf(kernel: ImageKernel, base: bigint, { privateBytes, isOpen }: StackNeeds): PtxKernel {
  const { name, parametersSizeBytes, sharedSizeBytes } = kernel;
  return {
    ...{ name, kernargSegmentSizeBytes: parametersSizeBytes, groupSegmentSizeBytes: sharedSizeBytes },
    ...{ privateSegmentSizeBytes: privateBytes, dynamicCallstack: isOpen },
    metadata: kernelMetadata({ ...kernel, privateSizeBytes: privateBytes }),
    ...{ entry: guestAddress(base + BigInt(kernel.offset)), registerCount: kernel.registerCount },
  };
}
