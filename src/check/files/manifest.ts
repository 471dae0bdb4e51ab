import type {Finding, Subject} from '#src/check/findings/finding.js';
import {rules, type Level, type Rule} from '#src/check/findings/rules.js';
import {isOfKind, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject, ObjectMeta} from '#src/api/types.js';

/** An object that can be applied. */
export type ManifestObject = KubeObject & {readonly apiVersion: string; readonly kind: string; readonly metadata: ObjectMeta};

/** An object of a file, and where it stands. */
export class Manifest {
  readonly file: string;
  readonly object: ManifestObject;
  readonly #lineOf: (path: string) => number;

  constructor(file: string, object: ManifestObject, lineOf: (path: string) => number) {
    this.file = file;
    this.object = object;
    this.#lineOf = lineOf;
  }

  /** Its name, or the beginning of the one that it will get. */
  get name(): string {
    const {name, generateName} = this.object.metadata;
    return name || `${generateName ?? ''}*`;
  }

  get namespace(): string | undefined {
    return this.object.metadata.namespace || undefined;
  }

  get subject(): Subject {
    const {apiVersion, kind} = this.object;
    return {apiVersion, kind, ...(this.namespace ? {namespace: this.namespace} : {}), name: this.name};
  }

  isOf(kind: Kind, naming: Naming): boolean {
    return isOfKind(this.object, kind, naming);
  }

  /** The same in a namespace, unless it names one. */
  within(namespace: string): Manifest {
    if (this.namespace) return this;
    return new Manifest(this.file, {...this.object, metadata: {...this.object.metadata, namespace}}, this.#lineOf);
  }

  /** A finding about it, at the line of a field, or at its beginning. */
  finding(
    rule: Rule,
    message: string,
    {field = '', level = rules[rule].level}: {readonly field?: string; readonly level?: Level} = {},
  ): Finding {
    return {rule, level, message, file: this.file, line: this.#lineOf(field), ...(field ? {field} : {}), object: this.subject};
  }
}
