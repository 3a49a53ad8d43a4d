import { createRuntime } from '../../hsa/index.ts';
import { PROCESSORS } from '../../isa/amdgpu/targets.ts';
import { describeAgents, describeSystem, formatAgents } from '../agent-report.ts';
import { defineCommand } from '../command.ts';
import { openDevice } from '../device-name.ts';

export const info = defineCommand({
  operands: { usage: '', min: 0, max: 0 },
  options: {
    device: { kind: 'text', placeholder: 'NAME', description: 'this device only; by default all emulated ones' },
    format: { kind: 'choice', choices: ['text', 'json'], default: 'text', description: 'how to print' },
  },
  formats: { text: 'for people', json: 'one object; `schema` and `version` say how to read it' },
  notes: ['Agents, their instruction sets, memory pools and limits: what rocminfo shows of a real machine.'],
  async run({ stdout }, { device, format }) {
    const names = device === undefined ? PROCESSORS.map((processor) => `emulated:${processor}`) : [device];
    const reports = [];
    for (const name of names) {
      const opened = await openDevice(name, []);
      using runtime = createRuntime({ devices: [opened] });
      reports.push(...describeAgents(runtime.agents).filter(({ kind }) => kind === 'gpu' || reports.length === 0));
      opened.close();
    }
    const system = describeSystem();
    const report = { schema: 'wavewright.info', version: 1, system, agents: reports };
    stdout(format === 'json' ? `${JSON.stringify(report, undefined, 2)}\n` : formatAgents(system, reports));
    return 0;
  },
});
