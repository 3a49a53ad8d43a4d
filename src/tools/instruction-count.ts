/** How many instructions are executed: by waves, or by the lanes that take part. */
import { countedAs, countHook, countResult, defineTool, LEVEL_OPTION, readCounters } from '../instrument/index.ts';

export const instructionCount = defineTool({
  name: 'instruction-count',
  summary: 'executed instructions, by function, source line and instruction',
  options: { level: LEVEL_OPTION },
  attach(code, { level }) {
    const { instructions } = code;
    const counters = code.counters('counts', instructions.length);
    instructions.forEach((instruction, index) => {
      code.before(instruction, countHook(counters, index, countedAs(instruction, level)));
    });
    return ({ memory }) => {
      const counts = readCounters(memory, counters);
      return countResult(
        level,
        instructions.map((instruction, i) => ({ instruction, values: [counts[i]!] })),
      );
    };
  },
});
