import type {Frozen} from '#src/api/key.js';
import type {Kind} from '#src/api/kind.js';
import type {Quantity} from '#src/api/quantity.js';
import type {KubeObject} from '#src/api/types.js';
import type {ResourceList} from '#src/model/pod/requests.js';

/** One thing a quota's scopes ask of an object: `scopes` of a quota are selectors that ask for existence. */
export interface ScopeSelector {
  readonly scopeName: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

/** What counts of the objects of one resource, under the names that quotas use. Scopes an evaluator does not know match nothing. */
export interface QuotaEvaluator {
  /** The group on the wire, and the resource. */
  readonly group: string;
  readonly resource: string;
  /** The kind, where the code knows it: then usage needs whole objects; of others metadata is enough. */
  readonly kind?: Kind;
  /** Whether a request of that operation, at that subresource, may change what is used. */
  handles(operation: string, subresource: string): boolean;
  /** Whether it reckons what a quota limits under that name. */
  matchesResource(name: string): boolean;
  /** What an object uses. */
  usage(object: Frozen<KubeObject>, now: number): ResourceList;
  /** Whether the object is within a scope. */
  matchesScope?(scope: ScopeSelector, object: Frozen<KubeObject>): boolean;
  /** Why an object cannot be charged to a quota that limits these names; undefined where it can. */
  constraintError?(names: readonly string[], object: Frozen<KubeObject>): string | undefined;
}

/** Amounts by name, from pairs; equal names add up nowhere. */
export const resourceList = (...pairs: readonly (readonly [name: string, amount: Quantity])[]): ResourceList => new Map(pairs);
