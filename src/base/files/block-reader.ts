import {open, type FileHandle} from 'node:fs/promises';

/** An open file that is read in blocks. The file stays readable when another takes its name. */
export interface BlockReader extends AsyncDisposable {
  /** Identifies the file: another file of the same name has another one. */
  readonly id: string;
  /** Returns at most so many bytes from a position; none at the end. */
  read(position: number, length: number): Promise<Buffer>;
  size(): Promise<number>;
}

class OpenFile implements BlockReader {
  readonly id: string;
  readonly #file: FileHandle;

  constructor(file: FileHandle, id: string) {
    this.#file = file;
    this.id = id;
  }

  async read(position: number, length: number): Promise<Buffer> {
    const {buffer, bytesRead} = await this.#file.read(Buffer.allocUnsafe(length), 0, length, position);
    return buffer.subarray(0, bytesRead);
  }

  async size(): Promise<number> {
    return (await this.#file.stat()).size;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}

/** Opens a file for reading, following links. Returns undefined if there is none. */
export const openBlocks = async (path: string): Promise<BlockReader | undefined> => {
  let file: FileHandle;
  try {
    file = await open(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const {dev, ino} = await file.stat();
  return new OpenFile(file, `${dev}:${ino}`);
};
