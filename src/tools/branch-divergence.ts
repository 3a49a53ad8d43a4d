/** Where waves part: branches that are taken or not, and instructions that leave some lanes behind. */
import {
  countHook,
  defineTool,
  hex,
  hookOf,
  lineText,
  readCounters,
  savedMask,
  type ToolInstruction,
} from '../instrument/index.ts';

/** The register of VCC among the scalar ones (CDNA2 ISA 3.1). */
const VCC_REGISTER = 106;

export const branchDivergence = defineTool({
  name: 'branch-divergence',
  summary: 'branches taken, and waves whose lanes part',
  options: {},
  attach(code) {
    const branches = code.instructions.filter(({ step }) => step.control === 'conditional');
    const masks = code.instructions.flatMap((instruction) => {
      const register = savedMask(instruction);
      return register === undefined ? [] : [{ instruction, register }];
    });
    const counters = code.counters('counts', 2 * (branches.length + masks.length));
    for (const [i, branch] of branches.entries()) {
      code.before(branch, countHook(counters, 2 * i, 'waves'));
      code.whenTaken(branch, countHook(counters, 2 * i + 1, 'waves'));
    }
    for (const [i, { instruction, register }] of masks.entries()) {
      const index = 2 * (branches.length + i);
      code.before(instruction, countHook(counters, index, 'active waves'));
      const { waveSize } = instruction.block.function;
      const parted = hookOf((b) => {
        const high = waveSize === 32 ? b.constant(0) : b.scalar(register + 1);
        const before = register === VCC_REGISTER ? b.state('vcc') : b.pack(b.scalar(register), high);
        const now = b.laneMask();
        const isSome = b.select(b.compare('ne', now, b.constant64(0n)), b.constant(1), b.constant(0));
        const parts = b.select(b.compare('ne', now, before), isSome, b.constant(0));
        b.atomic('add', b.variable(counters.symbol, 8 * (index + 1)), b.pack(parts, b.constant(0)));
      });
      const meaning = { symbol: counters.symbol, index: index + 1, amount: 'waves whose lanes part' };
      code.after(instruction, { ...parted, meaning });
    }
    return ({ memory }) => {
      const counts = readCounters(memory, counters);
      const place = (instruction: ToolInstruction) => [
        ...[hex(instruction.address), instruction.block.function.name, lineText(instruction)],
        instruction.step.text(),
      ];
      const columns = ['address', 'function', 'line', 'instruction', 'waves'];
      return {
        summary: { branches: branches.length, masks: masks.length },
        tables: [
          {
            name: 'branches',
            columns: [...columns, 'taken'],
            rows: branches.map((each, i) => [...place(each), counts[2 * i]!, counts[2 * i + 1]!]),
          },
          {
            name: 'masks',
            columns: [...columns, 'parted'],
            rows: masks.map(({ instruction }, i) => {
              const index = 2 * (branches.length + i);
              return [...place(instruction), counts[index]!, counts[index + 1]!];
            }),
          },
        ],
      };
    };
  },
});
