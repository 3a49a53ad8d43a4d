/** A hook of a compiled file as a tool: it runs at places of a kind, and its variables are the result. */
import { WavewrightError } from '../base/errors.ts';
import { parseTargetId } from '../codeobject/target-id.ts';
import {
  type Cell,
  CompiledHooks,
  defineTool,
  type HookFile,
  type HookVariablePlace,
  launchAtEntry,
  openHookFile,
  type ResultTable,
  type Tool,
  type ToolCode,
  type ToolInstruction,
} from '../instrument/index.ts';

/** A file with hooks. */
export interface HookSource {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Elements of an array that are shown. */
const MAX_ROWS = 1_000;

export function compiledHookTool({ name, bytes }: HookSource): Tool {
  return defineTool({
    name: 'hook',
    summary: `a hook of ${name}`,
    options: {
      function: { kind: 'text', description: 'the hook, which has no arguments; needless where the file has one' },
      at: {
        kind: 'choice',
        choices: ['instruction', 'memory', 'block', 'entry', 'exit'],
        default: 'instruction',
        description:
          'before each instruction, each access to memory (scalar ones too), each block, or where functions begin or end',
      },
      element: {
        kind: 'choice',
        choices: ['u64', 'u32'],
        default: 'u64',
        description: 'how variables of several elements are shown',
      },
    },
    attach(code, options) {
      const file = openHookFile(bytes, name, parseTargetId(code.processor));
      const hooks = new CompiledHooks(file, code);
      insert(code, hooks, options.at, functionOf(file, options.function));
      const places = file.variables
        .filter(({ name: variable }) => !variable.startsWith('__'))
        .map((variable) => {
          return { name: variable.name, place: hooks.variable(variable.name)! };
        });
      return ({ memory }) => {
        const summary: Record<string, Cell> = {};
        const tables: ResultTable[] = [];
        for (const { name: variable, place } of places) {
          const whole = memory.read(place.variable.symbol, place.offset + place.sizeBytes);
          const values = elementsOf(whole.subarray(place.offset), place, options.element === 'u64' ? 8 : 4);
          if (values.length === 1) summary[variable] = values[0]!;
          else tables.push(tableOf(variable, values));
        }
        return { summary, tables };
      };
    },
  });
}

/** Throws USAGE. */
function functionOf(file: HookFile, wanted: string): string {
  const names = [...file.functions.keys()];
  const visible = [...file.functions.values()].filter(({ isLocal }) => !isLocal);
  if (wanted === '' && visible.length === 1) return visible[0]!.name;
  if (wanted === '' && names.length === 1) return names[0]!;
  if (names.includes(wanted)) return wanted;
  const what = wanted === '' ? `${file.name} has several hooks` : `${file.name} has no hook '${wanted}'`;
  throw new WavewrightError('USAGE', what, { hint: `function=NAME with one of ${names.join(', ')}` });
}

function insert(code: ToolCode, hooks: CompiledHooks, at: string, name: string): void {
  const before = (instruction: ToolInstruction): void => {
    code.before(instruction, hooks.hook(name, [], instruction));
  };
  if (at === 'instruction') code.instructions.forEach(before);
  else if (at === 'memory') code.instructions.filter(({ step }) => step.effects.memory.length > 0).forEach(before);
  else if (at === 'block') for (const { instructions } of code.blocks) before(instructions[0]!);
  else {
    for (const each of code.functions) {
      const first = each.blocks[0]!.instructions[0]!;
      const launch = launchAtEntry(each, code.processor);
      if (at === 'entry') code.atEntry(each, hooks.hook(name, [], first, { launch }));
      else code.atExit(each, hooks.hook(name, [], first));
    }
  }
}

function elementsOf(bytes: Uint8Array, { sizeBytes }: HookVariablePlace, elementBytes: 4 | 8): (number | bigint)[] {
  const wanted = sizeBytes === 8 ? 8 : elementBytes;
  const size = sizeBytes % wanted === 0 ? wanted : sizeBytes % 4 === 0 ? 4 : 1;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: sizeBytes / size }, (_, i) =>
    size === 8 ? view.getBigUint64(8 * i, true) : size === 4 ? view.getUint32(4 * i, true) : view.getUint8(i),
  );
}

/** Elements that are not 0. */
function tableOf(name: string, values: readonly (number | bigint)[]): ResultTable {
  const rows = values.flatMap((value, index) => (value === 0 || value === 0n ? [] : [[index, value]]));
  return { name, columns: ['index', 'value'], rows: rows.slice(0, MAX_ROWS) };
}
