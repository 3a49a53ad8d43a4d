import { WavewrightError } from '../../base/errors.ts';
import { parseCodeObject } from '../../codeobject/code-object.ts';
import { openCodeObjects } from '../../codeobject/container.ts';
import { nodeDecompress } from '../../codeobject/node-decompress.ts';
import { explainIncompatibility, parseTargetId } from '../../codeobject/target-id.ts';
import { describeLift, dotOfLift, formatLift, type LiftReport } from '../../inspect/lift-report.ts';
import { liftCodeObject } from '../../lift/lifted-code.ts';
import { linkCodeObject } from '../../linker/link.ts';
import { defineCommand } from '../arguments/command.ts';
import { readInput } from '../process/input.ts';

/** What `liftCodeObject` finds, of each code object in the files. */
export const lift = defineCommand({
  operands: { usage: 'FILE...', min: 1, max: Number.POSITIVE_INFINITY },
  options: {
    kernel: { kind: 'text', placeholder: 'NAME', description: 'this kernel alone, with the functions that it reaches' },
    target: {
      kind: 'text',
      placeholder: 'TARGET',
      description: 'of a bundle the code for this target, such as gfx90a',
    },
    format: { kind: 'choice', choices: ['text', 'json', 'dot'], default: 'text', description: 'how to print' },
  },
  formats: {
    text: 'for people',
    json: 'one object for each code object; `schema` and `version` say how to read it',
    dot: 'a graph of the blocks for Graphviz',
  },
  notes: [
    'FILE is a code object, a relocatable object, which is linked first, an offload bundle or a program with one inside; - is standard input.',
    'Live registers stand as those in active lanes and, behind `off:`, those in lanes that are off.',
  ],
  async run({ stdout }, { kernel, target, format }, files) {
    const images = files.flatMap((file) => openCodeObjects(readInput(file), file, { decompress: nodeDecompress }));
    const wanted = target === undefined ? undefined : parseTargetId(target);
    const chosen = wanted
      ? images.filter((image) => explainIncompatibility(image.target, wanted) === undefined)
      : images;
    if (chosen.length === 0)
      throw new WavewrightError('BAD_INPUT', `no code for ${target}`, { file: files.join(', ') });
    for (const { bytes, name } of chosen) {
      const { isRelocatable } = parseCodeObject(bytes, name);
      const linked = isRelocatable ? linkCodeObject([{ bytes, name }]) : bytes;
      stdout(PRINTERS[format](describeLift(liftCodeObject(parseCodeObject(linked, name)), kernel)));
    }
    return 0;
  },
});

const PRINTERS = {
  text: formatLift,
  json: (report: LiftReport): string => `${JSON.stringify(report, undefined, 2)}\n`,
  dot: dotOfLift,
};
