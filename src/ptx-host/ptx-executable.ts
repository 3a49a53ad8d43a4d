/**
 * PTX modules on a device: placed in its memory, linked with each other, and told to the device. A name that
 * one module leaves `.extern` is what another one defines.
 */
import { WavewrightError } from '../base/errors.ts';
import type { KernelArgument, KernelMetadata } from '../codeobject/metadata.ts';
import type { Device } from '../device/device.ts';
import { type GuestAddress, guestAddress } from '../device/guest-address.ts';
import type { Dispatch } from '../device/launch.ts';
import { faultText } from '../launch/fault-text.ts';
import type { LaunchableKernel } from '../launch/launchable-kernel.ts';
import {
  compilePtx,
  type ImageKernel,
  type ImageLine,
  type ImageParameter,
  type PtxImage,
  type Relocation,
} from '../ptx/compile/module.ts';
import type { PtxFunction } from '../ptx/text/syntax.ts';

/** A kernel that can be launched: its parameters, and where its header is. */
export interface PtxKernel extends LaunchableKernel {
  readonly entry: GuestAddress;
  /** Registers of 32 bits that are live at a time. */
  readonly registerCount: number;
}

/** A PTX text, and what errors call it. */
export interface PtxText {
  readonly text: string;
  readonly name: string;
}

/** A variable or a kernel in device memory; `sizeBytes` of a kernel is that of its code. */
export interface PtxSymbol {
  readonly address: bigint;
  readonly sizeBytes: number;
}

interface Loaded {
  readonly image: PtxImage;
  readonly address: bigint;
  readonly view: Uint8Array;
}

/** `using` frees its memory; nothing of it may run any more. */
export class PtxExecutable implements Disposable {
  readonly kernels: readonly PtxKernel[];
  /** Device memory of code and variables. */
  readonly sizeBytes: number;
  readonly #device: Device;
  readonly #loaded: Loaded[] = [];
  readonly #symbols = new Map<string, PtxSymbol>();
  #isDisposed = false;

  /**
   * Compiles, places and links. Throws BAD_INPUT for what is no PTX, names that nothing defines and names
   * that are defined twice, UNSUPPORTED by name for what is not implemented, LIMIT_EXCEEDED.
   */
  constructor(device: Device, texts: readonly PtxText[]) {
    this.#device = device;
    const images = texts.map(({ text, name }) => compilePtx(text, name));
    try {
      for (const image of images) this.#place(image);
      for (const loaded of this.#loaded) this.#relocate(loaded);
    } catch (error) {
      for (const { address } of this.#loaded) device.memory.free(address);
      throw error;
    }
    for (const loaded of this.#loaded) this.#publish(loaded);
    this.kernels = this.#loaded.flatMap(({ image, address }) =>
      image.kernels.map((kernel) => kernelOf(kernel, address)),
    );
    this.sizeBytes = this.#loaded.reduce((sum, { view }) => sum + view.length, 0);
  }

  /** The address of a variable or kernel. Throws USAGE for a name that nothing defines. */
  addressOf(name: string): bigint {
    const symbol = this.#symbols.get(name);
    if (symbol !== undefined) return symbol.address;
    throw new WavewrightError('USAGE', `there is no variable '${name}'`);
  }

  /** Variables and kernels by their names. */
  get symbols(): ReadonlyMap<string, PtxSymbol> {
    return this.#symbols;
  }

  /** Bytes of the modules; undefined where the range is not inside one of them. */
  view(address: bigint, sizeBytes: number): Uint8Array | undefined {
    const found = this.#loadedAt(address);
    const offset = found && Number(address - found.address);
    if (offset === undefined || offset + sizeBytes > found!.view.length) return undefined;
    return found!.view.subarray(offset, offset + sizeBytes);
  }

  /** Why a dispatch of a kernel ended before it was complete, if it did. */
  errorOf(
    { error, fault }: Dispatch,
    kernel: Pick<PtxKernel, 'name'>,
    privateSizeBytes?: number,
  ): WavewrightError | undefined {
    if (error || !fault) return error;
    const source = this.sourceLine(fault.pc);
    const placed = { ...fault, ...(source && { source }) };
    const { message, ...context } = faultText(placed, { kernel: kernel.name, privateSizeBytes });
    const code = fault.kind === 'unsupported' ? 'UNSUPPORTED' : 'GPU_FAULT';
    return new WavewrightError(code, message, { section: `kernel '${kernel.name}'`, ...context });
  }

  #place(image: PtxImage): void {
    const { memory } = this.#device;
    const sizeBytes = Math.max(1, image.bytes.length);
    const address = memory.allocate(sizeBytes, { label: `module ${image.name}` });
    const view = memory.view(address, sizeBytes);
    view.set(image.bytes);
    this.#loaded.push({ image, address, view });
    const weak = weakNames(image);
    for (const { name, offset, sizeBytes } of [...image.kernels, ...image.variables]) {
      if (this.#symbols.has(name)) {
        if (weak.has(name)) continue;
        throw new WavewrightError('BAD_INPUT', `'${name}' is defined twice`, { file: image.name });
      }
      this.#symbols.set(name, { address: address + BigInt(offset), sizeBytes });
    }
  }

  #relocate({ image, view, address }: Loaded): void {
    const data = new DataView(view.buffer, view.byteOffset, view.length);
    for (const relocation of image.relocations) {
      const { offset, symbol, addend, sizeBytes, mask } = relocation;
      const own = image.variables.find(({ name }) => name === symbol);
      const target = own ? address + BigInt(own.offset) : this.#symbols.get(symbol)?.address;
      if (target === undefined) throw undefinedSymbol(image, relocation);
      const shift = trailingZeros(mask);
      const value = ((target + addend) & mask) >> shift;
      for (let i = 0; i < sizeBytes; i++) data.setUint8(offset + i, Number((value >> BigInt(8 * i)) & 0xffn));
    }
  }

