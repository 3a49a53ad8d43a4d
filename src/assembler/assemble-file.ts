/** An assembler source file to a relocatable AMDGPU object: what `llvm-mc -filetype=obj` makes of it. */
import { assert, WavewrightError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { CodeObjectVersion } from '../codeobject/elf-flags.ts';
import { parseTargetId, type TargetId } from '../codeobject/target-id.ts';
import { targetFor } from '../isa/amdgpu/encoding/targets.ts';
import type { TextReader } from '../isa/amdgpu/text/reader/text-reader.ts';
import { Assembly } from './assembly.ts';
import type { AssemblyTarget } from './assembly-target.ts';
import { DIRECTIVES, setSymbol } from './directives.ts';
import { KernelBlock } from './kernel-directive.ts';
import { Leb128Sizes } from './leb128-sizes.ts';
import { LineStream } from './line-stream.ts';
import { expandMacro } from './macros.ts';
import { metadataNote } from './metadata.ts';
import { ObjectWriter } from './object.ts';
import type { AssemblyLine } from './source.ts';

export interface AssembleOptions {
  /** A target id such as `gfx90a:xnack-`; the one of `.amdgcn_target` when it is not given. */
  readonly processor?: string;
  /**
   * `+wavefrontsize64`, `-wavefrontsize32`, `+cumode`, `+tgsplit`, `-xnack`, ...: as in llvm-mc's `-mattr`.
   */
  readonly features?: readonly string[];
  /** What errors call the source. */
  readonly file?: string;
  /** The bytes of a file that the source includes by this name; without it, no file can be included. */
  readonly readFile?: (name: string) => Uint8Array;
}

const FEATURES = new Set(['wavefrontsize32', 'wavefrontsize64', 'cumode', 'tgsplit', 'xnack', 'sramecc']);

function targetOf(source: string, { processor, features = [] }: AssembleOptions): AssemblyTarget {
  const named = processor ?? /^\s*\.amdgcn_target\s+"([^"]*)"/m.exec(source)?.[1];
  if (named === undefined) {
    throw new WavewrightError('USAGE', 'no processor: name one, or let the source say .amdgcn_target');
  }
  const id: TargetId = parseTargetId(named);
  const settings = new Map<string, boolean>();
  for (const feature of features) {
    const [, sign, name] = /^([+-])(\w+)$/.exec(feature) ?? [];
    if (name === undefined || !FEATURES.has(name)) throw new WavewrightError('USAGE', `unknown feature '${feature}'`);
    settings.set(name, sign === '+');
  }
  for (const name of ['xnack', 'sramecc'] as const) {
    const wanted = settings.get(name);
    if (wanted === undefined) continue;
    if (id[name] === 'unsupported') throw new WavewrightError('USAGE', `${id.processor} has no choice of ${name}`);
    id[name] = wanted ? 'on' : 'off';
  }
  const target = targetFor(id.processor);
  const wanted = settings.get('wavefrontsize32') ? 32 : settings.get('wavefrontsize64') ? 64 : target.waveSizes[0]!;
  if (!target.waveSizes.includes(wanted)) {
    throw new WavewrightError('USAGE', `${id.processor} has no waves of ${wanted} lanes`);
  }
  return {
    id,
    context: { target, waveSize: wanted },
    cuMode: settings.get('cumode') ?? false,
    threadGroupSplit: settings.get('tgsplit') ?? false,
  };
}

const REFUSED = new Set(['.altmacro', '.symver', '.reloc', '.subsection', '.hsa_code_object_version']);

/** How often a file is assembled until the sizes of its numbers in LEB128 are known. */
const PASS_LIMIT = 32;

/** Directives that belong to AMDGPU alone. */
type BlockKind = KernelBlock | { readonly line: AssemblyLine; readonly metadata: string[] };

class FileAssembler {
  readonly #assembly: Assembly;
  readonly #errors: WavewrightError[] = [];
  #block: BlockKind | undefined;

  constructor(assembly: Assembly) {
    this.#assembly = assembly;
  }

