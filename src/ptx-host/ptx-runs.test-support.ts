/** Kernels as PTX text, run on every executor. */
import assert from 'node:assert/strict';
import type { EmulatorDeviceOptions } from '../devices/emulated/emulated-device.ts';
import { nodeThreads } from '../devices/emulated/node-threads.ts';
import { createPtxDevice } from '../devices/emulated/ptx-device.ts';
import type { ParsedArgument } from '../launch/argument-text.ts';
import { type PtxRunOutcome, type PtxRunRequest, runPtxKernel } from './run-kernel.ts';

export const WAYS: Readonly<Record<string, EmulatorDeviceOptions>> = {
  reference: { executor: 'reference' },
  T0: { executor: 'handlers' },
  T1: { executor: 'jit', compileThreshold: 0, vertical: 'never' },
  T2: { executor: 'jit', compileThreshold: 0, vertical: 'always' },
  'T2, lanes': { executor: 'jit', compileThreshold: 0, vertical: 'lanes' },
};

/** With workers, too. */
export const ALL_WAYS: Readonly<Record<string, EmulatorDeviceOptions>> = {
  ...WAYS,
  workers: { threads: nodeThreads, workers: 2, workersAtOnce: true, compileThreshold: 2 },
};

export const numbers = (count: number, value: (thread: number) => number): bigint[] =>
  Array.from({ length: count }, (_, i) => BigInt(value(i)));

const HEAD = '.version 7.8\n.target sm_70\n.address_size 64\n';

/** A module with one kernel `k(.u64 out, .u64 in, .u32 n)`; `%gid` is the thread's number in the grid. */
export const kernelText = (body: string, declarations = ''): string => `${HEAD}
${declarations}
.visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n)
{
  .reg .pred %p<20>;
  .reg .b16 %rs<20>;
  .reg .b32 %r<60>;
  .reg .f32 %f<20>;
  .reg .b64 %rd<40>;
  .reg .f64 %fd<20>;
  .reg .b32 %gid;
  .reg .b64 %out, %in;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.s32 %gid, %r0, %r1, %r2;
  ld.param.u64 %rd0, [out];
  mul.wide.u32 %rd1, %gid, 8;
  add.s64 %out, %rd0, %rd1;
  ld.param.u64 %rd0, [in];
  add.s64 %in, %rd0, %rd1;
${body}
  ret;
}
`;

export const value = (text: string, bytes: Uint8Array): ParsedArgument => ({ kind: 'value', text, bytes });

export const u32 = (number: number): ParsedArgument =>
  value(`u32:${number}`, new Uint8Array(Uint32Array.of(number).buffer));

export const output = (sizeBytes: number, contents = new Uint8Array()): ParsedArgument => ({
  ...{ kind: 'buffer', text: 'out', elements: undefined, contents, sizeBytes, output: 'out' },
});

/** A buffer that is there for the kernel to read. */
export const source = (contents: Uint8Array): ParsedArgument => ({
  ...{ kind: 'buffer', text: 'in', elements: undefined, contents, sizeBytes: contents.length, output: undefined },
});

/** Threads that went astray may run forever. */
const TIMEOUT_MS = 30_000;

export type Run = Omit<PtxRunRequest, 'device'>;

/** Runs it on a device of its own. */
export async function runOn(options: EmulatorDeviceOptions, request: Run): Promise<PtxRunOutcome> {
  using device = createPtxDevice({ processor: 'sm_70', memorySizeBytes: 2 ** 26, ...options });
  return await runPtxKernel({ device, ...request });
}

export interface KernelRunOptions {
  readonly declarations?: string;
  /** 64 bits for each thread. */
  readonly input?: readonly bigint[];
  readonly threads?: number;
  readonly block?: number;
  readonly n?: number;
  readonly ways?: Readonly<Record<string, EmulatorDeviceOptions>>;
  /** Which thread has which value is open: they are given in ascending order. */
  readonly isSorted?: boolean;
}

/**
 * Runs the body of a kernel on all executors, which must agree; the 64 bits that each thread has at `%out`
 * behind it.
 */
export async function outcomesOf(body: string, options: KernelRunOptions = {}): Promise<bigint[]> {
  const { declarations = '', input = [], threads = 64, block = threads, n = threads, ways = WAYS, isSorted } = options;
  const contents = new Uint8Array(threads * 8);
  contents.set(new Uint8Array(BigUint64Array.from(input.map((each) => BigInt.asUintN(64, each))).buffer));
  const request: Run = {
    ...{ texts: [{ text: kernelText(body, declarations), name: 'k.ptx' }], grid: [threads], workgroup: [block] },
    ...{ args: [output(threads * 8), source(contents), u32(n)], timeoutMs: TIMEOUT_MS },
  };
  let first: bigint[] | undefined;
  for (const [name, device] of Object.entries(ways)) {
    const { outputs } = await runOn(device, request);
    const found = [...new BigUint64Array(outputs[0]!.bytes.slice().buffer)];
    if (isSorted) found.sort((a, b) => Number(a - b));
    first ??= found;
    assert.deepEqual(found, first, name);
  }
  return first!;
}
