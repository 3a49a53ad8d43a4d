/**
 * What the errors of the runtime's functions are tried with: objects that live, that were destroyed, of
 * another runtime, of one that ended.
 */
import { encodeElfFlags } from '../../codeobject/elf-flags.ts';
import { parseTargetId } from '../../codeobject/target-id.ts';
import type { Device } from '../../device/device.ts';
import { CodeObjectReader } from '../executables/loaded-code-object.ts';
import type { Agent } from '../objects/agent.ts';
import type { HsaStatus } from '../objects/status.ts';
import { buildImage } from '../runtime/image.test-support.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** What JavaScript may pass for any handle. */
export const NULL = null as never;
export const NOWHERE = 16n;
export const UNKNOWN_ID = 0x7fff;

/** One of everything, of one runtime. */
export function objectsOf(device: Device, runtime: Runtime, agent: Agent) {
  const pool = agent.pool('coarse-grained');
  const eFlags = encodeElfFlags({
    version: 5,
    target: { ...parseTargetId(device.properties.targetId), genericVersion: 0 },
  });
  const reader = new CodeObjectReader(
    buildImage({ eFlags, kernels: [{ name: 'kernel' }], symbols: [{ name: 'variable', dataOffset: 0 }] }),
  );
  const executable = runtime.createExecutable();
  const loaded = executable.loadCodeObject(agent, reader);
  const frozen = runtime.createExecutable();
  frozen.loadCodeObject(agent, reader);
  frozen.freeze();
  const signal = runtime.createSignal(1n);
  return {
    ...{ runtime, agent, pool, reader, executable, loaded, frozen, signal },
    cpu: runtime.cpuAgent,
    memory: runtime.memory,
    ipc: runtime.ipc,
    system: runtime.cpuAgent.pool('fine-grained'),
    group: agent.pool('group'),
    address: pool.allocate(64),
    sharedSignal: runtime.ipc.createSignal(1n),
    signals: runtime.createSignalGroup([signal], [agent]),
    queue: runtime.createQueue(agent),
    intercepted: runtime.createInterceptQueue(agent),
    kernel: executable.getSymbol('kernel.kd'),
    variable: executable.getSymbol('variable'),
  };
}

export type Objects = ReturnType<typeof objectsOf>;

export function destroy({
  signal,
  sharedSignal,
  signals,
  queue,
  intercepted,
  executable,
  frozen,
  reader,
  pool,
  address,
}: Objects) {
  for (const each of [signals, signal, sharedSignal, queue, intercepted, executable, frozen, reader]) {
    each[Symbol.dispose]();
  }
  pool.free(address);
}

export interface World {
  readonly own: Objects;
  /** Objects of the same runtime that were destroyed. */
  readonly gone: Objects;
  /** Objects of another runtime. */
  readonly other: Objects;
  /** Objects of a runtime that was shut down. */
  readonly ended: Objects;
}

export type Refusals = Partial<Record<HsaStatus, readonly (() => unknown)[]>>;

/** For a call that takes a signal. */
export const signalErrors = (
  { own, gone, other, ended }: World,
  call: (objects: Objects, signal: Objects['signal']) => unknown,
): Refusals => ({
  INVALID_SIGNAL: [NULL, gone.signal, other.signal].map((signal) => () => call(own, signal)),
  NOT_INITIALIZED: [() => call(ended, ended.signal)],
});

/** For an operation of a signal. */
export const operationErrors = ({ gone, ended }: World, call: (signal: Objects['signal']) => unknown): Refusals => ({
  INVALID_SIGNAL: [() => call(gone.signal)],
  NOT_INITIALIZED: [() => call(ended.signal)],
});

export const queueErrors = ({ gone, ended }: World, call: (queue: Objects['queue']) => unknown): Refusals => ({
  INVALID_QUEUE: [() => call(gone.queue)],
  NOT_INITIALIZED: [() => call(ended.queue)],
});

export const executableErrors = ({ gone, ended }: World, call: (objects: Objects) => unknown): Refusals => ({
  INVALID_EXECUTABLE: [() => call(gone)],
  NOT_INITIALIZED: [() => call(ended)],
});

/** For a call that takes an agent; `gpu`: it refuses the CPU agent, too. */
export const agentErrors = (
  { own, other, ended }: World,
  call: (objects: Objects, agent: Agent) => unknown,
  { gpu = false } = {},
): Refusals => ({
  INVALID_AGENT: [NULL, other.agent, ...(gpu ? [own.cpu] : [])].map((agent) => () => call(own, agent)),
  NOT_INITIALIZED: [() => call(ended, ended.agent)],
});