  #publish({ image, address, view }: Loaded): void {
    const { name, kernels } = image;
    this.#device.publishCode({
      ...{ address, sizeBytes: view.length, name },
      symbols: kernels.map((kernel) => ({
        ...{ name: kernel.name, address: address + BigInt(kernel.offset), sizeBytes: kernel.sizeBytes },
      })),
      sourceLine: (pc) => this.sourceLine(pc),
    });
  }

  /** The line of the PTX text that the instruction at an address comes from. */
  sourceLine(pc: bigint): { readonly file: string; readonly line: number; readonly column: number } | undefined {
    const found = this.#loadedAt(pc);
    const line = found && lineAt(found.image.lines, Number(pc - found.address));
    return line && { file: found.image.name, line: line.line, column: line.column };
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
    for (const { address } of this.#loaded) {
      this.#device.withdrawCode(address);
      this.#device.memory.free(address);
    }
  }
}

/** The last line that begins at an offset or before it. */
function lineAt(lines: readonly ImageLine[], offset: number): ImageLine | undefined {
  let [low, high] = [0, lines.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lines[middle]!.offset <= offset) low = middle + 1;
    else high = middle;
  }
  return lines[low - 1];
}

function trailingZeros(mask: bigint): bigint {
  let shift = 0n;
  while (mask > 0n && ((mask >> shift) & 1n) === 0n) shift++;
  return shift;
}

/** Names of which another definition may be there. */
function weakNames({ module: { items } }: PtxImage): ReadonlySet<string> {
  const named = items.filter((item) => item.kind === 'variable' || item.kind === 'function');
  const isShared = (linkage: string | undefined): boolean => linkage === '.weak' || linkage === '.common' || !linkage;
  return new Set(named.filter(({ linkage }) => isShared(linkage)).map(({ name }) => name));
}

function undefinedSymbol(image: PtxImage, { symbol }: Relocation): WavewrightError {
  const isFunction = image.module.items.some(
    (item): item is PtxFunction => item.kind === 'function' && item.name === symbol,
  );
  if (isFunction)
    return new WavewrightError('UNSUPPORTED', `the address of function '${symbol}'`, { file: image.name });
  return new WavewrightError('BAD_INPUT', `nothing defines '${symbol}'`, { file: image.name });
}

/** Names that errors use, and that say whether a number is an integer or a float. */
const TYPE_NAMES: Readonly<Record<string, string>> = {
  ...{ u8: 'uchar', s8: 'char', u16: 'ushort', s16: 'short', u32: 'uint', s32: 'int' },
  ...{ f16: 'half', f32: 'float', f64: 'double' },
};

function argumentOf({ name, type, offset, sizeBytes, isPointer }: ImageParameter): KernelArgument {
  return {
    ...{ name, typeName: TYPE_NAMES[type], sizeBytes, offsetBytes: offset, unknown: {} },
    valueKind: isPointer ? 'global_buffer' : 'by_value',
    ...{ pointeeAlignmentBytes: undefined, addressSpace: undefined, access: undefined, actualAccess: undefined },
    ...{ isConst: undefined, isRestrict: undefined, isVolatile: undefined, isPipe: undefined },
  };
}

function kernelOf(kernel: ImageKernel, base: bigint): PtxKernel {
  const { name, parameters, parametersSizeBytes, sharedSizeBytes, privateSizeBytes } = kernel;
  const metadata: KernelMetadata = {
    ...{ name, symbol: name, language: 'PTX', languageVersion: undefined, args: parameters.map(argumentOf) },
    ...{ reqdWorkgroupSize: kernel.requiredSize, workgroupSizeHint: undefined, vecTypeHint: undefined },
    ...{
      deviceEnqueueSymbol: undefined,
      kernargSegmentSizeBytes: parametersSizeBytes,
      kernargSegmentAlignmentBytes: 16,
    },
    ...{ groupSegmentFixedSizeBytes: sharedSizeBytes, privateSegmentFixedSizeBytes: privateSizeBytes },
    ...{ wavefrontSize: 32, sgprCount: 0, vgprCount: 0, agprCount: undefined },
    ...{ maxFlatWorkgroupSize: kernel.maxWorkgroupSize, sgprSpillCount: undefined, vgprSpillCount: undefined },
    ...{ kind: undefined, maxWorkgroupsX: undefined, maxWorkgroupsY: undefined, maxWorkgroupsZ: undefined },
    ...{ uniformWorkgroupSize: 1, usesDynamicStack: undefined, workgroupProcessorMode: undefined },
    ...{ clusterDims: undefined, unknown: {} },
  };
  return {
    ...{ name, kernargSegmentSizeBytes: parametersSizeBytes, groupSegmentSizeBytes: sharedSizeBytes },
    ...{ privateSegmentSizeBytes: privateSizeBytes, dynamicCallstack: false, metadata },
    ...{ entry: guestAddress(base + BigInt(kernel.offset)), registerCount: kernel.registerCount },
  };
}
