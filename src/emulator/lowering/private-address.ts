/**
 * Where lanes find their private memory. Byte `offset` of a lane is in dword row offset / 4, at the lane's
 * place (CDNA2 ISA 9.1.5.2, swizzled scratch): all lanes' dwords of one offset are neighbours. `base` is the
 * address of the wave's row 0.
 */
import { and, mul, type Push, shl, shrU, sum, type Term } from '../../wasm/expression.ts';

/** Address of a byte of a lane. */
export const privateByte = (base: Term, offset: Term, lane: Term, waveSize: 32 | 64): Push =>
  sum(base, mul(shrU(offset, 2), waveSize * 4), shl(lane, 2), and(offset, 3));

/** Address of a dword of a lane; the offset is a multiple of 4. */
export const privateDword = (base: Term, offset: Term, lane: Term, waveSize: 32 | 64): Push =>
  sum(mul(offset, waveSize), shl(lane, 2), base);

/** The number that `privateByte` adds to the base. */
export const privateByteOffset = (offset: number, lane: number, waveSize: 32 | 64): number =>
  (offset >>> 2) * waveSize * 4 + lane * 4 + (offset & 3);
