/** What kernels get: their arguments, hidden ones too, as the kernel reads them, and grids. */
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

/** So much is read at once, and not beyond the end of the arguments. */
const CHUNK_BYTES = 16;
/** More is not read: arguments are a few hundred bytes. */
const MAX_BYTES = 1024;

export const kernelArguments = defineTool({
  name: 'kernel-arguments',
  summary: 'grids, and the arguments of the last launch of each kernel, hidden ones too',
  options: {},
  attach(code) {
    const read = code.kernels.flatMap((kernel, i) => {
      const register = argumentsRegister(kernel);
      const sizeBytes = Math.min(argumentBytes(kernel) & -CHUNK_BYTES, MAX_BYTES);
      if (register === undefined || sizeBytes === 0) return [];
      const copy = code.buffer(`arguments_${i}`, sizeBytes);
      code.atEntry(kernel, { codes: [copyArguments(register, copy)], literals: [] });
      return [{ kernel, copy }];
    });
    return ({ memory, launches }) => {
      const rows = read
        .filter(({ kernel }) => launches.some((launch) => launch.kernel === kernel.name))
        .flatMap(({ kernel, copy }) =>
          declaredArguments(kernel)
            .filter(({ offsetBytes, sizeBytes }) => offsetBytes + sizeBytes <= copy.sizeBytes)
            .map(({ name = '', valueKind, offsetBytes, sizeBytes }) => {
              const value = valueAt(memory, copy, offsetBytes, sizeBytes);
              return [kernel.name, name, valueKind, offsetBytes, sizeBytes, hex(value), value];
            }),
        );
      const grids = launches.map(({ kernel, grid, workgroup }) => [
        ...[kernel, grid.join(' '), workgroup.join(' ')],
        grid.map((size, i) => Math.ceil(size / Math.max(workgroup[i] ?? 1, 1))).join(' '),
      ]);
      return {
        summary: { launches: launches.length },
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
