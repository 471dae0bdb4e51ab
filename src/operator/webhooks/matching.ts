// Which requests an admission webhook is called for, and what happens if it does not answer.

import type {LabelSelectorObject} from '#src/api/selectors/label-selector.js';

/** The operation of a request under admission. */
export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

/**
 * A condition in CEL over `object`, `oldObject`, `request` and `authorizer`. All must hold for the webhook to be
 * called.
 */
export interface MatchCondition {
  /** Unique in the webhook, such as `not-by-nodes`. */
  readonly name: string;
  readonly expression: string;
}

/** The options of any admission webhook, which end up in its configuration (`webhookConfigurations`). */
export interface AdmissionOptions {
  /** Tells several webhooks of a type and a kind apart: a part of its path and of its name. */
  readonly name?: string;
  /**
   * The namespaces of the objects, by labels; a Namespace itself is matched by its own. It does not limit other
   * cluster-scoped objects. Default: all namespaces; for Pods, Namespaces and `AnyKind` not that of the system and
   * that of the webhooks, which must come up without them (`{}` includes both).
   */
  readonly namespaceSelector?: LabelSelectorObject;
  /** The objects, by labels: for an update, the old or the new ones. Users can set labels. Default: all. */
  readonly objectSelector?: LabelSelectorObject;
  readonly matchConditions?: readonly MatchCondition[];
  /**
   * Whether requests for other versions of the resource are converted and match, too (`Equivalent`), or not (`Exact`).
   * Default `Equivalent`.
   */
  readonly matchPolicy?: 'Exact' | 'Equivalent';
  /**
   * Whether the handler has side effects outside of the object; if so, it must have none with `request.dryRun`. Default
   * `None`.
   */
  readonly sideEffects?: 'None' | 'NoneOnDryRun';
  /** Whether a request is denied if the webhook does not respond. Default: that of the configuration. */
  readonly failurePolicy?: 'Fail' | 'Ignore';
  /** From 1 to 30. Default: that of the configuration. */
  readonly timeoutSeconds?: number;
}

/** Options of a validation. */
export interface ValidationOptions extends AdmissionOptions {
  /** The validated operations. Default: CREATE and UPDATE. */
  readonly operations?: readonly Operation[];
}

/** Options of a defaulting webhook. */
export interface DefaultingOptions extends AdmissionOptions {
  /** The operations. Default: CREATE and UPDATE. */
  readonly operations?: readonly Exclude<Operation, 'DELETE'>[];
  /** Whether it is called again if a later webhook changed the object. Default `Never`. */
  readonly reinvocationPolicy?: 'Never' | 'IfNeeded';
}

/** The options of a webhook with its operations. */
export interface Matching extends AdmissionOptions, Pick<DefaultingOptions, 'reinvocationPolicy'> {
  readonly operations: readonly Operation[];
}

/** Returns the options with their defaults. Throws a `TypeError` for those that an API server would refuse. */
export const checkMatching = (options: ValidationOptions | DefaultingOptions): Matching => {
  const {name, operations = ['CREATE', 'UPDATE'], timeoutSeconds, matchConditions = []} = options;
  if (name !== undefined && !/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name))
    throw new TypeError(`name of a webhook "${name}": use lower case letters, digits and -`);
  if (operations.length === 0) throw new TypeError('a webhook needs operations');
  if (timeoutSeconds !== undefined && !(Number.isInteger(timeoutSeconds) && timeoutSeconds >= 1 && timeoutSeconds <= 30))
    throw new TypeError('timeoutSeconds of a webhook must be a whole number from 1 to 30');
  const names = matchConditions.map(condition => condition.name);
  const twice = names.find((each, at) => names.indexOf(each) !== at);
  if (twice !== undefined) throw new TypeError(`there are two match conditions named ${twice}`);
  return {...options, operations};
};
