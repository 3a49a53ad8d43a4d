/**
 * A call of a compiled hook at a point: what the called code may overwrite and the application needs is kept
 * in scratch memory, all lanes of vectors, and scalars as lanes of one; the hook gets a stack and its
 * arguments, and all is put back. No vector register is needed for that.
 */
import { registerNumber } from '../../flow/steps.ts';
import type { CodeContext } from '../../isa/amdgpu/encoding/instruction.ts';
import { SGPR_FLAT_SCRATCH_LO, SGPR_M0, SGPR_VCC_LO, scalarText } from '../../isa/amdgpu/encoding/registers.ts';
import { SCRATCH_WORD1_SWIZZLE, scratchWord3 } from '../../isa/amdgpu/encoding/scratch-resource.ts';
import { CALL_REGISTERS } from '../../lift/calling-convention.ts';
import {
  copyKey,
  exchangeFlatScratch,
  type FlatScratchCopy,
  readFlatScratch,
  restoreFlatScratch,
} from '../machine/flat-scratch.ts';
import type {
  MachineInstruction,
  MachineItem,
  Payload,
  PhysicalRange,
  VirtualRegister,
} from '../machine/machine-code.ts';
import { PayloadBuilder, type Placeholder, part } from '../machine/payload-builder.ts';
import { payloadEffects } from '../machine/payload-effects.ts';
import { waitItems } from '../machine/payload-waits.ts';
import type { BoundHook } from './bind-hook.ts';
import { rangesOf } from './called-code.ts';
import type { CalledHook, Slot } from './called-image.ts';
import type { Rejected } from './hook-code.ts';
import type { HookArgument, HookPoint } from './hook-point.ts';
import { emitImplicitArguments, emitIntrinsic, type IntrinsicContext } from './intrinsic-emission.ts';

/** The lanes that a called hook runs with: those of the application, or all that a wave has. */
export type CallLanes = 'active' | 'all';

/** Where a call finds memory and code, and how it is made. */
export interface CallPlace {
  /** Symbol of the hooks' image. */
  readonly image: string;
  /** Private memory of each lane from here on is not the application's. */
  readonly scratchBytes: number;
  /** The value that FLAT_SCRATCH is to have, where the application may have another. */
  readonly flatScratch: FlatScratchCopy | undefined;
  readonly lanes: CallLanes;
}

/** A call for points with the same key, and what it takes of each lane's private memory. */
export interface BoundCall extends BoundHook {
  readonly scratchSizeBytes: number;
}

const DWORD_BYTES = 4;
const STACK_ALIGNMENT_BYTES = 16;
/** With lanes for all scalars, 32 in each. */
const SCALAR_DWORDS = 4;
const MAX_ARGUMENT_DWORDS = 31;
const { returnAddress, stackPointer, resource } = CALL_REGISTERS;
/** What callers pass besides arguments (LLVM AMDGPU usage, "Calling Convention"). */
const IMPLICIT = { dispatchPacket: 4, implicitArguments: 8, workgroupIds: 12 } as const;
const UNSERVED: readonly (readonly [file: 'scalar' | 'vector', first: number, dwords: number, what: string])[] = [
  ['scalar', 6, 2, 'the queue'],
  ['scalar', 10, 2, 'the id of the dispatch'],
  ['vector', 31, 1, 'the ids of work-items'],
];

/** Vectors that calls overwrite have their places in memory in the order of their numbers. */
function savedBytes(clobbers: readonly PhysicalRange[]): number {
  const dwords = clobbers.reduce((sum, each) => sum + (each.file === 'scalar' ? 0 : each.dwords), 0);
  return alignStack(DWORD_BYTES * (SCALAR_DWORDS + dwords));
}

/** Puts a call of a hook to a point, or says why that cannot be, in words that stand behind "the hook". */
export function bindCall(
  hook: CalledHook,
  args: readonly HookArgument[],
  point: HookPoint,
  place: CallPlace,
): BoundCall | Rejected {
  const code = { target: point.instruction.target, waveSize: point.instruction.waveSize };
  const trial = new EnvelopeEmission({ hook, args, point, place }, code);
  trial.emit([]);
  if (trial.rejected !== undefined) return { rejected: trial.rejected };
  const { image, scratchBytes, flatScratch, lanes } = place;
  const parts = [image, scratchBytes, copyKey(flatScratch), lanes, hook.name, code.waveSize, ...trial.keyParts];
  return {
    key: parts.join('|'),
    literals: trial.literals,
    scratchSizeBytes: savedBytes(trial.clobbers) + alignStack(hook.stackBytes),
    code: (context) => payloadOf({ hook, args, point, place }, context),
  };
}

