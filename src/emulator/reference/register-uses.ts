/**
 * The registers that a step reads and writes when it runs: those of its effects, and those that M0 leads to.
 */
import type { RegisterFile, RegisterRange } from '../../ir/effects.ts';
import type { Step } from '../../ir/step.ts';
import type { WatchedMachine } from '../code/watch.ts';
import { registerOffset } from '../machine/operand-places.ts';

/** One register. */
export interface UsedRegister {
  readonly file: RegisterFile;
  readonly number: number;
  /** Address in state memory of its first dword. */
  readonly row: number;
  /** In the active lanes alone, or in all. */
  readonly lanes: 'active' | 'all';
}

export interface WaveRegisters {
  readonly base: number;
  readonly waveSize: 32 | 64;
}

const rowOf = (file: RegisterFile, number: number, { base, waveSize }: WaveRegisters): number =>
  base + registerOffset({ kind: 'register', file, first: number, dwords: 1, isHighHalf: false }, waveSize);

export function usesOf(range: RegisterRange, lanes: UsedRegister['lanes'], wave: WaveRegisters): UsedRegister[] {
  const { file, first, dwords } = range;
  return Array.from({ length: dwords }, (_, i) => {
    const number = first + i;
    return { file, number, row: rowOf(file, number, wave), lanes };
  });
}

/**
 * What a load leaves in its destination of what was there, it reads when its results land, and no earlier:
 * such reads are left out of those of instructions in flight.
 */
export function readUses({ effects, operands }: Step, wave: WaveRegisters, machine: WatchedMachine): UsedRegister[] {
  const kept = effects.counters.size > 0 ? effects.writes.filter(({ isPartial }) => isPartial) : [];
  const uses: UsedRegister[] = [];
  for (const range of effects.reads) {
    const own = kept.findIndex(
      ({ file, first, dwords }) => file === range.file && first === range.first && dwords === range.dwords,
    );
    if (own >= 0) kept.splice(own, 1);
    else uses.push(...usesOf(range, range.isCrossLane ? 'all' : 'active', wave));
  }
  return [...uses, ...relativeUses(operands, 'source', wave, machine)];
}

export function writtenUses({ effects, operands }: Step, wave: WaveRegisters, machine: WatchedMachine): UsedRegister[] {
  return [
    ...effects.writes.flatMap((range) => usesOf(range, range.lanes, wave)),
    ...relativeUses(operands, 'destination', wave, machine),
  ];
}

function relativeUses(
  operands: Step['operands'],
  role: 'source' | 'destination',
  wave: WaveRegisters,
  machine: WatchedMachine,
): UsedRegister[] {
  return operands.flatMap((operand, index) => {
    if (operand.kind !== 'register' || operand.relative?.role !== role) return [];
    const { file, first, dwords } = operand;
    const sizeBytes = rowOf(file, first + 1, wave) - rowOf(file, first, wave);
    return Array.from({ length: dwords }, (_, dword) => {
      const row = machine.registerOf({ operand: index, dword }, 0)!;
      return { file, number: first + (row - rowOf(file, first, wave)) / sizeBytes, row, lanes: 'active' as const };
    });
  });
}
