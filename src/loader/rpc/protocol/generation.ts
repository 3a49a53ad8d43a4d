/**
 * The three generations of LLVM's GPU C library that programs are linked with; they differ in the layout of
 * the RPC client and in a few habits.
 */
import { WavewrightError } from '../../../base/errors.ts';
import { GLIBC_DIALECT, LLVM_DIALECT, type PrintfDialect } from '../../../printf/parse.ts';

export interface Generation {
  /** `P19`: LLVM 19; `P20`: LLVM 20 to 22; `P23`: LLVM 23. */
  readonly name: 'P19' | 'P20' | 'P23';
  /** The symbol that tells where the client struct is. */
  readonly clientSymbol: string;
  /** Size of that symbol: of the struct, or of a pointer to it. */
  readonly clientSymbolSizeBytes: number;
  readonly clientIsPointer: boolean;
  readonly clientStructSizeBytes: number;
  readonly maxPorts: number;
  /** 64 bytes in front of the mailboxes. */
  readonly hasDoorbell: boolean;
  readonly opcodeBits: 16 | 32;
  /** What is added to the number of an opcode of the C library. */
  readonly opcodeClass: number;
  readonly printf: PrintfDialect;
}

const STRUCT_SIZE_BYTES = 552;

export const GENERATIONS: Readonly<Record<Generation['name'], Generation>> = {
  P19: {
    name: 'P19',
    clientSymbol: '__llvm_libc_rpc_client',
    clientSymbolSizeBytes: 8,
    clientIsPointer: true,
    clientStructSizeBytes: STRUCT_SIZE_BYTES,
    maxPorts: 4096,
    hasDoorbell: false,
    opcodeBits: 16,
    opcodeClass: 0,
    printf: LLVM_DIALECT,
  },
  P20: {
    name: 'P20',
    clientSymbol: '__llvm_rpc_client',
    clientSymbolSizeBytes: STRUCT_SIZE_BYTES,
    clientIsPointer: false,
    clientStructSizeBytes: STRUCT_SIZE_BYTES,
    maxPorts: 4096,
    hasDoorbell: false,
    opcodeBits: 32,
    opcodeClass: 0x6300_0000,
    printf: LLVM_DIALECT,
  },
  P23: {
    name: 'P23',
    clientSymbol: '__llvm_rpc_client',
    clientSymbolSizeBytes: 2096,
    clientIsPointer: false,
    clientStructSizeBytes: 2096,
    maxPorts: 16_384,
    hasDoorbell: true,
    opcodeBits: 32,
    opcodeClass: 0x6300_0000,
    printf: GLIBC_DIALECT,
  },
};

/**
 * The generation of a program by its client symbol; `sizeOf` gives the size of a symbol, `undefined` when
 * there is none. A program without a client has none: it needs no server. Throws UNSUPPORTED when the
 * client's size is that of no generation.
 */
export function detectGeneration(sizeOf: (symbol: string) => number | undefined): Generation | undefined {
  const known = Object.values(GENERATIONS);
  for (const generation of known) {
    if (sizeOf(generation.clientSymbol) === generation.clientSymbolSizeBytes) return generation;
  }
  const names = [...new Set(known.map(({ clientSymbol }) => clientSymbol))];
  const found = names.find((name) => sizeOf(name) !== undefined);
  if (found === undefined) return undefined;
  const sizes = known.filter(({ clientSymbol }) => clientSymbol === found).map((known) => known.clientSymbolSizeBytes);
  const what = `${found} has ${sizeOf(found)} bytes, expected ${sizes.join(' or ')}`;
  throw new WavewrightError('UNSUPPORTED', what, {
    section: 'symbol table',
    hint: 'programs for the GPU C library of LLVM 19 to 23 can be run',
  });
}
