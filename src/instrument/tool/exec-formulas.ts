/**
 * What EXEC is in the code of a function, as a formula of masks that are not known: what it was when a block
 * began, conditions that it was combined with. Scalar registers keep such masks, too. Each dword is looked at
 * for itself, so that waves of 32 and of 64 lanes are the same.
 *
 * A mask has the name of the one place where it is seen first. Where a wave comes to that place, no register
 * is known to hold a formula with the name: the first time it comes there, none can.
 */
import type { Value } from '../../ir/types.ts';
import { SGPR_EXEC_LO, SGPR_VCC_LO } from '../../isa/amdgpu/encoding/registers.ts';
import {
  type AtomId,
  type BitFormula,
  type BitOperation,
  combine,
  formulaKey,
  formulaOf,
  isSameFormula,
  ONES,
  ZEROS,
} from './bit-formula.ts';
import { type ExecRegion, execRegions } from './exec-regions.ts';
import type { ToolBlock, ToolInstruction } from './tool-function.ts';

const STATES: ReadonlyMap<string, number> = new Map([
  ['exec', SGPR_EXEC_LO],
  ['vcc', SGPR_VCC_LO],
]);
const ALL_ONES = (1n << 64n) - 1n;
/** Numbers that scalar registers may have. */
const SCALARS = 256;

/** A formula for each dword of a value, undefined where there is none. */
type Dwords = readonly (BitFormula | undefined)[];
const NOTHING: Dwords = [];

/** What registers hold. Those that are not in it may hold anything. */
type Registers = Map<number, BitFormula>;

export class ExecFormulas {
  readonly #ids = new Map<number, AtomId>();
  readonly #before = new Map<ToolBlock, Registers>();
  readonly #masks = new Map<ExecRegion, string>();
  /** Of each region what changes scalar registers; blocks are gone through several times. */
  readonly #changes = new Map<ExecRegion, readonly ToolInstruction[]>();

  constructor(blocks: readonly ToolBlock[]) {
    for (const block of blocks) {
      this.#before.set(block, new Map());
      for (const region of execRegions(block)) this.#changes.set(region, region.instructions.filter(changesScalars));
    }
    this.#flow(blocks);
    for (const block of blocks) this.#run(block, true);
  }

  /** In a region, as all of its instructions find it: texts that are equal for masks that are. */
  of(region: ExecRegion): string {
    return this.#masks.get(region)!;
  }

  /**
   * What is known where a block begins is what all ways there have in common. It only becomes less, though
   * a register of which less is known may give others new formulas: so it comes to an end.
   */
  #flow(blocks: readonly ToolBlock[]): void {
    const seen = new Set<ToolBlock>();
    // Where else a block may be come to from, nothing is known.
    const start = blocks.filter((block) => block.instructions[0]!.address === block.function.address);
    const work = new Set(start);
    for (const each of start) seen.add(each);
    for (const block of work) {
      work.delete(block);
      const after = this.#run(block, false);
      for (const to of [block.next, block.target]) {
        if (!to) continue;
        const before = this.#before.get(to)!;
        if (!seen.has(to)) {
          seen.add(to);
          for (const [register, bits] of after) before.set(register, bits);
          work.add(to);
          continue;
        }
        const { size } = before;
        for (const [register, bits] of before) {
          const other = after.get(register);
          if (!other || !isSameFormula(other, bits)) before.delete(register);
        }
        if (before.size < size) work.add(to);
      }
    }
  }

  /** What registers hold behind a block. */
  #run(block: ToolBlock, isRecorded: boolean): Registers {
    const registers: Registers = new Map(this.#before.get(block));
    const run = new BlockRun(registers, (place, register) => this.#idOf(place * SCALARS + register));
    run.begin(block);
    for (const region of execRegions(block)) {
      if (isRecorded) this.#masks.set(region, run.mask);
      for (const each of this.#changes.get(region)!) run.step(each);
    }
    return registers;
  }

  #idOf(name: number): AtomId {
    let id = this.#ids.get(name);
    if (id === undefined) {
      id = this.#ids.size;
      this.#ids.set(name, id);
    }
    return id;
  }
}

const changesScalars = ({ step: { effects, control } }: ToolInstruction): boolean =>
  control === 'call' || effects.writesAnyOf.has('scalar') || effects.writes.some(({ file }) => file === 'scalar');

/** One way through a block. */
class BlockRun {
  readonly #registers: Registers;
  readonly #idOf: (place: number, register: number) => AtomId;

  constructor(registers: Registers, idOf: (place: number, register: number) => AtomId) {
    this.#registers = registers;
    this.#idOf = idOf;
  }

