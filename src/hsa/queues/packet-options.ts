/** What host code says of the packets that a queue writes for it. */
import type { Signal, SignalCondition } from '../signals/signal.ts';

export interface DispatchOptions {
  /** Address of the kernel descriptor: `KernelSymbol.kernelObject`. */
  kernel: bigint;
  /** Work-items, 1 to 3 dimensions; each dimension of `grid` counts work-items, not workgroups. */
  grid: readonly number[];
  workgroup: readonly number[];
  /** Address of the kernel arguments; 0 for none. */
  kernarg?: bigint;
  completionSignal?: Signal;
  groupSegmentSizeBytes?: number;
  privateSegmentSizeBytes?: number;
  /** Whether the kernel waits for all earlier packets. Default true. */
  barrier?: boolean;
}

export interface BarrierOptions {
  /** 1 to 5 signals. */
  dependencies: readonly Signal[];
  /** `all`: each dependency is 0; `any`: one of them is. */
  mode: 'all' | 'any';
  completionSignal?: Signal;
  barrier?: boolean;
}

export interface BarrierValueOptions {
  /** Without one the packet waits for nothing but earlier packets: a marker with times. */
  signal?: Signal;
  condition?: SignalCondition;
  value?: bigint;
  /** Default: all bits. */
  mask?: bigint;
  completionSignal?: Signal;
  barrier?: boolean;
}