  run(): Uint8Array {
    const assembly = this.#assembly;
    this.#setGeneration();
    for (let hasMore = true; hasMore; ) {
      const next = this.#guard(undefined, () => ({ line: assembly.lines.next() }));
      if (next?.line) this.#assemble(next.line);
      hasMore = !next || next.line !== undefined;
    }
    const writer = new ObjectWriter(assembly);
    this.#guard(undefined, () => {
      if (this.#block) {
        assembly.line = this.#block.line;
        throw new WavewrightError('BAD_INPUT', 'the file ends within this block');
      }
      assembly.frames.write(assembly);
      assembly.lineTable.write(assembly);
    });
    assembly.symbols.nameSections(assembly.sections);
    // What is missing in a wrong source would be reported once more.
    if (this.#errors.length === 0) {
      for (const { line, apply } of assembly.atEnd) {
        assembly.line = line;
        this.#guard(undefined, apply);
      }
      for (const section of assembly.sections) {
        for (const fixup of section.fixups) {
          assembly.line = fixup.line;
          this.#guard(undefined, () => writer.resolve(section, fixup));
        }
      }
    }
    const image = this.#errors.length === 0 ? this.#guard(undefined, () => writer.write()) : undefined;
    return image ?? this.#fail();
  }

  #assemble(line: AssemblyLine): void {
    const assembly = this.#assembly;
    if (this.#block && 'metadata' in this.#block && line.code.trim() !== '.end_amdgpu_metadata') {
      this.#block.metadata.push(line.text);
    } else if (line.code.trim() !== '') {
      const reader = assembly.reader(line.code, 0);
      this.#guard(reader, () => this.#statement(reader));
    }
  }

  /** Keeps what is wrong with the line that is being assembled, and gives up when there is too much. */
  #guard<T>(reader: TextReader | undefined, action: () => T): T | undefined {
    const started = this.#assembly.line;
    try {
      return action();
    } catch (error) {
      if (!(error instanceof WavewrightError) || error.code === 'INTERNAL') throw error;
      const { line } = this.#assembly;
      const start = /^\s*/.exec(line.text)![0].length;
      const column = line === started ? Math.max(reader?.failedAt ?? start, start) : start;
      this.#errors.push(this.#assembly.located(error, line, column));
      if (this.#errors.length >= LIMITS.assemblerErrors || error.code === 'LIMIT_EXCEEDED') this.#fail();
      return undefined;
    }
  }

  /** All errors as one, with the place of the first. */
  #fail(): never {
    const [first, ...others] = this.#errors;
    assert(first !== undefined, 'there is an error');
    if (others.length === 0) throw first;
    const count = this.#errors.length >= LIMITS.assemblerErrors ? 'too many errors' : `${others.length + 1} errors`;
    const what = [first.what, ...others.map(({ message }) => message), count].join('\n');
    throw new WavewrightError(first.code, what, first.context);
  }

  /** `.amdgcn.gfx_generation_number` and so on: gfx90a is 9, 0, 10. */
  #setGeneration(): void {
    const [, major, minor, stepping] = /^gfx(\d+)([\da-f])([\da-f])$/.exec(this.#assembly.target.id.processor) ?? [];
    this.#assembly.setNumber('.amdgcn.gfx_generation_number', BigInt(major ?? 0));
    this.#assembly.setNumber('.amdgcn.gfx_generation_minor', BigInt(`0x${minor ?? 0}`));
    this.#assembly.setNumber('.amdgcn.gfx_generation_stepping', BigInt(`0x${stepping ?? 0}`));
    this.#assembly.setNumber('.amdgcn.next_free_vgpr', 0n);
    this.#assembly.setNumber('.amdgcn.next_free_sgpr', 0n);
  }

  #statement(reader: TextReader): void {
    while (this.#label(reader));
    if (reader.atEnd) return;
    const start = reader.position;
    const word = reader.word();
    const macro = word === undefined ? undefined : this.#assembly.macros.get(word);
    if (word !== undefined && !reader.peek('==') && reader.accept('=')) setSymbol(this.#assembly, word, reader);
    else if (macro) expandMacro(this.#assembly, macro, reader);
    else if (word?.startsWith('.')) this.#directive(word, reader, start);
    else {
      reader.position = start;
      this.#assembly.instruction(reader);
    }
    if (!reader.atEnd) reader.fail('unexpected token at the end of the statement');
  }

  #label(reader: TextReader): boolean {
    reader.skipBlanks();
    const start = reader.position;
    const number = /^\d+(?=\s*:)/.exec(reader.text.slice(start))?.[0];
    if (number !== undefined) {
      reader.position += number.length;
      reader.expect(':');
      this.#assembly.defineLocalLabel(number);
      return true;
    }
    const name = reader.string() ?? reader.word();
    if (name !== undefined && reader.accept(':')) {
      this.#assembly.defineLabel(name);
      return true;
    }
    reader.position = start;
    return false;
  }

  /** Directives that change more than sections, data and symbols. */
  readonly #own: Readonly<Record<string, (reader: TextReader) => void>> = {
    '.amdgcn_target': (reader) => this.#checkTarget(reader),
    '.amdhsa_code_object_version': (reader) => {
      this.#assembly.codeObjectVersion = reader.integerIn(4, 6, 'code object version') as CodeObjectVersion;
    },
    '.amdhsa_kernel': (reader) => {
      this.#block = new KernelBlock(this.#assembly, reader.word() ?? reader.fail('expected the name of a kernel'));
    },
    '.amdgpu_metadata': () => {
      this.#block = { line: this.#assembly.line, metadata: [] };
    },
    '.end_amdgpu_metadata': (reader) => this.#endMetadata(reader),
  };

  #directive(name: string, reader: TextReader, at: number): void {
    const own = this.#own[name];
    const directive = DIRECTIVES[name];
    if (this.#block instanceof KernelBlock) this.#kernelDirective(this.#block, name, reader, at);
    else if (own) own(reader);
    else if (directive) directive(this.#assembly, reader);
    else {
      reader.failedAt = at;
      const isKnown = REFUSED.has(name) || name.startsWith('.cfi_');
      throw new WavewrightError(
        isKnown ? 'UNSUPPORTED' : 'BAD_INPUT',
        `${isKnown ? 'directive' : 'unknown directive'} '${name}'`,
      );
    }
  }

  #kernelDirective(block: KernelBlock, name: string, reader: TextReader, at: number): void {
    reader.failedAt = at;
    if (name === '.end_amdhsa_kernel') {
      block.end();
      this.#block = undefined;
      return;
    }
    block.set(name, reader);
  }

  #endMetadata(reader: TextReader): void {
    const block = this.#block;
    const metadata = block && 'metadata' in block ? block.metadata : undefined;
    this.#block = undefined;
    const assembly = this.#assembly;
    const { current } = assembly;
    assembly.current = assembly.section('.note', 7, 2n);
    assembly.current.alignmentBytes = 4;
    const text = metadata ?? reader.fail('.end_amdgpu_metadata without .amdgpu_metadata');
    assembly.append(metadataNote(text.join('\n')));
    assembly.current = current;
  }

  #checkTarget(reader: TextReader): void {
    reader.skipBlanks();
    const at = reader.position;
    const text = reader.string() ?? reader.fail('expected a target id in quotes');
    const found = parseTargetId(text, { code: 'BAD_INPUT' });
    const { id } = this.#assembly.target;
    if (found.processor !== id.processor || found.xnack !== id.xnack || found.sramecc !== id.sramecc) {
      reader.fail(`the source is for another target than ${id.processor} with its features`, at);
    }
  }
}

/**
 * Assembles `source`. Throws BAD_INPUT with file, line and column for wrong source, with up to 20 errors in
 * its message; UNSUPPORTED for directives and targets that are not implemented, USAGE for wrong options.
 */
export function assembleFile(source: string, options: AssembleOptions = {}): Uint8Array {
  const { file = '<source>', readFile = refuseFile } = options;
  const target = targetOf(source, options);
  const leb128Sizes = new Leb128Sizes();
  for (let pass = 0; pass < PASS_LIMIT; pass++) {
    leb128Sizes.restart();
    const assembly = new Assembly({ file, target, readFile, leb128Sizes, lines: new LineStream(source, file) });
    const image = new FileAssembler(assembly).run();
    if (!leb128Sizes.hasGrown) return image;
  }
  throw new WavewrightError('LIMIT_EXCEEDED', `numbers in LEB128 depend on each other more than ${PASS_LIMIT} times`, {
    file,
  });
}

function refuseFile(): never {
  throw new WavewrightError('UNSUPPORTED', 'this source cannot include files');
}
