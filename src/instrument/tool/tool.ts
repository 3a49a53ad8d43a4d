/** What a tool is: one object that says where code is inserted, and what comes of the numbers. */
import type { ToolOptionTable, ToolOptionValues } from './options.ts';
import type { ToolResult } from './result.ts';
import type { ToolCode } from './tool-code.ts';
import type { VariableMemory } from './variables.ts';

export interface Tool<T extends ToolOptionTable = ToolOptionTable> {
  readonly name: string;
  readonly summary: string;
  readonly options: T;
  /**
   * Inserts hooks into a code object, and returns what makes a result of the tool's variables when the code
   * has run.
   */
  attach(code: ToolCode, options: ToolOptionValues<T>): (run: ToolRun) => ToolResult;
}

/** What a tool knows of a run. */
export interface ToolRun {
  readonly memory: VariableMemory;
  /** Kernels that were launched with the tool in them, in order. */
  readonly launches: readonly ToolLaunch[];
}

export interface ToolLaunch {
  readonly kernel: string;
  /** Work-items in x, y, z. */
  readonly grid: readonly number[];
  readonly workgroup: readonly number[];
}

/** Checks a tool against its own option table; the identity at run time. */
export function defineTool<const T extends ToolOptionTable>(tool: Tool<T>): Tool<T> {
  return tool;
}
