/** MTBUF: buffer accesses with the format in the instruction. CDNA2 ISA 12.14, RDNA3 ISA 9.1, table 38. */

import type { Row } from '../../encoding/row.ts';
import { CONVERTS, loadFormatted, storeFormatted } from '../../semantics/buffer/buffer-conversion.ts';
import { row } from '../table/row.ts';

/** Components; registers in 32-bit and in d16 form. */
const COMPONENTS: readonly (readonly [name: string, dwords: number, d16Dwords: number])[] = [
  ['x', 1, 1],
  ['xy', 2, 1],
  ['xyz', 3, 2],
  ['xyzw', 4, 2],
];

const ADDRESS = 'vaddr:address srsrc:b128 soffset:b32 offset:imm12';

/** Loads from `first` on, stores four opcodes further on. */
export const mtbufRows = (): readonly Row[] =>
  COMPONENTS.flatMap(([name, dwords, d16Dwords], i) =>
    (['load', 'store'] as const).flatMap((verb) => {
      const convert = verb === 'load' ? loadFormatted : storeFormatted;
      const first = i + (verb === 'load' ? 0 : 4);
      const [whole, half] = verb === 'load' ? ['=', name === 'x' ? '+' : '='] : ['', ''];
      return [
        row(
          'MTBUF',
          `tbuffer_${verb}_format_${name}`,
          { gfx9: first, gfx10: first },
          `${whole}vdata:b${dwords * 32} ${ADDRESS}`,
          convert({ channels: i + 1, format: 'instruction' }),
          CONVERTS,
        ),
        row(
          'MTBUF',
          `tbuffer_${verb}_format_d16_${name}`,
          { gfx9: first + 8, gfx10: first + 8, gfx11: [`tbuffer_${verb}_d16_format_${name}`, first + 8] },
          `${half}vdata:b${d16Dwords * 32} ${ADDRESS}`,
          convert({ channels: i + 1, d16: 'packed', format: 'instruction' }),
          CONVERTS,
        ),
      ];
    }),
  );
