/**
 * What the machine under WebAssembly does with relaxed instructions, and the exact path where it does not do
 * what we need.
 */
import { OPS } from '../../ir/ops.ts';
import { ModuleBuilder } from '../../wasm/module.ts';
import type { HostTraits } from './module-context.ts';

let traits: HostTraits | undefined;

/** Runs one relaxed_madd whose result tells a fused multiply-add (2^-24) from a separate one (0). */
export function probeHost(): HostTraits {
  if (traits) return traits;
  const m = new ModuleBuilder();
  const f = m.function([], ['i32']);
  for (const bits of [0x3f800800, 0x3f800800, 0xbf801000]) {
    f.i32(bits);
    f.op('i32x4.splat');
  }
  f.op('f32x4.relaxed_madd');
  f.lane('i32x4.extract_lane', 0);
  m.export('probe', f);
  const instance = new WebAssembly.Instance(new WebAssembly.Module(m.toBytes()));
  traits = { fused: (instance.exports.probe as () => number)() === 0x33800000 };
  return traits;
}

type Fma<T> = (a: T, b: T, c: T) => T;
type RoundedFma = (a: bigint, b: bigint, c: bigint, rounding: number) => bigint;
const fma32 = OPS['f32.fma'].evaluate as unknown as Fma<number>; // reason: the table erases signatures
const fma64 = OPS['f64.fma'].evaluate as unknown as Fma<bigint>; // reason: the table erases signatures
const fmaRounded64 = OPS['f64.fmaRounded'].evaluate as unknown as RoundedFma; // reason: the table erases signatures
const unsigned = (value: bigint): bigint => BigInt.asUintN(64, value);

/**
 * WebAssembly imports: fused multiply-adds for hosts that do not fuse, and the one that no host rounds as
 * asked.
 */
export const softImports = {
  softFma32: fma32,
  softFma64: (a: bigint, b: bigint, c: bigint): bigint => fma64(unsigned(a), unsigned(b), unsigned(c)),
  softFmaRounded64: (a: bigint, b: bigint, c: bigint, rounding: number): bigint =>
    fmaRounded64(unsigned(a), unsigned(b), unsigned(c), rounding),
};
