/**
 * What a kernel runs before its own first instruction when payloads need more of the launch than the kernel
 * asked for: values that its descriptor did not enable, addresses of tools' variables, scratch memory. They
 * stay in scalar registers that the application never uses; after that each register that the kernel begins
 * with holds what it would hold without all this.
 */
import type { Kernel } from '../../codeobject/code-object.ts';
import {
  enabledBy,
  type InitialSgprs,
  type InitialValue,
  initialSgprs,
  MAX_USER_SGPRS,
  type UserValue,
  type WorkgroupValue,
  workgroupEnabledBy,
} from '../../codeobject/initial-sgprs.ts';
import type { KernelDescriptor } from '../../codeobject/kernel-descriptor.ts';
import { SGPR_VCC_LO } from '../../isa/amdgpu/encoding/registers.ts';
import { type Target, targetFor } from '../../isa/amdgpu/encoding/targets.ts';
import { assembledWords } from '../layout/assembled-words.ts';
import type { CodeItem, SymbolPlace } from '../layout/code-item.ts';
import { layoutCodeFor } from '../layout/layout-code.ts';
import type { KernelChanges } from '../object/kernel-changes.ts';
import { orderMoves, type RegisterMove } from './register-moves.ts';

/** Addresses and the dispatch id have two dwords, others one. */
export type KeptInitialValue = Exclude<UserValue, 'privateSegmentBuffer' | 'privateSegmentSize'> | WorkgroupValue;

const isOfWorkgroup = (value: UserValue | WorkgroupValue): value is WorkgroupValue => value.startsWith('workgroup');

/** Values for scalar registers from number `first` on, for as long as the kernel runs. */
export type KeptValue =
  | { readonly kind: 'initial'; readonly value: KeptInitialValue; readonly first: number }
  /** Two dwords: the loaded address. */
  | { readonly kind: 'address'; readonly place: SymbolPlace; readonly first: number }
  /** What FLAT_SCRATCH is when the kernel begins, where kernels set it up. */
  | { readonly kind: 'flat scratch'; readonly first: number }
  | { readonly kind: 'constant'; readonly constant: number; readonly first: number }
  /** So many dwords of zeros, or of anything. */
  | { readonly kind: 'zero' | 'scratch'; readonly first: number; readonly dwords: 1 | 2 };

/** Vector registers that hold 0 in all lanes, those that are off among them, but for those that hold 1. */
export interface KeptVectors {
  readonly registers: readonly number[];
  readonly ones: readonly { readonly register: number; readonly lane: number }[];
  /** One whose lanes 0 and 1 hold what FLAT_SCRATCH is when the kernel begins. */
  readonly flatScratch?: number | undefined;
}

export interface PreambleRequest {
  readonly kept: readonly KeptValue[];
  readonly vectors?: KeptVectors;
  /** Whether payloads use scratch memory: the wave then has it, and FLAT_SCRATCH leads there. */
  readonly usesScratch?: boolean;
}

export interface Preamble {
  readonly items: readonly CodeItem[];
  /** What the values need: registers, and bits of the descriptor that ask for them. */
  readonly changes: Pick<KernelChanges, 'properties' | 'rsrc2'> & { readonly sgprCount: number };
}

/** Where the position of the workgroup is in trap registers: which ones (RDNA4 ISA 3.5.3). */
const TRAPPED_IDS: Readonly<Partial<Record<KeptInitialValue, string>>> = {
  workgroupIdX: 's_mov_b32 REGISTER, ttmp9',
  workgroupIdY: 's_and_b32 REGISTER, ttmp7, 0xffff',
  workgroupIdZ: 's_lshr_b32 REGISTER, ttmp7, 16',
};