  get mask(): string {
    return [0, 1].map((i) => formulaKey(this.#registers.get(SGPR_EXEC_LO + i)!)).join(' ');
  }

  begin(block: ToolBlock): void {
    this.#nameExec(-1 - block.index);
  }

  step(instruction: ToolInstruction): void {
    const { step, address } = instruction;
    const { effects, meaning } = step;
    if (step.control === 'call' || effects.writesAnyOf.has('scalar')) this.#registers.clear();
    else {
      const results = meaning ? this.#resultsOf(instruction, meaning.values) : new Map();
      for (const { file, first, dwords } of effects.writes) {
        if (file !== 'scalar') continue;
        for (let register = first; register < first + dwords; register++) this.#registers.delete(register);
      }
      for (const [register, bits] of results) if (bits) this.#registers.set(register, bits);
    }
    this.#nameExec(address);
  }

  /** EXEC has a formula everywhere. Places are addresses, or below 0 for blocks. */
  #nameExec(place: number): void {
    for (const register of [SGPR_EXEC_LO, SGPR_EXEC_LO + 1]) this.#read(place, register);
  }

  /** What an instruction writes to scalar registers. */
  #resultsOf(instruction: ToolInstruction, values: readonly Value[]): Map<number, BitFormula | undefined> {
    const results = new Map<number, BitFormula | undefined>();
    const known = new Map<Value, Dwords>();
    for (let i = 0; i < values.length; i++) {
      const value = values[i]!;
      if (value.lane) continue;
      const { leaf, args } = value;
      if (leaf.kind === 'setOperand') {
        const operand = instruction.step.instruction.operand(leaf.at.operand);
        if (operand.kind === 'scalar') results.set(operand.register + leaf.at.dword, known.get(args[0]!)?.[0]);
      } else if (leaf.kind === 'setState') {
        const register = STATES.get(leaf.slot);
        if (register === undefined) continue;
        for (const dword of [0, 1]) results.set(register + dword, known.get(args[0]!)?.[dword]);
      } else {
        const dwords = this.#evaluate(instruction, value, known);
        if (dwords !== NOTHING) known.set(value, dwords);
      }
    }
    return results;
  }

  #evaluate(instruction: ToolInstruction, { leaf, type, args }: Value, known: ReadonlyMap<Value, Dwords>): Dwords {
    switch (leaf.kind) {
      case 'const':
        return type === 'i32' ? [constantBits(BigInt.asUintN(32, leaf.value), 0)] : dwordsOf(leaf.value);
      case 'operand': {
        const operand = instruction.step.instruction.operand(leaf.at.operand);
        if (operand.kind === 'scalar') return [this.#read(instruction.address, operand.register + leaf.at.dword)];
        return operand.kind === 'constant' ? [constantBits(operand.value, leaf.at.dword)] : NOTHING;
      }
      case 'state': {
        const register = STATES.get(leaf.slot);
        return register === undefined ? NOTHING : [0, 1].map((i) => this.#read(instruction.address, register + i));
      }
      case 'pure':
        return pure(leaf.op, known.get(args[0]!) ?? NOTHING, known.get(args[1]!) ?? NOTHING);
      default:
        return NOTHING;
    }
  }

  /** What a register holds; what is not known gets a name. */
  #read(place: number, register: number): BitFormula {
    const known = this.#registers.get(register);
    if (known) return known;
    const bits = formulaOf(this.#idOf(place, register));
    this.#registers.set(register, bits);
    return bits;
  }
}

const dwordsOf = (value: bigint): Dwords => [0, 1].map((i) => constantBits(BigInt.asUintN(64, value), i));

function constantBits(value: bigint, dword: number): BitFormula | undefined {
  const bits = BigInt.asUintN(32, value >> BigInt(32 * dword));
  if (bits === 0n) return ZEROS;
  return bits === BigInt.asUintN(32, ALL_ONES) ? ONES : undefined;
}

const BITWISE: ReadonlyMap<string, BitOperation> = new Map(
  (['and', 'or', 'xor'] as const).flatMap((name) =>
    (['i32', 'i64'] as const).map((type) => [`${type}.${name}`, name] as const),
  ),
);

function pure(op: string, a: Dwords, b: Dwords): Dwords {
  if (op === 'i64.low') return [a[0]];
  if (op === 'i64.high') return [a[1]];
  if (op === 'i64.pack') return [a[0], b[0]];
  const operation = BITWISE.get(op);
  if (!operation || a === NOTHING || b === NOTHING) return NOTHING;
  return a.map((bits, i) => {
    const other = b[i];
    return bits && other && combine(operation, bits, other);
  });
}
