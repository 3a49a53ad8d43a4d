/** What each intrinsic becomes at a point. */
import { WavewrightError } from '../../base/errors.ts';
import { effectsOf } from '../../isa/amdgpu/effects/effects.ts';
import { SRC_SCC, scalarText } from '../../isa/amdgpu/encoding/registers.ts';
import { sourcesOf, uniformIn } from '../dsl/arithmetic.ts';
import { builderIn } from '../dsl/compile-hook.ts';
import { accessesOf, placeIn } from '../dsl/memory-accesses.ts';
import type { PayloadLabel } from '../layout/payload-code.ts';
import type { VirtualRegister } from '../machine/machine-code.ts';
import { high, low, PayloadBuilder, type Placeholder, part, type RegisterPart } from '../machine/payload-builder.ts';
import type { HookPoint } from './hook-point.ts';
import type { IntrinsicName } from './intrinsics.ts';

export interface IntrinsicCall {
  readonly name: IntrinsicName;
  readonly numbers: readonly number[];
  /** Dword by dword; undefined where nobody reads the dword. */
  readonly output: readonly (RegisterPart | undefined)[];
  readonly input: readonly RegisterPart[];
  /** EXEC is still that of the application. */
  readonly isExecKept: boolean;
}

/** The payload that intrinsics become part of. */
export interface IntrinsicContext {
  readonly b: PayloadBuilder;
  readonly point: HookPoint;
  /** Says why there can be no payload, in words that stand behind "the hook". */
  reject(reason: string): void;
  /** A literal that differs from point to point. */
  literal(value: number): Placeholder;
  /** Says that the code is for points with this property alone. */
  dependsOn(property: string): void;
  /** What the application has there where the hook is called. */
  copyOf(state: 'exec' | 'vcc' | 'scc' | 'm0'): VirtualRegister | undefined;
  /** The value that a register of the application has when the hook is over. */
  pendingWrite(number: number): VirtualRegister | undefined;
}

type Emit = (e: IntrinsicContext, call: IntrinsicCall) => void;

const FIRST_VECTOR = 256;
const FIRST_ACCUMULATOR = 512;

/** Copies a value into a dword of the output, whatever files both are in. */
function move(e: IntrinsicContext, to: RegisterPart | undefined, from: Placeholder, isVector: boolean): void {
  if (!to) return;
  if (to.register.file === 'vector') e.b.emit`v_mov_b32_e32 ${to}, ${from}`;
  else if (isVector) e.b.emit`v_readfirstlane_b32 ${to}, ${from}`;
  else e.b.emit`s_mov_b32 ${to}, ${from}`;
}

function moveLiterals(e: IntrinsicContext, { output }: IntrinsicCall, value: bigint): void {
  for (const [i, to] of output.entries())
    if (to) move(e, to, e.literal(Number(BigInt.asUintN(32, value >> BigInt(32 * i)))), false);
}

/** State that the hook's own code may have changed by now: where the hook begins it was copied. */
const STATE = { 106: ['vcc', 0], 107: ['vcc', 1], 124: ['m0', 0], 126: ['exec', 0], 127: ['exec', 1] } as const;
const isState = (number: number): number is keyof typeof STATE => Object.hasOwn(STATE, number);

function readRegister(e: IntrinsicContext, to: RegisterPart | undefined, number: number): void {
  const { b, point } = e;
  const { scalars, target } = point.instruction;
  if (number >= FIRST_ACCUMULATOR) {
    if (!target.hasAccumulators || number >= FIRST_ACCUMULATOR + 256) {
      e.reject(`reads register ${number}, which there is not`);
      return;
    }
    const copy = b.vector();
    b.emit`v_accvgpr_read_b32 ${copy}, ${`a${number - FIRST_ACCUMULATOR}`}`;
    move(e, to, copy, true);
    return;
  }
  if (number >= FIRST_VECTOR) {
    move(e, to, `v${number - FIRST_VECTOR}`, true);
    return;
  }
  if (number === SRC_SCC) {
    move(e, to, e.copyOf('scc')!, false);
    return;
  }
  if (isState(number)) {
    const [state, dword] = STATE[number];
    // The high half of a mask of 32 lanes.
    move(e, to, dword >= b.maskDwords && state !== 'm0' ? 0 : part(e.copyOf(state)!, dword), false);
    return;
  }
  const text = number < 128 ? scalarText(number, 1, scalars) : undefined;
  if (text === undefined) {
    e.reject(`reads register ${number}, which there is not`);
    return;
  }
  move(e, to, text, false);
}

