/**
 * Constants in the scalar registers of a wave: what the row's own meaning says of them, without running
 * anything.
 */
import { WavewrightError } from '../base/errors.ts';
import type { Evaluated } from '../ir/op.ts';
import { OPS } from '../ir/ops.ts';
import type { Program, Value } from '../ir/types.ts';
import type { Instruction } from '../isa/amdgpu/encoding/instruction.ts';
import { InstructionBuilder } from '../isa/amdgpu/semantics/instruction-builder.ts';
import { CLANG_MODE } from '../isa/amdgpu/semantics/mode.ts';

const REGISTERS = 128;

/**
 * Scalar registers, numbered as operands, and SCC; `undefined` where the value is not known. Of vector
 * registers, dwords that are the same in all lanes that wrote them.
 */
export class ScalarState {
  readonly registers: (number | undefined)[];
  readonly vectors = new Map<number, number>();
  scc: number | undefined;

  constructor(registers: readonly (number | undefined)[] = new Array<undefined>(REGISTERS).fill(undefined)) {
    this.registers = [...registers];
  }

  clone(): ScalarState {
    const copy = new ScalarState(this.registers);
    copy.scc = this.scc;
    for (const [register, value] of this.vectors) copy.vectors.set(register, value);
    return copy;
  }

  /** Forgets what `other` does not know the same of; returns whether anything was forgotten. */
  meet(other: ScalarState): boolean {
    let changed = false;
    for (let i = 0; i < REGISTERS; i++) {
      if (this.registers[i] === undefined || this.registers[i] === other.registers[i]) continue;
      this.registers[i] = undefined;
      changed = true;
    }
    for (const [register, value] of this.vectors) {
      if (other.vectors.get(register) !== value) changed = this.vectors.delete(register);
    }
    if (this.scc !== undefined && this.scc !== other.scc) {
      this.scc = undefined;
      changed = true;
    }
    return changed;
  }

  pair(register: number): bigint | undefined {
    const [low, high] = [this.registers[register], this.registers[register + 1]];
    return low === undefined || high === undefined ? undefined : (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
  }

  forget(first: number, end: number): void {
    this.registers.fill(undefined, first, end);
  }
}

export interface ScalarContext {
  /** Address of the instruction. */
  readonly pc: bigint;
  /** A dword of memory that never changes once the code runs; `undefined` for all other memory. */
  readConstant(address: bigint): number | undefined;
}

/** Where an instruction that jumps goes to, or whether one that branches does. */
export interface Jump {
  readonly target: bigint | undefined;
  readonly isTaken: boolean | undefined;
}

const programs = new WeakMap<Instruction, Program | undefined>();

/** Undefined for an instruction whose meaning is not implemented, be it in this form only. */
function programOf(instruction: Instruction): Program | undefined {
  if (!programs.has(instruction)) programs.set(instruction, buildProgram(instruction));
  return programs.get(instruction);
}

function buildProgram(instruction: Instruction): Program | undefined {
  if (!instruction.row.semantics) return undefined;
  try {
    return new InstructionBuilder(instruction, CLANG_MODE).build();
  } catch (error) {
    if (error instanceof WavewrightError && error.code === 'UNSUPPORTED') return undefined;
    throw error;
  }
}

/** Registers that the operands of `instruction` write become unknown. */
export function forgetResults(instruction: Instruction, state: ScalarState): void {
  instruction.row.operands.forEach((_, index) => {
    if (!instruction.access(index)?.includes('write')) return;
    const operand = instruction.operand(index);
    const dwords = instruction.dwords(index);
    if (operand.kind === 'scalar') state.forget(operand.register, operand.register + dwords);
    else if (operand.kind === 'vector' && !operand.accumulator) {
      for (let dword = 0; dword < dwords; dword++) state.vectors.delete(operand.register + dword);
    }
  });
}

/**
 * Carries out an instruction as far as its operands are known: of a scalar format, or one that does the same
 * in all lanes.
 */
export function evaluateUniform(
  instruction: Instruction,
  state: ScalarState,
  context: ScalarContext,
): Jump | undefined {
  const program = programOf(instruction);
  if (!program) {
    forgetResults(instruction, state);
    state.scc = undefined;
    return undefined;
  }
  return new Evaluation(instruction, state, context).run(program);
}

class Evaluation {
  readonly #instruction: Instruction;
  readonly #state: ScalarState;
  readonly #context: ScalarContext;
  readonly #results: (Evaluated | undefined)[] = [];
  readonly #loads = new Map<number, readonly (number | undefined)[]>();
  #jump: Jump | undefined;

