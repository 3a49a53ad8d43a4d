/**
 * Instructions that look at other lanes: which lane each one reads. CDNA3 ISA 13.3.9 and 12.11, RDNA3 ISA 7.7
 * and 16.12.
 */

/** Source lane of DPP; undefined: there is none. */
export function dppSource(control: number, lane: number, waveSize: number): number | undefined {
  const row = lane - (lane % 16);
  const at = lane % 16;
  const count = control & 15;
  const within = (i: number, low: number, high: number): number | undefined => (i >= low && i < high ? i : undefined);
  if (control < 0x100) return lane - (lane % 4) + ((control >> (2 * (lane % 4))) & 3);
  const group = control & 0xff0;
  if (group === 0x100) return within(lane + count, row, row + 16);
  if (group === 0x110) return within(lane - count, row, row + 16);
  if (group === 0x120) return row + ((at + 16 - count) % 16);
  if (group === 0x150) return row + count;
  if (group === 0x160) return row + (at ^ count);
  switch (control) {
    case 0x130:
      return within(lane + 1, 0, waveSize);
    case 0x134:
      return (lane + 1) % waveSize;
    case 0x138:
      return within(lane - 1, 0, waveSize);
    case 0x13c:
      return (lane + waveSize - 1) % waveSize;
    case 0x140:
      return row + 15 - at;
    case 0x141:
      return lane - (lane % 8) + 7 - (lane % 8);
    case 0x142:
      return row === 0 ? undefined : row - 1;
    default:
      return lane < 32 ? undefined : 31;
  }
}

/** Whether the row and bank masks let the lane be written. */
export const dppWrites = (rowMask: number, bankMask: number, lane: number): boolean =>
  ((rowMask >> (lane >> 4)) & 1) === 1 && ((bankMask >> ((lane >> 2) & 3)) & 1) === 1;
