/**
 * What a function in machine code needs and calls, read from its instructions: registers, stack, and the
 * targets of calls as far as they are constants (LLVM "User Guide for AMDGPU Backend", "Non-Kernel
 * Functions").
 */
import { followingOffset } from '../ir/step.ts';
import type { Instruction } from '../isa/amdgpu/encoding/instruction.ts';
import { SGPR_VCC_LO } from '../isa/amdgpu/encoding/registers.ts';
import { targetFor } from '../isa/amdgpu/encoding/targets.ts';
import { type AmdgpuStep, AmdgpuStepReader } from '../isa/amdgpu/step.ts';
import { CALL_REGISTERS, FIRST_PRESERVED } from './calling-convention.ts';
import { mostRegisters } from './register-limits.ts';
import { followScalars, type ScalarVisitor, type WalkBudget } from './scalar-flow.ts';
import {
  evaluateUniform,
  forgetResults,
  type Jump,
  namesLanes,
  type ScalarContext,
  ScalarState,
} from './scalar-state.ts';

export interface FunctionCode {
  /** Bytes of the function alone. */
  readonly bytes: Uint8Array;
  /** Address of the first byte; targets of calls and `readConstant` are in the same space. */
  readonly address: bigint;
  readonly processor: string;
  readonly waveSize: 32 | 64;
  /** A dword of memory that is complete and never written, such as the global offset table. */
  readConstant(address: bigint): number | undefined;
  /** The budget that functions which are looked into together share. */
  readonly walk?: WalkBudget;
}

export interface Call {
  /** Undefined where only the run tells. */
  readonly target: bigint | undefined;
  /**
   * Private memory of a lane that is in use below the callee, in bytes; undefined behind an allocation of
   * unknown size.
   */
  readonly stackBytes: number | undefined;
}

export interface FunctionAnalysis {
  /** Registers up to the highest one that is named. */
  readonly vgprCount: number;
  readonly agprCount: number;
  /** SGPRs up to the highest one that is named, without VCC and what follows it. */
  readonly sgprCount: number;
  /**
   * Up to gfx9: SGPRs behind the numbered ones, from the first that is named to VCC; 0 from gfx10 on, where
   * they cost nothing.
   */
  readonly specialSgprCount: number;
  /** Private memory of a lane that the function itself uses, as far as it can be seen. */
  readonly stackBytes: number;
  /**
   * Whether `stackBytes` is all: no allocation of unknown size, no object whose end cannot be seen, no
   * unreadable code.
   */
  readonly isStackKnown: boolean;
  /**
   * Whether all code that is reached could be followed; otherwise the counts of registers are the most that
   * there are.
   */
  readonly isReadable: boolean;
  /** What is called, and what is jumped to outside of the function. */
  readonly calls: readonly Call[];
  /** Whether execution can run over the end, into what follows. */
  readonly fallsThrough: boolean;
}

const { returnAddress: RETURN_ADDRESS, stackPointer: STACK_POINTER } = CALL_REGISTERS;
/** Behind VCC; up to gfx9 FLAT_SCRATCH and XNACK_MASK stand between it and the numbered registers. */
const SPECIAL_END = SGPR_VCC_LO + 2;
const GFX9_SGPRS = 102;
/** A value that nothing else has, so that addresses in the stack are recognised. */
const STACK_START = 0x5a000000;
const STACK_SPAN = 0x02000000;
/**
 * Steps that the analysis takes for each instruction, all rounds and ways together; compilers' code takes
 * fewer than 5.
 */
const MAX_STEPS = 64;
/** A walk through a function with objects of unknown ends is over when so many steps show nothing new. */
const MAX_IDLE_STEPS = 2000;

/** The MODE that steps are read with; what is looked for does not depend on it. */
const MODE = 0;

