// An object whose fields are written and applied by managers, as the API server does it.
import {copied, type PlainObject} from '#src/schema/decode/plain.js';
import {decodeValue} from '#src/schema/decode/decode.js';
import {ApplyConflict} from '#src/schema/apply/conflicts.js';
import {applyWithLastApplied} from '#src/schema/apply/last-applied.js';
import type {ManagedFieldsEntry} from '#src/schema/apply/managers.js';
import {pathsOf, formatPath} from '#src/schema/apply/fields-v1.js';
import {Writes, type Versions, type Writer} from '#src/schema/apply/tracking.js';
import {trackUpdate} from '#src/schema/apply/update.js';
import type {SchemaNode} from '#src/schema/node.js';
import {Schemas} from '#src/schema/builtin/schemas.js';

const schemas = new Schemas();
export const node = (group: string, name: string): SchemaNode => schemas.of(group, 'v1', name)!;
export const configMap = node('', 'ConfigMap');
export const deployment = node('apps', 'Deployment');
export const pod = node('', 'Pod');
export const anything: SchemaNode = {type: 'object', preservesUnknown: true};

export const lastAppliedKey = 'last-applied';

interface Write {
  readonly manager?: string;
  readonly subresource?: string;
  readonly force?: boolean;
  readonly apiVersion?: string;
  readonly writes?: readonly string[];
}

const held = (object: PlainObject, schema: SchemaNode): PlainObject =>
  schema === anything ? copied(object) : decodeValue(object, schema, 'Ignore').object;

/** One object, written as a server without defaults, admission and validation would. */
export class ManagedObject {
  object: PlainObject = {};
  entries: readonly ManagedFieldsEntry[] = [];
  seconds = 0;
  readonly #node: SchemaNode;
  readonly #versions: Versions;

  constructor(schema: SchemaNode, versions?: Versions) {
    this.#node = schema;
    this.#versions = versions ?? {schemaOf: () => schema, convert: object => object};
  }

  apply(intent: PlainObject, write: Write = {}): this {
    const writer = this.#writer(write);
    const {object, entries} = applyWithLastApplied(
      {live: this.object, intent, node: this.#node, entries: this.entries, force: write.force ?? false},
      writer,
      lastAppliedKey,
    );
    this.object = held(object, this.#node);
    this.entries = entries;
    return this;
  }

  update(after: PlainObject, write: Write = {}): this {
    this.entries = trackUpdate({before: this.object, after, node: this.#node}, this.entries, this.#writer(write));
    this.object = copied(after);
    return this;
  }

  /** The fields of a manager, as messages show them. */
  owned(manager: string, operation: 'Apply' | 'Update' = 'Apply'): string[] {
    const fields = this.entries
      .filter(entry => entry.manager === manager && entry.operation === operation)
      .flatMap(entry => [...pathsOf(entry.fieldsV1)]);
    return fields.map(formatPath).sort();
  }

  #writer({manager = 'me', subresource = '', apiVersion = 'v1', writes}: Write): Writer {
    this.seconds++;
    const time = new Date(Date.UTC(2026, 0, 2, 3, 4, this.seconds)).toISOString().replace('.000', '');
    return {manager, subresource, apiVersion, time, writes: writes && new Writes(writes), versions: this.#versions};
  }
}

export const conflictOf = (run: () => unknown): ApplyConflict => {
  try {
    run();
  } catch (error) {
    if (error instanceof ApplyConflict) return error;
    throw error;
  }
  throw new Error('there was no conflict');
};
