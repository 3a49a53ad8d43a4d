/** What a module holds, for people who want to know whether it runs here. */
import type { PtxModule, Statement } from './text/syntax.ts';

export interface PtxSummary {
  readonly version: string;
  readonly target: string;
  readonly kernels: readonly { readonly name: string; readonly parameters: readonly string[] }[];
  /** Functions that are no kernels, with a body, and those that another module defines. */
  readonly functions: readonly string[];
  readonly externals: readonly string[];
  readonly variables: number;
  readonly instructions: number;
  /** How many instructions of each name the module has, by name. */
  readonly opcodes: Readonly<Record<string, number>>;
}

export function summarize({ version, target, items }: PtxModule): PtxSummary {
  const functions = items.filter((item) => item.kind === 'function');
  const opcodes = new Map<string, number>();
  for (const { body } of functions) countOpcodes(body ?? [], opcodes);
  return {
    version: `${version.major}.${version.minor}`,
    target: target.join(', '),
    kernels: functions
      .filter(({ isEntry }) => isEntry)
      .map(({ name, parameters }) => ({
        name,
        parameters: parameters.map(
          ({ type, dimensions }) => `${type}${dimensions.map((count) => `[${count}]`).join('')}`,
        ),
      })),
    functions: functions.filter(({ isEntry, body }) => !isEntry && body).map(({ name }) => name),
    externals: items.flatMap((item) => ('linkage' in item && item.linkage === '.extern' ? [item.name] : [])),
    variables: items.filter((item) => item.kind === 'variable').length,
    instructions: [...opcodes.values()].reduce((sum, count) => sum + count, 0),
    opcodes: Object.fromEntries([...opcodes].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

function countOpcodes(statements: readonly Statement[], counts: Map<string, number>): void {
  for (const statement of statements) {
    if (statement.kind === 'block') countOpcodes(statement.statements, counts);
    if (statement.kind !== 'instruction') continue;
    counts.set(statement.opcode, (counts.get(statement.opcode) ?? 0) + 1);
  }
}
