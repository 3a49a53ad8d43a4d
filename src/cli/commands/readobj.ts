import { nodeDecompress } from '../../codeobject/node-decompress.ts';
import { parseTargetId } from '../../codeobject/target-id.ts';
import { describeFile } from '../../inspect/report.ts';
import { formatReport } from '../../inspect/report-text.ts';
import { imagesOf, openLinkFile, pickLinkImages } from '../../linker/link-files.ts';
import { defineCommand } from '../arguments/command.ts';
import { openDevice } from '../arguments/device-name.ts';
import { openNvptxFile } from '../arguments/file-code.ts';
import { chosenWaveSize, WAVE_SIZE_OPTION } from '../arguments/wave-size-option.ts';
import { readInput } from '../process/input.ts';

/** The whole content of files, or with --link what they would be together. */
export const readobj = defineCommand({
  operands: { usage: 'FILE...', min: 1, max: Number.POSITIVE_INFINITY },
  options: {
    symbols: { kind: 'flag', description: 'the symbols only, as text' },
    relocations: { kind: 'flag', description: 'the relocations only, as text' },
    link: {
      kind: 'flag',
      description:
        'what linking all FILEs with each other would resolve, as when they are loaded; status 1 when it would fail',
    },
    'wave-size': WAVE_SIZE_OPTION,
    format: {
      kind: 'choice',
      choices: ['text', 'json', 'jsonl'],
      default: 'text',
      description: 'how to print',
    },
  },
  formats: {
    text: 'for people',
    json: 'one object per file; `schema` and `version` say how to read it',
    jsonl: 'the same, one line per file',
  },
  async run({ stdout }, { format, symbols, relocations, link, 'wave-size': waveSize }, files) {
    const json = (report: object): string =>
      `${JSON.stringify(report, undefined, format === 'json' ? 2 : undefined)}\n`;
    if (link) {
      const { describeLink, formatLink } = await import('../../dispatch/link-report.ts');
      const linkFiles = files.map((file) => openLinkFile(readInput(file), file, { decompress: nodeDecompress }));
      const device = await openDevice(undefined, imagesOf(linkFiles[0]!));
      const target = parseTargetId(device.properties.targetId);
      const report = describeLink(device, pickLinkImages(linkFiles, target), chosenWaveSize(waveSize));
      device.close();
      const all = !symbols && !relocations;
      stdout(
        format === 'text'
          ? formatLink(report, { symbols: all || symbols, relocations: all || relocations })
          : json(report),
      );
      return report.problems.length > 0 ? 1 : 0;
    }
    for (const [index, file] of files.entries()) {
      const bytes = readInput(file);
      const nvptx = await describedNvptx(bytes, file);
      if (nvptx) {
        stdout(format === 'text' ? `${index > 0 ? '\n' : ''}${nvptx.text}` : json(nvptx.report));
        continue;
      }
      const report = describeFile(bytes, file, { decompress: nodeDecompress });
      if (format === 'text') stdout(`${index > 0 ? '\n' : ''}${formatReport(report, { symbols, relocations })}`);
      else stdout(json(report));
    }
    return 0;
  },
});

/** What the file holds for NVIDIA's GPUs; undefined where it has code for AMD's, or nothing of this. */
async function describedNvptx(bytes: Uint8Array, file: string) {
  const found = await openNvptxFile(bytes, file, {});
  if (!found) return undefined;
  const { describeNvptx, formatNvptx } = await import('../../inspect/nvptx-report.ts');
  const report = describeNvptx(found, file, bytes.length);
  return { report, text: formatNvptx(report) };
}
