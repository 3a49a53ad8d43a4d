/**
 * A module as an image: machine code of its kernels, its variables, and where addresses have to be filled
 * in. What is not implemented is refused here, by name and with its line, before anything runs.
 */
import { alignUp } from '../../base/align.ts';
import { WavewrightError } from '../../base/errors.ts';
import { constantOffset, distanceOffset, writeMachine } from '../machine/code.ts';
import { type Elements, sizeOf } from '../machine/types.ts';
import { convertedBits } from '../text/constant.ts';
import { parseSource } from '../text/parser.ts';
import { PtxSource } from '../text/source.ts';
import type { Alias, Constant, Initializer, PtxFunction, PtxModule, Variable } from '../text/syntax.ts';
import { compileFunction, type EntryParameter, kernelParameters } from './function.ts';
import { type ImageLines, LineCollector } from './image-lines.ts';
import { KERNEL_HEADER_BYTES, type KernelHeader, writeKernelHeader } from './kernel-header.ts';
import type { PlacedLine } from './place.ts';
import type { NamePlace } from './scope.ts';
import { SharedLayout, type SharedModule, VOTES } from './shared-layout.ts';
import { callSignature, isGlobalSpace, variableElements, variableExtent } from './signature.ts';

/** A place that holds the address of a symbol. `sizeBytes`: of the part of it that goes there. */
export interface Relocation {
  readonly offset: number;
  readonly symbol: string;
  readonly addend: bigint;
  readonly sizeBytes: number;
  /** Bits of the address that go there; the lowest of them becomes the lowest. */
  readonly mask: bigint;
  /** Where it comes from in the text. */
  readonly textOffset: number;
}

export interface ImageParameter {
  readonly name: string;
  readonly type: string;
  readonly offset: number;
  readonly sizeBytes: number;
  readonly isPointer: boolean;
}

/** A kernel of an image. */
export interface ImageKernel {
  readonly name: string;
  /** Of its header in the image, and of its code behind that. */
  readonly offset: number;
  readonly sizeBytes: number;
  readonly parameters: readonly ImageParameter[];
  readonly parametersSizeBytes: number;
  readonly sharedSizeBytes: number;
  /** Registers of 32 bits that are live at a time. */
  readonly registerCount: number;
  /** `.reqntid`, and the product of `.maxntid`. */
  readonly requiredSize: readonly number[] | undefined;
  readonly maxWorkgroupSize: number;
}

/** A kernel or function with what its stack depends on. */
export interface ImageFunction {
  readonly name: string;
  readonly offset: number;
  readonly sizeBytes: number;
  readonly isKernel: boolean;
  readonly vectorRows: number;
  readonly accumulatorRows: number;
  /** Private memory of an activation of its own. */
  readonly frameBytes: number;
  /** Whether it takes more while it runs, or calls what a register names. */
  readonly hasOpenStack: boolean;
  /** Whether its lanes may wait for what others of their wave do, without saying so. */
  readonly givesWay: boolean;
  readonly callees: readonly string[];
}

/** `weak`: another definition may take its place; `common`: the largest one counts. */
export type LinkBinding = 'local' | 'global' | 'weak' | 'common';

/** A name with its address in the image. */
export interface ImageSymbol {
  readonly name: string;
  readonly offset: number;
  readonly sizeBytes: number;
  readonly binding: LinkBinding;
}

export interface PtxImage {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly kernels: readonly ImageKernel[];
  readonly functions: readonly ImageFunction[];
  readonly symbols: readonly ImageSymbol[];
  readonly relocations: readonly Relocation[];
  readonly lines: ImageLines;
}

const ALIGNMENT = 16;
const MAX_IMAGE_BYTES = 2 ** 30;
const MAX_THREADS = 1024;

const BINDINGS: Readonly<Record<string, LinkBinding>> = { '.visible': 'global', '.weak': 'weak', '.common': 'common' };
const bindingOf = ({ linkage }: { readonly linkage: string | undefined }): LinkBinding =>
  BINDINGS[linkage ?? ''] ?? 'local';

/**
 * Compiles all kernels of a module, and the functions that they, variables and others need. Throws BAD_INPUT
 * with line, column and the line itself, UNSUPPORTED by name for what is not implemented, LIMIT_EXCEEDED.
 *
 * @param name what errors call the text
 * @param wanted names of functions that others need; by default those that others can see
 */
export function compilePtx(text: string, name: string, wanted?: ReadonlySet<string>): PtxImage {
  const source = new PtxSource(text, name);
  const parsed = { source, module: parseSource(source) };
  return compileModule(parsed, new SharedLayout([parsed]), wanted);
}

