// Validation of resource names and amounts: requests, limits, capacity and quotas.

import {duplicate, forbiddenField, invalid, required, type FieldError} from '#src/api/field-error.js';
import {labelKeyProblems} from '#src/api/names.js';
import type {Naming} from '#src/api/naming.js';
import type {ResourceRequirements} from '#src/api/pod.js';
import {compareQuantities, formatQuantity, zeroQuantity} from '#src/api/quantity.js';
import {isExtendedResource, isHugePages, isNativeResource, isPodLevelResource} from '#src/model/resource-names.js';
import {
  isContainerResource,
  isIntegerResource,
  isStandardResource,
  isWholePages,
  isWholeQuantity,
  mayOvercommit,
  quantityIn,
} from './resource-names.js';
import {dnsLabel, negativeText, notIntegerText} from './values.js';

// Validation of resource quantities: requests and limits of containers and pods.

export type ResourceList = Readonly<Record<string, string>>;

/** Validates a resource name. */
export type ResourceNameRule = (path: string, name: string, naming: Naming) => Iterable<FieldError>;

export function* resourceName(path: string, name: string): Iterable<FieldError> {
  const problems = labelKeyProblems(name);
  for (const problem of problems) yield invalid(path, name, problem);
  if (problems.length === 0 && !name.includes('/') && !isStandardResource(name)) {
    yield invalid(path, name, 'must be a standard resource type or fully qualified');
  }
}

export function* containerResourceName(path: string, name: string, naming: Naming): Iterable<FieldError> {
  yield* resourceName(path, name);
  if (!name.includes('/')) {
    if (!isContainerResource(name)) yield invalid(path, name, 'must be a standard resource for containers');
  } else if (!isNativeResource(name, naming) && !isExtendedResource(name, naming)) {
    yield invalid(path, name, "doesn't follow extended resource name standard");
  }
}

export function* podResourceName(path: string, name: string): Iterable<FieldError> {
  const errors = [...resourceName(path, name)];
  yield* errors;
  if (errors.length > 0 || isPodLevelResource(name)) return;
  yield {
    path,
    reason: 'FieldValueNotSupported',
    detail: `Unsupported value: ${JSON.stringify(name)}: supported values: "cpu", "hugepages-", "memory"`,
  };
}

/** Validates an amount: not negative, and an integer for resources that require it. */
export function* resourceQuantity(path: string, name: string, text: string, naming: Naming): Iterable<FieldError> {
  const quantity = quantityIn(text);
  if (compareQuantities(quantity, zeroQuantity) < 0) yield invalid(path, formatQuantity(quantity), negativeText);
  if (isIntegerResource(name, naming) && !isWholeQuantity(quantity)) yield invalid(path, formatQuantity(quantity), notIntegerText);
}

export interface ResourceRules {
  readonly naming: Naming;
  readonly name: ResourceNameRule;
  /** The names of the pod's resource claims. */
  readonly claims: ReadonlySet<string>;
  /** Accepts fractions of huge pages, as older stored objects may have them. */
  readonly partialPages: boolean;
}

function* listed(
  path: string,
  list: ResourceList,
  {naming, name: nameRule, partialPages}: ResourceRules,
  extra?: (name: string, text: string) => Iterable<FieldError>,
): Iterable<FieldError> {
  for (const [name, text] of Object.entries(list)) {
    const at = `${path}[${name}]`;
    yield* nameRule(at, name, naming);
    yield* resourceQuantity(at, name, text, naming);
    if (extra) yield* extra(name, text);
    if (isHugePages(name) && !partialPages && !isWholePages(name, quantityIn(text))) {
      yield invalid(at, text, `${text} is not positive integer multiple of ${name}`);
    }
  }
}

/** Returns the validation of requests: at most the limit, and equal to it for resources without overcommit. */
const withinLimits = (path: string, limits: ResourceList, naming: Naming) =>
  function* (name: string, text: string): Iterable<FieldError> {
    const limit = limits[name];
    const shared = mayOvercommit(name, naming);
    if (limit === undefined) {
      if (!shared) yield required(`${path}.limits`, 'Limit must be set for non overcommitable resources');
      return;
    }
    const order = compareQuantities(quantityIn(text), quantityIn(limit));
    if (order !== 0 && !shared) yield invalid(`${path}.requests`, text, `must be equal to ${name} limit of ${limit}`);
    else if (order > 0) yield invalid(`${path}.requests`, text, `must be less than or equal to ${name} limit of ${limit}`);
  };

/** Validates the requests and limits of a container or pod. */
export function* validateResources(
  path: string,
  {limits = {}, requests = {}, claims = []}: ResourceRequirements,
  rules: ResourceRules,
): Iterable<FieldError> {
  yield* listed(`${path}.limits`, limits, rules);
  yield* listed(`${path}.requests`, requests, rules, withinLimits(path, limits, rules.naming));
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.some(name => name === 'cpu' || name === 'memory'))
    yield forbiddenField(path, 'HugePages require cpu or memory');
  yield* claimNames(`${path}.claims`, claims, rules.claims);
}

function* claimNames(path: string, claims: NonNullable<ResourceRequirements['claims']>, known: ReadonlySet<string>): Iterable<FieldError> {
  const seen = new Set<string>();
  for (const [i, {name, request}] of claims.entries()) {
    const at = `${path}[${i}]`;
    if (!name) {
      yield required(at);
      continue;
    }
    if (seen.has(name)) yield duplicate(at, name);
    else {
      if (request) yield* dnsLabel(`${at}.request`, request);
      const key = request ? `${name}/${request}` : name;
      if (seen.has(key)) yield duplicate(at, key);
      else if (!request) for (const other of seen) if (other.startsWith(`${name}/`)) yield duplicate(at, name);
      seen.add(key);
    }
    if (known.has(name)) continue;
    const choice = known.size === 0 ? ' which is empty' : `: ${[...known].sort().join(', ')}`;
    yield {
      path: at,
      reason: 'FieldValueNotFound',
      detail: `Not found: ${JSON.stringify(name)}: must be one of the names in pod.spec.resourceClaims${choice}`,
    };
  }
}
