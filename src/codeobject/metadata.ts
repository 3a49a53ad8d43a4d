/**
 * The metadata of a code object: note type 32 of owner "AMDGPU", a msgpack map (LLVM AMDGPU usage, "Code
 * Object V3/V4/V5/V6 Metadata"). Each interface has its table of keys; `metadata-reader.ts` walks them.
 */

export interface CodeObjectMetadata {
  /** amdhsa.version: [1, 0] for code object version 3, [1, 1] for 4, [1, 2] for 5 and 6. */
  version: readonly number[];
  /** amdhsa.target (from version 4), e.g. `amdgcn-amd-amdhsa--gfx90a:xnack-`. */
  target: string | undefined;
  /** amdhsa.printf: `ID:N:S[0]:…:S[N-1]:FormatString` for every call of OpenCL's printf. */
  printf: readonly string[] | undefined;
  kernels: readonly KernelMetadata[];
  /** Keys that the specification does not list, as decoded. */
  unknown: Readonly<Record<string, unknown>>;
}

export interface KernelMetadata {
  /** Source name. */
  name: string;
  /** Name of the kernel descriptor symbol, e.g. `main.kd`. */
  symbol: string;
  /** e.g. `OpenCL C`, `HIP`. */
  language: string | undefined;
  /** Major, minor. */
  languageVersion: readonly number[] | undefined;
  /** Explicit and hidden ones in the order of the note; empty when the kernel takes none. */
  args: readonly KernelArgument[];
  /** The dispatch must use this workgroup size x, y, z. */
  reqdWorkgroupSize: readonly number[] | undefined;
  workgroupSizeHint: readonly number[] | undefined;
  vecTypeHint: string | undefined;
  deviceEnqueueSymbol: string | undefined;
  kernargSegmentSizeBytes: number;
  kernargSegmentAlignmentBytes: number;
  /** LDS without dynamically allocated LDS. */
  groupSegmentFixedSizeBytes: number;
  /** Scratch of a work-item. */
  privateSegmentFixedSizeBytes: number;
  /** 32 or 64. */
  wavefrontSize: number;
  sgprCount: number;
  vgprCount: number;
  agprCount: number | undefined;
  maxFlatWorkgroupSize: number;
  sgprSpillCount: number | undefined;
  vgprSpillCount: number | undefined;
  /** `normal` when omitted. */
  kind: 'normal' | 'init' | 'fini' | undefined;
  maxWorkgroupsX: number | undefined;
  maxWorkgroupsY: number | undefined;
  maxWorkgroupsZ: number | undefined;
  /** 1: every workgroup has the same size, so the grid is a multiple of it. */
  uniformWorkgroupSize: number | undefined;
  /** Version 5 and higher. */
  usesDynamicStack: boolean | undefined;
  /** Version 5 and higher: 0 compute-unit mode, 1 work-group-processor mode. */
  workgroupProcessorMode: number | undefined;
  /** Version 6: workgroups of a cluster, x, y, z. */
  clusterDims: readonly number[] | undefined;
  unknown: Readonly<Record<string, unknown>>;
}

export interface KernelArgument {
  name: string | undefined;
  typeName: string | undefined;
  sizeBytes: number;
  /** From the start of the kernarg segment. */
  offsetBytes: number;
  /**
   * `by_value`, `global_buffer`, …, `hidden_block_count_x`, …; a name of a later compiler is kept as it is.
   */
  valueKind: string;
  /** Alignment of what a `dynamic_shared_pointer` points to. */
  pointeeAlignmentBytes: number | undefined;
  addressSpace: 'private' | 'global' | 'constant' | 'local' | 'generic' | 'region' | undefined;
  access: ArgumentAccess | undefined;
  actualAccess: ArgumentAccess | undefined;
  isConst: boolean | undefined;
  isRestrict: boolean | undefined;
  isVolatile: boolean | undefined;
  isPipe: boolean | undefined;
  unknown: Readonly<Record<string, unknown>>;
}

export type ArgumentAccess = 'read_only' | 'write_only' | 'read_write';
