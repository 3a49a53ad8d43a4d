/** The last bytes of what a program printed, up to a limit. */
const MAX_BYTES = 2 ** 20;

export class CapturedOutput {
  #chunks: Buffer[] = [];
  #sizeBytes = 0;
  #dropped = false;

  write(data: Uint8Array | string): void {
    const bytes = Buffer.from(data);
    this.#chunks.push(bytes);
    this.#sizeBytes += bytes.length;
    if (this.#sizeBytes <= 2 * MAX_BYTES) return;
    const last = Buffer.concat(this.#chunks).subarray(-MAX_BYTES);
    this.#chunks = [last];
    this.#sizeBytes = last.length;
    this.#dropped = true;
  }

  text(): string {
    const text = Buffer.concat(this.#chunks).toString();
    return this.#dropped ? `[earlier output dropped]\n${text}` : text;
  }
}
