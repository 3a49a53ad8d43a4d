/** What a file holds for NVIDIA's GPUs: what `wavewright readobj` shows of it. */
import type { NvptxFile, NvptxImage } from '../nvptx/images.ts';
import { summarize } from '../ptx/summary.ts';
import { parsePtx } from '../ptx/text/parser.ts';
import { ptxText } from '../ptx/text/recognize.ts';
import { REPORT_SCHEMA, REPORT_VERSION } from './report.ts';

export type NvptxReport = ReturnType<typeof describeNvptx>;

/** Ready for JSON. Throws what expanding an image and parsing its PTX throws. */
export function describeNvptx({ kind, images }: NvptxFile, file: string, sizeBytes: number) {
  return { schema: REPORT_SCHEMA, version: REPORT_VERSION, file, sizeBytes, kind, images: images.map(describeImage) };
}

function describeImage(image: NvptxImage) {
  const { name, kind, processor, ptxVersion, compression, offset, storedSizeBytes, sizeBytes, unit } = image;
  const summary = kind === 'ptx' ? summarize(parsePtx(ptxText(image.expand()), name)) : undefined;
  return {
    ...{ name, kind, processor: processor ?? null, ptxVersion: ptxVersion ?? null, compression: compression ?? null },
    ...{ offset, storedSizeBytes, sizeBytes, unit },
    target: summary?.target ?? null,
    kernels: summary?.kernels ?? [],
    functions: summary?.functions ?? [],
  };
}

/** For people, with a newline at the end. */
export function formatNvptx({ file, sizeBytes, kind, images }: NvptxReport): string {
  const lines = [`${file}: ${kind}, ${sizeBytes} bytes, for NVIDIA GPUs`];
  for (const image of images) {
    const { processor, ptxVersion, compression, storedSizeBytes, target } = image;
    const parts = [
      `${image.kind === 'ptx' ? `PTX ${ptxVersion}` : image.kind} for ${target ?? processor ?? 'an unknown processor'}`,
      `${image.sizeBytes} bytes at ${image.offset}`,
      ...(compression === null ? [] : [`${compression}, ${storedSizeBytes} bytes`]),
    ];
    lines.push(`  ${image.name}`, `    ${parts.join(', ')}`);
    lines.push(...image.kernels.map(({ name, parameters }) => `    kernel ${name}(${parameters.join(', ')})`));
    lines.push(...image.functions.map((name) => `    function ${name}`));
  }
  return `${lines.join('\n')}\n`;
}
