/** All output of what did not pass, as files below a folder; what cannot be had is counted and said. */
import path from 'node:path';
import { WavewrightError } from '../../base/errors.ts';
import { type BlobStore, hashOfBytes } from '../../fleet/queue/blob-store.ts';
import type { CampaignRecord } from '../../fleet/queue/campaign.ts';
import type { Verdict } from '../../fleet/verdict.ts';

const MAX_OUTPUT_BYTES = 2 ** 27;

export class CaseLogs {
  readonly #folder: string;
  readonly #store: BlobStore;
  readonly #keepsLogs: boolean;
  /** Logs that are missing, by the reason. */
  readonly #missing = new Map<string, number>();

  constructor(folder: string, { keepsLogs }: CampaignRecord, store: BlobStore) {
    [this.#folder, this.#keepsLogs, this.#store] = [folder, keepsLogs, store];
  }

  /** Writes the log of a case, under its name. Throws IO. */
  async write(name: string, { k, o, log, nolog }: Verdict): Promise<void> {
    if (nolog !== undefined) return this.#miss(nolog);
    if (log === undefined) {
      // Where nothing ran there is no output.
      const wasRun = o !== 'passed' && o !== 'quarantined' && o !== 'error';
      if (wasRun && !this.#keepsLogs) this.#miss('the campaign was begun without --logs');
      return;
    }
    const bytes = await this.#store.get(log);
    if (!bytes) return this.#miss('the store has lost it');
    if (hashOfBytes(bytes) !== log) return this.#miss('it is damaged in the store');
    const { gunzipSync } = process.getBuiltinModule('node:zlib');
    const fs = process.getBuiltinModule('node:fs');
    const base = name.replace(/[^A-Za-z0-9._=-]+/g, '_').slice(-100);
    const file = path.join(this.#folder, `${base}.${k.slice(0, 8)}.log`);
    try {
      fs.mkdirSync(this.#folder, { recursive: true });
      fs.writeFileSync(file, gunzipSync(bytes, { maxOutputLength: MAX_OUTPUT_BYTES }));
    } catch (cause) {
      const what = `cannot be written (${cause instanceof Error ? cause.message : cause})`;
      throw new WavewrightError('IO', what, { file, cause });
    }
  }

  /** What the user should know when all is over. */
  *problems(): Generator<string> {
    for (const [why, count] of this.#missing) yield `${count} ${count === 1 ? 'log is' : 'logs are'} missing: ${why}`;
  }

  #miss(why: string): void {
    this.#missing.set(why, (this.#missing.get(why) ?? 0) + 1);
  }
}
