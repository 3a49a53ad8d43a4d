/**
 * A module as an image: machine code of its kernels, its variables, and where addresses have to be filled
 * in. What is not implemented is refused here, by name and with its line, before anything runs.
 */
import { alignUp } from '../../base/align.ts';
import { WavewrightError } from '../../base/errors.ts';
import { type CodeInstruction, constantOffset, fits, machineSizeBytes, writeMachine } from '../machine/code.ts';
import { bitsOf, isType } from '../machine/types.ts';
import { convertedBits } from '../text/constant.ts';
import { parseSource } from '../text/parser.ts';
import { PtxSource } from '../text/source.ts';
import type { Constant, Initializer, PtxFunction, PtxModule, Variable } from '../text/syntax.ts';
import { allocate, type RowAllocation } from './allocate.ts';
import { blocksOf } from './flatten.ts';
import { KERNEL_HEADER_BYTES, type KernelHeader, writeKernelHeader } from './kernel-header.ts';
import { linearize } from './linearize.ts';
import type { Lir, LirOperand } from './lir.ts';
import { type DeclaredRegister, type NamePlace, Scope, variableExtent } from './scope.ts';

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
  readonly privateSizeBytes: number;
  /** Registers of 32 bits that are live at a time. */
  readonly registerCount: number;
  /** `.reqntid`, and the product of `.maxntid`. */
  readonly requiredSize: readonly number[] | undefined;
  readonly maxWorkgroupSize: number;
}

export interface ImageVariable {
  readonly name: string;
  readonly offset: number;
  readonly sizeBytes: number;
}

/** The line of the text that the instruction at an offset of the image comes from. */
export interface ImageLine {
  readonly offset: number;
  readonly line: number;
  readonly column: number;
}

export interface PtxImage {
  readonly name: string;
  readonly module: PtxModule;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly kernels: readonly ImageKernel[];
  readonly variables: readonly ImageVariable[];
  readonly relocations: readonly Relocation[];
  /** By offset, ascending. */
  readonly lines: readonly ImageLine[];
}

const ALIGNMENT = 16;
const MAX_IMAGE_BYTES = 2 ** 30;
const MAX_THREADS = 1024;
const MAX_SHARED_BYTES = 65_536;
const MAX_PARAMETER_BYTES = 32_764;

/**
 * Compiles all kernels of a module. Throws BAD_INPUT with line, column and the line itself, UNSUPPORTED by
 * name for what is not implemented, LIMIT_EXCEEDED.
 *
 * @param name what errors call the text
 */
export function compilePtx(text: string, name: string): PtxImage {
  const source = new PtxSource(text, name);
  return new ModuleCompiler(source, parseSource(source)).compile();
}

class ModuleCompiler {
  readonly #source: PtxSource;
  readonly #module: PtxModule;
  readonly #names = new Map<string, NamePlace>();
  readonly #kernels: ImageKernel[] = [];
  readonly #variables: ImageVariable[] = [];
  readonly #relocations: Relocation[] = [];
  readonly #lines: ImageLine[] = [];
  readonly #parts: { readonly offset: number; readonly bytes: Uint8Array }[] = [];
  readonly #headers: { readonly offset: number; readonly header: Omit<KernelHeader, 'sharedBytes'> }[] = [];
  #size = 0;
  #sharedBytes = 0;

  constructor(source: PtxSource, module: PtxModule) {
    this.#source = source;
    this.#module = module;
  }

