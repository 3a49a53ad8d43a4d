import { assert } from '../base/errors.ts';
import { ByteWriter } from './bytes.ts';
import { FunctionBuilder } from './function.ts';
import { CONTROL } from './opcodes.ts';
import { type FunctionRef, type FunctionType, VALUE_TYPE_BYTE, type ValueType } from './types.ts';

/** Section ids (core specification 2.0, section 5.5.2). */
const SECTION = { custom: 0, type: 1, import: 2, function: 3, export: 7, element: 9, code: 10 } as const;
const IMPORT_KIND = { function: 0, table: 1, memory: 2 } as const;
const FUNCTION_TYPE = 0x60;
const FUNCREF = 0x70;
const FUNCTION_NAMES = 1;

/** Limits of a memory in pages of 64 KiB; a shared memory needs `maxPages`. */
export interface MemoryLimits {
  readonly minPages: number;
  readonly maxPages?: number;
  readonly shared?: boolean;
}

/** Limits of a table in elements. */
export interface TableLimits {
  readonly min: number;
  readonly max?: number;
}

interface Limits {
  readonly min: number;
  readonly max: number | undefined;
  readonly shared: boolean;
}

/**
 * Builds one WebAssembly module: types, imports, functions, exports and element segments. Imported functions
 * must be declared before the first `function`, because they come first in the index space.
 */
export class ModuleBuilder {
  readonly #types = new Map<string, FunctionType>();
  readonly #imports = new ByteWriter();
  #importCount = 0;
  #importedFunctionCount = 0;
  readonly #functions: FunctionBuilder[] = [];
  readonly #exports: { name: string; index: number }[] = [];
  readonly #elements: { tableOffset: number; functions: readonly FunctionRef[] }[] = [];

  /** The signature's entry in the type section; equal signatures share one. */
  type(parameters: readonly ValueType[], results: readonly ValueType[]): FunctionType {
    const key = `${parameters.join()}>${results.join()}`;
    let type = this.#types.get(key);
    if (type === undefined) {
      type = { index: this.#types.size, parameters: [...parameters], results: [...results] };
      this.#types.set(key, type);
    }
    return type;
  }

  importMemory(module: string, name: string, { minPages, maxPages, shared = false }: MemoryLimits): void {
    assert(!shared || maxPages !== undefined, 'a shared wasm memory needs a maximum size');
    this.#import(module, name, IMPORT_KIND.memory);
    this.#limits({ min: minPages, max: maxPages, shared });
  }

  /** A table of function references. */
  importTable(module: string, name: string, { min, max }: TableLimits): void {
    this.#import(module, name, IMPORT_KIND.table);
    this.#imports.byte(FUNCREF);
    this.#limits({ min, max, shared: false });
  }

  importFunction(
    module: string,
    name: string,
    parameters: readonly ValueType[],
    results: readonly ValueType[],
  ): FunctionRef {
    assert(
      this.#functions.length === 0,
      () => `wasm function ${module}.${name} is imported after a function was defined`,
    );
    const type = this.type(parameters, results);
    this.#import(module, name, IMPORT_KIND.function);
    this.#imports.u32(type.index);
    return { index: this.#importedFunctionCount++, type };
  }

  function(parameters: readonly ValueType[], results: readonly ValueType[], name?: string): FunctionBuilder {
    const index = this.#importedFunctionCount + this.#functions.length;
    const builder = new FunctionBuilder(index, this.type(parameters, results), name);
    this.#functions.push(builder);
    return builder;
  }

  export(name: string, target: FunctionRef): void {
    this.#exports.push({ name, index: target.index });
  }

  /** Puts functions into table 0, from `tableOffset` on, when the module is instantiated. */
  elements(tableOffset: number, functions: readonly FunctionRef[]): void {
    this.#elements.push({ tableOffset, functions: [...functions] });
  }

  toBytes(): Uint8Array<ArrayBuffer> {
    const out = new ByteWriter(4096);
    out.bytes(Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00));
    vector(out, SECTION.type, [...this.#types.values()], (type, body) => {
      body.byte(FUNCTION_TYPE);
      for (const values of [type.parameters, type.results]) {
        body.u32(values.length);
        for (const value of values) body.byte(VALUE_TYPE_BYTE[value]);
      }
    });
    if (this.#importCount > 0) {
      section(out, SECTION.import, (body) => {
        body.u32(this.#importCount);
        body.bytes(this.#imports.view());
      });
    }
    vector(out, SECTION.function, this.#functions, (builder, body) => body.u32(builder.type.index));
    vector(out, SECTION.export, this.#exports, ({ name, index }, body) => {
      body.name(name);
      body.byte(IMPORT_KIND.function);
      body.u32(index);
    });
    vector(out, SECTION.element, this.#elements, ({ tableOffset, functions }, body) => {
      body.byte(0); // active, table 0, function indices
      body.byte(CONTROL['i32.const']);
      body.s32(tableOffset);
      body.byte(CONTROL.end);
      body.u32(functions.length);
      for (const { index } of functions) body.u32(index);
    });
    this.#writeHints(out);
    vector(out, SECTION.code, this.#functions, (builder, body) => builder.writeTo(body));
    this.#writeNames(out);
    return out.view().slice();
  }

  #import(module: string, name: string, kind: number): void {
    this.#importCount++;
    this.#imports.name(module);
    this.#imports.name(name);
    this.#imports.byte(kind);
  }

  #limits({ min, max, shared }: Limits): void {
    this.#imports.byte((max === undefined ? 0 : 1) | (shared ? 2 : 0));
    this.#imports.u32(min);
    if (max !== undefined) this.#imports.u32(max);
  }

  /** The custom section of branch hints, which comes before the code. */
  #writeHints(out: ByteWriter): void {
    const hinted = this.#functions.filter((builder) => builder.hasHints());
    if (hinted.length === 0) return;
    section(out, SECTION.custom, (body) => {
      body.name('metadata.code.branch_hint');
      body.u32(hinted.length);
      for (const builder of hinted) builder.writeHints(body);
    });
  }

  /** The custom section "name" (core specification 2.0, appendix 7.4), functions only. */
  #writeNames(out: ByteWriter): void {
    const named = this.#functions.filter(({ name }) => name !== undefined);
    if (named.length === 0) return;
    section(out, SECTION.custom, (body) => {
      body.name('name');
      vector(body, FUNCTION_NAMES, named, ({ index, name = '' }, names) => {
        names.u32(index);
        names.name(name);
      });
    });
  }
}

function section(out: ByteWriter, id: number, write: (body: ByteWriter) => void): void {
  const body = new ByteWriter();
  write(body);
  out.byte(id);
  out.sized(body.view());
}

/** A section that holds a vector; nothing when it is empty. */
function vector<T>(out: ByteWriter, id: number, items: readonly T[], write: (item: T, body: ByteWriter) => void): void {
  if (items.length === 0) return;
  section(out, id, (body) => {
    body.u32(items.length);
    for (const item of items) write(item, body);
  });
}
