/** Code of a recording, or what stands in for it. */

import type { HalExecutable } from '../../hal/executables/executable.ts';
import { HalError, type LogicalDevice } from '../../hal/index.ts';
import { decodeMetadata, type ExportMetadata } from '../format/executable-metadata.ts';
import { metadataOf } from '../record/executable-records.ts';

/** What a recording says of code, for who may give other code. */
export interface ExecutableRequest {
  readonly executableId: number;
  /** A target id, or `host` for functions of the host, which no recording holds. */
  readonly format: string;
  /** As the program gave it; several pieces are linked. */
  readonly pieces: readonly Uint8Array[];
  /** Undefined where a recording does not say what its exports take. */
  readonly exports: readonly ExportMetadata[] | undefined;
}

/** What `LogicalDevice.load` takes in place of it; undefined: the code of the recording. */
export type Substitute = (request: ExecutableRequest) => unknown;

export interface RecordedCode {
  readonly executableId: number;
  readonly format: string;
  readonly pieces: readonly Uint8Array[];
  readonly constants: Readonly<Record<string, Uint8Array>>;
  readonly metadata: Uint8Array;
}

/**
 * Throws INCOMPATIBLE for a substitute that takes something else than the code of the recording, and what
 * `LogicalDevice.load` does.
 */
export function loadRecorded(
  device: LogicalDevice,
  code: RecordedCode,
  substitute: Substitute | undefined,
): HalExecutable {
  const { executableId, format, pieces, constants, metadata } = code;
  const exports = decodeMetadata(metadata);
  const other = substitute?.({ executableId, format, pieces, exports });
  const name = `executable ${executableId}`;
  if (other === undefined && pieces.every(({ length }) => length === 0)) {
    const what = `${name} is functions of the host, which a recording does not hold`;
    throw new HalError('INCOMPATIBLE', what, { hint: 'give it other code in their place' });
  }
  const found = device.load(other ?? (pieces.length === 1 ? pieces[0] : pieces), { name, constants });
  if (other !== undefined && exports !== undefined) expectSame(executableId, exports, found);
  return found;
}

function expectSame(executableId: number, expected: readonly ExportMetadata[], found: HalExecutable): void {
  const exports = metadataOf(found.code.exports);
  const problems: string[] = [];
  if (exports.length !== expected.length) problems.push(`${exports.length} exports, expected ${expected.length}`);
  for (const [i, wanted] of expected.entries()) {
    const given = exports[i];
    if (given === undefined) continue;
    const name = found.exportAt(i).name;
    for (const [what, of] of Object.entries(ASPECTS)) {
      if (of(given) !== of(wanted)) problems.push(`${what} of '${name}': ${of(given)}, expected ${of(wanted)}`);
    }
  }
  if (problems.length === 0) return;
  const what = `the substitute of executable ${executableId} takes something else: ${problems.join('; ')}`;
  throw new HalError('INCOMPATIBLE', what, { hint: 'its exports must stand in the same order and take the same' });
}

/** What must be the same. */
const ASPECTS: Readonly<Record<string, (metadata: ExportMetadata) => string>> = {
  flags: ({ flags }) => String(flags),
  'workgroup size': ({ workgroupSize }) => workgroupSize.join(' x '),
  'words of constants': ({ constantCount }) => String(constantCount),
  bindings: ({ bindingCount }) => String(bindingCount),
  parameters: ({ parameters }) => parameters.map(({ type, offset, size }) => `${type}@${offset}:${size}`).join(' '),
};
