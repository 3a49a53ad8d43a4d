/**
 * A null device whose kernels are JavaScript generators: for tests of everything above the `Device` contract.
 */
import { WavewrightError } from '../../base/errors.ts';
import type { Fault } from '../../device/fault.ts';
import type { Dispatch, KernelLaunch } from '../../device/launch.ts';
import { type DispatchStatistics, NO_STATISTICS } from '../../device/statistics.ts';
import { type LaunchBody, NullDevice } from '../../devices/null/index.ts';
import type { NullMemory } from '../../devices/null/memory.ts';

/**
 * Yields `waiting` where a wave would spin on the host, `running` to give up its slice. Throws a `FakeFault`
 * to fault.
 */
export type KernelBody = (context: KernelContext) => Generator<'running' | 'waiting', void>;

export interface KernelContext {
  readonly launch: KernelLaunch;
  readonly memory: NullMemory;
}

export class FakeFault {
  readonly fault: Fault;

  constructor(fault: Partial<Fault> & Pick<Fault, 'kind' | 'message'>) {
    const place = { pc: 0n, instruction: 's_nop 0', location: 'kernel+0x0', workgroup: [0, 0, 0], wave: 0 } as const;
    this.fault = { ...place, ...fault };
  }
}

/** The text that begins at an address and ends with a NUL. */
export function cStringAt(memory: NullMemory, address: bigint): string {
  const owner = memory.find(address)!;
  const bytes = memory.view(address, Number(owner.address - address) + owner.sizeBytes);
  return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
}

function* faulting(body: ReturnType<KernelBody>): Generator<'running' | 'waiting', Fault | undefined> {
  try {
    yield* body;
    return undefined;
  } catch (error) {
    if (!(error instanceof FakeFault)) throw error;
    return error.fault;
  }
}

export class FakeDevice extends NullDevice {
  readonly launches: KernelLaunch[] = [];
  /** Bodies of kernels in loaded code objects, by function name. */
  readonly kernels: Record<string, KernelBody> = {};
  readonly #bodies = new Map<bigint, KernelBody>();

  constructor(memorySizeBytes = 4 * 2 ** 20, targetId = 'gfx90a:sramecc+:xnack-') {
    super({ memorySizeBytes, targetId }, 'fake');
  }

  /** A kernel that is in no code object; returns its kernel object. */
  addKernel(body: KernelBody): bigint {
    const address = this.memory.allocate(64, { label: 'fake kernel' });
    this.#bodies.set(address, body);
    return address;
  }

  override dispatch(launch: KernelLaunch): Dispatch {
    const dispatch = super.dispatch(launch);
    this.launches.push(launch);
    return dispatch;
  }

  protected override bodyOf(launch: KernelLaunch): LaunchBody {
    const body = this.#bodies.get(launch.entry) ?? this.#publishedBody(launch.entry);
    if (body === undefined) throw new WavewrightError('UNSUPPORTED', 'the fake device has no body for this kernel');
    return faulting(body({ launch, memory: this.memory }));
  }

  protected override statisticsOf(): DispatchStatistics {
    return { ...NO_STATISTICS, instructions: 7, workgroups: 1, waves: 1 };
  }

  #publishedBody(kernelObject: bigint): KernelBody | undefined {
    const entry = kernelObject + this.memory.data(kernelObject, 64).getBigInt64(16, true);
    for (const { symbols } of this.published) {
      const found = symbols.find(({ address }) => address === entry);
      if (found !== undefined) return this.kernels[found.name];
    }
    return undefined;
  }
}
