// What an admission webhook is called for: a kind, a subresource of one, or everything.

import {customKind} from '#src/api/kind.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';

/** All kinds of all groups, for admission webhooks alone: `validating(AnyKind, …)`. */
export const AnyKind: Kind = customKind({group: '*', version: '*', kind: '*', plural: '*'});

/** A subresource, of which `T` is the type of the reviewed objects. */
export interface Subresource<T extends KubeObject = KubeObject> {
  readonly of: Kind;
  readonly subresource: string;
  /** Carries only the type; never set. */
  readonly type?: T;
}

/**
 * A subresource for an admission webhook. Requests for most subresources but `status` carry objects of another kind
 * than their resource: their type is the type argument. `*` means all subresources.
 *
 *     validating(subresource<Eviction>(Pod, 'eviction'), function* ({object}) { … });
 *     validating(subresource(AnyKind, 'status'), …);
 */
export function subresource<T extends KubeObject>(of: Kind<T>, name: 'status'): Subresource<T>;
export function subresource<T extends KubeObject = KubeObject>(of: Kind, name: string): Subresource<T>;
export function subresource(of: Kind, name: string): Subresource {
  if (!/^(\*|[a-z]+)$/.test(name)) throw new TypeError(`subresource "${name}": use the name of a subresource, or *`);
  return {of, subresource: name};
}

/** What an admission webhook reviews. */
export type WebhookTarget<T extends KubeObject = KubeObject> = Kind<T> | Subresource<T>;

/** Returns the kind and the subresource of a target; the subresource is empty for the kind itself. */
export const partsOfTarget = (target: WebhookTarget): {readonly kind: Kind; readonly subresource: string} =>
  'of' in target ? {kind: target.of, subresource: target.subresource} : {kind: target, subresource: ''};
