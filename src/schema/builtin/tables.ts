import {existsSync, readFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {gunzipSync} from 'node:zlib';

// The tables that the build generates from the API's type declarations, read from disk per group version.

/** A type in the build's tables: fields with their types in Go notation. */
export interface TableType {
  readonly fields: Readonly<Record<string, string>>;
  readonly required?: readonly string[];
}

/** The documentation of a type and its fields. */
export interface TypeDocs {
  readonly description: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** Returns the folder of the build's tables, from a compiled file or a bundle. */
const tablesFolder = (): string => {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'schema', 'stamp'))) return join(folder, 'schema');
    if (folder === dirname(folder)) throw new Error('the schema tables are missing: run `make build`');
  }
};

/** Reads the tables of each group version once, on first use. */
export class Tables {
  #folder: string | undefined;
  readonly #types = new Map<string, Readonly<Record<string, TableType>>>();
  readonly #docs = new Map<string, Readonly<Record<string, TypeDocs>>>();

  constructor(folder?: string) {
    this.#folder = folder;
  }

  /** Returns the types of a group version; empty for one without a table. */
  types(group: string, version: string): Readonly<Record<string, TableType>> {
    return this.#read(this.#types, `${group || 'core'}.${version}.json`, file => readFileSync(file));
  }

  docs(group: string, version: string): Readonly<Record<string, TypeDocs>> {
    return this.#read(this.#docs, `${group || 'core'}.${version}.docs.json.gz`, file => gunzipSync(readFileSync(file)));
  }

  #read<T>(
    cache: Map<string, Readonly<Record<string, T>>>,
    name: string,
    contentOf: (file: string) => Buffer,
  ): Readonly<Record<string, T>> {
    const known = cache.get(name);
    if (known) return known;
    this.#folder ??= tablesFolder();
    const file = join(this.#folder, name);
    const table = existsSync(file) ? (JSON.parse(contentOf(file).toString()) as Record<string, T>) : {};
    cache.set(name, table);
    return table;
  }
}
