import path from 'node:path';
import { assembleFile } from '../../assembler/assemble-file.ts';
import { WavewrightError } from '../../base/errors.ts';
import { isElf } from '../../elf/header.ts';
import { linkCodeObject } from '../../linker/link.ts';
import { defineCommand } from '../arguments/command.ts';
import { readInput } from '../process/input.ts';
import { writeOutput } from '../process/output-file.ts';

const { existsSync } = process.getBuiltinModule('node:fs');

const LINK_HINT = '-o FILE.co links objects';

/** The option names of llvm-mc. */
export const asm = defineCommand({
  operands: { usage: 'FILE...', min: 1, max: Number.POSITIVE_INFINITY },
  singleDash: true,
  options: {
    o: {
      kind: 'text',
      placeholder: 'FILE',
      description: 'FILE.o: a relocatable object; FILE.co: a linked code object',
    },
    mcpu: {
      kind: 'text',
      placeholder: 'NAME',
      description: 'the processor, such as gfx90a:xnack-; default: what the source says with .amdgcn_target',
    },
    mattr: {
      kind: 'list',
      placeholder: '+FEATURE,...',
      description: 'wavefrontsize32, wavefrontsize64, cumode, tgsplit, xnack or sramecc, each with + or -',
    },
    I: {
      kind: 'list',
      placeholder: 'DIR',
      description: 'where files of .include and .incbin are, besides the working directory',
    },
  },
  notes: [
    'FILE is assembler source in the syntax of LLVM, or with -o FILE.co a relocatable object too; - is standard input.',
    'Several files are linked into one code object.',
    'Up to 20 errors are reported, each with its line and the macros and files that it came from.',
  ],
  async run(_context, { o: output, mcpu, mattr, I: folders = [] }, files) {
    if (output === undefined) throw new WavewrightError('USAGE', 'no output: name it with -o');
    const isLinked = path.extname(output) === '.co';
    if (!isLinked && path.extname(output) !== '.o') {
      throw new WavewrightError('USAGE', `'${output}' ends in neither .o nor .co`);
    }
    if (!isLinked && files.length > 1) throw new WavewrightError('USAGE', 'several files make a .co, not a .o');
    const features = (mattr ?? []).flatMap((value) => value.split(','));
    const objects = files.map((name) => {
      const bytes = readInput(name, 'assembler source');
      if (isElf(bytes)) {
        if (isLinked) return { name, bytes };
        throw new WavewrightError('USAGE', 'is an object, expected assembler source', { file: name, hint: LINK_HINT });
      }
      const readFile = (included: string): Uint8Array => readInput(locate(included, folders), 'something to include');
      const options = { file: name, features, readFile, ...(mcpu !== undefined && { processor: mcpu }) };
      return { name, bytes: assembleFile(new TextDecoder().decode(bytes), options) };
    });
    writeOutput(output, isLinked ? linkCodeObject(objects) : objects[0]!.bytes);
    return 0;
  },
});

/** As it is named, or in the first of the folders that has it. */
function locate(name: string, folders: readonly string[]): string {
  const candidates = [path.normalize(`./${name}`), ...folders.map((folder) => path.join(folder, name))];
  return path.isAbsolute(name) ? name : (candidates.find((file) => existsSync(file)) ?? name);
}
