import { WavewrightError } from '../base/errors.ts';
import { hex } from '../base/text.ts';
import type { ElfHeader } from '../elf/header.ts';
import { processorNamed, processorWithMach } from './processors.ts';
import { type CodeObjectTarget, defaultTargetId, type FeatureSetting } from './target-id.ts';

/** EM_AMDGPU. */
export const EM_AMDGPU = 224;
export const EM_CUDA = 190;
export const ELFOSABI_AMDGPU_HSA = 64;
const OS_ABI_NAMES: Readonly<Record<number, string>> = { 0: 'none', 65: 'AMDGPU PAL', 66: 'AMDGPU Mesa 3D' };
const MACHINE_NAMES: Readonly<Record<number, string>> = {
  3: 'x86',
  62: 'x86-64',
  183: 'AArch64',
  190: 'NVIDIA CUDA',
  243: 'RISC-V',
};

export type CodeObjectVersion = 3 | 4 | 5 | 6;

/** What the ELF header of a code object says (LLVM AMDGPU usage, "ELF Code Object: Header"). */
export interface CodeObjectIdentity {
  version: CodeObjectVersion;
  target: CodeObjectTarget;
}

/** `x86-64 (62)`. */
export function describeMachine(machine: number): string {
  const name = MACHINE_NAMES[machine];
  return name === undefined ? String(machine) : `${name} (${machine})`;
}

/**
 * Decodes machine, OS ABI, ABI version and e_flags. Errors: `BAD_INPUT` when it is no AMD GPU code object,
 * `UNSUPPORTED` for version 2, other operating systems and processors that are not in the table.
 */
export function identifyCodeObject(header: ElfHeader, file: string | undefined): CodeObjectIdentity {
  const context = file === undefined ? {} : { file };
  if (header.machine !== EM_AMDGPU) {
    const what = `e_machine is ${describeMachine(header.machine)}, expected AMD GPU (${EM_AMDGPU})`;
    throw new WavewrightError('BAD_INPUT', what, { ...context, offset: 18 });
  }
  if (header.osAbi !== ELFOSABI_AMDGPU_HSA) {
    const found = OS_ABI_NAMES[header.osAbi] ?? 'unknown';
    const hint = 'build for the target amdgcn-amd-amdhsa';
    const what = `EI_OSABI is ${header.osAbi} (${found}), expected ${ELFOSABI_AMDGPU_HSA} (AMDGPU HSA)`;
    throw new WavewrightError('UNSUPPORTED', what, { ...context, offset: 7, hint });
  }
  const version = header.abiVersion + 2;
  if (version !== 3 && version !== 4 && version !== 5 && version !== 6) {
    const hint = 'build with -mcode-object-version=5';
    const what = `code object version ${version} (EI_ABIVERSION ${header.abiVersion}), expected version 3, 4, 5 or 6`;
    throw new WavewrightError('UNSUPPORTED', what, { ...context, offset: 8, hint });
  }
  const { flags } = header;
  const processor = processorWithMach(flags & 0xff);
  if (processor === undefined) {
    const what = `e_flags ${hex(flags)} name processor ${hex(flags & 0xff)}, which is not known`;
    throw new WavewrightError('UNSUPPORTED', what, { ...context, offset: 48 });
  }
  const target: CodeObjectTarget = { ...defaultTargetId(processor), genericVersion: 0 };
  if (version === 3) {
    if (processor.xnack) target.xnack = flags & 0x100 ? 'on' : 'off';
    if (processor.sramecc) target.sramecc = flags & 0x200 ? 'on' : 'off';
  } else {
    target.xnack = SETTINGS[(flags >>> 8) & 3]!;
    target.sramecc = SETTINGS[(flags >>> 10) & 3]!;
  }
  if (processor.isGeneric) {
    target.genericVersion = version === 6 ? flags >>> 24 : 0;
    if (target.genericVersion === 0) {
      const what = `${processor.name} needs code object version 6 and a generic version above 0 in e_flags, found version ${version} and e_flags ${hex(flags)}`;
      throw new WavewrightError('BAD_INPUT', what, { ...context, offset: 48 });
    }
  }
  return { version, target };
}

/** The two-bit fields of version 4 and higher. */
const SETTINGS: readonly FeatureSetting[] = ['unsupported', 'any', 'off', 'on'];

/**
 * The e_flags of code object version 4 and higher, the inverse of `identifyCodeObject`. Errors: `UNSUPPORTED`
 * for an unknown processor.
 */
export function encodeElfFlags({ version, target }: CodeObjectIdentity): number {
  const processor = processorNamed(target.processor);
  if (processor === undefined) throw new WavewrightError('UNSUPPORTED', `unknown processor '${target.processor}'`);
  const generic = version === 6 ? target.genericVersion << 24 : 0;
  const settings = (SETTINGS.indexOf(target.xnack) << 8) | (SETTINGS.indexOf(target.sramecc) << 10);
  return (processor.mach | settings | generic) >>> 0;
}
