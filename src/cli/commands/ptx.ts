import { WavewrightError } from '../../base/errors.ts';
import { nodeDecompress } from '../../codeobject/node-decompress.ts';
import { PTX_PROCESSORS } from '../../devices/emulated/ptx/processors.ts';
import { openNvptx } from '../../nvptx/images.ts';
import { noPtx, runsOn } from '../../nvptx/pick.ts';
import { compilePtx } from '../../ptx/compile/module.ts';
import { type PtxSummary, summarize } from '../../ptx/summary.ts';
import { parsePtx } from '../../ptx/text/parser.ts';
import { printPtx } from '../../ptx/text/printer.ts';
import { ptxText } from '../../ptx/text/recognize.ts';
import { defineCommand } from '../arguments/command.ts';
import { readInput } from '../process/input.ts';

/** Checks PTX and says what it holds. */
export const ptx = defineCommand({
  operands: { usage: 'FILE...', min: 1, max: Number.POSITIVE_INFINITY },
  options: {
    print: { kind: 'flag', description: 'print the module as it was read, comments left out' },
    opcodes: { kind: 'flag', description: 'list the instructions with how often each stands there' },
    format: { kind: 'choice', choices: ['text', 'json'], default: 'text', description: 'how to print' },
  },
  formats: {
    text: 'kernels with their parameters, functions, variables, and whether all kernels run on a ptx: device',
    json: 'an object; `schema` and `version` say how to read it',
  },
  notes: [
    'FILE is a PTX text, as clang -S or nvcc -ptx write it, or a fat binary, an offload binary or bundle, a host program or an archive with PTX in it; - is standard input. What is no PTX is an error with its line.',
    'Exit status: 0 when all kernels can run here, 1 when an instruction or a feature is missing, which is named.',
    'Example: wavewright ptx kernel.ptx',
  ],
  async run({ stdout }, { print, opcodes, format }, files) {
    let status = 0;
    const reports = files.flatMap(textsIn).map(({ file, text }) => {
      const module = parsePtx(text, file);
      const device = PTX_PROCESSORS.find((each) => runsOn(module.target[0]!, each));
      const missing =
        missingIn(text, file) ?? (device === undefined ? `it is for ${module.target[0]!} and later` : undefined);
      if (missing !== undefined) status = 1;
      return { file, module, summary: summarize(module), missing, device };
    });
    if (print) for (const { module } of reports) stdout(printPtx(module));
    else if (format === 'json') {
      const list = reports.map(({ file, summary, missing }) => ({ file, ...summary, missing: missing ?? null }));
      stdout(`${JSON.stringify({ schema: 'wavewright.ptx', version: 1, files: list }, undefined, 2)}\n`);
    } else for (const report of reports) stdout(textOf(report, opcodes));
    return status;
  },
});

interface Report {
  readonly file: string;
  readonly summary: PtxSummary;
  readonly missing: string | undefined;
  /** The first processor that runs it. */
  readonly device: string | undefined;
}

/** A file is a text, or holds some. */
function textsIn(file: string): { readonly file: string; readonly text: string }[] {
  const bytes = readInput(file, 'a PTX text');
  const images = openNvptx(bytes, file, { decompress: nodeDecompress })?.images;
  // What is no PTX is an error of the parser, with its place.
  if (images === undefined) return [{ file, text: ptxText(bytes) }];
  const texts = images.filter(({ kind }) => kind === 'ptx');
  if (texts.length === 0) throw noPtx(images);
  return texts.map((image) => ({ file: image.name, text: ptxText(image.expand()) }));
}

/** Why a kernel of the module does not run here. */
function missingIn(text: string, file: string): string | undefined {
  try {
    compilePtx(text, file);
    return undefined;
  } catch (error) {
    if (error instanceof WavewrightError && error.code === 'UNSUPPORTED') return error.message;
    throw error;
  }
}

function textOf({ file, summary, missing, device }: Report, withOpcodes: boolean): string {
  const { version, target, kernels, functions, externals, variables, instructions, opcodes } = summary;
  const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`;
  const lines = [
    `${file}: PTX ${version} for ${target}, ${count(instructions, 'instruction')}, ${count(variables, 'variable')}`,
    ...kernels.map(({ name, parameters }) => `  kernel ${name}(${parameters.join(', ')})`),
    ...functions.map((name) => `  function ${name}`),
    ...externals.map((name) => `  extern ${name}`),
    ...(withOpcodes ? Object.entries(opcodes).map(([name, number]) => `  ${String(number).padStart(6)} ${name}`) : []),
    missing === undefined ? `  runs on ptx:${device}` : `  does not run here: ${missing.replaceAll('\n', '\n  ')}`,
  ];
  return `${lines.join('\n')}\n`;
}
