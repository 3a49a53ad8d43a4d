/**
 * Code of the host: functions in place of kernels, one call for each workgroup. They are what GPU code is
 * compared with, and what programs run where there is no GPU.
 */
import type { LoadRequest } from '../backend/backend.ts';
import { HalError, invalidArgument } from '../core/status.ts';
import type { ExecutableCode, ExportInfo } from '../executables/executable.ts';

/** What a function gets for one workgroup. */
export interface LocalWorkgroup {
  readonly id: readonly [number, number, number];
  /** Workgroups of the grid. */
  readonly count: readonly [number, number, number];
  /** Work-items of a workgroup. */
  readonly size: readonly [number, number, number];
  /** Words; `float` reads one as a number of 32 bits. */
  readonly constants: Uint32Array;
  float(constant: number): number;
  readonly bindings: readonly LocalBinding[];
}

/** Memory of a binding, live. */
export interface LocalBinding {
  readonly u8: Uint8Array;
  readonly u32: Uint32Array;
  readonly i32: Int32Array;
  readonly f32: Float32Array;
}

export interface LocalFunction {
  readonly bindingCount: number;
  /** Default 0. */
  readonly constantCount?: number;
  /** Absent where each dispatch says it. */
  readonly workgroupSize?: readonly [number, number, number];
  readonly run: (workgroup: LocalWorkgroup) => void;
}

/** Exports by name, as `LogicalDevice.load` takes them; `localModule` makes one. */
export class LocalModule {
  readonly functions: Readonly<Record<string, LocalFunction>>;

  constructor(functions: Readonly<Record<string, LocalFunction>>) {
    this.functions = functions;
  }
}

export const localModule = (functions: Readonly<Record<string, LocalFunction>>): LocalModule =>
  new LocalModule(functions);

const MAX_WORKGROUP_SIZE = 1024;

export class LocalCode implements ExecutableCode {
  readonly format = 'host';
  readonly exports: readonly ExportInfo[];
  readonly functions: readonly LocalFunction[];

  /** Throws INVALID_ARGUMENT for a name that two modules have. */
  constructor(modules: readonly LocalModule[]) {
    const all = modules.flatMap(({ functions }) => Object.entries(functions));
    const twice = all.find(([name], i) => all.findIndex(([other]) => other === name) < i);
    if (twice !== undefined) throw invalidArgument(`function '${twice[0]}' is defined twice`);
    this.functions = all.map(([, each]) => each);
    this.exports = all.map(([name, { bindingCount, constantCount = 0, workgroupSize }]) => ({
      name,
      bindingCount,
      constantCount,
      workgroupSize,
      maxWorkgroupSize: MAX_WORKGROUP_SIZE,
      parameters: [
        ...Array.from({ length: bindingCount }, (_, i) => parameter('binding', i, 8, 0)),
        ...Array.from({ length: constantCount }, (_, i) => parameter('constant', i, 4, 8 * bindingCount)),
      ],
    }));
  }

  [Symbol.dispose](): void {}
}

const parameter = (kind: 'binding' | 'constant', index: number, sizeBytes: number, start: number) => ({
  kind,
  name: undefined,
  offsetBytes: start + index * sizeBytes,
  sizeBytes,
});

/**
 * Throws INVALID_ARGUMENT for what is no module, UNIMPLEMENTED for constants. `hint`: where modules come
 * from.
 */
export function loadModules({ pieces, name, constants }: LoadRequest, hint: string): LocalCode {
  const modules = pieces.filter((piece) => piece instanceof LocalModule);
  if (modules.length !== pieces.length || modules.length === 0) {
    throw invalidArgument(`${name} is no module of host functions`, { hint });
  }
  const [constant] = Object.keys(constants);
  if (constant === undefined) return new LocalCode(modules);
  throw new HalError('UNIMPLEMENTED', `constant '${constant}' of ${name}: host functions have no variables`, {
    hint: 'give it to localModule in a closure, or to each dispatch',
  });
}
