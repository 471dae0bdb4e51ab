// A project that `plat create operator` made, and additions to it: all of them are worked out before one is written.

import {existsSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {apiVersionOf, kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {makeFolder} from '#src/base/files/folder.js';
import {definitionFiles} from '#src/cli/generate/definition-files.js';
import {parseDeclarations} from '#src/codegen/declarations/parse.js';
import {definitionsOf, type DeclaredDefinition} from '#src/codegen/definitions/definitions.js';
import {Scope} from '#src/codegen/definitions/scope.js';

/** Where something is inserted, and what a person has to do if the place is not found. */
export interface Insertion {
  readonly at: RegExp;
  /** Returns what stands at the place then. */
  with(found: RegExpExecArray): string;
  readonly byHand: string;
}

/** The files of a project, on disk and to be written. */
export class Project {
  readonly #folder: string;
  readonly #changed = new Map<string, string>();
  /** The name of the project and of its objects. */
  readonly name: string;

  constructor(folder: string) {
    this.#folder = folder;
    const {name} = JSON.parse(this.text('package.json')) as {readonly name?: unknown};
    if (typeof name !== 'string') throw new Error('package.json has no name');
    this.name = name;
  }

  has(path: string): boolean {
    return this.#changed.has(path) || existsSync(join(this.#folder, path));
  }

  text(path: string): string {
    const changed = this.#changed.get(path);
    if (changed !== undefined) return changed;
    if (!this.has(path)) throw new Error(`${path} is missing: run the command in a project that plat create operator has made`);
    return readFileSync(join(this.#folder, path), 'utf8');
  }

  /** Adds a file that must not exist. */
  add(path: string, text: string): void {
    if (this.has(path)) throw new Error(`${path} is there already: nothing was changed`);
    this.#changed.set(path, text);
  }

  /** Changes a file at a place that must be there once. */
  insert(path: string, {at, with: replacement, byHand}: Insertion): void {
    const text = this.text(path);
    const [found, ...others] = [...text.matchAll(new RegExp(at, `${at.flags}g`))];
    if (!found || others.length > 0) throw new Error(`${path} was changed so that it cannot be extended: ${byHand}. Nothing was changed`);
    const end = found.index + found[0].length;
    this.#changed.set(path, `${text.slice(0, found.index)}${replacement(found)}${text.slice(end)}`);
  }

  /** The kinds that the sources declare. */
  kinds(): readonly DeclaredDefinition[] {
    const scope = new Scope(path => (this.has(path) ? parseDeclarations(path, this.text(path)) : undefined));
    return definitionsOf(
      this.#sources().map(path => scope.file(path)!),
      scope,
      apiVersionOf(naming('kubernetes'), kinds.customResourceDefinitions),
    );
  }

  /** Changes the whole of a file that is there. */
  replace(path: string, text: string): void {
    this.text(path);
    this.#changed.set(path, text);
  }

  /** Writes the definitions of the kinds anew. Returns the names of their files. */
  generate(): readonly string[] {
    const files = definitionFiles(this.#sources(), path => (this.has(path) ? this.text(path) : undefined), {words: 'kubernetes'});
    for (const {name, text} of files) this.#changed.set(`manifests/crds/${name}`, text);
    return files.map(({name}) => name);
  }

  /** Writes what has changed. Returns the paths. */
  write(): readonly string[] {
    const changed = [...this.#changed].filter(
      ([path, text]) => !existsSync(join(this.#folder, path)) || readFileSync(join(this.#folder, path), 'utf8') !== text,
    );
    for (const [path, text] of changed) {
      makeFolder(dirname(join(this.#folder, path)));
      writeFileSync(join(this.#folder, path), text);
    }
    return changed.map(([path]) => path).sort();
  }

  #sources(): readonly string[] {
    const added = [...this.#changed.keys()].filter(path => /^src\/[^/]+\.ts$/.test(path));
    const present = readdirSync(join(this.#folder, 'src')).filter(file => file.endsWith('.ts') && !/\.(d|test|spec)\.ts$/.test(file));
    return [...new Set([...added, ...present.map(file => `src/${file}`)])].sort();
  }
}
