/** A site with the built library, these tests' programs and the examples. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import type { AddressInfo } from 'node:net';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '../..');
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
};
const MSGPACK = '/node_modules/@msgpack/msgpack/dist.esm/index.mjs';
const PAGE = `<!doctype html>
<link rel="icon" href="data:,">
<script type="importmap">{ "imports": { "@msgpack/msgpack": "${MSGPACK}" } }</script>`;
/** Pages and workers that have these share memory. */
const ISOLATION = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };

/** Builds the library as `npm run build` does, into `directory`. */
export function build(directory: string): void {
  const tsc = path.join(ROOT, 'node_modules/typescript/bin/tsc');
  const argv = [tsc, '-p', path.join(ROOT, 'tsconfig.build.json'), '--outDir', directory];
  const { status, stdout } = spawnSync(process.execPath, argv, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the build fails:\n${stdout}`);
}

/**
 * Serves `/dist`, `/test` and `/examples`; a page with memory for several threads as `/isolated`, one without
 * as `/plain`. The pages have an import map; for workers, which import maps do not reach, the scripts are
 * below `/bundled` with that import replaced, as bundlers do.
 */
export async function serve(dist: string): Promise<{ url: string } & Disposable> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, 'http://localhost');
    const extension = path.extname(pathname) || '.html';
    const body = contents(dist, pathname);
    const isolated = !request.headers.referer?.includes('/plain') && !pathname.startsWith('/plain');
    response.writeHead(body === undefined ? 404 : 200, {
      'content-type': TYPES[extension] ?? 'application/octet-stream',
      ...(isolated && ISOLATION),
    });
    response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, [Symbol.dispose]: () => server.close() };
}

function contents(dist: string, pathname: string): Uint8Array | string | undefined {
  if (pathname === '/isolated' || pathname === '/plain') return PAGE;
  if (pathname.startsWith('/bundled/')) {
    const text = contents(dist, pathname.slice('/bundled'.length));
    return text && Buffer.from(text).toString().replaceAll("'@msgpack/msgpack'", `'${MSGPACK}'`);
  }
  const file = pathname.startsWith('/dist/') ? path.join(dist, pathname.slice(6)) : path.join(ROOT, pathname);
  if (pathname.startsWith('/test/browser/')) {
    const source = stripTypeScriptTypes(readFileSync(file.replace(/\.js$/, '.ts'), 'utf8'));
    return source.replace(/'(\.[^']*)\.ts'/g, (_, name: string) => `'${name.replace('/src/', '/dist/')}.js'`);
  }
  return existsSync(file) ? readFileSync(file) : undefined;
}
