import {apiVersionOf, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';

/** One object of a cluster, which need not exist. */
export interface Reference {
  readonly kind: Kind;
  readonly namespace?: string;
  readonly name: string;
}

/** A reference as data. */
export interface NamedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** Returns a reference; the namespace only counts for kinds that have one. */
export const reference = (kind: Kind, name: string, namespace?: string): Reference => ({
  kind,
  name,
  ...(kind.namespaced && namespace ? {namespace} : {}),
});

/** Returns the reference of an object that was read. */
export const referenceTo = (kind: Kind, {metadata}: KubeObject): Reference => reference(kind, metadata?.name ?? '', metadata?.namespace);

/** `Pod default/web`, `Node a`. */
export const subjectText = ({kind, namespace, name}: Reference): string => `${kind.kind} ${namespace ? `${namespace}/` : ''}${name}`;

export const namedObject = ({kind, ...rest}: Reference, naming: Naming): NamedObject => ({
  apiVersion: apiVersionOf(naming, kind),
  kind: kind.kind,
  ...rest,
});
