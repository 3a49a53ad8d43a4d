import type { CommandRow } from './arguments/command.ts';
import { runCommandLine } from './command-line.ts';

/** Every command of `wavewright`, in the order of the overview. */
export const COMMANDS: readonly CommandRow[] = [
  {
    name: 'run',
    summary: 'run the main function of a GPU program',
    load: async () => (await import('./commands/run.ts')).run,
  },
  {
    name: 'dispatch',
    summary: 'run one kernel of some code objects with arguments from the command line and from files',
    load: async () => (await import('./commands/dispatch.ts')).dispatch,
  },
  {
    name: 'exec',
    summary: 'run a native HIP or HSA program, as it is, with an emulated GPU',
    load: async () => (await import('./commands/exec.ts')).exec,
  },
  {
    name: 'hal',
    summary: 'devices, runs and measurements of kernels through the HAL',
    load: async () => (await import('./commands/hal.ts')).hal,
  },
  {
    name: 'profile',
    summary: 'record what a GPU did, and say what is in such a profile',
    load: async () =>
      (await import('./commands/profile.ts')).profileOf((argv, context) => runCommandLine(COMMANDS, argv, context)),
  },
  {
    name: 'replay',
    summary: 'record what a HAL device is told to do, and replay, verify and measure it',
    load: async () =>
      (await import('./commands/replay.ts')).replayOf((argv, context) => runCommandLine(COMMANDS, argv, context)),
  },
  {
    name: 'info',
    summary: 'show the agents: instruction sets, memory pools, limits',
    load: async () => (await import('./commands/info.ts')).info,
  },
  {
    name: 'test',
    summary: 'run many GPU programs and say which of them failed',
    load: async () => (await import('./commands/test.ts')).test,
  },
  {
    name: 'sweep',
    summary: 'run programs with all combinations of targets, options, inputs, seeds, tools and checks',
    load: async () => (await import('./commands/sweep.ts')).sweep,
  },
  {
    name: 'merge',
    summary: 'make one result of the reports of several machines',
    load: async () => (await import('./commands/merge.ts')).merge,
  },
  {
    name: 'worker',
    summary: 'run cases that a queue deals out to many machines',
    load: async () => (await import('./commands/worker.ts')).worker,
  },
  {
    name: 'campaign',
    summary: 'list, watch, cancel, retry and delete runs on a queue',
    load: async () => (await import('./commands/campaign.ts')).campaign,
  },
  {
    name: 'readobj',
    summary: 'show what a code object, offload bundle or fat binary holds',
    load: async () => (await import('./commands/readobj.ts')).readobj,
  },
  {
    name: 'objdump',
    summary: 'disassemble code objects and print their symbols, sections and relocations as llvm-objdump does',
    load: async () => (await import('./commands/objdump.ts')).objdumpCommand,
  },
  {
    name: 'lift',
    summary: 'show the functions of code objects: blocks, loops, calls, live registers',
    load: async () => (await import('./commands/lift.ts')).lift,
  },
  {
    name: 'lint',
    summary: 'find what a GPU would run wrong: missing waits and wait states, registers, descriptors',
    load: async () => (await import('./commands/lint.ts')).lint,
  },
  {
    name: 'isa',
    summary: 'say which instructions are covered, describe them, decode dwords',
    load: async () => (await import('./commands/isa.ts')).isa,
  },
  {
    name: 'asm',
    summary: 'assemble AMD GPU source and link code objects',
    load: async () => (await import('./commands/asm.ts')).asm,
  },
  {
    name: 'ptx',
    summary: 'check PTX texts and say what they hold',
    load: async () => (await import('./commands/ptx.ts')).ptx,
  },
  {
    name: 'tools',
    summary: 'list the tools that can be inserted into code, with their options',
    load: async () => (await import('./commands/tools.ts')).tools,
  },
  {
    name: 'instrument',
    summary: 'rewrite the code of code objects, bundles and host programs',
    load: async () => (await import('./commands/instrument.ts')).instrument,
  },
  {
    name: 'bench',
    summary: 'measure kernels on the emulator, and what it costs to start and to compile',
    load: async () => (await import('./commands/bench.ts')).bench,
  },
  {
    name: 'completion',
    summary: 'print what makes a shell complete commands and options',
    load: async () => (await import('./commands/completion.ts')).completionOf(COMMANDS),
  },
];
