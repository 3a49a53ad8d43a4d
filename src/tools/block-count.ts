/** How often blocks run, and from that how often each of their instructions does: far fewer hooks. */
import {
  countedAs,
  countHook,
  countResult,
  defineTool,
  equallyOften,
  execRegions,
  firstOf,
  hex,
  LEVEL_OPTION,
  lineText,
  readCounters,
  type ToolBlock,
  type ToolInstruction,
} from '../instrument/index.ts';

export const blockCount = defineTool({
  name: 'block-count',
  summary: 'executions of blocks, and from these of instructions; with few hooks',
  options: { level: LEVEL_OPTION },
  attach(code, { level }) {
    /** What counter an instruction has. */
    const counterOf = new Map<ToolInstruction, number>();
    const hooks: ((counters: Parameters<typeof countHook>[0]) => void)[] = [];
    const waves = new Map<ToolBlock, number>();
    const often = new Map(code.functions.flatMap((each) => [...equallyOften(each)]));
    const add = (instruction: ToolInstruction, amount: Parameters<typeof countHook>[2]): number => {
      const index = hooks.length;
      hooks.push((counters) => code.before(instruction, countHook(counters, index, amount)));
      return index;
    };
    for (const block of code.blocks) {
      const first = often.get(block)!;
      const index = waves.get(first) ?? add(firstOf(block), 'waves');
      waves.set(first, index).set(block, index);
      for (const { instructions } of execRegions(block)) {
        let lanes: number | undefined;
        for (const instruction of instructions) {
          const amount = countedAs(instruction, level);
          if (amount !== 'waves') lanes ??= add(instructions[0]!, amount);
          counterOf.set(instruction, amount === 'waves' ? index : lanes!);
        }
      }
    }
    const counters = code.counters('counts', hooks.length);
    for (const insert of hooks) insert(counters);
    return ({ memory }) => {
      const counts = readCounters(memory, counters);
      const result = countResult(
        level,
        code.instructions.map((each) => ({ instruction: each, values: [counts[counterOf.get(each)!]!] })),
      );
      const rows = code.blocks.map((block) => [
        ...[hex(firstOf(block).address), block.function.name, lineText(firstOf(block))],
        ...[block.instructions.length, counts[waves.get(block)!]!],
      ]);
      const blocks = { name: 'blocks', columns: ['address', 'function', 'line', 'instructions', 'waves'], rows };
      return { summary: { ...result.summary, counters: hooks.length }, tables: [blocks, ...result.tables] };
    };
  },
});
