/**
 * The ELF and code-object readers against LLVM 19: llvm-readobj's JSON for the ELF parts and the metadata,
 * llvm-objdump for the kernel descriptors, clang for the numbers and features of processors,
 * clang-offload-bundler for bundles. A missing tool fails.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseCodeObject } from '../../src/codeobject/code-object.ts';
import { openContainer } from '../../src/codeobject/container.ts';
import { vectorRegisterCount } from '../../src/codeobject/kernel-descriptor.ts';
import { nodeDecompress } from '../../src/codeobject/node-decompress.ts';
import { PROCESSORS } from '../../src/codeobject/processors.ts';
import { formatTargetId } from '../../src/codeobject/target-id.ts';
import { describeFile } from '../../src/inspect/report.ts';
import { CODE_OBJECT_FILES, CONTAINER_FILES, readTestFile } from '../data/codeobjects/load.ts';
import { CODE_OBJECTS } from '../data/codeobjects/rebuild.ts';

const folder = join(import.meta.dirname, '../data/codeobjects');
const tool = (name: string, ...args: string[]): string => execFileSync(name, args, { cwd: folder, encoding: 'utf8' });

interface Named {
  Name: string;
  Value: number;
}
interface LlvmSymbol {
  Name: Named;
  Value: number;
  Size: number;
  Binding: Named;
  Type: Named;
  Section: Named;
}
interface LlvmFile {
  ElfHeader: { Entry: number; ABIVersion: number; Flags: { Value: number; Flags: Named[] } };
  Sections: {
    Section: Record<'Address' | 'Offset' | 'Size' | 'Link' | 'Info', number> & { Name: Named; Type: Named };
  }[];
  ProgramHeaders: {
    ProgramHeader: Record<'Offset' | 'VirtualAddress' | 'FileSize' | 'MemSize' | 'Alignment', number> & { Type: Named };
  }[];
  Relocations: { Relocs: { Relocation: { Offset: number; Type: Named; Symbol: Named; Addend: number } }[] }[];
  Symbols: { Symbol: LlvmSymbol }[];
  DynamicSymbols: { Symbol: LlvmSymbol }[];
  NoteSections: { NoteSection: { Notes: { Owner: string; 'Data size': number; 'AMDGPU Metadata': string }[] } }[];
}

const PARTS = ['--file-header', '--sections', '--program-headers', '--relocs', '--symbols', '--dyn-symbols', '--notes'];

function readWithLlvm(file: string): LlvmFile {
  return JSON.parse(tool('llvm-readobj-19', '--elf-output-style=JSON', ...PARTS, file))[0];
}

for (const file of CODE_OBJECT_FILES) {
  test(`${file}: header, sections, segments`, () => {
    const expected = readWithLlvm(file);
    const { elf, target } = parseCodeObject(readTestFile(file), file);
    assert.equal(elf.header.flags, expected.ElfHeader.Flags.Value);
    const names = expected.ElfHeader.Flags.Flags.map(({ Name }) => Name.replace('EF_AMDGPU_', ''));
    assert.ok(names.includes(`MACH_AMDGCN_${target.processor.toUpperCase().replaceAll('-', '_')}`));
    for (const [feature, setting] of Object.entries({ XNACK: target.xnack, SRAMECC: target.sramecc })) {
      if (setting !== 'unsupported')
        assert.ok(names.includes(`FEATURE_${feature}_${setting.toUpperCase()}_V4`), `${names}`);
    }
    assert.deepEqual(
      elf.sections.map((section) => [
        section.name,
        section.type,
        Number(section.address),
        section.offset,
        section.sizeBytes,
        section.link,
        section.info,
      ]),
      expected.Sections.map(({ Section: s }) => [
        s.Name.Name,
        s.Type.Value,
        s.Address,
        s.Offset,
        s.Size,
        s.Link,
        s.Info,
      ]),
    );
    assert.deepEqual(
      elf.segments.map((segment) => [
        segment.type,
        segment.offset,
        Number(segment.virtualAddress),
        segment.fileSizeBytes,
        segment.memorySizeBytes,
        segment.alignmentBytes,
      ]),
      expected.ProgramHeaders.map(({ ProgramHeader: p }) => [
        p.Type.Value,
        p.Offset,
        p.VirtualAddress,
        p.FileSize,
        p.MemSize,
        p.Alignment,
      ]),
    );
  });

  test(`${file}: symbols, relocations, notes`, () => {
    const expected = readWithLlvm(file);
    const { elf } = parseCodeObject(readTestFile(file), file);
    const llvmSymbols = (symbols: { Symbol: LlvmSymbol }[]) =>
      symbols.map(({ Symbol: s }) => [
        s.Name.Value === 0 ? '' : s.Name.Name,
        s.Value,
        s.Size,
        s.Binding.Value,
        s.Type.Value,
        s.Section.Value,
      ]);
    const ours = (symbols: typeof elf.symbols) =>
      symbols.map((s) => [s.name, Number(s.value), s.sizeBytes, s.binding, s.type, s.sectionIndex]);
    assert.deepEqual(ours(elf.symbols), llvmSymbols(expected.Symbols));
    if (elf.header.type === 3) assert.deepEqual(ours(elf.dynamicSymbols), llvmSymbols(expected.DynamicSymbols));

    const [report] = describeFile(readTestFile(file), file).codeObjects;
    assert.deepEqual(
      // Without section headers llvm-readobj shows no relocations under --relocs.
      elf.sections.length === 0
        ? []
        : report!.relocations.flatMap(({ entries }) => entries.map((entry) => Object.values(entry))),
      expected.Relocations.flatMap(({ Relocs }) =>
        Relocs.map(({ Relocation: r }) => [
          `0x${r.Offset.toString(16)}`,
          r.Type.Name,
          r.Symbol.Value === 0 ? null : r.Symbol.Name,
          String(r.Addend),
        ]),
      ),
    );
    const notes = expected.NoteSections.flatMap(({ NoteSection }) => NoteSection.Notes);
    assert.deepEqual(
      elf.notes.map(({ name, descriptor }) => [name, descriptor.length]),
      notes.map((note) => [note.Owner, note['Data size']]),
    );
  });

  test(`${file}: metadata`, () => {
    const yaml = readWithLlvm(file).NoteSections[0]!.NoteSection.Notes[0]!['AMDGPU Metadata'];
    const valuesOf = (key: string) =>
      [...yaml.matchAll(new RegExp(`^ +(?:- )?\\${key}: +(\\S.*)$`, 'gm'))].map((match) => match[1]);
    const { kernels } = parseCodeObject(readTestFile(file), file).metadata!;
    const args = kernels.flatMap((kernel) => kernel.args);
    const text = (values: unknown[]) => values.filter((value) => value !== undefined).map(String);
    assert.deepEqual(text(args.map((arg) => arg.offsetBytes)), valuesOf('.offset'));
    assert.deepEqual(text(args.map((arg) => arg.sizeBytes)), valuesOf('.size'));
    assert.deepEqual(text(args.map((arg) => arg.valueKind)), valuesOf('.value_kind'));
    assert.deepEqual(text(args.map((arg) => arg.addressSpace)), valuesOf('.address_space'));
    assert.deepEqual(text(args.map((arg) => arg.access)), valuesOf('.access'));
    assert.deepEqual(text(args.map((arg) => arg.isConst)), valuesOf('.is_const'));
    assert.deepEqual(text(args.map((arg) => arg.isRestrict)), valuesOf('.is_restrict'));
    assert.deepEqual(text(args.map((arg) => arg.isVolatile)), valuesOf('.is_volatile'));
    assert.deepEqual(text(args.map((arg) => arg.pointeeAlignmentBytes)), valuesOf('.pointee_align'));
    assert.deepEqual(text(kernels.map((kernel) => kernel.symbol)), valuesOf('.symbol'));
    assert.deepEqual(text(kernels.map((kernel) => kernel.language)), valuesOf('.language'));
    assert.deepEqual(text(kernels.map((kernel) => kernel.kernargSegmentSizeBytes)), valuesOf('.kernarg_segment_size'));
    assert.deepEqual(
      text(kernels.map((kernel) => kernel.groupSegmentFixedSizeBytes)),
      valuesOf('.group_segment_fixed_size'),
    );
    assert.deepEqual(
      text(kernels.map((kernel) => kernel.privateSegmentFixedSizeBytes)),
      valuesOf('.private_segment_fixed_size'),
    );
    assert.deepEqual(text(kernels.map((kernel) => kernel.sgprCount)), valuesOf('.sgpr_count'));
    assert.deepEqual(text(kernels.map((kernel) => kernel.vgprCount)), valuesOf('.vgpr_count'));
    assert.deepEqual(text(kernels.map((kernel) => kernel.wavefrontSize)), valuesOf('.wavefront_size'));
    assert.deepEqual(text(kernels.map((kernel) => kernel.maxFlatWorkgroupSize)), valuesOf('.max_flat_workgroup_size'));
    assert.deepEqual(text(kernels.map((kernel) => kernel.usesDynamicStack)), valuesOf('.uses_dynamic_stack'));
    assert.deepEqual(
      text(kernels.map((kernel) => kernel.workgroupProcessorMode)),
      valuesOf('.workgroup_processor_mode'),
    );
  });
}

test('kernel descriptors say what llvm-objdump prints as directives', () => {
  let compared = 0;
  for (const file of CODE_OBJECT_FILES.filter((name) => name.endsWith('.co') && !name.includes('stripped'))) {
    for (const { symbol, descriptor } of parseCodeObject(readTestFile(file), file).kernels) {
      const printed = tool('llvm-objdump-19', '-D', `--disassemble-symbols=${symbol.name}`, file);
      // LLVM 19 refuses to print what its own compiler writes for recursive kernels of gfx11 and gfx12.
      if (printed.includes('error decoding')) continue;
      const directives = new Map(
        [...printed.matchAll(/^\t\.amdhsa_(\w+) (\d+)$/gm)].map((match) => [match[1]!, Number(match[2])]),
      );
      const { rsrc1, rsrc2, rsrc3, properties } = descriptor;
      const expected: Record<string, number | boolean | undefined> = {
        group_segment_fixed_size: descriptor.groupSegmentFixedSizeBytes,
        private_segment_fixed_size: descriptor.privateSegmentFixedSizeBytes,
        kernarg_size: descriptor.kernargSizeBytes,
        accum_offset: rsrc3.accumOffset === undefined ? undefined : (rsrc3.accumOffset + 1) * 4,
        tg_split: rsrc3.threadGroupSplit,
        shared_vgpr_count: rsrc3.sharedVgprCount,
        inst_pref_size: rsrc3.instructionPrefetchSize,
        next_free_vgpr: vectorRegisterCount(descriptor),
        next_free_sgpr: (rsrc1.granulatedWavefrontSgprCount + 1) * 8,
        float_round_mode_32: rsrc1.floatRoundMode32,
        float_round_mode_16_64: rsrc1.floatRoundMode16And64,
        float_denorm_mode_32: rsrc1.floatDenormMode32,
        float_denorm_mode_16_64: rsrc1.floatDenormMode16And64,
        dx10_clamp: rsrc1.enableDx10Clamp,
        ieee_mode: rsrc1.enableIeeeMode,
        round_robin_scheduling: rsrc1.enableWorkgroupRoundRobin,
        fp16_overflow: rsrc1.fp16Overflow,
        workgroup_processor_mode: rsrc1.wgpMode,
        memory_ordered: rsrc1.memOrdered,
        forward_progress: rsrc1.forwardProgress,
        system_sgpr_private_segment_wavefront_offset: rsrc2.enablePrivateSegment,
        enable_private_segment: rsrc2.enablePrivateSegment,
        system_sgpr_workgroup_id_x: rsrc2.enableSgprWorkgroupIdX,
        system_sgpr_workgroup_id_y: rsrc2.enableSgprWorkgroupIdY,
        system_sgpr_workgroup_id_z: rsrc2.enableSgprWorkgroupIdZ,
        system_sgpr_workgroup_info: rsrc2.enableSgprWorkgroupInfo,
        system_vgpr_workitem_id: rsrc2.enableVgprWorkitemId,
        exception_fp_ieee_invalid_op: rsrc2.enableExceptionInvalidOperation,
        exception_fp_denorm_src: rsrc2.enableExceptionDenormalSource,
        exception_fp_ieee_div_zero: rsrc2.enableExceptionDivisionByZero,
        exception_fp_ieee_overflow: rsrc2.enableExceptionOverflow,
        exception_fp_ieee_underflow: rsrc2.enableExceptionUnderflow,
        exception_fp_ieee_inexact: rsrc2.enableExceptionInexact,
        exception_int_div_zero: rsrc2.enableExceptionIntegerDivisionByZero,
        user_sgpr_private_segment_buffer: properties.enableSgprPrivateSegmentBuffer,
        user_sgpr_dispatch_ptr: properties.enableSgprDispatchPtr,
        user_sgpr_queue_ptr: properties.enableSgprQueuePtr,
        user_sgpr_kernarg_segment_ptr: properties.enableSgprKernargSegmentPtr,
        user_sgpr_dispatch_id: properties.enableSgprDispatchId,
        user_sgpr_flat_scratch_init: properties.enableSgprFlatScratchInit,
        user_sgpr_private_segment_size: properties.enableSgprPrivateSegmentSize,
        user_sgpr_kernarg_preload_length: descriptor.kernargPreload.lengthDwords,
        user_sgpr_kernarg_preload_offset: descriptor.kernargPreload.offsetDwords,
        wavefront_size32: properties.enableWavefrontSize32,
        uses_dynamic_stack: properties.usesDynamicStack,
        // What the assembler adds to the register counts; llvm-objdump prints them as 0.
        reserve_vcc: 0,
        reserve_flat_scratch: 0,
        reserve_xnack_mask: 0,
      };
      for (const [name, value] of directives) {
        assert.notEqual(expected[name], undefined, `${file} ${symbol.name}: .amdhsa_${name}`);
        assert.equal(Number(expected[name]), value, `${file} ${symbol.name}: .amdhsa_${name}`);
      }
      compared += directives.size;
    }
  }
  assert.ok(compared > 500, `${compared} directives compared`);
});

test('every processor and feature that clang knows has its number, and only those features', () => {
  const work = mkdtempSync(join(tmpdir(), 'wavewright-processors-'));
  try {
    const object = join(work, 'x.o');
    const assemble = (target: string): boolean => {
      const args = [
        '-target',
        'amdgcn-amd-amdhsa',
        `-mcpu=${target}`,
        '-mcode-object-version=6',
        '-w',
        '-x',
        'assembler',
      ];
      try {
        execFileSync('clang-19', [...args, '-c', '/dev/null', '-o', object], { stdio: 'pipe' });
        return true;
      } catch {
        return false;
      }
    };
    const known = tool('sh', '-c', 'clang-19 --target=amdgcn-amd-amdhsa -nogpulib --print-supported-cpus 2>&1').match(
      /gfx[\w-]+/g,
    )!;
    assert.ok(known.length > 40);
    for (const name of known) {
      assert.ok(assemble(name), name);
      const { target } = parseCodeObject(readFileSync(object), name);
      assert.equal(target.processor, name);
      const processor = PROCESSORS.find((candidate) => candidate.name === name)!;
      for (const feature of ['xnack', 'sramecc'] as const) {
        assert.equal(target[feature], processor[feature] ? 'any' : 'unsupported', `${name} ${feature}`);
        assert.equal(assemble(`${name}:${feature}+`), processor[feature], `${name}:${feature}+`);
        if (processor[feature]) {
          assert.equal(formatTargetId(parseCodeObject(readFileSync(object), name).target), `${name}:${feature}+`);
        }
      }
    }
  } finally {
    rmSync(work, { recursive: true });
  }
});

test('bundles hold what clang-offload-bundler lists', () => {
  for (const file of CONTAINER_FILES.filter((name) => name.startsWith('fat.'))) {
    const listed = tool('clang-offload-bundler-19', '-type=o', '-list', `-input=${file}`).trim().split('\n');
    const [bundle] = openContainer(readTestFile(file), file, { decompress: nodeDecompress }).bundles;
    assert.deepEqual(bundle!.entries.map(({ id }) => id).sort(), listed.sort(), file);
  }
});

test('the prebuilt files are rebuilt bit for bit', () => {
  CODE_OBJECTS.rebuild((built) => assert.deepEqual(built, CODE_OBJECTS.manifest));
});
