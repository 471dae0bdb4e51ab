// What of secrets is recorded: their structure, and digests in place of values. The digests have a key of the recorder:
// equal values are seen as equal, and cannot be guessed.

import {createHmac} from 'node:crypto';
import type {RecordedObject} from '#src/observe/flight-recorder.js';

/** Whether the values of objects of a resource are secret. */
export const isSecret = ({group, resource}: RecordedObject): boolean => group === '' && resource === 'secrets';

/** Fields whose values are public: the names of types, and what the server itself sets. */
const withoutSecrets: ReadonlySet<string> = new Set(['kind', 'apiVersion', 'type', 'immutable', 'metadata']);
const metadataWithSecrets: ReadonlySet<string> = new Set(['annotations']);

/** Returns the JSON of a secret, with digests in place of its values and of those of its annotations. */
export const withDigests = (json: string, key: Buffer): string => {
  const object = JSON.parse(json) as Record<string, unknown>;
  const digested = (value: unknown): unknown =>
    value !== null && typeof value === 'object'
      ? Array.isArray(value)
        ? value.map(digested)
        : Object.fromEntries(Object.entries(value).map(([name, each]) => [name, digested(each)]))
      : `digest:${createHmac('sha256', key).update(String(value)).digest('hex').slice(0, 24)}`;
  const metadata = Object.fromEntries(
    Object.entries((object['metadata'] ?? {}) as Record<string, unknown>).map(([name, value]) => [
      name,
      metadataWithSecrets.has(name) ? digested(value) : value,
    ]),
  );
  return JSON.stringify(
    Object.fromEntries(
      Object.entries({...object, metadata}).map(([name, value]) => [name, withoutSecrets.has(name) ? value : digested(value)]),
    ),
  );
};
