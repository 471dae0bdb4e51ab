import type {KubeObject} from '#src/api/types.js';
import {configMaps, startWire, type Received} from './wire.js';

export const seconds = 1000;

export interface Entry {
  manager?: string;
  operation: string;
  apiVersion: string;
  time?: string;
  fieldsType: string;
  fieldsV1: object;
  subresource?: string;
}

export const entriesOf = (object: KubeObject): Entry[] => (object.metadata?.managedFields ?? []) as unknown as Entry[];
export const ownersOf = (object: KubeObject): string[] =>
  entriesOf(object).map(({manager, operation, subresource}) => [manager, operation, subresource].filter(Boolean).join(' '));
export const dataOf = (received: Received): unknown => received.json<{data?: unknown}>().data;

export const startApply = async () => {
  const env = await startWire();
  return {
    ...env,
    /** Applies an intent, by default as `me`. */
    apply: (url: string, intent: unknown, query = 'fieldManager=me') =>
      env.patch(`${url}?${query}`, intent, {headers: {'content-type': 'application/apply-patch+yaml'}}),
    pass: (ms: number) => env.clock.advance(ms),
  };
};
export const url = `${configMaps}/a`;
