/** What a launch executes, by the kind of instruction and by the original instruction that it belongs to. */
import { KernelRunner } from '../../src/bench/kernel-runner.ts';
import { type CodeObject, parseCodeObject } from '../../src/codeobject/code-object.ts';
import type { PcCount } from '../../src/device/statistics.ts';
import type { LaunchObserver } from '../../src/hsa/runtime/launch-observer.ts';
import { type InstructionClass, instructionClass } from '../../src/isa/amdgpu/encoding/instruction-class.ts';
import { type AmdgpuStep, AmdgpuStepReader } from '../../src/isa/amdgpu/step.ts';
import type { Step } from '../../src/isa.ts';
import { CodeImage } from '../../src/lift/code-image.ts';
import { LoadedImage } from '../../test/loaded-image.test-support.ts';
import type { Workload } from './workloads.ts';

/** What the table tells apart. */
export const UNITS = ['SALU', 'VALU', 'SMEM', 'VMEM', 'LDS', 'branch', 'wait'] as const;
export type Unit = (typeof UNITS)[number];

const UNIT_OF: Readonly<Record<InstructionClass, Unit>> = {
  ...{ salu: 'SALU', smem: 'SMEM', valu: 'VALU', matrix: 'VALU', lds: 'LDS', branch: 'branch' },
  ...{
    vmem: 'VMEM',
    flat: 'VMEM',
    scratch: 'VMEM',
    export: 'VMEM',
    message: 'wait',
    wait: 'wait',
    barrier: 'wait',
    other: 'wait',
  },
};

export type UnitCounts = Record<Unit, number>;
export const noUnits = (): UnitCounts => ({ SALU: 0, VALU: 0, SMEM: 0, VMEM: 0, LDS: 0, branch: 0, wait: 0 });

export interface Execution {
  readonly codeObject: CodeObject;
  /** What the first buffer holds afterwards. */
  readonly output: Uint8Array;
  /** Wave-instructions. */
  readonly instructions: number;
  readonly units: Readonly<UnitCounts>;
  /** By image address. */
  readonly counts: ReadonlyMap<number, PcCount>;
  /** Where the code lay. */
  readonly image: LoadedImage;
  stepAt(address: number): AmdgpuStep;
}

export interface ExecutionOptions {
  /** Told as it would be of any launch. */
  readonly observer?: LaunchObserver | undefined;
  /** Instructions, by image address, that take no part in the turns of waves: on the reference executor. */
  readonly isFree?: ((address: number) => boolean) | undefined;
}

/** Runs a workload from other bytes. */
export function execute(
  { processor, kernel, image, launch }: Workload,
  bytes: Uint8Array,
  { observer, isFree }: ExecutionOptions = {},
): Execution {
  const loaded = new LoadedImage(observer);
  const turns = isFree && ({ isFree: ({ offset }: Step) => isFree(loaded.addressOfOffset(offset)) } as const);
  const watched = turns && ({ executor: 'reference', observer: turns } as const);
  using runner = new KernelRunner({ processor, countsPcs: true, ...watched }, loaded);
  const output = runner
    .prepare({ ...image, bytes }, kernel, launch)()
    .output.slice();
  loaded.onFinished();
  const { instructions, pcCounts } = runner.statistics;
  const codeObject = parseCodeObject(bytes, image.name);
  const counts = new Map(Array.from(pcCounts!, ([pc, count]) => [loaded.addressOf(pc), count] as const));
  const stepAt = stepsOf(codeObject, kernel);
  const units = noUnits();
  for (const [address, { waves }] of counts) units[unitOf(stepAt(address))] += waves;
  return { codeObject, output, instructions, units, counts, stepAt, image: loaded };
}

const unitOf = ({ instruction }: AmdgpuStep): Unit => UNIT_OF[instructionClass(instruction.row)];

function stepsOf(codeObject: CodeObject, kernelName: string): Execution['stepAt'] {
  const { descriptor } = codeObject.kernels.find(({ name }) => name === kernelName)!;
  const waveSize = descriptor.properties.enableWavefrontSize32 ? 32 : 64;
  const { bytes } = new CodeImage(codeObject);
  const view = new DataView(bytes.buffer);
  const reader = new AmdgpuStepReader(codeObject.target.processor, waveSize, 0);
  return (address) => {
    const step = reader.step(view, address);
    if (typeof step === 'string') throw new Error(`${codeObject.name}: an instruction at ${address}: ${step}`);
    return step;
  };
}