/** As `compilePtx`, of a text that is parsed; `shared`: of all that are linked with each other. */
export const compileModule = (
  parsed: SharedModule,
  shared: SharedLayout,
  wanted: ReadonlySet<string> | undefined,
): PtxImage => new ModuleCompiler(parsed, shared).compile(wanted);

/** Names of functions that a module shares with others, or leaves to them. */
export const sharedFunctions = ({ items }: PtxModule): ReadonlySet<string> =>
  new Set(
    items.flatMap((item) => {
      if (item.kind === 'alias') return [item.name];
      return item.kind === 'function' && !(item.body && bindingOf(item) === 'local') ? [item.name] : [];
    }),
  );

class ModuleCompiler {
  readonly #source: PtxSource;
  readonly #module: PtxModule;
  readonly #names = new Map<string, NamePlace>();
  readonly #kernels: ImageKernel[] = [];
  readonly #functions: ImageFunction[] = [];
  readonly #symbols: ImageSymbol[] = [];
  /** Functions with a body, by name. */
  readonly #bodies = new Map<string, PtxFunction>();
  /** Distances to functions of the image, from the start of the instruction that has them at `place`. */
  readonly #branches: { readonly start: number; readonly place: number; readonly callee: string }[] = [];
  readonly #relocations: Relocation[] = [];
  readonly #lines = new LineCollector();
  readonly #parts: { readonly offset: number; readonly bytes: Uint8Array }[] = [];
  readonly #headers: { readonly offset: number; readonly header: KernelHeader }[] = [];
  readonly #aliases: Pick<Alias, 'name' | 'target'>[] = [];
  #size = 0;
  readonly #shared: SharedLayout;

  constructor({ source, module }: SharedModule, shared: SharedLayout) {
    this.#source = source;
    this.#module = module;
    this.#shared = shared;
  }