/** A preamble, or why the kernel cannot have one. */
export function kernelPreamble(
  { descriptor }: Pick<Kernel, 'descriptor'>,
  processor: string,
  request: PreambleRequest,
): Preamble | string {
  const target = targetFor(processor);
  const setsFlatScratch = request.usesScratch === true && target.flatScratch !== 'architected';
  const before = setsFlatScratch ? initialWithScratch(descriptor, target) : initialSgprs(descriptor, target);
  const initial = request.kept.filter((each) => each.kind === 'initial');
  const isTrapped = ({ value }: (typeof initial)[number]): boolean =>
    target.workgroupIdsInTrapRegisters && isOfWorkgroup(value);
  const set = initial.filter((each) => !isTrapped(each));
  const wanted = set.map(({ value }) => value);
  const enabled = enable(descriptor, before, [...wanted, ...(setsFlatScratch ? ['flatScratchInit' as const] : [])]);
  if (typeof enabled === 'string') return enabled;
  if (request.usesScratch) enabled.rsrc2.enablePrivateSegment = true;
  const after = initialSgprs(enabled, target);
  const writer = new Writer(target, processor);
  if (setsFlatScratch) writer.setFlatScratch(after);
  const moves: RegisterMove[] = [];
  for (const [value, { first, dwords }] of before.values) moves.push(...moveOf(after, value, first, dwords));
  for (const { value, first } of set) moves.push(...moveOf(after, value, first));
  // Nothing is in VCC when a kernel begins.
  for (const { from, to } of orderMoves(moves, SGPR_VCC_LO)) writer.copy(to, from);
  for (const { value, first } of initial.filter(isTrapped)) writer.workgroupId(first, TRAPPED_IDS[value]!);
  for (const each of request.kept) {
    if (each.kind === 'flat scratch') writer.copyFlatScratch(each.first);
    else if (each.kind === 'constant') writer.constant(each.first, each.constant);
    else if (each.kind === 'address') writer.address(each.first, each.place);
  }
  writer.zeros(request.kept.flatMap((each) => (each.kind === 'zero' ? dwordsOf(each) : [])));
  const { vectors } = request;
  if (vectors) writer.vectors(vectors, descriptor.properties.enableWavefrontSize32 ? 32 : 64);
  const kept = request.kept.map((each) => each.first + keptDwords(each));
  const { properties, rsrc2 } = enabled;
  return { items: writer.items, changes: { properties, rsrc2, sgprCount: Math.max(after.count, ...kept) } };
}

/**
 * What a kernel finds whose preamble sets scratch memory up. LLVM's code of kernels with calls and without
 * private memory reads the wave's offset behind all else, though the descriptor does not ask for it.
 */
export const initialWithScratch = (descriptor: KernelDescriptor, target: Target): InitialSgprs =>
  initialSgprs({ ...descriptor, rsrc2: { ...descriptor.rsrc2, enablePrivateSegment: true } }, target);

/** How many registers a value takes. */
export function keptDwords(kept: KeptValue): 1 | 2 {
  if (kept.kind === 'zero' || kept.kind === 'scratch') return kept.dwords;
  return kept.kind === 'constant' || (kept.kind === 'initial' && isOfWorkgroup(kept.value)) ? 1 : 2;
}

const dwordsOf = (kept: KeptValue): number[] => Array.from({ length: keptDwords(kept) }, (_, i) => kept.first + i);

function moveOf(
  { values }: InitialSgprs,
  value: InitialValue,
  to: number,
  dwords = values.get(value)!.dwords,
): RegisterMove[] {
  const { first } = values.get(value)!;
  return Array.from({ length: dwords }, (_, i) => ({ from: first + i, to: to + i }));
}

/** The descriptor with more values enabled, or why hardware could not set them up. */
function enable(
  descriptor: KernelDescriptor,
  before: InitialSgprs,
  wanted: readonly (UserValue | WorkgroupValue)[],
): KernelDescriptor | string {
  const enabled = { ...descriptor, properties: { ...descriptor.properties }, rsrc2: { ...descriptor.rsrc2 } };
  const missing: UserValue[] = [];
  for (const value of wanted) {
    if (before.values.has(value)) continue;
    if (isOfWorkgroup(value)) Object.assign(enabled.rsrc2, { [workgroupEnabledBy(value)]: true });
    else missing.push(value);
  }
  for (const value of missing) Object.assign(enabled.properties, { [enabledBy(value)]: true });
  const preloadDwords = before.values.get('kernargPreload')?.dwords ?? 0;
  const { userCount } = initialSgprs(enabled, { flatScratch: 'architected', workgroupIdsInTrapRegisters: true });
  const needed = userCount + preloadDwords;
  enabled.rsrc2.userSgprCount = Math.max(descriptor.rsrc2.userSgprCount, needed);
  if (missing.length === 0 || enabled.rsrc2.userSgprCount <= MAX_USER_SGPRS) return enabled;
  return `${missing.join(' and ')} would take user SGPR ${enabled.rsrc2.userSgprCount}, of at most ${MAX_USER_SGPRS}`;
}

