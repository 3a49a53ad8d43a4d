/**
 * Random PTX: kernels of instructions that the rows have, with operands that fit them.
 * What a kernel computes is defined, so that all executors must agree: threads keep to places of their own,
 * and instructions that threads do together stand where all of them come.
 */
import { WavewrightError } from '../../../src/base/errors.ts';
import { compilePtx } from '../../../src/ptx/compile/module.ts';
import { bitsOf, type PtxType, sizeOf } from '../../../src/ptx/machine/types.ts';
import { countOf, type OperandRule, typeOf, vectorOf } from '../../../src/ptx/rows/operand-spec.ts';
import type { Form, PtxRow } from '../../../src/ptx/rows/row.ts';
import { formOf, PTX_ROWS } from '../../../src/ptx/rows/table.ts';
import type { Random } from '../random.ts';

/** Bytes that each thread has for itself in each space. */
export const PLACE_BYTES = 64;
/** Threads of a block at most. */
export const MAX_THREADS = 128;
const REGISTERS = 8;
const CONSTANTS = [0n, 1n, 2n, 31n, 32n, 33n, 63n, 64n, 127n, 128n, 255n, 0x7fffn, 0x8000n, 0xffffn, 0x7fff_ffffn]
  .concat([0x8000_0000n, 0xffff_ffffn, 0x7f80_0000n, 0x3f80_0000n, 0x3ff0_0000_0000_0000n])
  .concat([0x7ff0_0000_0000_0000n, 0x7fff_ffff_ffff_ffffn, 0x8000_0000_0000_0000n, 0xffff_ffff_ffff_ffffn]);

/** What an access asks of its address. */
function alignmentOf({ opcode, modifiers }: Form): number {
  // Forms of 128 bits have no type to choose: to the machine they are two values.
  const { vec = 'v1', type = 'b64' } = modifiers;
  if (opcode.endsWith('.b128')) return 16;
  return Number(vec.slice(1)) * sizeOf(type as PtxType); // reason: the alternatives of this modifier are types
}

/** Registers without a type of their own take values of each that is as wide. */
const FILES = { 1: '%p', 16: '%h', 32: '%w', 64: '%d', 128: '%q' } as const;

const fileOf = (type: PtxType): string => FILES[Math.max(16, bitsOf(type)) as 16] ?? '%p';
const fileOfOperand = (type: PtxType): string => (type === 'pred' ? '%p' : fileOf(type));

/** All threads of a warp load or store one matrix: its place is the warp's own. */
const isOfWarp = (form: Form): boolean =>
  form.modifiers['matrix'] !== undefined && form.row.operands.some(({ kind }) => kind === 'address');
/** Bytes of a warp for a matrix: 32 lines of 32 elements of 4 bytes. */
const MATRIX_BYTES = 4096;
const LANE_BYTES = MATRIX_BYTES / 32;
/** Elements from line to line, of which the narrowest take some more. */
const strideOf = (type: string | undefined): number => (/^(b1|[su]4)$/.test(type ?? '') ? 128 : 32);

/** Rows that compute something where they stand: not those that end a kernel. */
const ROWS = PTX_ROWS.filter(
  (row) =>
    !row.isInternal &&
    row.flow === undefined &&
    row.control === 'next' &&
    row.operands.every(({ kind }) => kind !== 'target'),
);

const HEAD = '.version 8.4\n.target sm_90\n.address_size 64\n';
const DECLARATIONS = `
.shared .align 32 .b8 tile[${MAX_THREADS * PLACE_BYTES}];
.shared .align 8 .b64 meeting;
.const .align 32 .b8 table[${PLACE_BYTES}] = {1, 2, 3, 255, 128, 127};
`;

/** Places by the space that an instruction names; without one addresses are generic. */
const PLACES: Readonly<Record<string, readonly string[]>> = {
  global: ['%outplace', '%inplace'],
  shared: ['%tileplace'],
  'shared::cta': ['%tileplace'],
  local: ['%localplace'],
  const: ['%tableplace'],
  param: ['in'],
  'param::entry': ['in'],
  generic: ['%outplace', '%tilegeneric', '%localgeneric'],
};
/** The same for matrices. */
const MATRIX_PLACES: Readonly<Record<string, readonly string[]>> = {
  global: ['%globalmatrix'],
  shared: ['%sharedmatrix'],
  'shared::cta': ['%sharedmatrix'],
  generic: ['%globalmatrix', '%genericmatrix'],
};
const MATRIX_NAME = /%\w+matrix\b/;
const MEETING_NAME = /\[meeting\]/;
/** Of loads, where nothing is written. */
const READ_ONLY = ['%inplace', 'in', '%tableplace'];

