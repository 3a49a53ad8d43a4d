/**
 * Binary instrumentation: code that runs at any instruction of a code object that is compiled already. A
 * `Tool` says what runs where and what comes of its numbers; the tools of `src/tools` are written against
 * this alone.
 */

export { hex } from '../base/text.ts';
export {
  type InsertedPoint,
  type InsertedTool,
  type InsertedVariable,
  readInsertedTools,
} from '../codeobject/inserted-tools.ts';
export type * from './dsl/hook.ts';
export { type CodeAccess, type HookPlace, placeIn } from './dsl/memory-accesses.ts';
export { type HookFile, type HookFunction, openHookFile } from './hooks/hook-file.ts';
export type { HookArgument, LaunchRegisters } from './hooks/hook-point.ts';
export {
  type ImageOptions,
  type InstrumentedImage,
  instrumentImage,
  type OpenedImage,
  openImage,
  type ToolUse,
} from './instrument-image.ts';
export { ORIGINAL } from './object/apart.ts';
export { type Coverage, pointCoverageText } from './points/coverage.ts';
export {
  type Attributed,
  countResult,
  functionTable,
  instructionTable,
  LEVEL_OPTION,
  lineTable,
  lineText,
} from './tool/attribution.ts';
export {
  type CallPolicy,
  CompiledHooks,
  type HookVariablePlace,
  launchAtEntry,
  type PointKnowledge,
} from './tool/compiled-hooks.ts';
export { type Amount, countedAs, countHook } from './tool/counting.ts';
export { type ExecRegion, equallyOften, execRegions, savedMask } from './tool/exec-regions.ts';
export { FlowCounter, type FlowTotals } from './tool/flow-counter.ts';
export { type HookCode, hookCode, hookOf, type PointHook } from './tool/hook.ts';
export { argumentBytes, argumentsRegister, copyArguments, declaredArguments } from './tool/kernel-entry.ts';
export {
  groupsOf,
  laneAccesses,
  RECORDS_OPTION,
  readTrace,
  type Trace,
  type TraceContents,
  type TraceRecord,
  traceAccesses,
  traceCode,
  traceIn,
  tracePoint,
  traceSummary,
} from './tool/lane-trace.ts';
export {
  contains,
  type Interval,
  parseInterval,
  parseToolOptions,
  parseToolRequest,
  type ToolOption,
  type ToolOptionTable,
  type ToolOptionValues,
  type ToolRequest,
} from './tool/options.ts';
export { type NamedRegister, registerNamed, resultRegisters } from './tool/register-names.ts';
export type { ResidentCounter, Residents } from './tool/residents.ts';
export { type Cell, type ResultTable, resultJson, resultText, type ToolResult } from './tool/result.ts';
export { defineTool, type Tool, type ToolLaunch, type ToolRun } from './tool/tool.ts';
export { ToolCode } from './tool/tool-code.ts';
export {
  firstOf,
  lastOf,
  type ToolBlock,
  type ToolFunction,
  type ToolInstruction,
  type ToolLoop,
} from './tool/tool-function.ts';
export { encodeTraceFile, readTraceFile, type TraceFile } from './tool/trace-file.ts';
export { type Counters, readCounters, type ToolVariable, type VariableMemory } from './tool/variables.ts';