const launchRegister =
  (name: 'dispatchPacket' | 'kernelArguments', what: string): Emit =>
  (e, { output }) => {
    const first = e.point.launch[name];
    if (first === undefined) {
      e.reject(`asks for ${what}, which the kernel does not keep`);
      return;
    }
    e.dependsOn(`${name} ${first}`);
    for (const [i, to] of output.entries()) move(e, to, `s${first + i}`, false);
  };

/** The arguments that a runtime fills in follow those of the source. */
export function emitImplicitArguments(e: IntrinsicContext, output: IntrinsicCall['output']): void {
  const { kernelArguments: first, implicitOffset } = e.point.launch;
  if (first === undefined || implicitOffset === undefined) {
    e.reject('asks for the hidden arguments, which the kernel does not keep');
    return;
  }
  e.dependsOn(`arguments ${first} ${implicitOffset}`);
  const sum = keepingScc(e.b, (b) => {
    const result = b.scalar(2);
    b.emit`s_add_u32 ${low(result)}, ${`s${first}`}, ${implicitOffset}`;
    b.emit`s_addc_u32 ${high(result)}, ${`s${first + 1}`}, 0`;
    return result;
  });
  for (const [i, to] of output.entries()) move(e, to, part(sum, i), false);
}

const EMISSIONS: Readonly<Record<IntrinsicName, Emit>> = {
  read_reg: (e, { output, numbers }) => {
    for (const [i, to] of output.entries()) readRegister(e, to, numbers[0]! + i);
  },
  write_reg: (e, { input, numbers }) => {
    for (const [i, from] of input.entries()) {
      const to = e.pendingWrite(numbers[0]! + i);
      if (to) move(e, part(to, 0), from, from.register.file === 'vector');
    }
  },
  write_exec: ({ b }, { input }) => {
    const [first] = input;
    const source = part(first!.register, first!.firstDword, b.maskDwords);
    b.emit`s_mov_${b.maskBits} ${b.exec}, ${source}`;
  },
  scalar_atomic_add: emitScalarAtomic,
  exec: emitExec,
  address: emitAddress,
  operand: emitOperand,
  immediate: (e, call) => {
    const value = constantOf(e, call.numbers[0]!);
    if (value === undefined) {
      e.reject(`asks for operand ${call.numbers[0]}, which is no constant`);
      return;
    }
    moveLiterals(e, call, value);
  },
  opcode: (e, call) => {
    moveLiterals(e, call, BigInt(e.point.opcode));
  },
  pc: (e, call) => {
    moveLiterals(e, call, BigInt(e.point.address));
  },
  launch_value: emitLaunchValue,
  dispatch_packet: launchRegister('dispatchPacket', 'the dispatch packet'),
  kernel_arguments: launchRegister('kernelArguments', 'the kernel arguments'),
  implicit_arguments: (e, { output }) => {
    emitImplicitArguments(e, output);
  },
  workgroup_id: (e, { output, numbers }) => {
    const register = e.point.launch.workgroupIds?.[numbers[0]!];
    if (register === undefined) {
      e.reject('asks for the workgroup id, which the kernel does not keep');
      return;
    }
    e.dependsOn(`workgroup id ${register}`);
    move(e, output[0], `s${register}`, false);
  },
};

function emitExec(e: IntrinsicContext, { output, isExecKept }: IntrinsicCall): void {
  const { b } = e;
  const [first, second] = output;
  const source = isExecKept ? undefined : e.copyOf('exec')!;
  const isPair = b.maskDwords === 2 && first && second?.register === first.register && first.register.file === 'scalar';
  if (isPair && second.firstDword === first.firstDword + 1) {
    b.emit`s_mov_b64 ${part(first.register, first.firstDword, 2)}, ${source ?? 'exec'}`;
    return;
  }
  for (const [i, to] of output.entries()) {
    if (i >= b.maskDwords) move(e, to, 0, false);
    else move(e, to, source ? part(source, i) : `exec_${i === 0 ? 'lo' : 'hi'}`, false);
  }
}

export function emitIntrinsic(e: IntrinsicContext, call: IntrinsicCall): void {
  EMISSIONS[call.name](e, call);
}

/** An operand of the row that the instruction at the point has, by its place in the text. */
function constantOf(e: IntrinsicContext, index: number): bigint | undefined {
  const { instruction } = e.point;
  if (index >= instruction.row.operands.length) return undefined;
  const operand = instruction.operand(index);
  return operand.kind === 'constant' ? operand.value : undefined;
}

