/**
 * A report as one page of HTML that asks no network: styles, program and data stand in it. What comes from
 * the profile is data alone, compressed and in base64; the page's policy lets nothing run but its
 * own program.
 */
import type { Profile } from '../profile/profile.ts';
import { ColumnWriter } from './columns.ts';
import { writeTimeline } from './event-tables.ts';
import { kernelCode, type ReadSource } from './kernel-code.ts';
import { kernelTotals } from './kernel-totals.ts';
import { writeMemory } from './memory-tables.ts';
import { PAGE_ASSETS } from './page-assets.ts';
import { plainTables } from './plain-tables.ts';
import { packReport } from './report-data.ts';

export interface ReportOptions {
  /** What made the report, with its version. */
  readonly madeBy: string;
  readonly readSource?: ReadSource | undefined;
}

/** Throws BAD_INPUT for a damaged profile, LIMIT_EXCEEDED for one with too many events. */
export async function reportPage(profile: Profile, options: ReportOptions): Promise<string> {
  const packed = reportBytes(profile, options);
  const [script, style, data] = await Promise.all([
    inflate(PAGE_ASSETS.script),
    inflate(PAGE_ASSETS.style),
    through(packed, new CompressionStream('gzip')),
  ]);
  const policy = [
    "default-src 'none'",
    `script-src '${await digestOf(script)}'`,
    `style-src '${await digestOf(style)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Profile</title>
<style>${style}</style>
</head>
<body>
<noscript>This report needs JavaScript, which is in the file.</noscript>
<script type="application/octet-stream" id="data">${data.toBase64()}</script>
<script type="module">${script}</script>
</body>
</html>
`;
}

/** What the page unpacks. */
export function reportBytes(profile: Profile, options: ReportOptions): Uint8Array<ArrayBuffer> {
  const writer = new ColumnWriter();
  const { events, tracks, names, baseTimeNs, spanNs, skippedCount } = writeTimeline(profile, writer);
  const memory = writeMemory(profile, baseTimeNs, writer);
  const { kernels, counters } = kernelTotals(profile);
  const { droppedRecords } = profile.losses();
  const notices = [
    ...(droppedRecords > 0n ? [`${droppedRecords} records were lost when the profile was written.`] : []),
    ...(skippedCount > 0 ? [`${skippedCount} events have no valid time and are not in the timeline.`] : []),
    ...(profile.bundle.isComplete ? [] : ['The session did not end: the profile is what was written until then.']),
  ];
  const header = {
    name: profile.name,
    madeBy: options.madeBy,
    ...{ spanNs, names, events, tracks, notices },
    baseTimeNs: baseTimeNs.toString(),
    queues: profile.queues.map(({ physicalDeviceOrdinal: device, queueOrdinal: queue, streamId }) => ({
      ...{ device, queue, title: `queue ${queue}, stream ${streamId}` },
    })),
    ...{ kernels, counters },
    code: kernelCode(profile, options.readSource),
    ...memory,
    statistics: plainTables(profile),
  };
  return packReport(header, writer.bytes);
}

async function through(bytes: Uint8Array<ArrayBuffer>, transform: CompressionStream | DecompressionStream) {
  const stream = new Blob([bytes]).stream().pipeThrough(transform);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const inflate = async (base64: string): Promise<string> =>
  new TextDecoder().decode(await through(Uint8Array.fromBase64(base64), new DecompressionStream('deflate-raw')));

/** As a Content-Security-Policy names what may run. */
async function digestOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return `sha256-${new Uint8Array(digest).toBase64()}`;
}
