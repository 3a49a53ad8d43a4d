/** The `local` driver: the host as a device, whose kernels are functions. */
import type { HostClock } from '../../base/host-clock.ts';
import type { AdvanceResult } from '../../device/device.ts';
import type { CommandDone, DeviceBackend, LoadRequest, QueueBackend } from '../backend/backend.ts';
import { type BackendCommand, type DispatchCommand, transferOnHost } from '../backend/command.ts';
import { invalidArgument, type OperationInfo } from '../core/status.ts';
import type { Driver } from '../devices/driver.ts';
import { HOST_CLOCK_HZ, HostMemory, hostTicks } from '../devices/host-backend.ts';
import { hostDriver } from '../devices/host-driver.ts';
import { bytesOfRange, type StorageRange } from '../memory/buffer-ref.ts';
import { type LocalBinding, LocalCode, loadModules } from './local-code.ts';

export {
  type LocalBinding,
  LocalCode,
  type LocalFunction,
  LocalModule,
  type LocalWorkgroup,
  loadModules,
  localModule,
} from './local-code.ts';

const MEMORY_BYTES = 2 ** 32;

class LocalBackend extends HostMemory implements DeviceBackend {
  readonly #now: HostClock;
  readonly physicalDevices = [
    {
      uuid: 'local',
      name: 'host',
      formats: ['host'],
      computeUnitCount: 1,
      maxWorkgroupSize: 1024,
      memorySizeBytes: MEMORY_BYTES,
      clockFrequencyHz: HOST_CLOCK_HZ,
      executes: true,
    },
  ];

  constructor(now: HostClock) {
    super(MEMORY_BYTES);
    this.#now = now;
  }

  load(request: LoadRequest): LocalCode {
    return loadModules(request, 'localModule({ ... }) makes one');
  }

  createQueue(): QueueBackend {
    return {
      begin: (command: BackendCommand, _operation: OperationInfo, done: CommandDone) => {
        if (command.kind === 'dispatch') runOnHost(command);
        else transferOnHost(command);
        done();
      },
      [Symbol.dispose]: () => {},
    };
  }

  clock(): bigint {
    return hostTicks(this.#now());
  }

  progress(): AdvanceResult {
    return 'idle';
  }

  [Symbol.dispose](): void {}
}

/** All workgroups, x fastest. */
function runOnHost({ entry, groups, workgroupSize, constants, bindings }: DispatchCommand): void {
  const { code } = entry.executable;
  if (!(code instanceof LocalCode)) throw invalidArgument(`'${entry.name}' is no function of the host`);
  const views = bindings.map(viewsOf);
  const data = new DataView(constants.buffer, constants.byteOffset, constants.byteLength);
  const float = (constant: number): number => data.getFloat32(4 * constant, true);
  const [countX, countY, countZ] = groups;
  const { run } = code.functions[entry.ordinal]!;
  for (let z = 0; z < countZ; z++) {
    for (let y = 0; y < countY; y++) {
      for (let x = 0; x < countX; x++) {
        run({ id: [x, y, z], count: groups, size: workgroupSize, constants, float, bindings: views });
      }
    }
  }
}

/** Whole elements from the start on. Throws INVALID_ARGUMENT for a binding that is not aligned to 4. */
function viewsOf(range: StorageRange): LocalBinding {
  const u8 = bytesOfRange(range);
  const { buffer, byteOffset, byteLength } = u8;
  if (byteOffset % 4 !== 0)
    throw invalidArgument(`a binding at ${byteOffset}, functions of the host need multiples of 4`);
  const count = Math.floor(byteLength / 4);
  return {
    u8,
    u32: new Uint32Array(buffer, byteOffset, count),
    i32: new Int32Array(buffer, byteOffset, count),
    f32: new Float32Array(buffer, byteOffset, count),
  };
}

/** A driver with one device: `local`. */
export const localDriver = (): Driver =>
  hostDriver({ name: 'local', fullName: 'functions of the host', deviceName: 'host' }, (now) => new LocalBackend(now));
