import type {ApiClient} from '#bench/load/api-client.js';
import type {Running} from '#bench/load/programs.js';
import {row, type Row} from '#bench/run/row.js';
import {comparedRows, type ComparedKey} from './compared-rows.js';

/** A server with a namespace full of config maps of 1 kB, and the client that loads it. */
export interface Scene {
  readonly server: Running;
  readonly client: ApiClient;
  readonly namespace: string;
  readonly count: number;
}

/** The collection of config maps in a namespace. */
export const configMapsIn = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`;

const text = 'x'.repeat(900);

/** A config map of 1 kB. */
export const configMap = (namespace: string, name: string, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {name, namespace, labels: {app: 'load'}, ...metadata},
  data: {text},
});

/** A figure for a row of the comparison. */
export interface Figure {
  readonly value: number;
  readonly note?: string;
  /** Whether it was measured with less than the goals are of. */
  readonly isReduced?: boolean;
}

/** How the figure of a row is measured. */
export interface Measurement {
  readonly key: ComparedKey;
  measure(scene: Scene): Promise<Figure>;
}

export const comparisonRow = (key: ComparedKey, {value, ...details}: Figure): Row =>
  row(comparedRows[key].what, value, comparedRows[key].unit, {key, ...details});
