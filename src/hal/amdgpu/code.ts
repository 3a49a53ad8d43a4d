/** Code objects as executables: loaded and linked by the HSA runtime, exports from their metadata. */

import { WavewrightError } from '../../base/errors.ts';
import type { ContainerOptions } from '../../codeobject/container.ts';
import { isHiddenArgument } from '../../codeobject/hidden-arguments.ts';
import { kernelName } from '../../codeobject/kernel-name.ts';
import type { KernelArgument } from '../../codeobject/metadata.ts';
import { parseTargetId } from '../../codeobject/target-id.ts';
import type { Executable } from '../../hsa/executables/executable.ts';
import type { KernelSymbol } from '../../hsa/executables/kernel-symbol.ts';
import { CodeObjectReader } from '../../hsa/executables/loaded-code-object.ts';
import type { Agent } from '../../hsa/objects/agent.ts';
import type { Runtime } from '../../hsa/runtime/runtime.ts';
import { openLinkFile, pickLinkImages } from '../../linker/link-files.ts';
import type { LoadRequest } from '../backend/backend.ts';
import { HalError, invalidArgument, withHalStatus } from '../core/status.ts';
import type { ExecutableCode, ExportInfo, ExportParameter } from '../executables/executable.ts';

/** Code of an executable on one GPU. */
export class AmdgpuCode implements ExecutableCode {
  readonly format: string;
  readonly exports: readonly ExportInfo[];
  /** By the ordinal of the export. */
  readonly kernels: readonly KernelSymbol[];
  readonly #executable: Executable;

  constructor(executable: Executable, agent: Agent) {
    this.#executable = executable;
    this.format = agent.requireDevice().properties.targetId;
    this.kernels = executable.agentSymbols(agent).filter((symbol) => symbol.kind === 'kernel');
    this.exports = this.kernels.map(exportOf);
  }

  [Symbol.dispose](): void {
    this.#executable[Symbol.dispose]();
  }
}

/**
 * Loads and links code objects, bundles, programs with GPU code, relocatable objects and archives. Throws
 * INVALID_ARGUMENT for what is none of these, INCOMPATIBLE for code for other targets.
 */
export function loadCode(
  runtime: Runtime,
  agent: Agent,
  { pieces, name }: LoadRequest,
  container: ContainerOptions,
): AmdgpuCode {
  const target = parseTargetId(agent.requireDevice().properties.targetId);
  const executable = runtime.createExecutable();
  try {
    return withHalStatus(() => {
      const files = pieces.map((piece) => openLinkFile(bytesOf(piece, name), name, container));
      for (const { isModule, ...image } of pickLinkImages(files, target)) {
        executable.loadCodeObject(agent, new CodeObjectReader(image.bytes, image.name), { isModule });
      }
      executable.freeze();
      return new AmdgpuCode(executable, agent);
    });
  } catch (error) {
    executable[Symbol.dispose]();
    // What is not supported of code is that it is for something else.
    if (!(error instanceof HalError) || !(error.cause instanceof WavewrightError)) throw error;
    throw error.code === 'UNSUPPORTED' ? new HalError('INCOMPATIBLE', error.what, error.context) : error;
  }
}

function bytesOf(piece: unknown, name: string): Uint8Array {
  if (ArrayBuffer.isView(piece)) return new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength);
  throw invalidArgument(`${name} is ${typeof piece}, expected the bytes of a code object`);
}

function exportOf(kernel: KernelSymbol): ExportInfo {
  const { metadata } = kernel;
  const args = metadata?.args.filter((each) => !isHiddenArgument(each)) ?? [];
  const parameters = args.map(parameterOf);
  const [x, y = 1, z = 1] = metadata?.reqdWorkgroupSize ?? [];
  return {
    name: kernelName(kernel),
    bindingCount: parameters.filter(({ kind }) => kind === 'binding').length,
    constantCount: parameters.reduce((sum, each) => sum + constantWords(each), 0),
    parameters,
    workgroupSize: x === undefined ? undefined : [x, y, z],
    maxWorkgroupSize: metadata?.maxFlatWorkgroupSize ?? kernel.agent.info.maxWorkgroupSize,
    problem: metadata === undefined ? 'its metadata does not list it' : problemOf(args),
  };
}

const parameterOf = ({
  name,
  typeName,
  valueKind,
  offsetBytes,
  sizeBytes,
  ...access
}: KernelArgument): ExportParameter => ({
  kind: valueKind === 'global_buffer' ? 'binding' : 'constant',
  ...{ name, typeName },
  offsetBytes,
  sizeBytes,
  isReadOnly: access.isConst === true || access.actualAccess === 'read_only' || access.access === 'read_only',
});

/** Words that a parameter takes of the constants; the last one may be used in part. */
export const constantWords = ({ kind, sizeBytes }: ExportParameter): number =>
  kind === 'binding' ? 0 : Math.ceil(sizeBytes / 4);

function problemOf(args: readonly KernelArgument[]): string | undefined {
  const other = args.find(({ valueKind }) => valueKind !== 'global_buffer' && valueKind !== 'by_value');
  return other && `its argument ${other.name ?? args.indexOf(other)} is ${other.valueKind}, no buffer and no value`;
}
