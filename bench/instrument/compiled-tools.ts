/**
 * Tools that ship, made a second and a third time: of hooks that clang compiled (test/data/hooks/tools.c),
 * lifted to the points or called there. Their results have the tables of the tools.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseTargetId } from '../../src/codeobject/target-id.ts';
import {
  type Amount,
  CompiledHooks,
  type Counters,
  countedAs,
  countResult,
  defineTool,
  encodeTraceFile,
  execRegions,
  firstOf,
  type HookArgument,
  hex,
  LEVEL_OPTION,
  laneAccesses,
  lineText,
  openHookFile,
  type PointHook,
  RECORDS_OPTION,
  readCounters,
  readTrace,
  type Tool,
  type ToolCode,
  type ToolInstruction,
  traceIn,
  traceSummary,
} from '../../src/instrument/index.ts';

export const WAYS = ['lifted', 'called'] as const;
export type Way = (typeof WAYS)[number];

const FOLDER = path.resolve(import.meta.dirname, '../../test/data/hooks');

/** A tool by the name of the one that ships. */
export function compiledTool(name: string, way: Way): Tool {
  const tools = [instructionCount, opcodeHistogram, blockCount, memoryTrace].map((make) => make(way));
  const tool = tools.find((each) => each.name === name);
  if (!tool) throw new Error(`no hooks for ${name}`);
  return tool;
}

class Hooks {
  readonly #way: Way;
  readonly #hooks: CompiledHooks;

  constructor(code: ToolCode, way: Way) {
    const name = `tools.${code.processor}.o`;
    const file = openHookFile(readFileSync(path.join(FOLDER, name)), name, parseTargetId(code.processor));
    this.#way = way;
    this.#hooks = new CompiledHooks(file, code, way === 'lifted' ? 'never' : 'always');
  }