function emitOperand(e: IntrinsicContext, call: IntrinsicCall): void {
  const { instruction } = e.point;
  const index = call.numbers[0]!;
  const constant = constantOf(e, index);
  if (constant !== undefined) {
    moveLiterals(e, call, constant);
    return;
  }
  const operand = index < instruction.row.operands.length ? instruction.operand(index) : undefined;
  if (!operand || !('register' in operand)) {
    e.reject(`asks for operand ${index}, which is no register`);
    return;
  }
  const base = operand.kind === 'scalar' ? 0 : operand.accumulator ? FIRST_ACCUMULATOR : FIRST_VECTOR;
  const dwords = instruction.dwords(index);
  e.dependsOn(`operand ${index} ${base + operand.register} ${dwords}`);
  for (const [i, to] of call.output.entries()) {
    if (i < dwords) readRegister(e, to, base + operand.register + i);
    else move(e, to, 0, false);
  }
}

function emitAddress(e: IntrinsicContext, { output }: IntrinsicCall): void {
  const { instruction } = e.point;
  const [first, ...others] = accessesOf(instruction);
  // The dwords of an access through a buffer are together; two places of an instruction are not.
  const isOne = first && (first.predicates.length > 0 || others.every(({ space }) => space !== first.space));
  if (first?.place === undefined || !isOne) {
    const refusal = isOne === false ? 'accesses two places' : 'has no address that is known';
    e.reject(`asks for the address, but the instruction ${refusal}`);
    return;
  }
  const registers = first.registers.map(({ file, first: number }) => `${file} ${number}`);
  e.dependsOn(`address ${first.place} ${first.literals.join()} ${registers.join()}`);
  const { address } = keepingScc(e.b, (b) => placeIn(builderIn(b, copiesOf(e)), first));
  for (const [i, { isVector, from }] of sourcesOf(e.b, address).entries()) move(e, output[i], from, isVector);
}

/**
 * The compiler takes it that a marker leaves SCC as it is: what the hook has there may be needed behind it.
 */
function keepingScc<T>(b: PayloadBuilder, emit: (b: PayloadBuilder) => T): T {
  const probe = new PayloadBuilder(b.code);
  emit(probe);
  const writesScc = probe.items.some(
    (item) => item.kind === 'instruction' && effectsOf(item.template).writesState.has('scc'),
  );
  if (!writesScc) return emit(b);
  const scc = b.scalar();
  b.emit`s_cselect_b32 ${scc}, 1, 0`;
  const result = emit(b);
  b.emit`s_cmp_lg_u32 ${scc}, 0`;
  return result;
}

/** What the payload may have changed by now, as the application has it. */
function copiesOf(e: IntrinsicContext): ReadonlyMap<number, RegisterPart> {
  const copies = Object.entries(STATE).flatMap(([number, [state, dword]]) => {
    const copy = e.copyOf(state);
    return copy && dword < copy.dwords ? [[Number(number), part(copy, dword)] as const] : [];
  });
  return new Map(copies);
}

/**
 * Scalar memory adds only on targets of gfx9 and gfx10.1 (CDNA2 ISA 8.2.5); on others lane 0 adds, whether
 * it is on or not. Where no lane is on nothing is added: what the hook took from a lane is nobody's then, and
 * the pointer may be that.
 */
function emitScalarAtomic(e: IntrinsicContext, { output, input }: IntrinsicCall): void {
  const { b } = e;
  const dwords = output.length;
  const data = part(input[0]!.register, input[0]!.firstDword, dwords);
  const pointer = part(input[dwords]!.register, input[dwords]!.firstDword, 2);
  const none: PayloadLabel = { name: 'none' };
  b.emit`s_cbranch_execz ${none}`;
  try {
    if (dwords === 2) b.emit`s_atomic_add_x2 ${data}, ${pointer}, 0x0 glc`;
    else b.emit`s_atomic_add ${data}, ${pointer}, 0x0 glc`;
  } catch (error) {
    if (!(error instanceof WavewrightError) || error.code !== 'BAD_INPUT') throw error;
    const before = builderIn(b).fetchAdd(
      uniformIn<64>(input[dwords]!, input[dwords + 1]!),
      uniformIn(...input.slice(0, dwords)),
    );
    for (const [i, { isVector, from }] of sourcesOf(b, before).entries()) move(e, output[i], from, isVector);
  }
  b.place(none);
}

function emitLaunchValue(e: IntrinsicContext, { output, numbers }: IntrinsicCall): void {
  const { b, point } = e;
  const symbol = point.launch.launchValues;
  if (symbol === undefined) {
    e.reject('asks for a value of the launch, and the tool sets none');
    return;
  }
  e.dependsOn(symbol);
  const [address, value] = [b.scalar(2), b.scalar(2)];
  const addend = 8 * numbers[0]!;
  b.emit`s_mov_b32 ${low(address)}, ${{ half: 'low', symbol, addend }}`;
  b.emit`s_mov_b32 ${high(address)}, ${{ half: 'high', symbol, addend }}`;
  b.emit`s_load_dwordx2 ${value}, ${address}, 0x0`;
  for (const [i, to] of output.entries()) move(e, to, part(value, i), false);
}
