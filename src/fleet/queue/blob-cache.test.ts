import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { BlobCache } from './blob-cache.ts';

test('a folder that is removed while a worker begins with it is an error of the folder', (context) => {
  const root = mkdtempSync(path.join(tmpdir(), 'blobs-'));
  try {
    const folder = path.join(root, 'cache');
    const fs = process.getBuiltinModule('node:fs');
    const { readdirSync } = fs;
    context.mock.method(fs, 'readdirSync', (name: string) => {
      rmSync(folder, { recursive: true });
      return readdirSync(name);
    });
    assert.throws(() => new BlobCache(folder, 1000), { code: 'IO', message: /ENOENT.*cache/ });
  } finally {
    rmSync(root, { recursive: true });
  }
});
