// Finds the declaration that a name refers to, across files.

import {posix} from 'node:path';
import {packageName} from '#src/api/version.js';
import {failureAt, type Declaration, type Place, type SourceFile} from '#src/codegen/declarations/syntax.js';

/** Types of the package that declarations can use: those of every object, and conditions. */
export const packageTypes = ['KubeObject', 'ObjectMeta', 'Condition'] as const;
export type PackageType = (typeof packageTypes)[number];

/** What a name refers to. */
export type Meaning = {readonly declaration: Declaration} | {readonly packageType: PackageType};

const packages: ReadonlySet<string> = new Set([packageName, `${packageName}/operator`]);

/** The files that are read, by path. `read` parses a file; it returns undefined if there is none. */
export class Scope {
  readonly #files = new Map<string, SourceFile | undefined>();
  readonly #read: (file: string) => SourceFile | undefined;

  constructor(read: (file: string) => SourceFile | undefined) {
    this.#read = read;
  }

  /** Returns a file; undefined if there is none. */
  file(path: string): SourceFile | undefined {
    if (!this.#files.has(path)) this.#files.set(path, this.#read(path));
    return this.#files.get(path);
  }

  /**
   * Returns what a name means in a file. Throws an error of one line with the place if it means nothing that can become
   * a schema.
   */
  meaning(name: string, at: Place, from = at.file): Meaning {
    const file = this.file(from);
    const declaration = file?.declarations.get(name);
    if (declaration) return {declaration};
    const imported = file?.imports.get(name);
    if (!imported) throw failureAt(at, `${name} is neither declared nor imported`);
    if (packages.has(imported.from)) {
      const known = packageTypes.find(type => type === imported.name);
      if (known) return {packageType: known};
      throw failureAt(
        at,
        `${name} of ${imported.from} cannot become a schema: declare the fields that you need, or use Record<string, unknown>`,
      );
    }
    if (!imported.from.startsWith('.'))
      throw failureAt(at, `${name} is imported from ${imported.from}: only types of relative imports can become a schema`);
    const path = posix
      .join(posix.dirname(from), imported.from)
      .replace(/\.js$/, '.ts')
      .replace(/(?<!\.ts)$/, '.ts');
    if (!this.file(path)) throw failureAt(at, `${name} is imported from ${path}, which cannot be read`);
    return this.meaning(imported.name, at, path);
  }
}
