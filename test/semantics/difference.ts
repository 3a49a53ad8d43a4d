/** Compares a recording with what an executor made of it. */
import type { Recording, State } from './recorded.ts';

const BITS = { f16: 16, f32: 32, f64: 64 } as const;

/** Numbers of a format in order: neighbours differ by 1. */
function position(bits: 16 | 32 | 64, pattern: bigint): bigint {
  const sign = 1n << BigInt(bits - 1);
  return pattern & sign ? -(pattern & (sign - 1n)) : pattern;
}

function isNear({ tolerance }: Recording, found: bigint, wanted: bigint): boolean {
  if (!tolerance) return false;
  const bits = BITS[tolerance.type];
  const infinity = tolerance.type === 'f16' ? 0x7c00n : tolerance.type === 'f32' ? 0x7f800000n : 0x7ff0000000000000n;
  const [p, q] = [found, wanted].map((each) => position(bits, BigInt.asUintN(bits, each)));
  // NaNs are exact.
  if ([p!, q!].some((each) => each > infinity || each < -infinity)) return false;
  const distance = p! - q!;
  return distance <= BigInt(tolerance.ulp) && distance >= -BigInt(tolerance.ulp);
}

const dword = (text: string, column: number): bigint => BigInt(`0x${text.slice(column * 8, column * 8 + 8)}`);

/** What differs, in words. */
export function differences(recording: Recording, found: State): string[] {
  const { after, before, tolerance } = recording;
  const lines: string[] = [];
  const isWide = tolerance?.type === 'f64';
  for (const [name, wanted] of Object.entries(after.registers)) {
    const text = found.registers[name]!;
    if (text === wanted) continue;
    const number = Number(name.slice(1));
    for (let column = 0; column < wanted.length / 8; column++) {
      if (dword(text, column) === dword(wanted, column)) continue;
      // The destination of a function of f64 stands in v40 and v41.
      const low = isWide ? `v${number & ~1}` : name;
      const pair = (state: State): bigint =>
        dword(state.registers[low]!, column) |
        (isWide ? dword(state.registers[`v${(number & ~1) + 1}`]!, column) << 32n : 0n);
      if (name.startsWith('v') && isNear(recording, pair(found), pair(after))) continue;
      const inputs = Object.entries(before.registers).map(
        ([each, values]) => `${each} ${values.slice(column * 8, column * 8 + 8)}`,
      );
      lines.push(
        `${name}[${column}] ${text.slice(column * 8, column * 8 + 8)}, expected ${wanted.slice(column * 8, column * 8 + 8)}; ${inputs.join(', ')}`,
      );
    }
  }
  for (const area of ['lds', 'memory'] as const) {
    const wanted = after[area] ?? before[area];
    if (wanted === undefined || wanted === found[area]) continue;
    const at = [...wanted].findIndex((digit, i) => digit !== found[area]![i]) >> 3;
    const part = (text: string): string => text.slice(at * 8, at * 8 + 8);
    lines.push(`${area} at ${at * 4}: ${part(found[area]!)}, expected ${part(wanted)}`);
  }
  return lines;
}
