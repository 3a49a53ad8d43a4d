/**
 * The `null` driver: buffers, transfers and everything that is ordered are real, but a dispatch does nothing.
 * It takes any code of a form that it is told exports of, measures what stands above drivers, and is the
 * shortest driver: a new one begins as a copy of this file.
 */
import type { HostClock } from '../../base/host-clock.ts';
import type { AdvanceResult } from '../../device/device.ts';
import type { CommandDone, DeviceBackend, LoadRequest, QueueBackend } from '../backend/backend.ts';
import { type BackendCommand, transferOnHost } from '../backend/command.ts';
import type { OperationInfo } from '../core/status.ts';
import type { Driver } from '../devices/driver.ts';
import { HOST_CLOCK_HZ, HostMemory, hostTicks } from '../devices/host-backend.ts';
import { hostDriver } from '../devices/host-driver.ts';
import type { ExecutableCode } from '../executables/executable.ts';
import { loadModules } from '../local/index.ts';

const MEMORY_BYTES = 2 ** 32;

class NullBackend extends HostMemory implements DeviceBackend {
  readonly #now: HostClock;
  readonly physicalDevices = [
    {
      uuid: 'null',
      name: 'null',
      formats: ['host'],
      computeUnitCount: 1,
      maxWorkgroupSize: 1024,
      memorySizeBytes: MEMORY_BYTES,
      clockFrequencyHz: HOST_CLOCK_HZ,
      executes: false,
    },
  ];

  constructor(now: HostClock) {
    super(MEMORY_BYTES);
    this.#now = now;
  }

  load(request: LoadRequest): ExecutableCode {
    return loadModules(request, 'the null driver takes the exports from localModule({ ... })');
  }

  createQueue(): QueueBackend {
    return {
      begin: (command: BackendCommand, _operation: OperationInfo, done: CommandDone) => {
        if (command.kind !== 'dispatch') transferOnHost(command);
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

/** A driver with one device: `null`. */
export const nullDriver = (): Driver =>
  hostDriver(
    { name: 'null', fullName: 'a device that runs no code', deviceName: 'null' },
    (now) => new NullBackend(now),
  );
