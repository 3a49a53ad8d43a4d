/**
 * What the compiler makes of a program: regions and loops, and the WebAssembly of each, without what is there
 * for rare cases.
 */
import { LoopBody } from '../../src/emulator/jit/loops/loop-body.ts';
import { LoopLowering } from '../../src/emulator/jit/loops/loop-lowering.ts';
import { ChunkBody } from '../../src/emulator/jit/regions/chunk-body.ts';
import { ChunkLoop } from '../../src/emulator/jit/regions/chunk-loop.ts';
import { LinearAccesses } from '../../src/emulator/jit/regions/linear-accesses.ts';
import { RegionLowering } from '../../src/emulator/jit/regions/region-lowering.ts';
import { WholeWaveAccesses } from '../../src/emulator/jit/regions/whole-wave-accesses.ts';
import { loopText, regionText } from './node-text.ts';
import { placeName } from './place-names.ts';
import { Listing } from './wasm-listing.ts';

export interface Compiled {
  readonly kind: 'region' | 'loop';
  /** Numbers of the instructions in the function. */
  readonly instructions: readonly number[];
  /** As values. */
  readonly values: readonly string[];
  readonly wasm: readonly string[];
}

/** Everything that is compiled while `body` runs, loops before the regions of their instructions. */
export function traceCompiler(waveSize: 32 | 64, body: () => void): Compiled[] {
  const found: Compiled[] = [];
  let listing: Listing | undefined;
  let isBehindLinear = false;
  const listed = (state: RegionLowering['state'], emit: () => void): string[] => {
    listing = new Listing(state.f, { placeName: (offset) => placeName(offset, waveSize) });
    listing.name(state.literalBase, 'literals');
    const { lines } = listing;
    emit();
    listing = undefined;
    return lines;
  };
  const undo = [
    around(RegionLowering.prototype, 'emit', (lowering, emit) => {
      const { first, last } = lowering.region;
      const instructions = Array.from({ length: last - first + 1 }, (_, i) => first + i);
      const values = regionText(lowering.region, waveSize);
      found.push({ kind: 'region', instructions, values, wasm: listed(lowering.state, emit) });
    }),
    around(LoopLowering.prototype, 'emit', (lowering, emit) => {
      const { plan, chunkCount } = lowering;
      const instructions = plan.loop.blocks.flatMap((block) => block.instructions.map(({ index }) => index));
      const values = loopText(plan, chunkCount, waveSize);
      found.push({ kind: 'loop', instructions, values, wasm: listed(lowering.state, emit) });
    }),
    around(ChunkLoop.prototype, 'emit', (_, emit) => listing!.leavingOut('the chunks', emit)),
    around(LinearAccesses.prototype, 'emit', (linear, emit) => {
      listing!.showingOnce(linear, '16 lanes whose addresses are at equal distances', emit);
      isBehindLinear = true;
    }),
    around(WholeWaveAccesses.prototype, 'emit', (_, emit) => listing!.leavingOut('whether lanes are in rows', emit)),
    around(ChunkBody.prototype, 'emitFast', (chunk, emit, place, _slow, mask) => {
      if (mask || place.packed) emit();
      else listing!.showingOnce(chunk, isBehindLinear ? 'a chunk of these' : 'a chunk', emit);
      isBehindLinear = false;
    }),
    around(LoopBody.prototype, 'emit', (_, emit, slow) => {
      if (slow) emit();
      else listing!.leavingOut('any other chunk', emit);
    }),
  ];
  try {
    Listing.during((f) => (listing?.isOf(f) ? listing : undefined), body);
  } finally {
    for (const each of undo) each();
  }
  return found;
}

/** Of any signature. */
type Method = (...args: never[]) => unknown;

/** Runs `wrapper` around a method until the returned function is called. */
function around<T extends object, K extends keyof T>(
  prototype: T,
  name: K,
  wrapper: (self: T, call: () => void, ...args: T[K] extends Method ? Parameters<T[K]> : never) => void,
): () => void {
  const plain = Object.getOwnPropertyDescriptor(prototype, name)!;
  const value = function (this: T, ...args: T[K] extends Method ? Parameters<T[K]> : never): unknown {
    let result: unknown;
    const call = (): void => {
      result = plain.value.apply(this, args);
    };
    wrapper(this, call, ...args);
    return result;
  };
  Object.defineProperty(prototype, name, { ...plain, value });
  return () => Object.defineProperty(prototype, name, plain);
}