class Writer {
  readonly items: CodeItem[] = [];
  readonly #target: Target;
  readonly #processor: string;

  constructor(target: Target, processor: string) {
    this.#target = target;
    this.#processor = processor;
  }

  copy(to: number, from: number): void {
    this.#text(`s_mov_b32 ${nameOf(to)}, ${nameOf(from)}`);
  }

  /** SCC holds nothing when a kernel begins. */
  workgroupId(register: number, text: string): void {
    this.#text(text.replace('REGISTER', nameOf(register)));
  }

  copyFlatScratch(register: number): void {
    this.#copyHalf('LO', nameOf(register));
    this.#copyHalf('HI', nameOf(register + 1));
  }

  #copyHalf(half: 'LO' | 'HI', to: string): void {
    if (this.#target.flatScratch === 'sgprs') this.#text(`s_mov_b32 ${to}, flat_scratch_${half.toLowerCase()}`);
    else this.#text(`s_getreg_b32 ${to}, hwreg(HW_REG_FLAT_SCR_${half})`);
  }

  constant(register: number, constant: number): void {
    this.#text(`s_mov_b32 ${nameOf(register)}, ${constant >>> 0}`);
  }

  /** Two at once where that is possible. */
  zeros(registers: readonly number[]): void {
    const left = new Set(registers);
    for (const register of left) {
      left.delete(register);
      if (register % 2 === 0 && left.delete(register + 1)) this.#text(`s_mov_b64 s[${register}:${register + 1}], 0`);
      else this.constant(register, 0);
    }
  }

  /** Nothing is in VCC and SCC when a kernel begins. */
  vectors({ registers, ones, flatScratch }: KeptVectors, waveSize: 32 | 64): void {
    const [exec, vcc] = waveSize === 32 ? ['exec_lo', 'vcc_lo'] : ['exec', 'vcc'];
    this.#text(`s_or_saveexec_b${waveSize} ${vcc}, -1`, waveSize);
    for (const register of registers) this.#text(`v_mov_b32 v${register}, 0`, waveSize);
    this.#text(`s_mov_b${waveSize} ${exec}, ${vcc}`, waveSize);
    for (const { register, lane } of ones) this.#text(`v_writelane_b32 v${register}, 1, ${lane}`, waveSize);
    for (const [lane, half] of flatScratch === undefined ? [] : (['LO', 'HI'] as const).entries()) {
      this.#copyHalf(half, 'vcc_lo');
      this.#text(`v_writelane_b32 v${flatScratch}, vcc_lo, ${lane}`, waveSize);
    }
  }

  address(register: number, place: SymbolPlace): void {
    const { move } = layoutCodeFor(this.#processor);
    for (const [i, half] of (['low', 'high'] as const).entries()) {
      const fixup = { kind: 'absolute', half, ...place } as const;
      this.items.push({ kind: 'instruction', words: move(register + i, 0), fixup });
    }
  }

  /** As compilers do where hardware does not: base of the queue's scratch and offset of the wave's. */
  setFlatScratch({ values }: InitialSgprs): void {
    const { first } = values.get('flatScratchInit')!;
    const offset = values.get('scratchWaveOffset')!.first;
    const isScalar = this.#target.flatScratch === 'sgprs';
    const [low, high] = isScalar ? ['flat_scratch_lo', 'flat_scratch_hi'] : ['vcc_lo', 'vcc_hi'];
    this.#text(`s_add_u32 ${low}, s${first}, s${offset}`);
    this.#text(`s_addc_u32 ${high}, s${first + 1}, 0`);
    if (isScalar) return;
    this.#text(`s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), ${low}`);
    this.#text(`s_setreg_b32 hwreg(HW_REG_FLAT_SCR_HI), ${high}`);
  }

  #text(text: string, waveSize = this.#target.waveSizes[0]!): void {
    this.items.push({ kind: 'instruction', words: assembledWords(text, { target: this.#target, waveSize }) });
  }
}

const nameOf = (register: number): string => (register === SGPR_VCC_LO ? 'vcc_lo' : `s${register}`);
