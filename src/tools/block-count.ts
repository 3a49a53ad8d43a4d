/** How often blocks run, and from that how often each of their instructions does: far fewer hooks. */
import {
  countedAs,
  countResult,
  defineTool,
  FlowCounter,
  firstOf,
  hex,
  LEVEL_OPTION,
  lineText,
} from '../instrument/index.ts';

export const blockCount = defineTool({
  name: 'block-count',
  summary: 'executions of blocks, and from these of instructions; with few hooks',
  options: { level: LEVEL_OPTION },
  attach(code, { level }) {
    const executions = new FlowCounter(code, 'counts', (instruction) => countedAs(instruction, level));
    return ({ memory }) => {
      const counts = executions.read(memory);
      const numbers = code.instructions.map((each) => ({ instruction: each, values: [counts.of(each)] }));
      const result = countResult(level, numbers);
      const rows = code.blocks.map((block) => [
        ...[hex(firstOf(block).address), block.function.name, lineText(firstOf(block))],
        ...[block.instructions.length, counts.waves(block)],
      ]);
      const blocks = { name: 'blocks', columns: ['address', 'function', 'line', 'instructions', 'waves'], rows };
      const { counters, resident } = executions.account;
      return {
        summary: { ...result.summary, counters, 'counters in registers': resident },
        tables: [blocks, ...result.tables],
      };
    };
  },
});