class Analyzer {
  readonly #code: FunctionCode;
  /**
   * What the stack pointer counts for a byte of a lane: without flat scratch, it counts the bytes of all
   * lanes.
   */
  readonly #scale: number;
  /** Behind the numbered SGPRs are VCC and the like. */
  readonly #sgprLimit: number;
  readonly #steps = new Map<number, AmdgpuStep>();
  readonly #calls = new Map<number, Call>();
  /** Offsets that something jumps to: where states meet. */
  readonly #labels = new Set<number>();
  #vgprs = 0;
  #agprs = 0;
  #sgprs = 0;
  #specialSgprs: number;
  #stackTop = STACK_START;
  /** The highest value of the stack pointer itself. */
  #pointerTop = STACK_START;
  #fallsThrough = false;
  #isReadable = true;
  #isStackBounded = true;
  #hasObjects = false;

  constructor(code: FunctionCode) {
    const { scalars, flatScratch } = targetFor(code.processor);
    const isArchitected = flatScratch === 'architected';
    this.#code = code;
    this.#sgprLimit = scalars.sgprCount;
    this.#scale = isArchitected ? 1 : code.waveSize;
    const reader = new AmdgpuStepReader(code.processor, code.waveSize, MODE);
    const view = new DataView(code.bytes.buffer, code.bytes.byteOffset, code.bytes.byteLength);
    for (let offset = 0; offset < view.byteLength; ) {
      const step = reader.step(view, offset);
      if (typeof step === 'string') {
        // Padding and data behind the last instruction are not reached; what is reached and missing is
        // noticed there.
        offset += 4;
        continue;
      }
      this.#steps.set(offset, step);
      const target = branchTarget(step);
      if (target !== undefined) this.#labels.add(target);
      offset = followingOffset(step);
    }
    // With architected flat scratch waves have the registers whether they are named or not.
    this.#specialSgprs = isArchitected ? SPECIAL_END - GFX9_SGPRS : 0;
  }

