/**
 * The part of the WebAssembly JavaScript interface that this project uses, on every host (TypeScript declares
 * it only together with the whole DOM, and Node's types leave it out). WebAssembly JavaScript Interface 2.0,
 * section 5, with the threads proposal.
 */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array<ArrayBuffer>);
    static customSections(module: Module, name: string): ArrayBuffer[];
  }

  type ImportValue = Memory | Table | ((...values: never[]) => unknown);
  type Imports = Readonly<Record<string, Readonly<Record<string, ImportValue>>>>;

  class Instance {
    constructor(module: Module, imports?: Imports);
    readonly exports: Readonly<Record<string, unknown>>;
  }

  /** Sizes in pages of 64 KiB. */
  interface MemoryDescriptor {
    initial: number;
    maximum?: number;
    shared?: boolean;
  }

  class Memory {
    constructor(descriptor: MemoryDescriptor);
    readonly buffer: ArrayBuffer | SharedArrayBuffer;
    grow(pages: number): number;
  }

  interface TableDescriptor {
    element: 'anyfunc';
    initial: number;
    maximum?: number;
  }

  type TableFunction = (...values: (number | bigint)[]) => unknown;

  class Table {
    constructor(descriptor: TableDescriptor);
    readonly length: number;
    get(index: number): TableFunction | null;
    set(index: number, value: TableFunction | null): void;
    grow(count: number): number;
  }

  class CompileError extends Error {}
  class LinkError extends Error {}
  class RuntimeError extends Error {}

  function validate(bytes: Uint8Array<ArrayBuffer>): boolean;
  function compile(bytes: Uint8Array<ArrayBuffer>): Promise<Module>;
  function instantiate(module: Module, imports?: Imports): Promise<Instance>;
}
