import { WavewrightError } from '../../base/errors.ts';
import { createRuntime } from '../../hsa/index.ts';
import { TARGET_PROCESSORS } from '../../isa/amdgpu/encoding/targets.ts';
import { defineCommand } from '../arguments/command.ts';
import { openDevice, openImages } from '../arguments/device-name.ts';
import { nvptxImages } from '../arguments/file-code.ts';
import { readInput } from '../process/input.ts';
import { describeAgents, describeSystem, formatAgents } from '../text/agent-report.ts';
import { describePtxDevice, formatPtxDevice } from '../text/ptx-device-report.ts';

/** What is shown where nothing says which: the one that is tested most. */
const USUAL_PROCESSOR = 'gfx90a';

export const info = defineCommand({
  operands: { usage: '[FILE]', min: 0, max: 1 },
  options: {
    device: {
      kind: 'text',
      placeholder: 'NAME',
      description: 'this device; by default the one that FILE would run on',
    },
    all: { kind: 'flag', description: 'all emulated devices' },
    format: { kind: 'choice', choices: ['text', 'json'], default: 'text', description: 'how to print' },
  },
  formats: { text: 'for people', json: 'one object; `schema` and `version` say how to read it' },
  notes: [
    'Agents, their instruction sets, memory pools and limits: what rocminfo shows of a real machine.',
    `Without FILE and NAME it is emulated:${USUAL_PROCESSOR}: run and dispatch emulate whatever processor their FILE is for.`,
  ],
  async run({ stdout }, { device, all, format }, [file]) {
    if (all && (device !== undefined || file !== undefined)) {
      throw new WavewrightError('USAGE', '--all shows every emulated device, expected neither --device nor FILE');
    }
    const ptx = await ptxDeviceName(device, file);
    if (ptx !== undefined) {
      using opened = await openDevice(ptx, []);
      const report = describePtxDevice(opened);
      const json = { schema: 'wavewright.info', version: 1, device: report };
      stdout(format === 'json' ? `${JSON.stringify(json, undefined, 2)}\n` : formatPtxDevice(report));
      return 0;
    }
    const images = file === undefined ? [] : openImages(file);
    const usual = file === undefined ? `emulated:${USUAL_PROCESSOR}` : undefined;
    const names = all ? TARGET_PROCESSORS.map((processor) => `emulated:${processor}`) : [device ?? usual];
    const reports = [];
    for (const name of names) {
      const opened = await openDevice(name, images);
      using runtime = createRuntime({ devices: [opened] });
      reports.push(...describeAgents(runtime.agents).filter(({ kind }) => kind === 'gpu' || reports.length === 0));
      opened.close();
    }
    const system = describeSystem();
    const report = { schema: 'wavewright.info', version: 1, system, agents: reports };
    if (format === 'json') stdout(`${JSON.stringify(report, undefined, 2)}\n`);
    else {
      stdout(formatAgents(system, reports));
      if (usual !== undefined && device === undefined && !all) stdout(`\n${others()}`);
    }
    return 0;
  },
});

/** The device that runs PTX which is asked for, by its name or by what the file holds. */
async function ptxDeviceName(device: string | undefined, file: string | undefined): Promise<string | undefined> {
  const images = file === undefined ? undefined : await nvptxImages(readInput(file), file, { device });
  if (!images) return device?.startsWith('ptx') ? device : undefined;
  const { choosePtx } = await import('../arguments/ptx-device.ts');
  return choosePtx(device, images).name;
}

const others = (): string =>
  `${TARGET_PROCESSORS.length} processors are emulated, each code object's own: \`wavewright info FILE\` shows that one, \`info --all\` all:\n${TARGET_PROCESSORS.join(' ')}\n`;
