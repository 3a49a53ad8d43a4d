/**
 * Cubins: ELF files with machine code of NVIDIA's GPUs. Of that nothing is read, only what they are for and
 * what a launch needs to know. The format is not documented: what stands here was seen in what ptxas 13 and
 * nvlink write.
 */
import { ByteReader } from '../base/bytes.ts';
import { STB_LOCAL, STT_CUDA_OBJECT, STT_FUNC, STT_OBJECT } from '../elf/constants.ts';
import type { ElfFile } from '../elf/elf.ts';
import type { ElfHeader } from '../elf/header.ts';

/** EI_ABIVERSION since CUDA 13, which moved the number of the processor in e_flags. */
const NEW_ABI_VERSION = 8;

/** `sm_90`. */
export function cubinProcessor({ abiVersion, flags }: ElfHeader): string {
  return `sm_${(abiVersion >= NEW_ABI_VERSION ? flags >> 8 : flags) & 0xff}`;
}

export interface CubinParameter {
  readonly offset: number;
  readonly sizeBytes: number;
}

export interface CubinKernel {
  readonly name: string;
  /** In their order; undefined where the file does not list them one by one. */
  readonly parameters: readonly CubinParameter[] | undefined;
  readonly parametersSizeBytes: number;
}

/** Bit of st_other of kernels. */
const STO_ENTRY = 0x10;

/** Kernels that a host can name. Throws BAD_INPUT for attributes that are cut off. */
export function cubinKernels(elf: ElfFile): CubinKernel[] {
  return elf.symbols
    .filter(({ type, other, binding }) => type === STT_FUNC && (other & STO_ENTRY) !== 0 && binding !== STB_LOCAL)
    .map(({ name }) => ({ name, ...parametersOf(elf, name) }));
}

/** Names of the variables that a host can ask for. */
export const cubinVariables = (elf: ElfFile): string[] =>
  elf.symbols
    .filter(({ type, binding }) => (type === STT_OBJECT || type === STT_CUDA_OBJECT) && binding !== STB_LOCAL)
    .map(({ name }) => name);

/** Formats of an attribute: its value is in the 16 bits behind it, or in so many bytes behind these. */
const FORMAT_SIZED = 4;
/** Attributes: a parameter, and how many bytes all of them have. */
const [KPARAM_INFO, PARAMETERS_SIZE] = [0x17, 0x19];
/** A parameter's last word has its size above other fields. */
const PARAMETER_SIZE_SHIFT = 18;

/** Section `.nv.info.KERNEL`: attributes of a kernel, each with a format, a number and a value of 16 bits. */
function parametersOf(elf: ElfFile, name: string): Omit<CubinKernel, 'name'> {
  const section = elf.sectionNamed(`.nv.info.${name}`);
  if (section === undefined) return { parameters: undefined, parametersSizeBytes: 0 };
  const source = { ...(elf.name !== undefined && { file: elf.name }), section: section.name };
  const reader = new ByteReader(elf.sectionBytes(section), source);
  const found = new Map<number, CubinParameter>();
  let total = 0;
  while (reader.remaining >= 4) {
    const format = reader.u8('format of an attribute');
    const attribute = reader.u8('attribute');
    const value = reader.u16('value of an attribute');
    if (attribute === PARAMETERS_SIZE) total = value;
    if (format !== FORMAT_SIZED) continue;
    const end = reader.offset + value;
    if (attribute === KPARAM_INFO) {
      reader.u32('index of a parameter');
      const ordinal = reader.u16('ordinal of a parameter');
      const offset = reader.u16('offset of a parameter');
      found.set(ordinal, { offset, sizeBytes: reader.u32('size of a parameter') >>> PARAMETER_SIZE_SHIFT });
    }
    if (end > reader.length) reader.fail(`the attribute ends at ${end}, behind the section`, reader.offset);
    reader.offset = end;
  }
  const parameters = [...found].sort(([a], [b]) => a - b).map(([, parameter]) => parameter);
  const isWhole = parameters.length > 0 || total === 0;
  return { parameters: isWhole ? parameters : undefined, parametersSizeBytes: total };
}