export class PtxWriter {
  readonly #random: Random;
  /** Opcodes that the compiler refuses, which is said by name. */
  readonly #refused: Map<string, boolean>;
  readonly #lines: string[] = [];
  #labels = 0;

  /** `refused` is shared by all writers: it is filled by asking. */
  constructor(random: Random, refused: Map<string, boolean>) {
    this.#random = random;
    this.#refused = refused;
  }

  /** A kernel `k(.u64 out, .u64 in)` of about so many instructions. */
  kernel(instructions: number): string {
    for (let left = instructions; left > 0; left--) {
      if (this.#random.chance(10)) this.#branch();
      else if (this.#random.chance(4)) this.#meet();
      else this.#instruction(false);
    }
    return kernelOf(this.#lines);
  }

  /** Some threads go past what follows. */
  #branch(): void {
    const label = `L${this.#labels++}`;
    this.#lines.push(`  @%p${this.#random.below(REGISTERS)} bra ${label};`);
    for (let count = this.#random.between(1, 4); count > 0; count--) this.#instruction(true);
    this.#lines.push(`${label}:`);
  }

  /** All threads wait for each other at a barrier in shared memory, then look at what another one stored. */
  #meet(): void {
    const label = `L${this.#labels++}`;
    const [given, taken] = [this.#random.below(REGISTERS), this.#random.below(REGISTERS)];
    this.#lines.push(
      `  st.shared.u64 [%tileplace], %d${given};`,
      '  mbarrier.arrive.shared.b64 %a2, [meeting];',
      `${label}:`,
      `  mbarrier.${this.#random.pick(['test_wait', 'try_wait'])}.shared.b64 %met, [meeting], %a2;`,
      `  @!%met bra ${label};`,
      '  xor.b32 %i1, %i2, 1;',
      '  mov.u64 %a2, tile;',
      `  mad.wide.u32 %a2, %i1, ${PLACE_BYTES}, %a2;`,
      `  ld.shared.u64 %d${taken}, [%a2];`,
      '  bar.sync 0;',
    );
  }

  #instruction(isDivergent: boolean): void {
    for (;;) {
      const form = this.#form();
      const isCommon =
        form.row.meeting !== undefined || /barrier/i.test(form.row.expansion ?? '') || form.row.className === 'warp';
      if (isCommon && isDivergent) continue;
      const text = this.#text(form);
      if (text === undefined || this.#isRefused(form.opcode, text)) continue;
      const guarded = `${this.#guard()} ${text}`;
      const isGuarded = !isCommon && this.#random.chance(20) && !isRefused(kernelOf([guarded]));
      this.#lines.push(`  ${isGuarded ? guarded : text}`);
      return;
    }
  }

  #guard(): string {
    return `@${this.#random.pick(['', '!'])}%p${this.#random.below(REGISTERS)}`;
  }

  #form(): Form {
    for (;;) {
      const row = this.#random.pick(ROWS);
      const form = formOf([row.name, ...this.#modifiers(row)].join('.'));
      if (form !== undefined) return form;
    }
  }

  #modifiers({ modifiers, pattern }: PtxRow): string[] {
    return modifiers
      .split('.')
      .slice(1)
      .flatMap((slot) => {
        if (slot.endsWith('?') && this.#random.chance(60)) return [];
        const [name = ''] = slot.replace('?', '').split('=');
        return [this.#random.pick(pattern.alternatives(name))];
      });
  }

  /** Undefined where no place is of its kind. */
  #text(form: Form): string | undefined {
    const { row, modifiers, opcode } = form;
    const isMatrix = isOfWarp(form);
    // Its number and its threads have to fit all that come, and others to wait for those that arrive.
    const isBarrier = /barrier/i.test(row.expansion ?? '');
    if (isBarrier && opcode.includes('.arrive')) return undefined;
    const isWriting = row.operands.every(({ kind }) => kind !== 'write') || row.className === 'atomic';
    const members = row.meeting?.members;
    const parts: string[] = [];
    let machineOperand = 0;
    for (const rule of row.operands) {
      const at = machineOperand;
      machineOperand += rule.kind === 'address' ? 2 : 1;
      if (rule.isCarry || (rule.isOptional && (rule.isPair || isBarrier || this.#random.chance(50)))) continue;
      if (rule.kind === 'address') {
        const space = modifiers['space'] ?? 'generic';
        const place = isMatrix
          ? `[${this.#random.pick(MATRIX_PLACES[space]!)}]`
          : this.#place(space, isWriting, alignmentOf(form));
        if (place === undefined) return undefined;
        parts.push(place);
      } else if (at === members) parts.push('0xffffffff');
      else if (isBarrier && rule.kind === 'read' && rule.type === 'u32') parts.push(String(this.#random.below(16)));
      else if (isMatrix && rule.isOptional) parts.push(String(strideOf(modifiers['type'])));
      else parts.push(this.#operand(rule, modifiers));
    }
    return `${opcode} ${parts.join(', ')};`;
  }

  #place(space: string, isWriting: boolean, alignment: number): string | undefined {
    const places = (PLACES[space] ?? []).filter((each) => !isWriting || !READ_ONLY.includes(each));
    if (places.length === 0) return undefined;
    const base = this.#random.pick(places);
    const at = 16 * this.#random.below(PLACE_BYTES / 16 - 1);
    if (base === 'in') return alignment > 8 ? undefined : '[in]';
    return `[${base}+${at - (at % alignment)}]`;
  }

  #operand(rule: OperandRule, modifiers: Form['modifiers']): string {
    const type = typeOf(rule, modifiers);
    const one = (): string => {
      if (rule.kind === 'read' && type !== 'pred' && bitsOf(type) <= 64 && this.#random.chance(15))
        return this.#constant(type);
      return `${fileOfOperand(type)}${this.#random.below(REGISTERS)}`;
    };
    const vector = vectorOf(rule, modifiers);
    if (vector === undefined) return one();
    const registers = Array.from({ length: countOf(rule, modifiers) }, (_, i) => `${fileOfOperand(type)}${i}`);
    return `{${registers.join(', ')}}`;
  }

  #constant(type: PtxType): string {
    const bits = BigInt.asUintN(bitsOf(type), this.#random.pick(CONSTANTS));
    if (type === 'f32') return `0f${bits.toString(16).padStart(8, '0')}`;
    if (type === 'f64') return `0d${bits.toString(16).padStart(16, '0')}`;
    return String(type.startsWith('s') ? BigInt.asIntN(bitsOf(type), bits) : bits);
  }

  #isRefused(opcode: string, line: string): boolean {
    let refused = this.#refused.get(opcode);
    if (refused === undefined) {
      refused = isRefused(kernelOf([line]));
      this.#refused.set(opcode, refused);
    }
    return refused || isRefused(kernelOf([line]));
  }
}

function isRefused(text: string): boolean {
  try {
    compilePtx(text, 'k.ptx');
    return false;
  } catch (error) {
    if (error instanceof WavewrightError && error.code !== 'INTERNAL') return true;
    throw error;
  }
}

/** What only some kernels have. */
const MATRICES = `
.shared .align 256 .b8 sharedmatrices[${(MAX_THREADS / 32) * MATRIX_BYTES}];
.global .align 256 .b8 globalmatrices[${(MAX_THREADS / 32) * MATRIX_BYTES}];
`;
const PARTS_OF_LANE = Array.from({ length: LANE_BYTES / 16 }, (_, i) => 16 * i);
const SPACES_OF_MATRICES = ['shared', 'global'] as const;
const ADDRESSES_OF_MATRICES = `
  .reg .b64 %globalmatrix, %sharedmatrix, %genericmatrix, %sharedpart, %globalpart;
  shr.u32 %i1, %i2, 5;
${SPACES_OF_MATRICES.map(
  (space) => `  mov.u64 %${space}matrix, ${space}matrices;
  mad.wide.u32 %${space}part, %i2, ${LANE_BYTES}, %${space}matrix;
  mad.wide.u32 %${space}matrix, %i1, ${MATRIX_BYTES}, %${space}matrix;`,
).join('\n')}
  cvta.shared.u64 %genericmatrix, %sharedmatrix;
`;
const FILL_MATRICES = SPACES_OF_MATRICES.flatMap((space) =>
  PARTS_OF_LANE.map(
    (at, i) => `  st.${space}.v2.u64 [%${space}part+${at}], {%d${i % REGISTERS}, %d${(i + 3) % REGISTERS}};`,
  ),
).join('\n');
const BEGIN_MEETINGS = `  setp.eq.u32 %met, %i2, 0;
  mov.u32 %i1, %ntid.x;
  @%met mbarrier.init.shared.b64 [meeting], %i1;
`;

const numbered = (make: (index: number) => string): string =>
  Array.from({ length: REGISTERS }, (_, index) => make(index)).join('\n');

/** Registers begin as what stands in `in`; what they are behind it is added up at `out`. */
function kernelOf(lines: readonly string[]): string {
  const hasMatrices = lines.some((line) => MATRIX_NAME.test(line));
  const meets = lines.some((line) => MEETING_NAME.test(line));
  return `${HEAD}${DECLARATIONS}${hasMatrices ? MATRICES : ''}
.visible .entry k(.param .u64 out, .param .u64 in)
{
  .reg .pred %p<${REGISTERS}>, %met;
  .reg .b16 %h<${REGISTERS}>;
  .reg .b32 %w<${REGISTERS}>;
  .reg .b64 %d<${REGISTERS}>;
  .reg .b32 %i<4>;
  .reg .b64 %a<4>, %outplace, %inplace, %tileplace, %tilegeneric, %localplace, %localgeneric, %tableplace;
  .local .align 32 .b8 own[${PLACE_BYTES}];
  mov.u32 %i0, %ctaid.x;
  mov.u32 %i1, %ntid.x;
  mov.u32 %i2, %tid.x;
  mad.lo.u32 %i3, %i0, %i1, %i2;
  ld.param.u64 %a0, [out];
  ld.param.u64 %a1, [in];
  mad.wide.u32 %outplace, %i3, ${PLACE_BYTES}, %a0;
  mad.wide.u32 %inplace, %i3, ${PLACE_BYTES}, %a1;
  mov.u64 %tileplace, tile;
  mad.wide.u32 %tileplace, %i2, ${PLACE_BYTES}, %tileplace;
  cvta.shared.u64 %tilegeneric, %tileplace;
  mov.u64 %localplace, own;
  cvta.local.u64 %localgeneric, %localplace;
  mov.u64 %tableplace, table;
${numbered((i) => `  ld.global.u64 %d${i}, [%inplace+${8 * i}];`)}
${numbered((i) => `  cvt.u32.u64 %w${i}, %d${i};`)}
${numbered((i) => `  shr.u64 %a2, %d${i}, ${8 * i + 3};\n  cvt.u16.u64 %h${i}, %a2;`)}
${numbered((i) => `  and.b32 %i1, %w${i}, ${1 << (i * 3)};\n  setp.ne.u32 %p${i}, %i1, 0;`)}
${[0, 16, 32, 48].map((at) => `  st.local.v2.u64 [%localplace+${at}], {%d0, %d1};\n  st.shared.v2.u64 [%tileplace+${at}], {%d2, %d3};`).join('\n')}
${hasMatrices ? `${ADDRESSES_OF_MATRICES}${FILL_MATRICES}` : ''}${meets ? BEGIN_MEETINGS : ''}
${hasMatrices || meets ? '  bar.sync 0;' : ''}
${lines.join('\n')}
${hasMatrices ? '  bar.sync 0;' : ''}
  mov.u64 %a3, 0;
${hasMatrices ? SPACES_OF_MATRICES.flatMap((space) => PARTS_OF_LANE.map((at) => mixed(`ld.${space}.u64 %a2, [%${space}part+${at + 8}];`))).join('\n') : ''}
${numbered((i) => mixed(`mov.u64 %a2, %d${i};`))}
${numbered((i) => mixed(`cvt.u64.u32 %a2, %w${i};`))}
${numbered((i) => mixed(`cvt.u64.u16 %a2, %h${i};`))}
${numbered((i) => mixed(`selp.u64 %a2, 1, 2, %p${i};`))}
${[0, 8, 16, 24, 32, 40, 48, 56].map((at) => `${mixed(`ld.local.u64 %a2, [%localplace+${at}];`)}\n${mixed(`ld.shared.u64 %a2, [%tileplace+${at}];`)}`).join('\n')}
  ld.global.u64 %a2, [%outplace];
  add.u64 %a3, %a3, %a2;
  st.global.u64 [%outplace], %a3;
  ret;
}
`;
}

const mixed = (take: string): string => `  ${take}\n  mad.lo.u64 %a3, %a3, 0x9e3779b97f4a7c15, %a2;`;
