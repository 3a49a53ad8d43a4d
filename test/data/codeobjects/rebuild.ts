// Rebuilds the prebuilt files of this folder from their sources: `node rebuild.ts` compares them with
// MANIFEST.json, `node rebuild.ts --write` replaces the files and the manifest. The tools must be the
// versions that the manifest names.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Manifest {
  /** Tool to version, as the tool prints it. */
  tools: Record<string, string>;
  files: ManifestFile[];
}

export interface ManifestFile {
  file: string;
  sources: string[];
  /** Run by sh in this folder. */
  command: string;
  sha256: string;
}

const CLANG = 'clang-19 -target amdgcn-amd-amdhsa -nogpulib -w';
const OPENCL = '-x cl -cl-std=CL2.0 -Xclang -cl-kernel-arg-info';
const BUNDLE =
  'clang-offload-bundler-19 -type=o -bundle-align=4096' +
  ' -targets=host-x86_64-unknown-linux-gnu,hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-,hipv4-amdgcn-amd-amdhsa--gfx1100' +
  ' -input=/dev/null -input=tiny.gfx90a.co -input=tiny.gfx1100.co';

const RECIPES: [file: string, sources: string[], command: string][] = [
  ...(
    [
      ['gfx90a.v5', 'gfx90a', 5],
      ['gfx90a.v4', 'gfx90a:sramecc+:xnack-', 4],
      ['gfx942.v5', 'gfx942', 5],
      ['gfx1030.v4', 'gfx1030', 4],
      ['gfx1100.v5', 'gfx1100', 5],
      ['gfx1201.v6', 'gfx1201', 6],
      ['gfx9-generic.v6', 'gfx9-generic:xnack+', 6],
      ['gfx11-generic.v6', 'gfx11-generic', 6],
    ] as const
  ).map(([name, target, version]): [string, string[], string] => [
    `kernels.${name}.co`,
    ['kernels.c'],
    `${CLANG} -O2 -mcpu=${target} -mcode-object-version=${version} kernels.c -o kernels.${name}.co`,
  ]),
  ['kernels.gfx90a.v5.o', ['kernels.c'], `${CLANG} -O2 -mcpu=gfx90a -mcode-object-version=5 -c kernels.c -o kernels.gfx90a.v5.o`],
  [
    'kernels.gfx90a.v5.stripped.co',
    ['kernels.gfx90a.v5.co'],
    'llvm-objcopy-19 --strip-sections kernels.gfx90a.v5.co kernels.gfx90a.v5.stripped.co',
  ],
  ...[
    ['gfx90a', 4],
    ['gfx90a', 5],
    ['gfx803', 5],
  ].map(([target, version]): [string, string[], string] => [
    `arguments.${target}.v${version}.co`,
    ['arguments.cl'],
    `${CLANG} -O0 ${OPENCL} -mcpu=${target} -mcode-object-version=${version} arguments.cl -o arguments.${target}.v${version}.co`,
  ]),
  ['tiny.gfx90a.co', ['tiny.c'], `${CLANG} -O2 -mcpu=gfx90a:xnack- -mcode-object-version=5 tiny.c -o tiny.gfx90a.co`],
  ['tiny.gfx1100.co', ['tiny.c'], `${CLANG} -O2 -mcpu=gfx1100 -mcode-object-version=5 tiny.c -o tiny.gfx1100.co`],
  ['fat.bundle', ['tiny.gfx90a.co', 'tiny.gfx1100.co'], `${BUNDLE} -output=fat.bundle`],
  ['fat.ccob', ['tiny.gfx90a.co', 'tiny.gfx1100.co'], `${BUNDLE} -compress -output=fat.ccob`],
  [
    'host.elf',
    ['host.s', 'fat.bundle', 'fat.ccob'],
    'clang-19 -target x86_64-unknown-linux-gnu -c host.s -o host.o && ld.lld-19 -static host.o -o host.elf && rm host.o',
  ],
];

const TOOLS = ['clang-19', 'ld.lld-19', 'llvm-objcopy-19', 'clang-offload-bundler-19'];

const folder = import.meta.dirname;

/** Builds everything in a temporary folder; `use` gets it before it is removed. */
export function rebuild<T>(use: (built: Manifest, builtFolder: string) => T): T {
  const builtFolder = mkdtempSync(join(tmpdir(), 'wavewright-codeobjects-'));
  try {
    for (const name of readdirSync(folder)) {
      if (/\.(c|cl|s)$/.test(name)) copyFileSync(join(folder, name), join(builtFolder, name));
    }
    const tools: Record<string, string> = {};
    for (const tool of TOOLS) tools[tool] = /\d+\.\d+\.\d+/.exec(execFileSync(tool, ['--version'], { encoding: 'utf8' }))![0];
    const files = RECIPES.map(([file, sources, command]): ManifestFile => {
      execFileSync('sh', ['-e', '-c', command], { cwd: builtFolder, stdio: ['ignore', 'ignore', 'inherit'] });
      const sha256 = createHash('sha256').update(readFileSync(join(builtFolder, file))).digest('hex');
      return { file, sources, command, sha256 };
    });
    return use({ tools, files }, builtFolder);
  } finally {
    rmSync(builtFolder, { recursive: true });
  }
}

export function readManifest(): Manifest {
  return JSON.parse(readFileSync(join(folder, 'MANIFEST.json'), 'utf8'));
}

if (import.meta.main) {
  rebuild((built, builtFolder) => {
    const text = `${JSON.stringify(built, undefined, 2)}\n`;
    if (process.argv.includes('--write')) {
      for (const { file } of built.files) copyFileSync(join(builtFolder, file), join(folder, file));
      writeFileSync(join(folder, 'MANIFEST.json'), text);
    } else if (text !== readFileSync(join(folder, 'MANIFEST.json'), 'utf8')) {
      throw new Error('the files that the tools build differ from MANIFEST.json');
    }
  });
}
