import { WavewrightError } from '../../base/errors.ts';
import { createRuntime } from '../../hsa/index.ts';
import { TARGET_PROCESSORS } from '../../isa/amdgpu/encoding/targets.ts';
import { defineCommand } from '../arguments/command.ts';
import { isCudaName } from '../arguments/cuda-device.ts';
import { openDevice, openImages } from '../arguments/device-name.ts';
import { nvptxImages } from '../arguments/file-code.ts';
import { readInput } from '../process/input.ts';
import { describeAgents, describeSystem, formatAgents } from '../text/agent-report.ts';
import {
  describeCudaGpus,
  describeNvptxDevice,
  formatCudaGpu,
  formatNvptxDevice,
} from '../text/nvptx-device-report.ts';

/** What is shown where nothing says which: the one that is tested most. */
const USUAL_PROCESSOR = 'gfx90a';

export const info = defineCommand({
  operands: { usage: '[FILE]', min: 0, max: 1 },
  options: {
    device: {
      kind: 'text',
      placeholder: 'NAME',
      description: 'this device, or with cuda all NVIDIA GPUs; by default the one that FILE would run on',
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
    const nvptx = await nvptxReport(device, file);
    if (nvptx !== undefined) {
      const json = { schema: 'wavewright.info', version: 1, ...nvptx.data };
      stdout(format === 'json' ? `${JSON.stringify(json, undefined, 2)}\n` : nvptx.text);
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

/** The device for NVIDIA's code that is asked for, by its name or by what the file holds. */
async function nvptxReport(device: string | undefined, file: string | undefined) {
  const images = file === undefined ? undefined : await nvptxImages(readInput(file), file, { device });
  if (!images && !isCudaName(device) && !device?.startsWith('ptx')) return undefined;
  const { isMachineCode, onFirstGpu } = await import('../arguments/nvptx-device.ts');
  if (device !== undefined && isCudaName(device)) return cudaReport(device);
  if (images && device === undefined && isMachineCode(images)) {
    return await onFirstGpu(images, () => cudaReport('cuda:0'));
  }
  const { choosePtx } = await import('../arguments/ptx-device.ts');
  using opened = await openDevice(images ? choosePtx(device, images).name : device, []);
  const report = describeNvptxDevice(opened);
  return { data: { device: report }, text: formatNvptxDevice(report) };
}

async function cudaReport(name: string) {
  const reports = await describeCudaGpus(name);
  const data = name === 'cuda' ? { devices: reports } : { device: reports[0]! };
  return { data, text: reports.map(formatCudaGpu).join('\n') };
}

const others = (): string =>
  `${TARGET_PROCESSORS.length} processors are emulated, each code object's own: \`wavewright info FILE\` shows that one, \`info --all\` all:\n${TARGET_PROCESSORS.join(' ')}\n`;
