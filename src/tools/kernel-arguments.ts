/** What kernels get: their arguments, hidden ones too, as the kernel reads them, and grids. */
import { alignUp } from '../base/align.ts';
import {
  argumentBytes,
  argumentsRegister,
  copyArguments,
  declaredArguments,
  defineTool,
  hex,
  type ToolVariable,
  type VariableMemory,
} from '../instrument/index.ts';

/** More is not read, and counted: arguments are a few hundred bytes. */
const MAX_BYTES = 1024;
const DWORD_BYTES = 4;

export const kernelArguments = defineTool({
  name: 'kernel-arguments',
  summary: 'grids, and the arguments of the last launch of each kernel, hidden ones too',
  options: {},
  attach(code) {
    const read = code.kernels.flatMap((kernel, i) => {
      const register = argumentsRegister(kernel);
      const sizeBytes = Math.min(alignUp(argumentBytes(kernel), DWORD_BYTES), MAX_BYTES);
      if (register === undefined || sizeBytes === 0) return [];
      const copy = code.buffer(`arguments_${i}`, sizeBytes);
      const meaning = { symbol: copy.symbol, index: 0, amount: 'arguments of the last launch' };
      code.atEntry(kernel, { codes: [copyArguments(register, copy)], literals: [], meaning });
      return [{ kernel, copy }];
    });
    return ({ memory, launches }) => {
      const isLaunched = (name: string): boolean => launches.some((launch) => launch.kernel === name);
      const rows = read
        .filter(({ kernel }) => isLaunched(kernel.name))
        .flatMap(({ kernel, copy }) =>
          declaredArguments(kernel)
            .filter(({ offsetBytes, sizeBytes }) => offsetBytes + sizeBytes <= copy.sizeBytes)
            .map(({ name = '', valueKind, offsetBytes, sizeBytes }) => {
              const value = valueAt(memory, copy, offsetBytes, sizeBytes);
              return [kernel.name, name, valueKind, offsetBytes, sizeBytes, hex(value), value];
            }),
        );
      const declared = read.flatMap(({ kernel }) => (isLaunched(kernel.name) ? declaredArguments(kernel) : []));
      const lost = declared.length - rows.length;
      const grids = launches.map(({ kernel, grid, workgroup }) => [
        ...[kernel, grid.join(' '), workgroup.join(' ')],
        grid.map((size, i) => Math.ceil(size / Math.max(workgroup[i] ?? 1, 1))).join(' '),
      ]);
      return {
        summary: { launches: launches.length, 'arguments not read': lost },
        tables: [
          { name: 'grids', columns: ['kernel', 'work-items', 'workgroup', 'workgroups'], rows: grids },
          { name: 'arguments', columns: ['kernel', 'name', 'kind', 'offset', 'bytes', 'hex', 'value'], rows },
        ],
      };
    };
  },
});

function valueAt(memory: VariableMemory, { symbol, sizeBytes }: ToolVariable, offset: number, bytes: number): bigint {
  const all = memory.read(symbol, sizeBytes).subarray(offset, offset + bytes);
  return all.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n);
}
