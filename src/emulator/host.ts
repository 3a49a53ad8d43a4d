/** What the machine under WebAssembly does with relaxed instructions, and the exact path where it does not do what we need. */
import { OPS } from '../ir/ops.ts';
import { ModuleBuilder } from '../wasm/module.ts';
import type { HostTraits } from './lowering/module-context.ts';

let traits: HostTraits | undefined;

/** Runs one relaxed_madd whose result tells a fused multiply-add (2^-24) from a separate one (0): spec/jit.md section 3. */
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

export const softImports = {
  softFma32: OPS['f32.fma'].evaluate as unknown as (a: number, b: number, c: number) => number, // reason: OPS erases signatures
  softFma64: (a: bigint, b: bigint, c: bigint): bigint =>
    (OPS['f64.fma'].evaluate as unknown as (a: bigint, b: bigint, c: bigint) => bigint)(
      // reason: OPS erases signatures
      BigInt.asUintN(64, a),
      BigInt.asUintN(64, b),
      BigInt.asUintN(64, c),
    ),
};
