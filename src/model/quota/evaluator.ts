import type {Frozen} from '#src/api/key.js';
import type {Kind} from '#src/api/kind.js';
import type {Quantity} from '#src/api/quantity.js';
import type {KubeObject} from '#src/api/types.js';
import type {ResourceList} from '#src/model/pod/requests.js';

/** A scope selector of a quota. Items of `scopes` are converted to selectors with the operator Exists. */
export interface ScopeSelector {
  readonly scopeName: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

/** Evaluates the quota usage of one resource. Unknown scopes match no object. */
export interface QuotaEvaluator {
  /** The group on the wire, and the resource. */
  readonly group: string;
  readonly resource: string;
  /** The kind, for evaluators that need whole objects. Others need only metadata. */
  readonly kind?: Kind;
  /** Whether a request with this operation and subresource may change the usage. */
  handles(operation: string, subresource: string): boolean;
  /** Whether the evaluator calculates the quota resource of that name. */
  matchesResource(name: string): boolean;
  /** Returns the usage of an object. */
  usage(object: Frozen<KubeObject>, now: number): ResourceList;
  /** Whether the object matches a scope. */
  matchesScope?(scope: ScopeSelector, object: Frozen<KubeObject>): boolean;
  /** Returns what may move the object between scopes when it changes. */
  scopedBy?(object: Frozen<KubeObject>): string;
  /** Returns an error if an object lacks values that a quota with these resources requires. */
  constraintError?(names: readonly string[], object: Frozen<KubeObject>): string | undefined;
}

/** Returns a resource list from pairs. */
export const resourceList = (...pairs: readonly (readonly [name: string, amount: Quantity])[]): ResourceList => new Map(pairs);
