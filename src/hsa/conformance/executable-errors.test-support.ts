/** Errors of the functions of executables, their code objects and symbols. */
import { executableInfo, loadedCodeObjectInfo } from '../executables/executable-info.ts';
import { CodeObjectReader } from '../executables/loaded-code-object.ts';
import { symbolInfo } from '../executables/symbol-info.ts';
import { executableErrors, NULL, type Refusals, UNKNOWN_ID, type World } from './world.test-support.ts';

export function executableFunctions(world: World): Record<string, Refusals> {
  const { own, gone, other, ended } = world;
  const { agent, executable, frozen, reader, runtime } = own;
  const damaged = new CodeObjectReader(Uint8Array.of(0x7f, 0x45, 0x4c, 0x46));
  return {
    'hsa_code_object_reader_create_from_memory, hsa_code_object_deserialize': {
      INVALID_ARGUMENT: [() => new CodeObjectReader(new Uint8Array(0))],
    },
    'hsa_code_object_reader_destroy, hsa_code_object_destroy': {
      INVALID_CODE_OBJECT_READER: [() => gone.reader.bytes],
    },
    hsa_executable_create_alt: {
      INVALID_ARGUMENT: [
        () => runtime.createExecutable({ profile: 'x' as 'base' }),
        () => runtime.createExecutable({ rounding: 'x' as 'near' }),
      ],
      NOT_INITIALIZED: [() => ended.runtime.createExecutable()],
    },
    'hsa_executable_load_agent_code_object, hsa_executable_load_code_object': {
      ...executableErrors(world, (objects) => objects.executable.loadCodeObject(objects.agent, reader)),
      INVALID_AGENT: [NULL, undefined as never, other.agent, own.cpu].map(
        (wrong) => () => executable.loadCodeObject(wrong, reader),
      ),
      INVALID_CODE_OBJECT_READER: [NULL, gone.reader].map((wrong) => () => executable.loadCodeObject(agent, wrong)),
      INVALID_CODE_OBJECT: [() => executable.loadCodeObject(agent, damaged)],
      VARIABLE_ALREADY_DEFINED: [() => executable.loadCodeObject(agent, reader)],
      FROZEN_EXECUTABLE: [() => frozen.loadCodeObject(agent, reader)],
    },
    hsa_executable_agent_global_variable_define: {
      ...executableErrors(world, (objects) => objects.executable.defineVariable(objects.agent, 'x', 0n)),
      INVALID_AGENT: [NULL, other.agent].map((wrong) => () => executable.defineVariable(wrong, 'x', 0n)),
      INVALID_ARGUMENT: ['', NULL].map((name) => () => executable.defineVariable(agent, name, 0n)),
      VARIABLE_ALREADY_DEFINED: [() => executable.defineVariable(agent, 'variable', 0n)],
      FROZEN_EXECUTABLE: [() => frozen.defineVariable(agent, 'x', 0n)],
    },
    hsa_executable_freeze: {
      ...executableErrors(world, (objects) => objects.executable.freeze()),
      FROZEN_EXECUTABLE: [() => frozen.freeze()],
    },
    hsa_executable_validate: executableErrors(world, (objects) => objects.executable.validate()),
    hsa_executable_get_info: {
      ...executableErrors(world, (objects) => executableInfo(objects.executable, 1)),
      INVALID_EXECUTABLE: [NULL, gone.executable].map((wrong) => () => executableInfo(wrong, 1)),
      INVALID_ARGUMENT: [() => executableInfo(executable, UNKNOWN_ID)],
    },
    hsa_executable_get_symbol_by_name: {
      ...executableErrors(world, (objects) => objects.executable.getSymbol('variable')),
      INVALID_SYMBOL_NAME: ['', 'kernel', 'none', NULL].map((name) => () => executable.getSymbol(name)),
      INVALID_AGENT: [NULL, other.agent].map((wrong) => () => executable.getSymbol('variable', wrong)),
    },
    hsa_executable_iterate_symbols: executableErrors(world, (objects) => objects.executable.symbols),
    hsa_executable_iterate_agent_symbols: {
      ...executableErrors(world, (objects) => objects.executable.agentSymbols(objects.agent)),
      INVALID_AGENT: [NULL, other.agent].map((wrong) => () => executable.agentSymbols(wrong)),
    },
    hsa_executable_iterate_program_symbols: executableErrors(world, (objects) => objects.executable.programVariables),
    hsa_ven_amd_loader_executable_iterate_loaded_code_objects: executableErrors(
      world,
      (objects) => objects.executable.loadedCodeObjects,
    ),
    hsa_ven_amd_loader_loaded_code_object_get_info: {
      INVALID_CODE_OBJECT: [NULL, gone.loaded].map((wrong) => () => loadedCodeObjectInfo(wrong, 1)),
      INVALID_ARGUMENT: [() => loadedCodeObjectInfo(own.loaded, UNKNOWN_ID)],
      NOT_INITIALIZED: [() => loadedCodeObjectInfo(ended.loaded, 1)],
    },
    hsa_executable_symbol_get_info: {
      INVALID_EXECUTABLE_SYMBOL: [NULL, gone.kernel, gone.variable].map((wrong) => () => symbolInfo(wrong, 0)),
      INVALID_ARGUMENT: [
        () => symbolInfo(own.kernel, UNKNOWN_ID),
        () => symbolInfo(own.kernel, 21),
        () => symbolInfo(own.variable, 22),
        () => symbolInfo(own.variable, 23),
      ],
      NOT_INITIALIZED: [() => symbolInfo(ended.kernel, 0)],
    },
  };
}
