// Finds what a name refers to, across files.

import {posix} from 'node:path';
import {kubernetesPackages} from '#src/codegen/kubernetes/names.js';
import {KubernetesTypes} from '#src/codegen/kubernetes/types.js';
import {messageOf} from '#src/base/message.js';
import {packageName} from '#src/api/version.js';
import {failureAt, type Declaration, type Import, type Place, type SourceFile, type TypeNode} from '#src/codegen/declarations/syntax.js';
import type {JsonSchema} from '#src/schema/json-schema.js';

/** Types of the package that declarations can use: those of every object, and conditions. */
export const packageTypes = ['KubeObject', 'ObjectMeta', 'Condition'] as const;
export type PackageType = (typeof packageTypes)[number];

/** What a name refers to. */
export type Meaning =
  | {readonly declaration: Declaration}
  | {readonly packageType: PackageType}
  | {readonly schema: JsonSchema; readonly name: string};

const packages: ReadonlySet<string> = new Set([packageName, `${packageName}/operator`]);

/** The files that are read, by path. `read` parses a file; it returns undefined if there is none. */
export class Scope {
  readonly #files = new Map<string, SourceFile | undefined>();
  readonly #read: (file: string) => SourceFile | undefined;
  readonly #kubernetes: KubernetesTypes;

  constructor(read: (file: string) => SourceFile | undefined, kubernetes = new KubernetesTypes()) {
    this.#read = read;
    this.#kubernetes = kubernetes;
  }

  /** Returns a file; undefined if there is none. */
  file(path: string): SourceFile | undefined {
    if (!this.#files.has(path)) this.#files.set(path, this.#read(path));
    return this.#files.get(path);
  }

  /** Whether a file declares or imports a name, which may then be none of the language. */
  knows(name: string, from: string): boolean {
    const file = this.file(from);
    return file !== undefined && (file.declarations.has(name) || file.imports.has(name));
  }

  /** Whether a name stands for all that a module exports. */
  isModule(name: string, from: string): boolean {
    return this.file(from)?.imports.get(name)?.name === '*';
  }

  /**
   * Returns what a name means in a file. Throws an error of one line with the place if it means nothing that can become
   * a schema.
   */
  meaning(name: string, at: Place, qualifier?: string): Meaning {
    if (qualifier !== undefined) {
      const module = this.file(at.file)?.imports.get(qualifier);
      if (module?.name !== '*') throw failureAt(at, `${qualifier}.${name}: import types by their own names`);
      return this.#imported({from: module.from, name}, at, at.file);
    }
    const found = this.#meaning(name, at, at.file, new Set());
    if (!found) throw failureAt(at, `${name} is neither declared nor imported`);
    return found;
  }

  /** Returns the type of a constant, which may be imported; undefined if it is none of literals. */
  constant(name: string, at: Place): TypeNode | undefined {
    const file = this.file(at.file);
    const own = file?.constants.get(name);
    const imported = file?.imports.get(name);
    if (own || !imported?.from.startsWith('.')) return own;
    const path = this.#path(imported.from, at.file);
    return path === undefined ? undefined : this.constant(imported.name, {...at, file: path});
  }

  #meaning(name: string, at: Place, from: string, seen: Set<string>): Meaning | undefined {
    if (seen.has(from)) return undefined;
    seen.add(from);
    const file = this.file(from);
    const declaration = file?.declarations.get(name);
    if (declaration) return {declaration};
    const imported = file?.imports.get(name);
    if (imported) return this.#imported(imported, at, from);
    for (const each of file?.reexports ?? []) {
      const path = this.#path(each, from);
      const found = path === undefined ? undefined : this.#meaning(name, at, path, seen);
      if (found) return found;
    }
    return undefined;
  }

  #imported({from, name}: Import, at: Place, file: string): Meaning {
    if (from.startsWith('.')) {
      const path = this.#path(from, file);
      if (path === undefined) throw failureAt(at, `${name} is imported from ${candidates(from, file)[0]!}, which cannot be read`);
      const found = this.#meaning(name, at, path, new Set());
      if (!found) throw failureAt(at, `${name} is imported from ${path}, which does not declare it`);
      return found;
    }
    const known = packages.has(from) ? packageTypes.find(type => type === name) : undefined;
    if (known) return {packageType: known};
    if (!kubernetesPackages.has(from) && !packages.has(from))
      throw failureAt(at, `${name} is imported from ${from}: only types of relative imports and of Kubernetes can become a schema`);
    const schema = withPlace(at, () => this.#kubernetes.of(name, from));
    if (schema) return {schema, name};
    throw failureAt(at, `${name} of ${from} cannot become a schema: declare the fields that you need, or use Record<string, unknown>`);
  }

  /** Returns the path of a module that can be read. */
  #path(module: string, from: string): string | undefined {
    return candidates(module, from).find(path => this.file(path));
  }
}

const withPlace = <T>(at: Place, act: () => T): T => {
  try {
    return act();
  } catch (error) {
    throw failureAt(at, messageOf(error));
  }
};

/** The files that a relative import can mean. */
const candidates = (module: string, from: string): readonly string[] => {
  const path = posix.join(posix.dirname(from), module);
  const [, stem, m = ''] = /^(.*)\.(m?)(?:js|ts)$/.exec(path) ?? [];
  return stem === undefined ? [`${path}.ts`, `${path}/index.ts`] : [`${stem}.${m}ts`];
};
