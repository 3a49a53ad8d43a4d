/**
 * Data-parallel primitives: which lane each lane reads. CDNA2 ISA 13.3.9 (DPP), table "DPP_CTRL"; RDNA3 ISA
 * 7.7.
 */
import { WavewrightError } from '../../../base/errors.ts';
import { hex } from '../../../base/text.ts';
import type { Instruction } from '../encoding/instruction.ts';
import { DPP_DISABLED, DPP_INVALID } from './instruction-builder.ts';

interface DppLane {
  /** Source lane; undefined when the control names none for this lane. */
  readonly source: number | undefined;
  /** Row and bank mask of the destination lane. */
  readonly enabled: boolean;
}

/** Source of `lane` inside its row of 16, or in the wave. */
function sourceLane(control: number, lane: number, waveSize: number): number | undefined {
  const row = lane & ~15;
  const position = lane & 15;
  const inRow = (target: number): number | undefined => (target >= 0 && target < 16 ? row + target : undefined);
  const inWave = (target: number): number | undefined => (target >= 0 && target < waveSize ? target : undefined);
  if (control <= 0xff) return (lane & ~3) + ((control >> (2 * (lane & 3))) & 3);
  if (control >= 0x101 && control <= 0x10f) return inRow(position + (control & 15));
  if (control >= 0x111 && control <= 0x11f) return inRow(position - (control & 15));
  if (control >= 0x121 && control <= 0x12f) return row + ((position - (control & 15)) & 15);
  if (control >= 0x150 && control <= 0x15f) return row + (control & 15);
  if (control >= 0x160 && control <= 0x16f) return row + (position ^ (control & 15));
  switch (control) {
    case 0x130:
      return inWave(lane + 1);
    case 0x134:
      return (lane + 1) % waveSize;
    case 0x138:
      return inWave(lane - 1);
    case 0x13c:
      return (lane + waveSize - 1) % waveSize;
    case 0x140:
      return row + 15 - position;
    case 0x141:
      return (lane & ~7) + 7 - (lane & 7);
    case 0x142:
      return row === 0 ? undefined : row - 1;
    case 0x143:
      return lane < 32 ? undefined : 31;
    default:
      throw new WavewrightError('UNSUPPORTED', `unsupported dpp_ctrl ${hex(control)}`);
  }
}

function dppLane(instruction: Instruction, lane: number): DppLane {
  if (instruction.has('dpp8')) {
    const position = (instruction.field('dpp8') >> (3 * (lane & 7))) & 7;
    return { source: (lane & ~7) + position, enabled: true };
  }
  const row = (instruction.field('row_mask') >> (lane >> 4)) & 1;
  const bank = (instruction.field('bank_mask') >> ((lane >> 2) & 3)) & 1;
  return { source: sourceLane(instruction.field('dpp_ctrl'), lane, instruction.waveSize), enabled: (row & bank) === 1 };
}

/** One byte for each lane: the source lane, DPP_INVALID or DPP_DISABLED. */
export function dppTable(instruction: Instruction): Uint8Array {
  return Uint8Array.from({ length: instruction.waveSize }, (_, lane) => {
    const { source, enabled } = dppLane(instruction, lane);
    return enabled ? (source ?? DPP_INVALID) : DPP_DISABLED;
  });
}