  compile(wanted: ReadonlySet<string> | undefined): PtxImage {
    const { items } = this.#module;
    if (this.#module.addressSizeBits !== 64) {
      throw this.#source.error(this.#module.offset, 'addresses of 32 bits', 'UNSUPPORTED');
    }
    const { votesOffset } = this.#shared;
    if (votesOffset !== undefined) this.#names.set(VOTES, { kind: 'shared', offset: votesOffset });
    for (const item of items) if (item.kind === 'variable') this.#declare(item);
    for (const item of items) if (item.kind === 'function') this.#declareFunction(item);
    for (const item of items) if (item.kind === 'alias') this.#declareAlias(item);
    this.#compileFunctions(wanted);
    const { name } = this.#source;
    return {
      ...{ name, bytes: this.#bytes(), functions: this.#functions, symbols: this.#symbols },
      ...{ kernels: this.#kernels, relocations: this.#relocations, lines: this.#lines.lines() },
    };
  }

  #bytes(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(this.#size);
    for (const { offset, bytes: part } of this.#parts) bytes.set(part, offset);
    for (const { offset, header } of this.#headers) {
      writeKernelHeader(bytes.subarray(offset, offset + KERNEL_HEADER_BYTES), header);
    }
    const view = new DataView(bytes.buffer);
    const offsets = new Map(this.#functions.map(({ name, offset }) => [name, offset]));
    for (const { start, place, callee } of this.#branches) view.setInt32(place, offsets.get(callee)! - start, true);
    return bytes;
  }

  /** A definition says more than declarations, of which compilers leave some without parameters. */
  #declareFunction(item: PtxFunction): void {
    const { name, results, parameters, body, isEntry, offset } = item;
    if (body && this.#bodies.has(name)) throw this.#source.error(offset, `'${name}' is defined twice`);
    if (!body && this.#names.has(name)) return;
    if (body) this.#bodies.set(name, item);
    const isOwn = body !== undefined && bindingOf(item) !== 'weak';
    const called = isEntry ? undefined : { signature: callSignature(this.#source, results, parameters), isOwn };
    this.#names.set(name, { kind: 'symbol', name, called });
  }

  #declareAlias({ name, target, offset }: Alias): void {
    const named = this.#names.get(target);
    const body = this.#bodies.get(target);
    if (named?.kind !== 'symbol' || !body) throw this.#source.error(offset, `'${target}' is no function`);
    this.#names.set(name, { ...named, name: target });
    this.#aliases.push({ name, target });
  }

  /** What is needed, from the kernels on. */
  #compileFunctions(wanted: ReadonlySet<string> | undefined): void {
    const isRoot = (item: PtxFunction): boolean =>
      item.isEntry || (wanted ? wanted.has(item.name) : bindingOf(item) !== 'local');
    const work = [...this.#bodies.values()].filter(isRoot).map(({ name }) => name);
    for (const { name, target } of this.#aliases) if (wanted?.has(name)) work.push(target);
    for (const { symbol } of this.#relocations) work.push(symbol);
    const seen = new Set<string>();
    for (let name = work.pop(); name !== undefined; name = work.pop()) {
      const item = this.#bodies.get(name);
      if (!item || seen.has(name)) continue;
      seen.add(name);
      work.push(...this.#function(item));
    }
    for (const { name, target } of this.#aliases) {
      const found = this.#symbols.find((symbol) => symbol.name === target);
      if (found) this.#symbols.push({ ...found, name });
    }
  }

  /** Room in the image. Throws LIMIT_EXCEEDED. */
  #place(sizeBytes: number, alignmentBytes: number): number {
    const offset = alignUp(this.#size, alignmentBytes);
    this.#size = offset + sizeBytes;
    if (this.#size <= MAX_IMAGE_BYTES) return offset;
    const what = `an image of more than ${MAX_IMAGE_BYTES} bytes`;
    throw new WavewrightError('LIMIT_EXCEEDED', what, { file: this.#source.name });
  }

  #declare(variable: Variable): void {
    const { space, name, linkage, offset } = variable;
    if (space.startsWith('.shared')) {
      this.#names.set(name, { kind: 'shared', offset: this.#shared.offsetOf(variable) });
      return;
    }
    if (!isGlobalSpace(space)) throw this.#source.error(offset, `a variable in ${space}`, 'UNSUPPORTED');
    this.#names.set(name, { kind: 'symbol', name });
    if (linkage !== '.extern') this.#placeVariable(variable, name);
  }

  /** A variable in a function has a name that no text can have. */
  #declareInFunction(variable: Variable): NamePlace {
    const name = `${variable.name} of offset ${variable.offset}`;
    if (variable.linkage === '.extern') throw this.#source.error(variable.offset, "'.extern' in a function");
    this.#placeVariable(variable, name);
    return { kind: 'symbol', name };
  }

  /** Arrays stand as they do in memory of hosts: programs take aligned memory from arrays of bytes. */
  #placeVariable(variable: Variable, name: string): void {
    const { sizeBytes, alignmentBytes } = variableExtent(variable, this.#source);
    const least = sizeBytes >= ALIGNMENT ? ALIGNMENT : 1;
    const place = this.#place(sizeBytes, Math.max(least, alignmentBytes));
    this.#symbols.push({ name, offset: place, sizeBytes, binding: bindingOf(variable) });
    if (variable.initializer) this.#initialize(variable, variable.initializer, place, sizeBytes);
  }

  #initialize(variable: Variable, initializer: Initializer, place: number, sizeBytes: number): void {
    const elements = variableElements(variable, this.#source);
    const elementBytes = sizeOf(elements.type);
    const bytes = new Uint8Array(sizeBytes);
    const view = new DataView(bytes.buffer);
    const put = (value: Initializer, at: number): void => {
      if (at + elementBytes > sizeBytes)
        throw this.#source.error(variable.offset, `too many values for '${variable.name}'`);
      if (value.kind === 'constant') writeConstant(view, at, value.constant, elementBytes);
      else if (value.kind === 'address') this.#relocateData(value, place + at, elementBytes);
      else throw this.#source.error(variable.offset, `a list where '${variable.name}' has one value`);
    };
    for (const [at, value] of valuesOf(initializer, extentsOf(variable, elements))) put(value, at);
    this.#parts.push({ offset: place, bytes });
  }

  #relocateData(value: Extract<Initializer, { kind: 'address' }>, offset: number, sizeBytes: number): void {
    const { name: symbol, addend, mask, offset: textOffset } = value;
    const named = this.#names.get(symbol);
    if (named && named.kind !== 'symbol')
      throw this.#source.error(textOffset, `the address of '${symbol}'`, 'UNSUPPORTED');
    const whole = sizeBytes === 8 ? (1n << 64n) - 1n : (1n << BigInt(sizeBytes * 8)) - 1n;
    this.#relocations.push({ offset, symbol, addend, sizeBytes, mask: mask ?? whole, textOffset });
  }

  /** Compiles a kernel, whose code stands behind a header, or a function; names that it uses. */
  #function(item: PtxFunction): readonly string[] {
    const before = this.#relocations.length;
    const compiled = compileFunction(
      {
        ...{ source: this.#source, names: this.#names, shared: this.#shared },
        declareGlobal: (variable) => this.#declareInFunction(variable),
      },
      item,
    );
    const named = this.#relocations.slice(before).map(({ symbol }) => symbol);
    const headerBytes = item.isEntry ? KERNEL_HEADER_BYTES : 0;
    const sizeBytes = headerBytes + compiled.code.sizeBytes;
    const offset = this.#place(sizeBytes, ALIGNMENT);
    const bytes = new Uint8Array(sizeBytes);
    this.#parts.push({ offset, bytes });
    const used = this.#write(compiled.code.lines, new DataView(bytes.buffer, headerBytes), offset + headerBytes);
    const binding = bindingOf(item);
    this.#symbols.push({
      ...{ name: item.name, offset, sizeBytes },
      binding: item.isEntry && binding === 'local' ? 'global' : binding,
    });
    const { vectorRows, accumulatorRows } = compiled.allocation;
    const { frameBytes, hasOpenStack, givesWay } = compiled;
    const called = new Set<string>();
    for (const { line } of compiled.code.lines) if (line.callee !== undefined) called.add(line.callee);
    const callees = [...called];
    this.#functions.push({
      ...{ name: item.name, offset, sizeBytes, isKernel: item.isEntry, vectorRows, accumulatorRows },
      ...{ frameBytes, hasOpenStack, givesWay, callees },
    });
    if (!item.isEntry) return [...named, ...used];
    const { parameters, end } = kernelParameters(this.#source, item.parameters);
    const sharedBytes = this.#shared.bytesOf(item);
    this.#headers.push({
      offset,
      header: { vectorRows, accumulatorRows, parameterBytes: end, privateBytes: frameBytes, sharedBytes, givesWay },
    });
    this.#kernels.push({
      ...{ name: item.name, offset, sizeBytes, parameters: parameters.map(imageParameter), parametersSizeBytes: end },
      ...{ sharedSizeBytes: sharedBytes, registerCount: vectorRows + accumulatorRows, ...launchBounds(item) },
    });
    return [...named, ...used];
  }

  /** Writes code that begins at `base` of the image; names that it uses. */
  #write(placed: readonly PlacedLine[], view: DataView, base: number): readonly string[] {
    const used = new Set<string>();
    for (const { line, instruction, offset } of placed) {
      writeMachine(view, offset, instruction);
      const start = base + offset;
      if (line.offset > 0) this.#lines.add(start, line.offset);
      if (line.callee !== undefined) {
        used.add(line.callee);
        const place = start + distanceOffset(instruction);
        if (instruction.distance !== undefined) this.#branches.push({ start, place, callee: line.callee });
      }
      for (let index = 0; index < line.operands.length; index++) {
        const operand = line.operands[index]!;
        if (operand.kind !== 'symbol') continue;
        const place = start + constantOffset(instruction, index);
        const { name: symbol, addend } = operand;
        const mask = (1n << 64n) - 1n;
        this.#relocations.push({ offset: place, symbol, addend, sizeBytes: 8, mask, textOffset: line.offset });
        used.add(symbol);
      }
    }
    return [...used];
  }
}

function imageParameter({ variable, offset, sizeBytes }: EntryParameter): ImageParameter {
  const { name, type, pointer } = variable;
  return { name, type: type.slice(1), offset, sizeBytes, isPointer: pointer !== undefined };
}

/**
 * Bytes of what stands in a list, the outermost list first. A vector has a list of its own; 128 bits are one
 * value, which is their lower half.
 */
function extentsOf({ dimensions, vector }: Variable, { type, length = 1 }: Elements): readonly number[] {
  const whole = sizeOf(type) * length;
  const rows = dimensions.map((_, i) => dimensions.slice(i + 1).reduce((product, count) => product * count, whole));
  return vector === undefined ? rows : [...rows, sizeOf(type)];
}

/** Values of an initialiser with the bytes before each; rows of an array of several dimensions fill up. */
function* valuesOf(
  initializer: Initializer,
  [extent, ...inner]: readonly number[],
  start = 0,
): Generator<readonly [number, Initializer]> {
  if (initializer.kind !== 'list' || extent === undefined) yield [start, initializer];
  else for (const [i, value] of initializer.elements.entries()) yield* valuesOf(value, inner, start + i * extent);
}

function writeConstant(view: DataView, at: number, constant: Constant, sizeBytes: number): void {
  const bits =
    constant.kind === 'integer'
      ? constant.value
      : convertedBits(constant.bits, constant.sizeBits, sizeBytes === 8 ? 64 : 32);
  for (let i = 0; i < sizeBytes; i++) view.setUint8(at + i, Number(BigInt.asUintN(8, bits >> BigInt(8 * i))));
}

function launchBounds({ directives }: PtxFunction): Pick<ImageKernel, 'requiredSize' | 'maxWorkgroupSize'> {
  const numbersOf = (name: string): number[] | undefined =>
    directives.find((each) => each.name === name)?.words.map(Number);
  const required = numbersOf('.reqntid');
  const requiredSize = required && [0, 1, 2].map((d) => required[d] ?? 1);
  const most = (requiredSize ?? numbersOf('.maxntid'))?.reduce((product, count) => product * count, 1);
  return { requiredSize, maxWorkgroupSize: Math.min(most ?? MAX_THREADS, MAX_THREADS) };
}