function payloadOf(call: Call, code: CodeContext): Payload {
  const first = new EnvelopeEmission(call, code);
  const items = first.emit([]);
  const around = (kept: readonly PhysicalRange[]): readonly MachineItem[] =>
    new EnvelopeEmission(call, code).emit(kept);
  return { code, items, changes: first.changes, envelope: { clobbers: first.clobbers, around } };
}

interface Call {
  readonly hook: CalledHook;
  readonly args: readonly HookArgument[];
  readonly point: HookPoint;
  readonly place: CallPlace;
}

/** A register that the called code finds set, and where the value waits until then. */
interface Passed {
  readonly to: string;
  readonly value: Placeholder;
  readonly isForAllLanes: boolean;
}

class EnvelopeEmission implements IntrinsicContext {
  readonly b: PayloadBuilder;
  readonly point: HookPoint;
  readonly clobbers: readonly PhysicalRange[];
  readonly literals: number[] = [];
  readonly keyParts: string[] = [];
  rejected: string | undefined;
  readonly #hook: CalledHook;
  readonly #args: readonly HookArgument[];
  readonly #place: CallPlace;
  readonly #copies = new Map<'exec' | 'vcc' | 'scc' | 'm0', VirtualRegister>();
  readonly #passed: Passed[] = [];

