/**
 * Tools in code that is compiled already. A `Tool` is one object (`defineTool`): what it inserts where, and
 * what comes of its variables; `src/tools` has those that ship, to copy. A `ToolSession` puts tools into code
 * objects and takes their results: give it to `runProgram` or `dispatchKernel` as `observer`, or
 * `instrumentImage` its part by hand. `instrumentCodeObject` is what is under it: code objects laid out anew.
 */
export { type DispatchOutcome, type DispatchRequest, dispatchKernel } from './dispatch/dispatch.ts';
export type { LaunchObserver } from './hsa/runtime/launch-observer.ts';
export * from './instrument/index.ts';
export {
  type InstrumentedCode,
  type InstrumentOptions,
  instrumentCodeObject,
  readPcMap,
} from './instrument/instrument.ts';
export { TOOLS, toolNamed } from './tools/catalog.ts';
export { type ChosenTool, chooseHook, chooseTool, useTool } from './tools/chosen-tool.ts';
export type { PresetVariable } from './tools/preset-version.ts';
export { type PresetReport, type PresetTable, ToolPresets } from './tools/tool-presets.ts';
export { type KernelVersion, type ToolReport, ToolSession } from './tools/tool-session.ts';
