/**
 * Addresses of memory that hooks compute from the program counter: where the code goes there is no such
 * counter, so that an instruction that makes one becomes a literal. An address is recognised by its change
 * when the code is carried to another place.
 */
import type { Instruction } from '../../isa/amdgpu/encoding/instruction.ts';
import { evaluateUniform, forgetResults, ScalarState } from '../../lift/scalar-state.ts';
import type { CompiledCode, HookNode } from './hook-code.ts';
import type { HookFile } from './hook-file.ts';

/** A scalar register that holds half of an address of the hooks' image. */
export interface AddressHalf {
  readonly register: number;
  readonly half: 'low' | 'high';
  readonly address: number;
}

/** How far the code is carried: images are smaller, so that halves change by the halves of the distance. */
const DISTANCE_LOW = 0x1000_0000;
const DISTANCE_HIGH = 3;
const DISTANCE = (BigInt(DISTANCE_HIGH) << 32n) | BigInt(DISTANCE_LOW);

/** The instructions that make nothing but addresses, with what they make. */
export function findAddresses({ blocks }: CompiledCode, file: HookFile): Map<HookNode, readonly AddressHalf[]> {
  const found = new Map<HookNode, readonly AddressHalf[]>();
  for (const { nodes } of blocks) {
    const [here, there] = [new ScalarState(), new ScalarState()];
    for (const node of nodes) {
      carryOut(node, here, file, 0n);
      carryOut(node, there, file, DISTANCE);
      const halves = node.marker ? [] : madeBy(node, here, there);
      if (halves.length > 0) found.set(node, halves);
    }
  }
  return found;
}

function carryOut(node: HookNode, state: ScalarState, file: HookFile, distance: bigint): void {
  const { step, marker, writes } = node;
  if (marker) {
    for (const { unit } of writes) if (unit < state.registers.length) state.registers[unit] = undefined;
    return;
  }
  if (!isScalar(step.instruction)) {
    forgetResults(step, state);
    return;
  }
  evaluateUniform(step, state, {
    pc: BigInt(file.code.address + step.offset) + distance,
    readConstant: (address) => readDword(file, Number(address - distance), distance),
  });
}

function readDword(file: HookFile, address: number, distance: bigint): number | undefined {
  for (const half of [0, 1]) {
    const target = file.pointerAt(address - 4 * half);
    if (target !== undefined) return Number(BigInt.asIntN(32, (BigInt(target) + distance) >> BigInt(32 * half)));
  }
  return file.constantDword(address);
}

function madeBy({ step, writes }: HookNode, here: ScalarState, there: ScalarState): AddressHalf[] {
  const { operands } = step.instruction.row;
  const isWritten = operands.some((_, index) => step.instruction.access(index) !== 'read');
  if (!isScalar(step.instruction) || !isWritten) return [];
  const registers = writes.map(({ unit }) => unit).filter((unit) => unit < here.registers.length);
  const halves = registers.flatMap((register) => halfIn(register, here, there) ?? []);
  return halves.length === registers.length ? halves : [];
}

function halfIn(register: number, here: ScalarState, there: ScalarState): AddressHalf | undefined {
  const [a, b] = [here.registers[register], there.registers[register]];
  if (a === undefined || b === undefined || a === b) return undefined;
  if (b === ((a + DISTANCE_LOW) | 0)) return { register, half: 'low', address: a };
  // The high half says which address it is only together with the low one.
  const low = here.registers[register - 1];
  if (b !== a + DISTANCE_HIGH || low === undefined) return undefined;
  return { register, half: 'high', address: a * 2 ** 32 + (low >>> 0) };
}

/** Of the scalar unit. */
const isScalar = ({ format }: Instruction): boolean => /^S(OP|MEM)/.test(format.name);
