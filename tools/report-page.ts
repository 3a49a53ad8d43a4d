/**
 * Bundles the page of `profile html` (pages/report) with the libraries that it uses, and writes it into
 * src/report/page-assets.ts. `npm run build:page` runs it; test/report-page.test.ts says when that is due.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { build } from 'esbuild';

const ROOT = path.resolve(import.meta.dirname, '..');
const ASSETS = path.join(ROOT, 'src/report/page-assets.ts');
const STYLES = ['node_modules/uplot/dist/uPlot.min.css', 'pages/report/style.css'];

export interface PageParts {
  readonly script: string;
  readonly style: string;
}

/** Each package that is bundled, with the text of its licence. */
function licences(inputs: readonly string[]): string {
  const folders = new Set(inputs.flatMap((file) => /^node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  const byText = Map.groupBy([...folders].sort(), (folder) => {
    const file = readdirSync(path.join(ROOT, folder)).find((name) => /^LICENSE/i.test(name));
    if (file === undefined) throw new Error(`${folder} has no licence`);
    return readFileSync(path.join(ROOT, folder, file), 'utf8')
      .trim()
      .replaceAll('*/', '* /');
  });
  const parts = [...byText].map(([text, of]) => {
    const names = of.map((folder) => {
      const { name, version } = JSON.parse(readFileSync(path.join(ROOT, folder, 'package.json'), 'utf8'));
      return `${name} ${version}`;
    });
    return `${names.join(', ')}:\n\n${text}`;
  });
  return `/*!\nThis page contains:\n\n${parts.join('\n\n')}\n*/\n`;
}

/** The same bytes each time, from the same sources. */
export async function bundlePage(): Promise<PageParts> {
  const common = {
    absWorkingDir: ROOT,
    bundle: true,
    minify: true,
    write: false,
    target: 'es2022',
    metafile: true,
  } as const;
  const [program, styles] = await Promise.all([
    build({ ...common, entryPoints: ['pages/report/main.ts'], format: 'esm', legalComments: 'none' }),
    build({
      ...common,
      stdin: { contents: STYLES.map((file) => `@import './${file}';`).join('\n'), resolveDir: ROOT, loader: 'css' },
    }),
  ]);
  const script = licences(Object.keys(program.metafile.inputs)) + program.outputFiles[0]!.text;
  return { script, style: styles.outputFiles[0]!.text };
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

async function main(): Promise<void> {
  const { script, style } = await bundlePage();
  const packed = (text: string): string => deflateRawSync(text, { level: 9 }).toString('base64');
  writeFileSync(
    ASSETS,
    `/**
 * The program and the styles of a report's page, compressed (RFC 1951), in base64. \`npm run build:page\`
 * makes this file from pages/report, and the test of that name holds it against them.
 *
 * sha256 of the program: ${digest(script)}
 * sha256 of the styles: ${digest(style)}
 */
export const PAGE_ASSETS = {
  script:
    '${packed(script)}',
  style:
    '${packed(style)}',
} as const;
`,
  );
}

if (import.meta.main) await main();
