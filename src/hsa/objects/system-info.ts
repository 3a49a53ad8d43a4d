/** What can be asked of the whole system by number (hsa_system_info_t, hsa_amd_system_info_t). */

import { extensionBits } from './extensions.ts';
import { answer, MACHINE_MODEL_LARGE, type Questions } from './info-table.ts';

/** Numbers of the specification. */
export const SYSTEM_INFO = {
  versionMajor: 0,
  versionMinor: 1,
  timestamp: 2,
  timestampFrequency: 3,
  signalMaxWait: 4,
  endianness: 5,
  machineModel: 6,
  extensions: 7,
  buildVersion: 0x200,
  svmSupported: 0x201,
  svmAccessibleByDefault: 0x202,
  mwaitxEnabled: 0x203,
  dmabufSupported: 0x204,
  virtualMemApiSupported: 0x205,
  xnackEnabled: 0x206,
  extVersionMajor: 0x207,
  extVersionMinor: 0x208,
} as const;

export type SystemInfoValue = number | bigint | string | boolean | Uint8Array;

/** Ticks per second of the system's clock. */
export const SYSTEM_FREQUENCY_HZ = 1_000_000_000;
const NS_PER_MS = 1e6;
/** Minor version of the AMD extension whose names and numbers these are. */
const AMD_EXTENSION_MINOR = 6;

/** Now, by the system's clock: nanoseconds that never go back. */
export function systemTimestamp(): bigint {
  return BigInt(Math.floor(performance.now() * NS_PER_MS));
}

const QUESTIONS: Questions<void, SystemInfoValue> = {
  [SYSTEM_INFO.versionMajor]: () => 1,
  [SYSTEM_INFO.versionMinor]: () => 1,
  [SYSTEM_INFO.timestamp]: systemTimestamp,
  [SYSTEM_INFO.timestampFrequency]: () => BigInt(SYSTEM_FREQUENCY_HZ),
  [SYSTEM_INFO.signalMaxWait]: () => 2n ** 64n - 1n,
  // HSA_ENDIANNESS_LITTLE.
  [SYSTEM_INFO.endianness]: () => 0,
  [SYSTEM_INFO.machineModel]: () => MACHINE_MODEL_LARGE,
  [SYSTEM_INFO.extensions]: extensionBits,
  [SYSTEM_INFO.buildVersion]: () => 'wavewright',
  [SYSTEM_INFO.svmSupported]: () => false,
  [SYSTEM_INFO.svmAccessibleByDefault]: () => false,
  [SYSTEM_INFO.mwaitxEnabled]: () => false,
  [SYSTEM_INFO.dmabufSupported]: () => false,
  [SYSTEM_INFO.virtualMemApiSupported]: () => false,
  [SYSTEM_INFO.xnackEnabled]: () => false,
  [SYSTEM_INFO.extVersionMajor]: () => 1,
  [SYSTEM_INFO.extVersionMinor]: () => AMD_EXTENSION_MINOR,
};

/** hsa_system_get_info, of a runtime that is there. Throws INVALID_ARGUMENT for another number. */
export function systemInfo(id: number): SystemInfoValue {
  return answer(QUESTIONS, id, undefined, 'the system');
}
