/** How many instructions are executed: by waves, or by the lanes that take part. */
import {
  countedAs,
  countHook,
  defineTool,
  functionTable,
  instructionTable,
  lineTable,
  readCounters,
} from '../instrument/index.ts';

export const instructionCount = defineTool({
  name: 'instruction-count',
  summary: 'executed instructions, by function, source line and instruction',
  options: {
    level: {
      kind: 'choice',
      choices: ['thread', 'wave'],
      default: 'thread',
      description: 'count a vector instruction for each active lane, or once for a wave with any active lane',
    },
  },
  attach(code, { level }) {
    const { instructions } = code;
    const counts = code.counters('counts', instructions.length);
    for (const [index, instruction] of instructions.entries()) {
      code.before(instruction, countHook(counts, index, countedAs(instruction, level)));
    }
    return ({ memory }) => {
      const values = readCounters(memory, counts);
      const numbers = instructions.map((instruction, i) => ({ instruction, values: [values[i]!] }));
      const total = values.reduce((sum, value) => sum + value, 0n);
      const columns = [level === 'thread' ? 'threads' : 'waves'];
      return {
        summary: { level, total },
        tables: [functionTable(columns, numbers), lineTable(columns, numbers), instructionTable(columns, numbers)],
      };
    };
  },
});
