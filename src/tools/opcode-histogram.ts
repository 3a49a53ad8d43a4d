/** Which instructions are executed how often, by name. */
import { countedAs, countHook, defineTool, LEVEL_OPTION, readCounters } from '../instrument/index.ts';

export const opcodeHistogram = defineTool({
  name: 'opcode-histogram',
  summary: 'executed instructions by name',
  options: { level: LEVEL_OPTION },
  attach(code, { level }) {
    const names = [...new Set(code.instructions.map(({ step }) => step.instruction.name))].sort();
    const counts = code.counters('counts', names.length);
    for (const instruction of code.instructions) {
      const index = names.indexOf(instruction.step.instruction.name);
      code.before(instruction, countHook(counts, index, countedAs(instruction, level)));
    }
    return ({ memory }) => {
      const values = readCounters(memory, counts);
      const rows = names.map((name, i) => [name, values[i]!] as const);
      const total = values.reduce((sum, value) => sum + value, 0n);
      return {
        summary: { level, total },
        tables: [
          {
            name: 'opcodes',
            columns: ['opcode', level === 'thread' ? 'threads' : 'waves'],
            rows: rows.filter(([, count]) => count > 0n).sort(([, a], [, b]) => (a < b ? 1 : a > b ? -1 : 0)),
          },
        ],
      };
    };
  },
});
