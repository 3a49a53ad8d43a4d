import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import { nodeDecompress } from '../../codeobject/node-decompress.ts';
import { instrumentFile, type RewrittenImage } from '../../instrument/instrument-file.ts';
import { type Coverage, pointCoverageText } from '../../instrument/points/coverage.ts';
import { defineCommand } from '../arguments/command.ts';
import { readInput } from '../process/input.ts';
import { writeOutput } from '../process/output-file.ts';
import { HOOK_OPTION, openTools, TOOL_OPTION, warnOfUnmatched } from '../program/tool-options.ts';

/** Files of any kind that hold code objects, rewritten. */
export const instrument = defineCommand({
  operands: { usage: 'FILE', min: 1, max: 1 },
  singleDash: true,
  options: {
    o: { kind: 'text', placeholder: 'OUT', description: 'the file to write; as FILE, but for .o, which is linked' },
    kernel: {
      kind: 'text',
      placeholder: 'REGEX',
      description: 'only kernels whose names match; functions that they call get a second version for them',
    },
    tool: TOOL_OPTION,
    hook: HOOK_OPTION,
    format: { kind: 'choice', choices: ['text', 'json'], default: 'text', description: 'how to print the account' },
  },
  formats: { text: 'for people', json: 'one object; `schema` and `version` say how to read it' },
  notes: [
    'FILE is a code object, an offload bundle or a host program with fat binaries: every code object for an AMD GPU in it gets new code.',
    'Old code stays as it is: pointers that are not understood lead there. What keeps its old code altogether is reported.',
  ],
  async run(context, { o: output, kernel, tool, hook, format }, [file]) {
    if (output === undefined) throw new WavewrightError('USAGE', 'no output: name it with -o');
    const pattern = kernel === undefined ? undefined : regularExpression(kernel);
    const chosen = pattern && { isChosen: (name: string) => pattern.test(name) };
    const tools = await openTools(tool, hook);
    const option = tools?.optionOfRuns;
    if (option !== undefined)
      throw new WavewrightError('USAGE', `'${option}' is for tools of run, test and dispatch: a file has no results`);
    const coverage: Coverage[] = [];
    const rewrite = (code: Uint8Array, name: string) => {
      const image = tools!.rewrite({ bytes: code, name }, chosen);
      coverage.push(image.coverage);
      return image;
    };
    const options = { decompress: nodeDecompress, ...chosen, ...(tools && { rewrite }) };
    const { bytes, images } = instrumentFile(readInput(file!), file!, options);
    writeOutput(output, bytes);
    warnOfUnmatched(tools, context);
    if (format === 'json') {
      const report = { schema: 'wavewright.instrument', version: 1, file: file!, output };
      const reports = images.map((image, i) => imageJson(image, coverage[i]));
      context.stdout(`${JSON.stringify({ ...report, images: reports }, undefined, 2)}\n`);
      return 0;
    }
    for (const [i, image] of images.entries()) {
      const points = coverage[i];
      context.stdout(`${describe(image).join('\n')}\n${points ? pointCoverageText(points) : ''}`);
    }
    return 0;
  },
});

function regularExpression(text: string): RegExp {
  try {
    return new RegExp(text, 'u');
  } catch (cause) {
    throw new WavewrightError('USAGE', `'${text}' is no regular expression`, { cause });
  }
}

const imageJson = (
  { name, kernelNames, newSizeBytes, wasLinked, kept, pinned }: RewrittenImage,
  coverage: Coverage | undefined,
) => ({ name, kernels: kernelNames, newCodeBytes: newSizeBytes, wasLinked, kept, pinned, coverage: coverage ?? null });

function describe({ name, kernelNames, newSizeBytes, kept, pinned, wasLinked }: RewrittenImage): string[] {
  const kernels = `${kernelNames.length} kernel${kernelNames.length === 1 ? '' : 's'}`;
  return [
    `${name}: ${kernels}, ${newSizeBytes} bytes of new code${wasLinked ? ', linked' : ''}`,
    ...kept.map((each) => `  keeps its code: ${each.name}, because at ${hex(each.address)} ${each.reason}`),
    ...pinned.map((address) => `  computes with the address of old code: ${hex(address)}`),
  ];
}
