/**
 * Writes a file that others may read meanwhile: under its own name it is there only when it is whole, also
 * where several threads and processes write it. Nothing is left where that fails. Throws what node:fs throws.
 */
export function writeWholeFile(file: string, bytes: Uint8Array, mode = 0o666): void {
  const fs = process.getBuiltinModule('node:fs');
  const draft = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  try {
    fs.writeFileSync(draft, bytes, { mode });
    fs.renameSync(draft, file);
  } catch (error) {
    if (fs.existsSync(draft)) fs.rmSync(draft);
    throw error;
  }
}