  add({ symbol }: Counters, index: number, amount: Amount, at: ToolInstruction): PointHook {
    const args: readonly HookArgument[] = [{ kind: 'symbol', symbol, offset: 0 }, constant(index)];
    if (amount === 'lanes') return this.#hooks.hook('add_lanes', args, at);
    if (amount === 'active waves') return this.#hooks.hook('add_active_wave', args, at);
    if (this.#way === 'lifted') return this.#hooks.hook('add_wave', args, at);
    return this.#hooks.hook('add_wave_with_all_lanes', args, at, { lanes: 'all' });
  }

  trace(symbol: string, capacity: number, point: number, at: ToolInstruction): PointHook {
    const args: readonly HookArgument[] = [{ kind: 'symbol', symbol, offset: 0 }, constant(capacity), constant(point)];
    return this.#hooks.hook('trace', args, at);
  }
}

const constant = (value: number): HookArgument => ({ kind: 'constant', value: BigInt(value), dwords: 1 });

const instructionCount = (way: Way): Tool =>
  defineTool({
    name: 'instruction-count',
    summary: `instruction-count by hooks that are ${way}`,
    options: { level: LEVEL_OPTION },
    attach(code, { level }) {
      const { instructions } = code;
      const [hooks, counters] = [new Hooks(code, way), code.counters('counts', instructions.length)];
      for (const [i, each] of instructions.entries()) {
        code.before(each, hooks.add(counters, i, countedAs(each, level), each));
      }
      return ({ memory }) => {
        const counts = readCounters(memory, counters);
        return countResult(
          level,
          instructions.map((instruction, i) => ({ instruction, values: [counts[i]!] })),
        );
      };
    },
  });

const opcodeHistogram = (way: Way): Tool =>
  defineTool({
    name: 'opcode-histogram',
    summary: `opcode-histogram by hooks that are ${way}`,
    options: { level: LEVEL_OPTION },
    attach(code, { level }) {
      const nameOf = ({ step }: ToolInstruction): string => step.instruction.name;
      const names = [...new Set(code.instructions.map(nameOf))];
      const [hooks, counters] = [new Hooks(code, way), code.counters('counts', names.length)];
      for (const each of code.instructions) {
        code.before(each, hooks.add(counters, names.indexOf(nameOf(each)), countedAs(each, level), each));
      }
      return ({ memory }) => {
        const counts = readCounters(memory, counters);
        const rows = names.map((name, i) => [name, counts[i]!]).filter(([, count]) => count !== 0n);
        const total = counts.reduce((sum, count) => sum + count, 0n);
        return { summary: { level, total }, tables: [{ name: 'opcodes', columns: ['opcode', 'count'], rows }] };
      };
    },
  });

/** A counter for each block, and one for the lanes of each stretch of it in which EXEC stays. */
const blockCount = (way: Way): Tool =>
  defineTool({
    name: 'block-count',
    summary: `block-count by hooks that are ${way}`,
    options: { level: LEVEL_OPTION },
    attach(code, { level }) {
      const { blocks } = code;
      const regions = blocks.flatMap(execRegions);
      const hooks = new Hooks(code, way);
      const waves = code.counters('waves', blocks.length);
      const lanes = code.counters('lanes', regions.length);
      for (const [i, block] of blocks.entries()) {
        code.before(firstOf(block), hooks.add(waves, i, 'waves', firstOf(block)));
      }
      for (const [i, { instructions }] of regions.entries()) {
        const amount = instructions.map((each) => countedAs(each, level)).find((each) => each !== 'waves');
        if (amount) code.before(instructions[0]!, hooks.add(lanes, i, amount, instructions[0]!));
      }
      const blockIndex = new Map(blocks.map((block, i) => [block, i]));
      return ({ memory }) => {
        const [byBlock, byRegion] = [readCounters(memory, waves), readCounters(memory, lanes)];
        const wavesOf = (block: (typeof blocks)[number]): bigint => byBlock[blockIndex.get(block)!]!;
        const numbers = regions.flatMap(({ block, instructions }, i) =>
          instructions.map((instruction) => {
            const isWhole = countedAs(instruction, level) === 'waves';
            return { instruction, values: [isWhole ? wavesOf(block) : byRegion[i]!] };
          }),
        );
        const result = countResult(level, numbers);
        const rows = blocks.map((block) => {
          const first = firstOf(block);
          return [hex(first.address), block.function.name, lineText(first), block.instructions.length, wavesOf(block)];
        });
        const columns = ['address', 'function', 'line', 'instructions', 'waves'];
        return { ...result, tables: [{ name: 'blocks', columns, rows }, ...result.tables] };
      };
    },
  });

/**
 * The place that each instruction accesses first, which is what `ww_address` gives. Instructions with two
 * places and those that leave lanes out are not traced.
 */
const memoryTrace = (way: Way): Tool =>
  defineTool({
    name: 'memory-trace',
    summary: `memory-trace by hooks that are ${way}`,
    options: { file: { kind: 'text', description: 'its name in the result' }, records: RECORDS_OPTION },
    attach(code, { file: name, records: capacity }) {
      const [hooks, trace] = [new Hooks(code, way), traceIn(code, 'trace', capacity)];
      const accesses = code.instructions.flatMap((instruction) => {
        const [access] = laneAccesses(instruction);
        return access ? [{ instruction, access }] : [];
      });
      const [points, unknown]: [typeof accesses, typeof accesses] = [[], []];
      for (const each of accesses) {
        const hook = hooks.trace(trace.variable.symbol, capacity, points.length, each.instruction);
        if (hook.refusal !== undefined || each.access.predicates.length > 0) unknown.push(each);
        else {
          code.before(each.instruction, hook);
          points.push(each);
        }
      }
      return ({ memory }) => {
        const contents = readTrace(memory, trace, points.length);
        const bytes = encodeTraceFile(points, contents);
        return { summary: traceSummary(contents, { unknown }), tables: [], files: [{ name, bytes }] };
      };
    },
  });
