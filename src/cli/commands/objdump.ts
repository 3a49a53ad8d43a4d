import { WavewrightError } from '../../base/errors.ts';
import { openCodeObjects } from '../../codeobject/container.ts';
import { nodeDecompress } from '../../codeobject/node-decompress.ts';
import { parseElf } from '../../elf/elf.ts';
import { missingSections, objdump } from '../../inspect/objdump/objdump.ts';
import { type ObjdumpOptions, parseAddress, waveSizeOf } from '../../inspect/objdump/options.ts';
import { defineCommand } from '../arguments/command.ts';
import { readInput } from '../process/input.ts';
import { warn } from '../text/report.ts';
import { readSource } from '../text/source-excerpt.ts';

const LISTS = ['section', 'disassemble-symbols', 'mattr'] as const;

/** The option names of LLVM's llvm-objdump. */
export const objdumpCommand = defineCommand({
  operands: { usage: 'FILE...', min: 1, max: Number.POSITIVE_INFINITY },
  singleDash: true,
  groupedFlags: true,
  options: {
    disassemble: { kind: 'flag', aliases: ['d'], description: 'the instructions of all sections with code' },
    'disassemble-all': { kind: 'flag', aliases: ['D'], description: 'all sections, as if they held code' },
    'disassemble-symbols': {
      kind: 'list',
      placeholder: 'NAME,...',
      description: 'the instructions of these symbols; with -D their data or kernel descriptors',
    },
    section: { kind: 'list', placeholder: 'NAME', aliases: ['j'], description: 'this section only; may be repeated' },
    source: {
      kind: 'flag',
      aliases: ['S'],
      description: 'with source lines, where line tables and sources are there',
    },
    'line-numbers': {
      kind: 'flag',
      aliases: ['l'],
      description: 'with the names of functions, and files and lines where line tables are there',
    },
    syms: { kind: 'flag', aliases: ['t'], description: 'the symbol table' },
    'dynamic-syms': { kind: 'flag', aliases: ['T'], description: 'the dynamic symbol table' },
    reloc: { kind: 'flag', aliases: ['r'], description: 'relocations; with -d among the instructions' },
    'dynamic-reloc': { kind: 'flag', aliases: ['R'], description: 'the relocations that a loader applies' },
    'section-headers': { kind: 'flag', aliases: ['headers', 'h'], description: 'the section headers' },
    'file-headers': { kind: 'flag', aliases: ['f'], description: 'architecture and start address' },
    'start-address': { kind: 'text', placeholder: 'ADDRESS', description: 'from this address on' },
    'stop-address': { kind: 'text', placeholder: 'ADDRESS', description: 'up to this address' },
    mcpu: { kind: 'text', placeholder: 'NAME', description: 'the processor, in place of what the file says' },
    mattr: { kind: 'list', placeholder: '+FEATURE,...', description: '+wavefrontsize32 or +wavefrontsize64' },
    'no-show-raw-insn': { kind: 'flag', description: 'accepted; for AMD GPUs the words are shown all the same' },
    'no-leading-addr': { kind: 'flag', description: 'without the addresses of symbols and relocations' },
    'symbolize-operands': { kind: 'flag', description: 'branch targets as labels' },
    triple: { kind: 'text', placeholder: 'TRIPLE', description: 'accepted and not looked at' },
  },
  notes: [
    'FILE is a code object, a relocatable object, an offload bundle or a program with one inside; - is standard input.',
    'The output is what llvm-objdump 19 prints.',
  ],
  async run(context, options, files) {
    const { stdout } = context;
    const [sections, disassembleSymbols, features] = LISTS.map((name) =>
      (options[name] ?? []).flatMap((value) => (name === 'section' ? [value] : value.split(','))),
    ) as [string[], string[], string[]];
    const chosen: ObjdumpOptions = {
      disassemble: options.disassemble,
      disassembleAll: options['disassemble-all'],
      disassembleSymbols,
      sections,
      source: options.source,
      lineNumbers: options['line-numbers'],
      symbols: options.syms,
      dynamicSymbols: options['dynamic-syms'],
      relocations: options.reloc,
      dynamicRelocations: options['dynamic-reloc'],
      sectionHeaders: options['section-headers'],
      fileHeaders: options['file-headers'],
      startAddress: address('start-address', options['start-address']),
      stopAddress: address('stop-address', options['stop-address']),
      processor: options.mcpu,
      waveSize: waveSizeOf(features),
      leadingAddresses: !options['no-leading-addr'],
      symbolizeOperands: options['symbolize-operands'],
    };
    checkOptions(chosen);
    const report = (message: string): void => warn(context, message);
    const images = files.flatMap((file) => openCodeObjects(readInput(file), file, { decompress: nodeDecompress }));
    for (const { bytes, name } of images) objdump(bytes, name, chosen, { write: stdout, warn: report, readSource });
    if (sections.length > 0) {
      const elfs = images.map(({ bytes, name }) => parseElf(bytes, name));
      for (const name of missingSections(elfs, sections)) {
        report(`section '${name}' mentioned in a -j/--section option, but not found in any input file`);
      }
    }
    return 0;
  },
});

const address = (option: string, text: string | undefined): number | undefined =>
  text === undefined ? undefined : parseAddress(option, text);

function checkOptions(options: ObjdumpOptions): void {
  const { startAddress = 0, stopAddress = Number.POSITIVE_INFINITY, disassembleSymbols = [] } = options;
  if (startAddress >= stopAddress) {
    throw new WavewrightError('USAGE', 'the start address should be less than the stop address');
  }
  const { disassemble, disassembleAll, source, lineNumbers, symbols } = options;
  const { dynamicSymbols, relocations, dynamicRelocations } = options;
  const wants = [
    disassemble,
    disassembleAll,
    source,
    lineNumbers,
    symbols,
    dynamicSymbols,
    relocations,
    dynamicRelocations,
  ];
  if (wants.includes(true) || options.sectionHeaders || options.fileHeaders || disassembleSymbols.length > 0) return;
  throw new WavewrightError('USAGE', 'nothing to print', {
    hint: '`wavewright help objdump` lists what there is, -d for one',
  });
}