  constructor({ hook, args, point, place }: Call, code: CodeContext) {
    this.b = new PayloadBuilder(code);
    this.point = point;
    this.#hook = hook;
    this.#args = args;
    this.#place = place;
    const numbers = hook.clobbers.flatMap(numbersOf);
    for (const { first, dwords } of hook.slots) numbers.push(...numbersOf({ file: 'vector', first, dwords }));
    numbers.push(...numbersOf({ file: 'vector', first: 0, dwords: Math.max(1, this.#argumentDwords) }));
    numbers.push(...this.#implicit.flatMap(({ first, dwords }) => numbersOf({ file: 'scalar', first, dwords })));
    if (this.#hasResource) {
      numbers.push(...numbersOf({ file: 'scalar', first: resource, dwords: CALL_REGISTERS.resourceDwords }));
    }
    this.clobbers = rangesOf(numbers);
  }

  /** Registers of the application that get other values on purpose. */
  get changes(): readonly PhysicalRange[] {
    const written = this.#hook.slots.filter(({ isWritten }) => isWritten);
    return [
      ...written.map(
        ({ numbers, dwords }): PhysicalRange => ({ file: 'vector', first: numbers[0]! - FIRST_VECTOR, dwords }),
      ),
      ...(this.#place.flatScratch !== undefined && this.b.code.target.flatScratch === 'sgprs' ? [FLAT_SCRATCH] : []),
    ];
  }

  reject(reason: string): void {
    this.rejected ??= reason;
  }

  literal(value: number): Placeholder {
    this.literals.push(value);
    return { pointLiteral: this.literals.length - 1 };
  }

  dependsOn(property: string): void {
    this.keyParts.push(property);
  }

  copyOf(state: 'exec' | 'vcc' | 'scc' | 'm0'): VirtualRegister {
    const { b } = this;
    let copy = this.#copies.get(state);
    if (copy) return copy;
    copy = state === 'exec' || state === 'vcc' ? b.mask() : b.scalar();
    this.#copies.set(state, copy);
    if (state === 'exec') b.emit`s_mov_${b.maskBits} ${copy}, ${b.exec}`;
    else if (state === 'vcc') b.emit`s_mov_${b.maskBits} ${copy}, ${b.vcc}`;
    else if (state === 'm0') b.emit`s_mov_b32 ${copy}, m0`;
    else b.emit`s_cselect_b32 ${copy}, 1, 0`;
    return copy;
  }

  pendingWrite(): undefined {
    return undefined;
  }

  /** The items that keep these registers. */
  emit(kept: readonly PhysicalRange[]): readonly MachineItem[] {
    const { b } = this;
    const end = { name: 'called' };
    b.purpose = 'save';
    const exec = this.copyOf('exec');
    const hasAllLanes = this.#place.lanes === 'all';
    // Compiled code may take it that a lane is active.
    if (!hasAllLanes) b.emit`s_cbranch_execz ${end}`;
    const mode = this.#hook.writesMode ? b.scalar() : undefined;
    if (mode) b.emit`s_getreg_b32 ${mode}, hwreg(HW_REG_MODE)`;
    b.purpose = 'body';
    this.#copyState();
    this.#prepare();
    b.purpose = 'save';
    b.emit`s_mov_${b.maskBits} ${b.exec}, -1`;
    const { flatScratch: own } = this.#place;
    const flatScratch = own === undefined ? undefined : exchangeFlatScratch(b, own);
    const base = b.scalar();
    b.emit`s_mov_b32 ${base}, ${this.#place.scratchBytes}`;
    this.#store(kept, base);
    b.purpose = 'body';
    for (const { to, value, isForAllLanes } of this.#passed) if (isForAllLanes) this.#pass(to, value);
    if (!hasAllLanes) b.emit`s_mov_${b.maskBits} ${b.exec}, ${exec}`;
    for (const { to, value, isForAllLanes } of this.#passed) if (!isForAllLanes) this.#pass(to, value);
    const results = this.#call(exec);
    b.purpose = 'save';
    b.emit`s_mov_${b.maskBits} ${b.exec}, -1`;
    this.#load(kept, base);
    if (flatScratch) restoreFlatScratch(b, flatScratch);
    if (mode) b.emit`s_setreg_b32 hwreg(HW_REG_MODE), ${mode}`;
    b.emit`s_mov_${b.maskBits} ${b.exec}, ${exec}`;
    b.place(end);
    b.purpose = 'body';
    for (const { number, value } of results) b.emit`v_mov_b32_e32 ${`v${number}`}, ${value}`;
    return b.items;
  }

  get #hasResource(): boolean {
    return this.b.code.target.flatScratch !== 'architected';
  }

  get #argumentDwords(): number {
    return this.#args.reduce((sum, each) => sum + (each.kind === 'symbol' ? 2 : each.dwords), 0);
  }

  /** What the called code reads of what callers know of the launch. */
  get #implicit(): { readonly first: number; readonly dwords: 1 | 2 }[] {
    const found: { first: number; dwords: 1 | 2 }[] = [];
    const { dispatchPacket, implicitArguments, workgroupIds } = IMPLICIT;
    for (const first of [dispatchPacket, implicitArguments]) {
      if (this.#reads('scalar', first, 2)) found.push({ first, dwords: 2 });
    }
    for (let i = 0; i < 3; i++) {
      if (this.#reads('scalar', workgroupIds + i, 1)) found.push({ first: workgroupIds + i, dwords: 1 });
    }
    return found;
  }

  #reads(file: 'scalar' | 'vector', first: number, dwords: number): boolean {
    const bits = ((1n << BigInt(dwords)) - 1n) << BigInt(registerNumber(file, first));
    return (this.#hook.reads & bits) !== 0n;
  }

  /** What intrinsics ask for before anything changes it. */
  #copyState(): void {
    for (const { name, numbers } of [...this.#args.filter((each) => each.kind === 'intrinsic'), ...this.#hook.slots]) {
      for (const [state, register] of STATE) {
        const isNamed = name === 'read_reg' && (numbers[0] === register || numbers[0]! + 1 === register);
        if (isNamed || name === 'operand') this.copyOf(state);
      }
    }
  }

  /** Gets the values that the called code is to find, while nothing is overwritten yet. */
  #prepare(): void {
    if (this.#argumentDwords > MAX_ARGUMENT_DWORDS)
      this.reject(`is called with ${this.#argumentDwords} dwords of arguments, above ${MAX_ARGUMENT_DWORDS}`);
    for (const [file, first, dwords, what] of UNSERVED) {
      if (this.#reads(file, first, dwords)) this.reject(`asks for ${what}, which are not kept`);
    }
    let at = 0;
    for (const argument of this.#args) {
      for (const value of this.#valuesOf(argument)) {
        this.#passed.push({ to: `v${at++}`, value, isForAllLanes: false });
      }
    }
    for (const slot of this.#hook.slots) this.#prepareSlot(slot);
    for (const each of this.#implicit) this.#prepareImplicit(each);
  }

  /** The dwords of an argument: registers that hold them, or literals. */
  #valuesOf(argument: HookArgument): Placeholder[] {
    if (argument.kind === 'intrinsic') {
      const { name, numbers, dwords } = argument;
      const output = Array.from({ length: dwords }, () => part(this.b.vector(), 0));
      this.dependsOn(`${name} ${numbers}`);
      emitIntrinsic(this, { name, numbers, output, input: [], isExecKept: true });
      return output;
    }
    if (argument.kind === 'constant') {
      this.dependsOn(`constant ${argument.dwords}`);
      return Array.from({ length: argument.dwords }, (_, i) =>
        this.literal(Number(BigInt.asUintN(32, argument.value >> BigInt(32 * i)))),
      );
    }
    const { symbol, offset: addend } = argument;
    this.dependsOn(`${symbol} ${addend}`);
    return [
      { half: 'low', symbol, addend },
      { half: 'high', symbol, addend },
    ];
  }

  #prepareSlot({ name, numbers, first, dwords, isWritten, isUniform }: Slot): void {
    const { b } = this;
    const output = Array.from({ length: dwords }, () => part(isUniform ? b.scalar() : b.vector(), 0));
    // A register that is not written on all ways keeps what it has.
    const wanted = isWritten ? 'read_reg' : name;
    emitIntrinsic(this, { name: wanted, numbers, output, input: [], isExecKept: true });
    for (const [i, value] of output.entries()) {
      this.#passed.push({ to: `v${first + i}`, value, isForAllLanes: isUniform });
    }
  }

  #prepareImplicit({ first, dwords }: { readonly first: number; readonly dwords: 1 | 2 }): void {
    const { b, point } = this;
    const output = Array.from({ length: dwords }, () => part(b.scalar(), 0));
    const { dispatchPacket, implicitArguments, workgroupIds } = IMPLICIT;
    if (first === implicitArguments) emitImplicitArguments(this, output);
    else {
      const { launch } = point;
      const source = first === dispatchPacket ? launch.dispatchPacket : launch.workgroupIds?.[first - workgroupIds];
      this.dependsOn(`${first} ${source}`);
      if (source === undefined)
        this.reject('asks for what the kernel was launched with, which the kernel does not keep');
      else for (const [i, to] of output.entries()) b.emit`s_mov_b32 ${to}, ${`s${source + i}`}`;
    }
    for (const [i, value] of output.entries()) this.#passed.push({ to: `s${first + i}`, value, isForAllLanes: false });
  }

  #pass(to: string, value: Placeholder): void {
    if (to.startsWith('s')) this.b.emit`s_mov_b32 ${to}, ${value}`;
    else this.b.emit`v_mov_b32_e32 ${to}, ${value}`;
  }

  /** Half of VCC is an SGPR like others where waves have 32 lanes. */
  #scalarName(register: number): string {
    return scalarText(register, 1, this.b.code.target.scalars) ?? '';
  }

  #store(kept: readonly PhysicalRange[], base: VirtualRegister): void {
    const { b } = this;
    for (const { register, offset } of this.#places(kept)) {
      b.emit`scratch_store_dword off, ${register}, ${base} offset:${offset}`;
    }
    for (const { scalars, offset } of this.#scalarPlaces(kept)) {
      for (const [lane, name] of scalars.entries()) b.emit`v_writelane_b32 ${this.#carrier}, ${name}, ${lane}`;
      b.emit`scratch_store_dword off, ${this.#carrier}, ${base} offset:${offset}`;
    }
  }

  #load(kept: readonly PhysicalRange[], base: VirtualRegister): void {
    const { b } = this;
    for (const { scalars, offset } of this.#scalarPlaces(kept)) {
      b.emit`scratch_load_dword ${this.#carrier}, off, ${base} offset:${offset}`;
      const counters = payloadEffects(b.items.at(-1) as MachineInstruction).effects.counters; // reason: just written
      b.append(waitItems(new Map([...counters].map((counter) => [counter, 0] as const)), b.code));
      for (const [lane, name] of scalars.entries()) b.emit`v_readlane_b32 ${name}, ${this.#carrier}, ${lane}`;
    }
    for (const { register, offset } of this.#places(kept)) {
      b.emit`scratch_load_dword ${register}, off, ${base} offset:${offset}`;
    }
  }

  /** A vector register that calls overwrite: when it is in memory, its lanes carry scalars there. */
  get #carrier(): string {
    return `v${this.clobbers.find(({ file }) => file === 'vector')!.first}`;
  }

  /** Where kept vectors are in memory. */
  #places(kept: readonly PhysicalRange[]): { readonly register: string; readonly offset: number }[] {
    const order = this.clobbers.filter(({ file }) => file !== 'scalar').flatMap(numbersOf);
    return kept
      .filter(({ file }) => file !== 'scalar')
      .map(({ file, first }) => ({
        register: `${file === 'vector' ? 'v' : 'a'}${first}`,
        offset: DWORD_BYTES * (SCALAR_DWORDS + order.indexOf(registerNumber(file, first))),
      }));
  }

  /** Where kept scalars are: so many of them as there are lanes in each dword. */
  #scalarPlaces(kept: readonly PhysicalRange[]): { readonly scalars: string[]; readonly offset: number }[] {
    const { waveSize } = this.b.code;
    const names = kept.filter(({ file }) => file === 'scalar').map(({ first }) => this.#scalarName(first));
    return Array.from({ length: Math.ceil(names.length / waveSize) }, (_, i) => ({
      ...{ scalars: names.slice(i * waveSize, (i + 1) * waveSize), offset: DWORD_BYTES * i },
    }));
  }

  /** Calls; what the application's registers are to get. */
  #call(exec: VirtualRegister): readonly { readonly number: number; readonly value: VirtualRegister }[] {
    const { b } = this;
    const { scratchBytes, image: symbol } = this.#place;
    if (this.#hasResource) {
      const [word0, word1, word2, word3] = [0, 1, 2, 3].map((i) => `s${resource + i}`);
      readFlatScratch(b, word0!, 'LO');
      readFlatScratch(b, word1!, 'HI');
      b.emit`s_or_b32 ${word1!}, ${word1!}, ${SCRATCH_WORD1_SWIZZLE >>> 0}`;
      b.emit`s_mov_b32 ${word2!}, -1`;
      b.emit`s_mov_b32 ${word3!}, ${scratchWord3(b.code.target, b.code.waveSize) >>> 0}`;
    }
    const start = scratchBytes + savedBytes(this.clobbers);
    b.emit`s_mov_b32 ${`s${stackPointer}`}, ${this.#hasResource ? start * b.code.waveSize : start}`;
    const addend = this.#hook.offset;
    b.emit`s_mov_b32 ${`s${returnAddress}`}, ${{ half: 'low', symbol, addend }}`;
    b.emit`s_mov_b32 ${`s${returnAddress + 1}`}, ${{ half: 'high', symbol, addend }}`;
    b.call(`s[${returnAddress}:${returnAddress + 1}]`, [...this.clobbers, ...stateClobbered(b.code.waveSize)]);
    const written = this.#hook.slots.filter(({ isWritten }) => isWritten);
    if (written.length > 0) b.emit`s_mov_${b.maskBits} ${b.exec}, ${exec}`;
    return written.flatMap(({ first, dwords, numbers }) =>
      Array.from({ length: dwords }, (_, i) => {
        const value = b.vector();
        b.emit`v_mov_b32_e32 ${value}, ${`v${first + i}`}`;
        return { number: numbers[0]! + i - FIRST_VECTOR, value };
      }),
    );
  }
}

/** State that is read by its number. */
const STATE = [
  ['exec', 126],
  ['exec', 127],
  ['vcc', 106],
  ['vcc', 107],
  ['m0', 124],
  ['scc', 253],
] as const;
/** In numbers of the application's registers. */
const FIRST_VECTOR = 256;
const FLAT_SCRATCH: PhysicalRange = { file: 'scalar', first: SGPR_FLAT_SCRATCH_LO, dwords: 2 };
/** What is saved as for other payloads. */
const stateClobbered = (waveSize: 32 | 64): PhysicalRange[] => [
  { file: 'scalar', first: SGPR_VCC_LO, dwords: waveSize / 32 },
  { file: 'scalar', first: SGPR_M0, dwords: 1 },
];

const alignStack = (bytes: number): number => Math.ceil(bytes / STACK_ALIGNMENT_BYTES) * STACK_ALIGNMENT_BYTES;
const numbersOf = ({ file, first, dwords }: PhysicalRange): number[] =>
  Array.from({ length: dwords }, (_, i) => registerNumber(file, first + i));
