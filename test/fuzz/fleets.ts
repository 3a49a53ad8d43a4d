/** The devices on which programs are compared with this machine, and how many programs run there. */
import { createEmulatedDevice, type Device } from '../../src/index.ts';
import { createPtxDevice } from '../../src/ptx.ts';
import { IS_FULL_SCALE } from '../scale.ts';
import { inParallel } from './differential.ts';

export interface Fleet {
  readonly name: string;
  /** One for each program, in turn. */
  readonly processors: readonly string[];
  readonly open: (processor: string) => Device;
}

export const AMD_GPUS: Fleet = {
  name: 'AMD GPUs',
  processors: ['gfx90a', 'gfx1100', 'gfx90a', 'gfx1100', 'gfx942'],
  open: (processor) => createEmulatedDevice({ processor }),
};

export const PTX_DEVICES: Fleet = {
  name: 'PTX devices',
  processors: ['sm_70', 'sm_90'],
  open: (processor) => createPtxDevice({ processor }),
};

const [seed, count] = process.env['WAVEWRIGHT_SEEDS']?.split(':').map(Number) ?? [];

/**
 * Seeds of a test: `sample` of them from 1 on, `full` with `WAVEWRIGHT_SCALE=full`, those of
 * `WAVEWRIGHT_SEEDS=FROM:COUNT` where it is given.
 */
export const seedRange = ({ sample, full }: { readonly sample: number; readonly full: number }) => ({
  from: seed ?? 1,
  count: count ?? (IS_FULL_SCALE ? full : sample),
});

/** Works through `items`, two at a time, each of the two with devices of its own. */
export async function onFleet<T>(
  { processors, open }: Fleet,
  items: Iterable<T>,
  work: (item: T, deviceOf: (turn: number) => Device) => Promise<void>,
): Promise<void> {
  using devices = new DisposableStack();
  const openAll = () => processors.map((processor) => devices.adopt(open(processor), (device) => device.close()));
  const fleets = [openAll(), openAll()];
  await inParallel(items, fleets.length, (item, worker) =>
    work(item, (turn) => fleets[worker]![turn % processors.length]!),
  );
}
