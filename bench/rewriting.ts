/**
 * `node bench/rewriting.ts [MB...]`: what rewriting a code object costs, by its size: decoding its code once,
 * as a listing does, lifting it, laying it out anew, and counting in every block and at every instruction.
 * CPU time of all threads of a process of its own for each size, in which V8 begins cold, and the most memory
 * that it had. The code is that of the kernels of the examples, over and over.
 */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { assembleFile } from '../src/assembler/assemble-file.ts';
import { parseCodeObject } from '../src/codeobject/code-object.ts';
import { instrumentImage } from '../src/instrument/index.ts';
import { instrumentCodeObject } from '../src/instrument/instrument.ts';
import { decoderFor } from '../src/isa/amdgpu/decoder.ts';
import { formatInstruction } from '../src/isa/amdgpu/text/disassemble.ts';
import { liftCodeObject } from '../src/lift/lifted-code.ts';
import { linkCodeObject } from '../src/linker/link.ts';
import { chooseTool } from '../src/tools/chosen-tool.ts';

const PROCESSOR = 'gfx90a';
const SIZES = [0.25, 0.5, 1, 2];
const MEGA = 2 ** 20;

interface Costs {
  readonly codeBytes: number;
  readonly instructions: number;
  /** CPU seconds. */
  readonly decode: number;
  readonly listing: number;
  readonly lift: number;
  readonly relayout: number;
  readonly countBlocks: number;
  readonly count: number;
  readonly maxRssBytes: number;
}

/** Kernels of the examples whose code names no address outside of itself, as source without their names. */
function exampleKernels(): { readonly sizeBytes: number; readonly source: (name: string) => string }[] {
  return globSync(`examples/kernels/*.${PROCESSOR}.co`)
    .sort()
    .flatMap((file) => {
      const codeObject = parseCodeObject(new Uint8Array(readFileSync(file)), file);
      if (liftCodeObject(codeObject).addresses.length > 0) return [];
      return codeObject.kernels.flatMap(({ entryAddress = 0n, name }) => {
        const symbol = codeObject.elf.symbols.find((each) => each.name === name && each.value === entryAddress);
        if (!symbol) return [];
        const bytes = codeObject.elf.read(entryAddress, symbol.sizeBytes, name);
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        const words = Array.from(
          { length: bytes.length / 4 },
          (_, i) => `0x${view.getUint32(i * 4, true).toString(16)}`,
        );
        return { sizeBytes: bytes.length, source: (own: string) => kernelSource(own, `.long ${words.join(', ')}`) };
      });
    });
}

const kernelSource = (name: string, code: string): string => `.text
.globl ${name}
.p2align 8
.type ${name},@function
${name}:
${code}
.size ${name}, .-${name}
.rodata
.p2align 6
.amdhsa_kernel ${name}
 .amdhsa_next_free_vgpr 128
 .amdhsa_next_free_sgpr 64
 .amdhsa_accum_offset 64
.end_amdhsa_kernel
`;

/** A code object with at least so many bytes of code. */
function codeOfSize(sizeBytes: number): Uint8Array {
  const kernels = exampleKernels();
  const sources: string[] = [];
  for (let size = 0; size < sizeBytes; ) {
    const { source, sizeBytes: own } = kernels[sources.length % kernels.length]!;
    sources.push(source(`kernel${sources.length}`));
    size += own;
  }
  return linkCodeObject([{ bytes: assembleFile(sources.join(''), { processor: PROCESSOR }), name: 'rewriting.o' }]);
}

function cpuSeconds(run: () => void): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

async function measure(sizeBytes: number): Promise<Costs> {
  const name = 'rewriting.co';
  const bytes = codeOfSize(sizeBytes);
  const codeObject = parseCodeObject(bytes, name);
  const code = codeObject.elf.sectionBytes(codeObject.elf.sectionNamed('.text')!);
  const view = new DataView(code.buffer, code.byteOffset, code.byteLength);
  const decoder = decoderFor(PROCESSOR, 64);
  let instructions = 0;
  let characters = 0;
  const decodeAll = (format: boolean): void => {
    for (let at = 0; at < code.length; ) {
      const instruction = decoder.decode(view, at);
      if (typeof instruction === 'object' && format) characters += formatInstruction(instruction).length;
      if (typeof instruction === 'object' && !format) instructions++;
      at += typeof instruction === 'object' ? instruction.sizeBytes : 4;
    }
  };
  const [blocks, instructionCount] = [await chooseTool('block-count'), await chooseTool('instruction-count')];
  const costs = {
    decode: cpuSeconds(() => decodeAll(false)),
    listing: cpuSeconds(() => decodeAll(true)),
    lift: cpuSeconds(() => liftCodeObject(parseCodeObject(bytes, name))),
    relayout: cpuSeconds(() => instrumentCodeObject(bytes, { name })),
    countBlocks: cpuSeconds(() => instrumentImage({ bytes, name }, [blocks])),
    count: cpuSeconds(() => instrumentImage({ bytes, name }, [instructionCount])),
  };
  if (characters === 0) throw new Error('nothing was printed');
  return { codeBytes: code.length, instructions, ...costs, maxRssBytes: process.resourceUsage().maxRSS * 1024 };
}

/** A line of text; behind seconds what they are of those of the listing. */
function lineOf({ codeBytes, instructions, maxRssBytes, listing, ...costs }: Costs): string {
  const cells = [costs.decode, listing, costs.lift, costs.relayout, costs.countBlocks, costs.count].map(
    (seconds) => `${seconds.toFixed(2)} (${(seconds / listing).toFixed(1)})`,
  );
  const each = ((costs.count * 1e6) / instructions).toFixed(1);
  const [size, memory] = [(codeBytes / MEGA).toFixed(2), Math.round(maxRssBytes / MEGA)];
  return `| ${size} | ${instructions} | ${cells.join(' | ')} | ${each} | ${memory} |\n`;
}

/** In a process of its own. */
function measuredApart(size: number): Costs {
  const { stdout, stderr, status } = spawnSync(process.execPath, [import.meta.filename, '--apart', `${size}`], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Costs; // reason: what `measure` made
}

if (import.meta.main) {
  const [first, ...others] = process.argv.slice(2);
  if (first === '--apart') process.stdout.write(JSON.stringify(await measure(Number(others[0]) * MEGA)));
  else {
    process.stdout.write(
      '| MB | instructions | decode, s | with text | lift | lay out anew | count blocks | count everywhere | us each | memory, MB |\n' +
        '|---|---|---|---|---|---|---|---|---|---|\n',
    );
    for (const size of first === undefined ? SIZES : [first, ...others].map(Number)) {
      process.stdout.write(lineOf(measuredApart(size)));
    }
  }
}
