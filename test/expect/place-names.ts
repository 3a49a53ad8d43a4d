/** What stands where in the wave state. */
import {
  NIBBLE_MASKS,
  NIBBLE_SPREADS,
  PAGE_EXTENTS,
  RANGE_SIZE_BYTES,
  rowSizeBytes,
  STATE_OFFSETS,
  WAVE_BUDGET,
  WAVE_LDS_BASE,
  WAVE_LDS_SIZE,
  WAVE_LOOP,
  WAVE_LOOPED,
  WAVE_MATRIX_ROWS,
  WAVE_PRIVATE_BASE,
  WAVE_PRIVATE_SIZE,
  WAVE_RANGES,
  WAVE_TEMPORARY_ROWS,
  WAVE_VGPRS,
  waveAgprs,
  waveSizeBytes,
} from '../../src/emulator/machine/layout.ts';

const FIXED = new Map<number, string>([
  ...Object.entries(STATE_OFFSETS).map(([name, offset]) => [offset, name] as const),
  [STATE_OFFSETS.exec + 4, 'exec_hi'],
  [STATE_OFFSETS.vcc + 4, 'vcc_hi'],
  [WAVE_BUDGET, 'budget'],
  [WAVE_LDS_BASE, 'lds_base'],
  [WAVE_LDS_SIZE, 'lds_size'],
  [WAVE_PRIVATE_BASE, 'private_base'],
  [WAVE_PRIVATE_SIZE, 'private_size'],
  [WAVE_LOOP, 'loop'],
  [WAVE_LOOPED, 'looped'],
  [NIBBLE_MASKS, 'nibble_masks'],
  [NIBBLE_SPREADS, 'nibble_spreads'],
  [PAGE_EXTENTS, 'page_extents'],
]);

/** As permitted-ranges.ts has them. */
const RANGE_PARTS: ReadonlyMap<number, string> = new Map([
  [0, 'first'],
  [16, 'count'],
  [32, 'index.first'],
  [36, 'index.count'],
  [40, 'index.base'],
]);

/** `v3`, `v3+16` for its lanes from 4 on, `s4`, `exec`; a number where it is something else. */
export function placeName(offset: number, waveSize: 32 | 64): string {
  const fixed = FIXED.get(offset);
  if (fixed !== undefined) return fixed;
  const within = (name: string, first: number): string => {
    const row = Math.floor((offset - first) / rowSizeBytes(waveSize));
    const rest = (offset - first) % rowSizeBytes(waveSize);
    return `${name}${row}${rest === 0 ? '' : `+${rest}`}`;
  };
  if (offset >= waveSizeBytes(waveSize)) return String(offset);
  if (offset >= waveAgprs(waveSize)) return within('a', waveAgprs(waveSize));
  if (offset >= WAVE_VGPRS) return within('v', WAVE_VGPRS);
  if (offset >= WAVE_MATRIX_ROWS) return within('element', WAVE_MATRIX_ROWS);
  if (offset >= WAVE_RANGES) {
    const range = Math.floor((offset - WAVE_RANGES) / RANGE_SIZE_BYTES);
    return `range${range}.${RANGE_PARTS.get((offset - WAVE_RANGES) % RANGE_SIZE_BYTES)!}`;
  }
  if (offset >= WAVE_TEMPORARY_ROWS) return within('temporary', WAVE_TEMPORARY_ROWS);
  return offset < 512 && offset % 4 === 0 ? `s${offset / 4}` : String(offset);
}
