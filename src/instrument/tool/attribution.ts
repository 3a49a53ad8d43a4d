/** Numbers of instructions, summed for what a reader knows code by: functions and source lines. */
import { hex } from '../../base/text.ts';
import type { ToolOption } from './options.ts';
import type { ResultTable, ToolResult } from './result.ts';
import type { ToolInstruction } from './tool-function.ts';

/** Numbers of one instruction: a value for each column. */
export interface Attributed {
  readonly instruction: ToolInstruction;
  readonly values: readonly bigint[];
}

export const lineText = ({ line }: ToolInstruction): string => (line ? `${line.file}:${line.line}` : '');

/** A row for each function, in their order. */
export const functionTable = (columns: readonly string[], numbers: readonly Attributed[]): ResultTable =>
  sumTable({ name: 'functions', key: 'function', columns }, numbers, ({ block }) => block.function.name);

/** A row for each source line that the compiler named, in the order of addresses. */
export const lineTable = (columns: readonly string[], numbers: readonly Attributed[]): ResultTable =>
  sumTable({ name: 'lines', key: 'line', columns }, numbers, lineText);

/** A row for each instruction. */
export function instructionTable(columns: readonly string[], numbers: readonly Attributed[]): ResultTable {
  return {
    name: 'instructions',
    columns: ['address', 'function', 'line', 'instruction', ...columns],
    rows: numbers.map(({ instruction, values }) => [
      hex(instruction.address),
      instruction.block.function.name,
      lineText(instruction),
      instruction.step.text(),
      ...values,
    ]),
  };
}

interface SumTable {
  readonly name: string;
  readonly key: string;
  readonly columns: readonly string[];
}

function sumTable(
  { name, key, columns }: SumTable,
  numbers: readonly Attributed[],
  keyOf: (instruction: ToolInstruction) => string,
): ResultTable {
  const sums = new Map<string, bigint[]>();
  for (const { instruction, values } of numbers) {
    const at = keyOf(instruction);
    if (at === '') continue;
    const sum = sums.get(at) ?? columns.map(() => 0n);
    for (const [i, value] of values.entries()) sum[i]! += value;
    sums.set(at, sum);
  }
  return { name, columns: [key, ...columns], rows: [...sums].map(([at, sum]) => [at, ...sum]) };
}

/** How instructions count (`countedAs`). */
export const LEVEL_OPTION = {
  kind: 'choice',
  choices: ['thread', 'wave'],
  default: 'thread',
  description: 'count a vector instruction for each active lane, or once for a wave with any active lane',
} as const satisfies ToolOption;

/** The result of a tool that counts executions of instructions: each has one value. */
export function countResult(level: string, numbers: readonly Attributed[]): ToolResult {
  const columns = [level === 'thread' ? 'threads' : 'waves'];
  return {
    summary: { level, total: numbers.reduce((sum, { values }) => sum + values[0]!, 0n) },
    tables: [functionTable(columns, numbers), lineTable(columns, numbers), instructionTable(columns, numbers)],
  };
}
