// The objects of a history: config maps of one namespace.

import type {Content} from '#test/faults/history/content.js';
import type {Item} from '#test/faults/history/records.js';

export const collection = '/api/v1/namespaces/default/configmaps';
export const colors = ['red', 'blue'] as const;

export interface ConfigMap {
  readonly metadata: {
    readonly name: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly data?: {readonly v?: string; readonly p?: string; readonly a?: string};
}

/** Objects of a history carry this label, for there are others in the namespace. */
const label = 'faults';

export const selectorOf = (color: string | undefined): string =>
  `labelSelector=${encodeURIComponent(color ? `${label},color=${color}` : label)}`;

export const configMapOf = (name: string, {uid, v, p, a, color}: Content, revision?: number): ConfigMap => ({
  metadata: {
    name,
    labels: {[label]: 'yes', ...(color ? {color} : {})},
    ...(uid ? {uid} : {}),
    ...(revision === undefined ? {} : {resourceVersion: String(revision)}),
  },
  data: {...(v ? {v} : {}), ...(p ? {p} : {}), ...(a ? {a} : {})},
});

export const itemOf = ({metadata: {name, uid, resourceVersion, labels}, data}: ConfigMap): Item => ({
  key: name,
  revision: Number(resourceVersion),
  content: {uid, v: data?.v, p: data?.p, a: data?.a, color: labels?.['color']},
});

/** A patch by apply: the value, and the label that all have. */
export const applied = (name: string, a: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {name, labels: {[label]: 'yes'}},
  data: {a},
});