  compile(): PtxImage {
    const { items } = this.#module;
    if (this.#module.addressSizeBits !== 64) {
      throw new WavewrightError('UNSUPPORTED', 'addresses of 32 bits', { file: this.#source.name });
    }
    for (const item of items) if (item.kind === 'variable') this.#declare(item);
    for (const item of items) {
      if (item.kind === 'function' && !item.isEntry) this.#names.set(item.name, { kind: 'symbol', name: item.name });
    }
    for (const item of items) if (item.kind === 'function' && item.isEntry && item.body) this.#kernel(item);
    if (this.#sharedBytes > MAX_SHARED_BYTES) {
      const what = `${this.#sharedBytes} bytes of shared memory, at most ${MAX_SHARED_BYTES} are supported`;
      throw new WavewrightError('LIMIT_EXCEEDED', what, { file: this.#source.name });
    }
    const bytes = new Uint8Array(this.#size);
    for (const { offset, bytes: part } of this.#parts) bytes.set(part, offset);
    // Dynamic shared memory lies behind that of all variables.
    const sharedBytes = this.#sharedBytes;
    for (const { offset, header } of this.#headers) {
      writeKernelHeader(bytes.subarray(offset, offset + KERNEL_HEADER_BYTES), { ...header, sharedBytes });
    }
    const kernels = this.#kernels.map((kernel) => ({ ...kernel, sharedSizeBytes: sharedBytes }));
    const { name } = this.#source;
    return {
      ...{ name, module: this.#module, bytes, kernels, variables: this.#variables },
      ...{ relocations: this.#relocations, lines: this.#lines },
    };
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
    const { space, name, linkage, offset, initializer } = variable;
    if (space.startsWith('.shared')) {
      this.#names.set(name, { kind: 'shared', offset: this.#shared(variable) });
      return;
    }
    if (space !== '.global' && space !== '.const') {
      throw this.#source.error(offset, `a variable in ${space}`, 'UNSUPPORTED');
    }
    this.#names.set(name, { kind: 'symbol', name });
    if (linkage === '.extern') return;
    const { sizeBytes, alignmentBytes } = variableExtent(variable, this.#source);
    const place = this.#place(sizeBytes, alignmentBytes);
    this.#variables.push({ name, offset: place, sizeBytes });
    if (initializer) this.#initialize(variable, initializer, place, sizeBytes);
  }

  /** The offset in shared memory. One of open size is where dynamic memory begins. */
  #shared(variable: Variable): number {
    const { sizeBytes, alignmentBytes } = variableExtent(variable, this.#source);
    const offset = alignUp(this.#sharedBytes, Math.max(alignmentBytes, variable.linkage === '.extern' ? ALIGNMENT : 1));
    this.#sharedBytes = variable.linkage === '.extern' ? offset : offset + sizeBytes;
    return offset;
  }

  #initialize(variable: Variable, initializer: Initializer, place: number, sizeBytes: number): void {
    const type = variable.type.slice(1);
    if (!isType(type)) throw this.#source.error(variable.offset, `an initialiser of type ${variable.type}`);
    const elementBytes = bitsOf(type) / 8;
    const bytes = new Uint8Array(sizeBytes);
    const view = new DataView(bytes.buffer);
    const put = (value: Initializer, at: number): void => {
      if (at + elementBytes > sizeBytes)
        throw this.#source.error(variable.offset, `too many values for '${variable.name}'`);
      if (value.kind === 'constant') writeConstant(view, at, value.constant, elementBytes);
      else if (value.kind === 'address') this.#relocateData(value, place + at, elementBytes);
    };
    for (const [at, value] of elementsOf(initializer, variable, elementBytes)) put(value, at);
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

  #kernel(kernel: PtxFunction): void {
    const source = this.#source;
    const registers: DeclaredRegister[] = [];
    const scope = new Scope(source, this.#names, registers);
    const { parameters, end } = this.#parameters(kernel.parameters, scope);
    let frameBytes = 0;
    const declareVariable = (inner: Scope, variable: Variable): void => {
      const { space, name, offset } = variable;
      if (space.startsWith('.shared')) {
        inner.define(name, { kind: 'shared', offset: this.#shared(variable) });
        return;
      }
      if (space !== '.local' && space !== '.param') {
        throw source.error(offset, `a variable in ${space} in a function`, 'UNSUPPORTED');
      }
      const { sizeBytes, alignmentBytes } = variableExtent(variable, source);
      const at = alignUp(frameBytes, Math.max(4, alignmentBytes));
      frameBytes = at + alignUp(sizeBytes, 4);
      inner.define(name, { kind: 'frame', offset: at });
    };
    const code = linearize(source, blocksOf(source, kernel.body!, scope, { declareVariable }));
    const allocation = allocate(code);
    if (!allocation) {
      throw source.error(
        kernel.offset,
        `kernel '${kernel.name}' needs more than 512 registers at a time`,
        'UNSUPPORTED',
      );
    }
    const placed = placeCode(
      code.blocks.map((block) => block.code),
      allocation,
    );
    const offset = this.#place(KERNEL_HEADER_BYTES + placed.sizeBytes, ALIGNMENT);
    const bytes = new Uint8Array(KERNEL_HEADER_BYTES + placed.sizeBytes);
    const { vectorRows, accumulatorRows } = allocation;
    this.#headers.push({
      offset,
      header: { vectorRows, accumulatorRows, parameterBytes: end, privateBytes: frameBytes },
    });
    this.#parts.push({ offset, bytes });
    this.#write(placed.lines, new DataView(bytes.buffer), offset);
    this.#kernels.push({
      ...{ name: kernel.name, offset, sizeBytes: bytes.length, parameters, parametersSizeBytes: end },
      ...{ sharedSizeBytes: 0, privateSizeBytes: frameBytes, registerCount: vectorRows + accumulatorRows },
      ...launchBounds(kernel),
    });
  }

  #parameters(
    variables: readonly Variable[],
    scope: Scope,
  ): { readonly parameters: readonly ImageParameter[]; readonly end: number } {
    let end = 0;
    const parameters = variables.map((variable) => {
      const { sizeBytes, alignmentBytes } = variableExtent(variable, this.#source);
      const offset = alignUp(end, alignmentBytes);
      end = offset + sizeBytes;
      if (end > MAX_PARAMETER_BYTES) {
        throw this.#source.error(
          variable.offset,
          `more than ${MAX_PARAMETER_BYTES} bytes of parameters`,
          'LIMIT_EXCEEDED',
        );
      }
      scope.define(variable.name, { kind: 'parameter', offset });
      const { name, type, pointer } = variable;
      return { name, type: type.slice(1), offset, sizeBytes, isPointer: pointer !== undefined };
    });
    return { parameters, end };
  }

  #write(placed: readonly PlacedLine[], view: DataView, base: number): void {
    for (const { line, instruction, offset } of placed) {
      const at = KERNEL_HEADER_BYTES + offset;
      writeMachine(view, at, instruction);
      if (line.offset > 0) this.#lines.push({ offset: base + at, ...this.#source.position(line.offset) });
      line.operands.forEach((operand, index) => {
        if (operand.kind !== 'symbol') return;
        const place = base + at + constantOffset(instruction, index);
        const { name: symbol, addend } = operand;
        const mask = (1n << 64n) - 1n;
        this.#relocations.push({ offset: place, symbol, addend, sizeBytes: 8, mask, textOffset: line.offset });
      });
    }
  }
}

interface PlacedLine {
  readonly line: Lir;
  readonly instruction: CodeInstruction;
  readonly offset: number;
}

/** Code with registers and addresses; a branch holds the distance to its target. */
function placeCode(
  blocks: readonly (readonly Lir[])[],
  { rows }: RowAllocation,
): { readonly lines: readonly PlacedLine[]; readonly sizeBytes: number } {
  const operandOf = (operand: LirOperand): CodeInstruction['operands'][number] => {
    if (operand.kind === 'virtual') return rows.get(operand.id)!;
    return operand.kind === 'symbol' ? { kind: 'constant', value: 0n } : operand;
  };
  const starts: number[] = [];
  const lines: { line: Lir; instruction: CodeInstruction; offset: number }[] = [];
  let offset = 0;
  for (const block of blocks) {
    starts.push(offset);
    for (const line of block) {
      const { form, operands, guard, target } = line;
      const sign = guard === undefined ? '' : guard.isNegated ? '@!' : '@';
      const all = guard ? [...operands, guard.register] : operands;
      const distance = target === undefined ? undefined : 0;
      const instruction = { opcode: `${sign}${form.opcode}`, operands: all.map(operandOf), distance };
      if (!fits(instruction)) throw new WavewrightError('LIMIT_EXCEEDED', `'${form.opcode}' is too long`);
      lines.push({ line, instruction, offset });
      offset += machineSizeBytes(instruction);
    }
  }
  const placed = lines.map(({ line, instruction, offset: at }): PlacedLine => {
    const distance = line.target === undefined ? undefined : starts[line.target]! - at;
    return { line, instruction: { ...instruction, distance }, offset: at };
  });
  return { lines: placed, sizeBytes: offset };
}

/** Values of an initialiser with the bytes before each; rows of an array of several dimensions fill up. */
function* elementsOf(
  initializer: Initializer,
  { dimensions }: Variable,
  elementBytes: number,
  level = 0,
  start = 0,
): Generator<readonly [number, Initializer]> {
  if (initializer.kind !== 'list') {
    yield [start, initializer];
    return;
  }
  const inner = dimensions.slice(level + 1).reduce((product, count) => product * count, elementBytes);
  for (const [index, element] of initializer.elements.entries()) {
    yield* elementsOf(element, { dimensions } as Variable, elementBytes, level + 1, start + index * inner); // reason: only the dimensions are asked
  }
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
