/** Code objects and what was made of them, side by side, with all memory at the same addresses. */
import assert from 'node:assert/strict';
import { parseCodeObject } from '../src/codeobject/code-object.ts';
import type { StepObserver } from '../src/emulator/reference/step-observer.ts';
import { registerNumber } from '../src/flow/steps.ts';
import type { LaunchObserver } from '../src/hsa/runtime/launch-observer.ts';
import type { PcMap } from '../src/instrument/layout/pc-map.ts';
import type { RegisterPlan } from '../src/instrument/machine/register-plan.ts';
import { RegisterPlans } from '../src/instrument/points/register-plans.ts';
import type { RegisterFile } from '../src/ir/effects.ts';
import { liftCodeObject } from '../src/lift/lifted-code.ts';
import { mostRegisters } from '../src/lift/register-limits.ts';
import { compareSides, type Difference, type Side } from './side-by-side.ts';
import { LEFT_OUT } from './tool-runs.test-support.ts';

export interface Rewriting {
  readonly original: Uint8Array;
  readonly bytes: Uint8Array;
  readonly map: PcMap;
}

/** Runs all kernels on a new device with these observers. */
export type RunCode = (bytes: Uint8Array, steps: StepObserver, launches: LaunchObserver) => void;

/** Above what any code object here takes. */
const BUFFERS_AT = 2 ** 26;
const PROBE_BYTES = 4096;

/** The first difference in what waves execute of the original, and in what they find in live registers. */
export function differenceOf({ original, bytes, map }: Rewriting, run: RunCode): Difference | undefined {
  const lifted = liftCodeObject(parseCodeObject(original, 'the original'));
  const isKept = (address: number): boolean => {
    const step = lifted.stepAt(address);
    if (!step) return false;
    if (map.newAddressOf(address) !== undefined) return true;
    assert.match(step.text(), LEFT_OUT);
    return false;
  };
  const originalOf = (address: number): number | undefined => {
    const row = map.rowAt(address);
    return row?.kind === 'original' ? row.origin : undefined;
  };
  const meaning = meaningOf(map);
  const old = sideOf(original, run, { originalOf: (address) => (isKept(address) ? address : undefined), meaning });
  const rewritten = sideOf(bytes, run, { originalOf, meaning });
  const plans = new RegisterPlans(lifted);
  return compareSides(old, rewritten, (address) => {
    const step = lifted.stepAt(address)!;
    const own = lifted.functionOf(step);
    if (!own) return undefined;
    const { active, inactive } = own.liveBefore(step);
    const nobodys = unusedRegisters(plans.planOf(own), step.instruction.target.processor);
    return { active: active & ~nobodys, inactive: inactive & ~nobodys };
  });
}

/**
 * What is chosen at run time may be any register as far as liveness knows, but no wave has more than its
 * kernel was granted.
 */
function unusedRegisters({ scalar, vector, accumulator }: RegisterPlan, processor: string): bigint {
  const behind = (file: RegisterFile, { used }: { readonly used: number }, end: number): bigint => {
    const [from, to] = [BigInt(registerNumber(file, used)), BigInt(registerNumber(file, Math.max(used, end)))];
    return (1n << to) - (1n << from);
  };
  const { sgprCount, vgprCount, agprCount } = mostRegisters(processor);
  return (
    behind('scalar', scalar, sgprCount) |
    behind('vector', vector, vgprCount) |
    behind('accumulator', accumulator, agprCount)
  );
}

/**
 * The original address that a new one stands for; who returns to a payload returns to what stands behind it.
 * A number that is no address has to mean the same on both sides, and as both codes stand at the same place
 * an original address may be a new one, too: the way back is gone to its end.
 */
function meaningOf(map: PcMap): (address: number) => number {
  const [start, end] = [map.rows[0]!.address, map.rows.at(-1)!.address + map.rows.at(-1)!.sizeBytes];
  const isCode = (address: number): boolean => address >= start && address < end && map.rowAt(address) !== undefined;
  return (address) => {
    if (!isCode(address)) return address;
    const met: number[] = [];
    let at = address;
    for (; isCode(at) && !met.includes(at); at = map.originOf(at)) met.push(at);
    // What moved to and fro leads around in a circle, of which the lowest address stands for all.
    return isCode(at) ? Math.min(...met.slice(met.indexOf(at))) : at;
  };
}

interface Addresses {
  readonly originalOf: (address: number) => number | undefined;
  readonly meaning: (address: number) => number;
}

function sideOf(bytes: Uint8Array, run: RunCode, { originalOf, meaning }: Addresses): Side {
  let delta = 0;
  const launches: LaunchObserver = {
    onLoaded: (_runtime, agent, executable) => {
      delta = Number(BigInt.asUintN(32, executable.loadedCodeObjects[0]!.loadDelta));
      const pool = agent.pool('coarse-grained');
      const probe = (): number => Number(BigInt.asUintN(32, pool.allocate(PROBE_BYTES)));
      const [first, second] = [probe(), probe()];
      const gap = second - first - PROBE_BYTES;
      pool.allocate(BUFFERS_AT - (second + PROBE_BYTES + 2 * gap));
      assert.equal(probe(), BUFFERS_AT);
    },
    onLaunch: () => undefined,
    onFinished: () => undefined,
  };
  return {
    originalAddress: (offset) => originalOf(offset - delta),
    meaning: (dword: number) => meaning((dword >>> 0) - delta) + delta,
    run: (steps) => run(bytes, steps, launches),
  };
}