  analyze(isKernel: boolean): FunctionAnalysis {
    const budget = { steps: this.#steps.size * MAX_STEPS };
    if (!followScalars(0, entryState(), this.#visitor(isKernel), budget)) this.#isReadable = false;
    const hasOpenFrame = this.#hasObjects && this.#pointerTop === STACK_START && !isKernel;
    if (hasOpenFrame) this.#walk();
    const stackBytes = Math.ceil((this.#stackTop - STACK_START) / this.#scale);
    const counts = {
      vgprCount: this.#vgprs,
      agprCount: this.#agprs,
      sgprCount: this.#sgprs,
      specialSgprCount: this.#sgprLimit === GFX9_SGPRS ? this.#specialSgprs : 0,
    };
    return {
      ...(this.#isReadable ? counts : mostRegisters(this.#code.processor)),
      stackBytes,
      // Objects of a function that moves the stack pointer lie below it; a leaf function keeps them above,
      // where only accesses show them.
      isStackKnown: this.#isReadable && this.#isStackBounded && !hasOpenFrame,
      isReadable: this.#isReadable,
      calls: [...this.#calls.values()],
      fallsThrough: this.#fallsThrough,
    };
  }

  #context({ offset }: AmdgpuStep): ScalarContext {
    const pc = this.#code.address + BigInt(offset);
    return { pc, readConstant: this.#code.readConstant };
  }

  #visitor(isKernel: boolean): ScalarVisitor {
    return {
      labels: this.#labels,
      stepAt: (place) => this.#steps.get(place),
      leave: (place, state) => this.#leave(place, state),
      visit: (step, state) => this.#visit(step, state, isKernel),
      begin: () => this.#calls.clear(),
    };
  }

  #visit(step: AmdgpuStep, state: ScalarState, isKernel: boolean): readonly number[] | undefined {
    const { instruction } = step;
    this.#note(instruction, state);
    if (!isScalar(instruction)) {
      this.#computeAddress(step, state);
      return undefined;
    }
    const returns = readsReturnAddress(instruction);
    const jump = evaluateUniform(step, state, this.#context(step));
    this.#noteStackPointer(state, isKernel);
    const target = branchTarget(step);
    switch (step.control) {
      case 'next':
        return undefined;
      case 'end':
        return [];
      case 'branch':
        return [target!];
      case 'conditional':
        return [target!, followingOffset(step)];
      case 'jump':
      case 'call':
      case 'return':
        return this.#jump(step, jump, state, returns);
    }
  }

  /** Runs on for as long as constants decide the way: the loop that fills an object shows where it ends. */
  #walk(): void {
    const state = entryState();
    const budget = this.#code.walk ?? { steps: 250_000 };
    for (let at = 0, idle = 0; idle < MAX_IDLE_STEPS && budget.steps > 0; budget.steps--) {
      const step = this.#steps.get(at);
      if (!step) return;
      const { instruction } = step;
      const known = this.#stackTop;
      this.#note(instruction, state);
      idle = this.#stackTop > known ? 0 : idle + 1;
      at = followingOffset(step);
      if (!isScalar(instruction)) {
        this.#computeAddress(step, state);
        continue;
      }
      const jump = evaluateUniform(step, state, this.#context(step));
      const target = branchTarget(step);
      if (target !== undefined && (step.control === 'branch' || jump?.isTaken)) at = target;
      else if (step.control !== 'next' && jump?.isTaken !== false) return;
    }
  }

  /** Of vector registers only addresses in the stack are followed, which are few, and scalars in lanes. */
  #computeAddress(step: AmdgpuStep, state: ScalarState): void {
    const { instruction } = step;
    const isRelated = instruction.row.operands.some((_, index) => {
      if (!instruction.access(index)?.includes('read')) return false;
      const value = knownValue(instruction, index, state);
      return isStackAddress(value, 1) || isStackAddress(value, this.#scale);
    });
    if ((isRelated && !isAccess(instruction)) || namesLanes(step)) {
      evaluateUniform(step, state, { pc: 0n, readConstant: () => undefined });
    } else forgetResults(step, state);
  }

  /** A branch to other code, code that cannot be read, or the end of the function: another may follow. */
  #leave(at: number, state: ScalarState): void {
    if (at >= 0 && at < this.#code.bytes.length) this.#isReadable = false;
    else if (at === this.#code.bytes.length) this.#fallsThrough = true;
    else this.#noteCall(at, this.#code.address + BigInt(at), state);
  }

  /** `key`: of the place, each counts once. */
  #noteCall(key: number, target: bigint | undefined, state: ScalarState): void {
    const pointer = state.registers[STACK_POINTER];
    const stackBytes = pointer === undefined ? undefined : Math.ceil((pointer - STACK_START) / this.#scale);
    this.#calls.set(key, { target, stackBytes });
  }

  #jump(step: AmdgpuStep, jump: Jump | undefined, state: ScalarState, returns: boolean): readonly number[] {
    const isCall = step.control === 'call';
    const target = jump?.target;
    const inside = target === undefined ? undefined : Number(target - this.#code.address);
    if (!isCall && returns) return [];
    if (!isCall && inside !== undefined && inside >= 0 && inside < this.#code.bytes.length) {
      this.#labels.add(inside);
      return [inside];
    }
    this.#noteCall(step.offset, target, state);
    const next = followingOffset(step);
    // A function that ends with a call calls what does not return.
    if (!isCall || next === this.#code.bytes.length) return [];
    state.forget(0, FIRST_PRESERVED);
    state.forget(SGPR_VCC_LO, state.registers.length);
    state.scc = undefined;
    return [next];
  }

  /** Registers that are named, and what is done with the stack. */
  #note(instruction: Instruction, state: ScalarState): void {
    instruction.row.operands.forEach(({ field }, index) => {
      const operand = instruction.operand(index);
      const end = 'register' in operand ? operand.register + instruction.dwords(index) : 0;
      if (operand.kind === 'vector') {
        if (operand.accumulator) this.#agprs = Math.max(this.#agprs, end);
        else this.#vgprs = Math.max(this.#vgprs, end);
      } else if (operand.kind === 'scalar') {
        if (end <= this.#sgprLimit) this.#sgprs = Math.max(this.#sgprs, end);
        else if (operand.register < SPECIAL_END) {
          this.#specialSgprs = Math.max(this.#specialSgprs, SPECIAL_END - operand.register);
        }
      }
      if (!isScalar(instruction)) this.#noteStack(instruction, knownValue(instruction, index, state), field);
    });
  }

  /** What an operand that is an address in the stack says of it. */
  #noteStack(instruction: Instruction, value: number | undefined, field: string): void {
    if (isAccess(instruction) && (field === 'soffset' || field === 'saddr')) {
      if (isStackAddress(value, 1)) this.#touch(value, instruction.field('offset') + accessBytes(instruction));
      return;
    }
    const ofLane = isStackAddress(value, this.#scale) ? value * this.#scale : value;
    if (!isStackAddress(ofLane, 1)) return;
    this.#hasObjects = true;
    this.#touch(ofLane, isAccess(instruction) ? accessBytes(instruction) : 4);
  }

  /** `endBytes`: behind the access, from `value` on. */
  #touch(value: number, endBytes: number): void {
    this.#stackTop = Math.max(this.#stackTop, value + endBytes * this.#scale);
  }

  #noteStackPointer(state: ScalarState, isKernel: boolean): void {
    let pointer = state.registers[STACK_POINTER];
    // A kernel sets the stack pointer to the end of its own frame, counted from the start of private memory.
    if (isKernel && pointer !== undefined && pointer >= 0 && pointer < STACK_SPAN) {
      pointer += STACK_START;
      state.registers[STACK_POINTER] = pointer;
    }
    if (pointer === undefined) this.#isStackBounded = false;
    else if (isStackAddress(pointer, 1)) {
      this.#pointerTop = Math.max(this.#pointerTop, pointer);
      this.#stackTop = Math.max(this.#stackTop, pointer);
    }
  }
}

function entryState(): ScalarState {
  const state = new ScalarState();
  state.registers[STACK_POINTER] = STACK_START;
  return state;
}

/** The first dword of a register. */
function knownValue(instruction: Instruction, index: number, state: ScalarState): number | undefined {
  const operand = instruction.operand(index);
  if (operand.kind === 'vector') return operand.accumulator ? undefined : state.vectors.get(operand.register);
  return operand.kind === 'scalar' ? state.registers[operand.register] : undefined;
}

const isAccess = ({ format }: Instruction): boolean => /^(MUBUF|SCRATCH|FLAT)$/.test(format.name);

/** What an access to the stack reads or writes of a lane, in whole dwords. */
const accessBytes = (instruction: Instruction): number =>
  4 *
  instruction.row.operands.reduce(
    (most, { field }, index) => (/^v?(data|dst)$/.test(field) ? Math.max(most, instruction.dwords(index)) : most),
    1,
  );

/** Of the scalar unit. */
const isScalar = ({ format }: Instruction): boolean => /^S(OP|MEM)/.test(format.name);

const isStackAddress = (value: number | undefined, scale: number): value is number =>
  value !== undefined && value >= STACK_START / scale && value < (STACK_START + STACK_SPAN) / scale;

/** Where a direct branch goes; calls are followed by what they compute. */
const branchTarget = ({ control, target }: AmdgpuStep): number | undefined => (control === 'call' ? undefined : target);

const readsReturnAddress = (instruction: Instruction): boolean =>
  instruction.row.operands.some((_, index) => {
    const operand = instruction.operand(index);
    return (
      operand.kind === 'scalar' && operand.register === RETURN_ADDRESS && instruction.access(index)?.includes('read')
    );
  });

/**
 * Throws UNSUPPORTED for a processor without instruction tables. Code that cannot be read is a function of
 * unknown needs.
 */
export function analyzeFunction(code: FunctionCode, isKernel = false): FunctionAnalysis {
  return new Analyzer(code).analyze(isKernel);
}
