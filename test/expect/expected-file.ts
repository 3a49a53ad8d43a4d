/**
 * A file of `test/expect/cases`: what it shows, as comments with options; a program; and what becomes of it.
 *
 *     // Products are added without rounding in between.
 *     // processor: gfx90a, tier: regions
 *     v_fma_f32 v0, v1, v2, v3
 *     === meaning
 *     ...
 */
import { machineCode } from '../../src/assembler/machine-code.test-support.ts';
import { EmulatorRig } from '../../src/emulator/emulator-rig.test-support.ts';
import { formatProgram } from '../../src/ir/program-text.ts';
import { decoderFor } from '../../src/isa/amdgpu/decoder.ts';
import { InstructionBuilder } from '../../src/isa/amdgpu/semantics/instruction-builder.ts';
import { DEFAULT_MODE } from '../../src/isa/amdgpu/semantics/machine.test-support.ts';
import { formatInstruction } from '../../src/isa/amdgpu/text/disassemble.ts';
import { traceCompiler } from './compiler-trace.ts';

const SECTION = '\n=== ';
/** Longer runs of lines are not looked for again behind themselves. */
const MAX_REPEATED_LINES = 60;

const TIERS = ['regions', 'loops', 'lanes'] as const;
const VERTICAL = { regions: 'never', loops: 'always', lanes: 'lanes' } as const;

interface Case {
  readonly processor: string;
  readonly waveSize: 32 | 64;
  /** What is shown of it; `lanes`: loops whose lanes run one after the other. */
  readonly tier: (typeof TIERS)[number];
  /** Numbers of the first and the last region or loop that is shown, from 1 on. */
  readonly shows: readonly [first: number, last: number];
  /** MODE to begin with. */
  readonly mode: number;
  readonly program: string;
}

function parse(text: string): Case {
  const program = text.split(SECTION)[0]!;
  const option = (name: string, standard: string): string =>
    new RegExp(`^//.*\\b${name}: ([\\w-]+)`, 'm').exec(program)?.[1] ?? standard;
  const [first, last = first] = option('shows', '1-99').split('-').map(Number);
  return {
    processor: option('processor', 'gfx90a'),
    waveSize: option('wave', '64') === '32' ? 32 : 64,
    tier: TIERS.find((tier) => tier === option('tier', '')) ?? 'regions',
    shows: [first!, last!],
    mode: Number(option('mode', '0x3f0')),
    program,
  };
}

/** The whole file as it should be now. */
export function expectedFile(text: string): string {
  const { processor, waveSize, tier, shows, mode, program } = parse(text);
  const code = machineCode(program, processor, waveSize === 32 ? [] : ['+wavefrontsize64']);
  using rig = new EmulatorRig({ processor, compileThreshold: 0, vertical: VERTICAL[tier] });
  const compiled = traceCompiler(waveSize, () => {
    const sizes = { gridSize: [waveSize, 1, 1], workgroupSize: [waveSize, 1, 1] } as const;
    const dispatch = rig.run(code, { ...sizes, waveSize, mode, ldsSizeBytes: 4096, privateSizeBytes: 64 });
    if (dispatch.state !== 'complete') throw new Error(dispatch.fault?.message);
  });
  const kind = tier === 'regions' ? 'region' : 'loop';
  const shown = compiled.filter((each) => each.kind === kind).slice(shows[0] - 1, shows[1]);
  if (shown.length === 0) throw new Error(`the compiler makes no ${kind} of this`);
  const parts = [
    { head: 'meaning', lines: meaning(code, processor, waveSize) },
    ...shown.flatMap(({ instructions, values, wasm }) => [
      { head: `${kind} of instructions ${instructions[0]} to ${instructions.at(-1)}`, lines: values },
      { head: 'WebAssembly', lines: withoutRepeats(wasm) },
    ]),
  ];
  return `${program.trimEnd()}\n${parts.map(({ head, lines }) => `${SECTION.trimStart()}${head}\n${lines.join('\n')}\n`).join('')}`;
}

/** Each instruction with its program. */
function meaning(code: Uint8Array, processor: string, waveSize: 32 | 64): string[] {
  const decoder = decoderFor(processor, waveSize);
  const view = new DataView(code.buffer, code.byteOffset, code.length);
  const lines: string[] = [];
  for (let at = 0, index = 0; at < code.length; index++) {
    const instruction = decoder.decode(view, at);
    if (typeof instruction !== 'object') throw new Error(`no instruction at ${at}`);
    at += instruction.sizeBytes;
    const { operands } = instruction.row;
    const program = formatProgram(new InstructionBuilder(instruction, DEFAULT_MODE).build(), {
      name: (operand) => operands[operand]?.field ?? 'dppLanes',
      dwords: (operand) => (operand < operands.length ? instruction.dwords(operand) : 1),
    });
    lines.push(`${index}: ${formatInstruction(instruction)}`, ...program.map((line) => `     ${line}`));
  }
  return lines;
}

/** Lines that come again directly behind themselves, but for numbers of names and offsets, are said once. */
function withoutRepeats(lines: readonly string[]): string[] {
  const shapes = lines.map((line) =>
    line.replace(/(?<=[\w\])])(?:\.\d+|\+\d+)\b/g, '').replace(/(\[\w+) \+ \d+\]/g, '$1]'),
  );
  const isSame = (a: number, b: number, count: number): boolean =>
    b + count <= lines.length && shapes.slice(a, a + count).every((shape, i) => shape === shapes[b + i]);
  const result: string[] = [];
  for (let at = 0; at < lines.length; ) {
    let count = 0;
    for (let length = MAX_REPEATED_LINES; length > 1 && count === 0; length--)
      if (isSame(at, at + length, length)) count = length;
    if (count === 0) {
      result.push(lines[at++]!);
      continue;
    }
    let times = 1;
    while (isSame(at, at + times * count, count)) times++;
    const indent = /^ */.exec(lines[at]!)![0];
    result.push(...lines.slice(at, at + count), `${indent}(these ${count} lines ${times} times)`);
    at += times * count;
  }
  return result;
}