  constructor(instruction: Instruction, state: ScalarState, context: ScalarContext) {
    this.#instruction = instruction;
    this.#state = state;
    this.#context = context;
  }

  run(program: Program): Jump | undefined {
    for (const value of program.values) this.#results[value.id] = this.#evaluate(value);
    return this.#jump;
  }

  #evaluate({ id, leaf, args, type }: Value): Evaluated | undefined {
    const known = args.map((arg) => this.#results[arg.id]);
    const state = this.#state;
    switch (leaf.kind) {
      case 'const':
        return type === 'i64' ? leaf.value : Number(leaf.value);
      case 'operand':
        return this.#read(leaf.at.operand, leaf.at.dword);
      case 'state':
        return leaf.slot === 'scc' ? state.scc : undefined;
      case 'pc':
        return this.#context.pc;
      case 'nextPc':
        return this.#context.pc + BigInt(this.#instruction.sizeBytes);
      case 'pure': {
        if (known.includes(undefined)) return undefined;
        const evaluate = OPS[leaf.op].evaluate as (...values: readonly Evaluated[]) => Evaluated;
        return evaluate(...(known as Evaluated[]));
      }
      case 'load': {
        const [address] = known;
        const dwords = Array.from({ length: leaf.dwords }, (_, i) =>
          typeof address === 'bigint' && leaf.sizeBytes % 4 === 0
            ? this.#context.readConstant(address + BigInt(i * 4))
            : undefined,
        );
        this.#loads.set(id, dwords);
        return dwords[0];
      }
      case 'loaded':
        return this.#loads.get(args[0]!.id)?.[leaf.index];
      case 'setOperand':
        this.#write(leaf.at.operand, leaf.at.dword, known[0], known.length > 1);
        return undefined;
      case 'setState':
        if (leaf.slot === 'scc') state.scc = known[0] === undefined ? undefined : Number(known[0]);
        return undefined;
      case 'jump':
        this.#jump = { target: known[0] as bigint | undefined, isTaken: undefined };
        return undefined;
      case 'branch':
        this.#jump = { target: undefined, isTaken: known[0] === undefined ? undefined : Boolean(known[0]) };
        return undefined;
      default:
        return undefined;
    }
  }

  #read(index: number, dword: number): number | undefined {
    const operand = this.#instruction.operand(index);
    if (operand.kind === 'constant') return Number(BigInt.asIntN(32, operand.value >> BigInt(32 * dword)));
    if (operand.kind === 'vector' && !operand.accumulator) return this.#state.vectors.get(operand.register + dword);
    return operand.kind === 'scalar' ? this.#state.registers[operand.register + dword] : undefined;
  }

  #write(index: number, dword: number, result: Evaluated | undefined, conditional: boolean): void {
    const operand = this.#instruction.operand(index);
    const value = result === undefined || conditional ? undefined : Number(result) | 0;
    if (operand.kind === 'scalar') this.#state.registers[operand.register + dword] = value;
    else if (operand.kind === 'vector' && !operand.accumulator) {
      if (value === undefined) this.#state.vectors.delete(operand.register + dword);
      else this.#state.vectors.set(operand.register + dword, value);
    }
  }
}
