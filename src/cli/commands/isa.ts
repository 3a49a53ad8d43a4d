import { toHex } from '../../base/bytes.ts';
import { WavewrightError } from '../../base/errors.ts';
import { waveSizeOf } from '../../inspect/objdump/options.ts';
import { decoderFor } from '../../isa/amdgpu/decoder.ts';
import { TARGET_PROCESSORS, targetFor } from '../../isa/amdgpu/encoding/targets.ts';
import { coverage } from '../../isa/amdgpu/report/coverage.ts';
import { coverageMarkdown, coverageText } from '../../isa/amdgpu/report/coverage-text.ts';
import { describe } from '../../isa/amdgpu/report/describe.ts';
import { decodedText, descriptionsText, fieldsOf } from '../../isa/amdgpu/report/describe-text.ts';
import { allRows } from '../../isa/amdgpu/rows/index.ts';
import { formatInstruction } from '../../isa/amdgpu/text/disassemble.ts';
import { defineCommand } from '../arguments/command.ts';
import { didYouMean } from '../arguments/suggest.ts';

const VERBS = ['coverage', 'show', 'decode'];
const WORD_DIGITS = 8;

interface Options {
  readonly target: string | undefined;
  readonly mattr: readonly string[] | undefined;
  readonly format: 'text' | 'json' | 'markdown';
  readonly exact: boolean;
}

/** `isa coverage`, `isa show` and `isa decode`. */
export const isa = defineCommand({
  operands: { usage: 'coverage | show NAME... | decode HEX...', min: 1, max: Number.POSITIVE_INFINITY },
  options: {
    target: {
      kind: 'text',
      placeholder: 'NAME,...',
      aliases: ['mcpu'],
      description: 'the processors, all by default; for decode one, gfx90a by default',
    },
    mattr: {
      kind: 'list',
      placeholder: '+FEATURE,...',
      description: 'for decode: +wavefrontsize32 or +wavefrontsize64',
    },
    format: {
      kind: 'choice',
      choices: ['text', 'json', 'markdown'],
      default: 'text',
      description: 'how to print; markdown is for coverage',
    },
    exact: { kind: 'flag', description: 'coverage as text: name the exact instructions too' },
  },
  formats: {
    text: 'for people',
    json: 'one object; `schema` and `version` say how to read it',
    markdown: 'the page docs/isa-coverage.md',
  },
  notes: [
    'coverage says for each target and format which instructions are executed exactly, approximately or not at all.',
    'show describes instructions: encodings, operands, flags, meaning, section of the manual.',
    'decode takes dwords in hexadecimal, as the comments of objdump have them, and prints text, bytes and fields.',
  ],
  async run({ stdout }, options, [verb, ...rest]) {
    switch (verb) {
      case 'coverage':
        if (rest.length > 0) throw usage(`unexpected argument '${rest[0]}'`);
        stdout(coverageOutput(options));
        return 0;
      case 'show':
        stdout(shown(rest, options));
        return 0;
      case 'decode':
        stdout(decoded(rest, options));
        return 0;
      default:
        throw usage(`unknown verb '${verb}'`, didYouMean(verb!, VERBS));
    }
  },
});

const usage = (what: string, hint = '`wavewright help isa` says what there is'): WavewrightError =>
  new WavewrightError('USAGE', what, { hint });

const json = (schema: string, content: object): string =>
  `${JSON.stringify({ schema: `wavewright.isa.${schema}`, version: 1, ...content }, undefined, 2)}\n`;

const processorsOf = ({ target }: Options): readonly string[] => target?.split(',') ?? TARGET_PROCESSORS;

function coverageOutput(options: Options): string {
  const targets = coverage(processorsOf(options));
  if (options.format === 'json') return json('coverage', { targets });
  return options.format === 'markdown' ? coverageMarkdown(targets) : coverageText(targets, options);
}

function shown(names: readonly string[], options: Options): string {
  if (names.length === 0) throw usage('show needs the name of an instruction');
  const targets = processorsOf(options).map(targetFor);
  const described = names.flatMap((name) => {
    const found = targets.flatMap((target) => describe(name, target));
    if (found.length > 0) return found;
    const known = [...new Set(allRows().flatMap((row) => Object.values(row.opcodes).map((opcode) => opcode.name)))];
    const where = targets.map(({ processor }) => processor).join(', ');
    throw usage(`no instruction '${name}' on ${where}`, didYouMean(name, known));
  });
  if (options.format === 'json') return json('instructions', { instructions: described });
  return descriptionsText(described);
}

function decoded(operands: readonly string[], options: Options): string {
  const bytes = bytesOf(operands);
  const [processor = '', ...others] = options.target?.split(',') ?? ['gfx90a'];
  if (others.length > 0) throw usage('decode takes one processor');
  const { waveSizes } = targetFor(processor);
  const wanted = waveSizeOf((options.mattr ?? []).flatMap((list) => list.split(',')));
  const decoder = decoderFor(processor, waveSizes.find((size) => size === wanted) ?? waveSizes[0]!);
  const code = new DataView(bytes.buffer);
  const instructions = [];
  const texts: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const instruction = decoder.decode(code, at);
    if (typeof instruction === 'string') {
      const what =
        instruction === 'truncated' ? 'is cut off: more dwords are expected' : `is no instruction of ${processor}`;
      throw new WavewrightError(
        'BAD_INPUT',
        `dword ${at / 4 + 1}, ${toHex(bytes.slice(at, at + 4).reverse())}, ${what}`,
      );
    }
    const own = bytes.subarray(at, at + instruction.sizeBytes);
    texts.push(decodedText(instruction, own));
    instructions.push({
      text: formatInstruction(instruction),
      name: instruction.name,
      format: instruction.format.name,
      bytes: toHex(own),
      fields: fieldsOf(instruction),
      literal: instruction.literal ?? null,
    });
    at += instruction.sizeBytes;
  }
  return options.format === 'json' ? json('decoded', { processor, instructions }) : texts.join('\n');
}

function bytesOf(operands: readonly string[]): Uint8Array<ArrayBuffer> {
  const digits = operands.map((operand) => operand.replace(/^0x/i, '')).join('');
  if (!/^([\da-f]{8})+$/i.test(digits)) {
    throw usage(`decode takes dwords of ${WORD_DIGITS} hexadecimal digits, not '${operands.join(' ')}'`);
  }
  const bytes = new Uint8Array(digits.length / 2);
  const view = new DataView(bytes.buffer);
  for (let at = 0; at < bytes.length; at += 4) {
    view.setUint32(at, Number.parseInt(digits.slice(at * 2, at * 2 + WORD_DIGITS), 16), true);
  }
  return bytes;
}
