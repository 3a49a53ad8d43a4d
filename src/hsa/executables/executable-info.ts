/**
 * What can be asked of executables and loaded code objects by number (hsa_executable_info_t,
 * hsa_ven_amd_loader_loaded_code_object_info_t).
 */
import type { Agent } from '../objects/agent.ts';
import { expectHandle } from '../objects/handles.ts';
import { answer, PROFILES, type Questions, ROUNDING_MODES } from '../objects/info-table.ts';
import { HsaError } from '../objects/status.ts';
import { Executable } from './executable.ts';
import { type CodeObjectOwner, LoadedCodeObject } from './loaded-code-object.ts';

/** Numbers of the specification. */
export const EXECUTABLE_INFO = { profile: 1, state: 2, defaultFloatRoundingMode: 3 } as const;

export const LOADED_CODE_OBJECT_INFO = {
  executable: 1,
  kind: 2,
  agent: 3,
  codeObjectStorageType: 4,
  codeObjectStorageMemoryBase: 5,
  codeObjectStorageMemorySize: 6,
  codeObjectStorageFile: 7,
  loadDelta: 8,
  loadBase: 9,
  loadSize: 10,
  uriLength: 11,
  uri: 12,
} as const;

/** hsa_ven_amd_loader_code_object_storage_type_t. */
export const CODE_OBJECT_STORAGE = { none: 0, file: 1, memory: 2 } as const;
/** hsa_ven_amd_loader_loaded_code_object_kind_t: for one agent. */
const KIND_AGENT = 2;

const EXECUTABLE: Questions<Executable, number> = {
  [EXECUTABLE_INFO.profile]: ({ profile }) => PROFILES[profile],
  [EXECUTABLE_INFO.state]: ({ frozen }) => (frozen ? 1 : 0),
  [EXECUTABLE_INFO.defaultFloatRoundingMode]: ({ rounding }) => ROUNDING_MODES[rounding],
};

/** hsa_executable_get_info. Throws INVALID_EXECUTABLE after disposal, INVALID_ARGUMENT for another number. */
export function executableInfo(executable: Executable, id: number): number {
  expectHandle(executable, Executable, 'INVALID_EXECUTABLE');
  executable.expectLive();
  return answer(EXECUTABLE, id, executable, 'an executable');
}

const isFile = ({ uri }: LoadedCodeObject): boolean => uri.startsWith('file:');

/** Where the code object came from. */
export const storageType = (codeObject: LoadedCodeObject): number =>
  isFile(codeObject) ? CODE_OBJECT_STORAGE.file : CODE_OBJECT_STORAGE.memory;

type LoadedCodeObjectInfo = number | bigint | string | Uint8Array | Agent | CodeObjectOwner;

const LOADED: Questions<LoadedCodeObject, LoadedCodeObjectInfo> = {
  [LOADED_CODE_OBJECT_INFO.executable]: ({ executable }) => executable,
  [LOADED_CODE_OBJECT_INFO.kind]: () => KIND_AGENT,
  [LOADED_CODE_OBJECT_INFO.agent]: ({ agent }) => agent,
  [LOADED_CODE_OBJECT_INFO.codeObjectStorageType]: storageType,
  // Files are read into memory as a whole: there are bytes in any case, and no open file.
  [LOADED_CODE_OBJECT_INFO.codeObjectStorageMemoryBase]: ({ storage }) => storage,
  [LOADED_CODE_OBJECT_INFO.codeObjectStorageMemorySize]: ({ storage }) => storage.length,
  [LOADED_CODE_OBJECT_INFO.loadDelta]: ({ loadDelta }) => loadDelta,
  [LOADED_CODE_OBJECT_INFO.loadBase]: ({ address }) => address,
  [LOADED_CODE_OBJECT_INFO.loadSize]: ({ sizeBytes }) => sizeBytes,
  [LOADED_CODE_OBJECT_INFO.uriLength]: ({ uri }) => new TextEncoder().encode(uri).length,
  [LOADED_CODE_OBJECT_INFO.uri]: ({ uri }) => uri,
};

/**
 * hsa_ven_amd_loader_loaded_code_object_get_info. Throws INVALID_ARGUMENT for another number, and for an open
 * file; INVALID_CODE_OBJECT when the executable was destroyed.
 */
export function loadedCodeObjectInfo(codeObject: LoadedCodeObject, id: number): LoadedCodeObjectInfo {
  expectHandle(codeObject, LoadedCodeObject, 'INVALID_CODE_OBJECT');
  codeObject.agent.lifetime.expect();
  if (!codeObject.executable.isLive) {
    throw new HsaError('INVALID_CODE_OBJECT', `the executable of ${codeObject.name} was destroyed`, {}, 'USAGE');
  }
  return answer(LOADED, id, codeObject, codeObject.name);
}
