import {duplicate, forbiddenField, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {labelValueProblems} from '#src/api/names.js';
import type {PodSpec, Toleration, TopologySpreadConstraint} from '#src/api/pod.js';
import {validateLabelSelector} from '#src/resources/validation/label-selector.js';
import {dnsLabel, dnsSubdomain, notPositiveText, oneOf, qualifiedName} from '#src/resources/validation/values.js';
import type {PodSpecRules} from './rules.js';

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** What a taint does; `none` stands for all effects where that is allowed. */
export function* validateTaintEffect(effect: string | undefined, path: string, none: boolean): Iterable<FieldError> {
  if (!effect && !none) yield required(path);
  else if (effect) yield* oneOf(path, effect, effects);
}

const wholeNumber = /^(0|-?[1-9]\d*)$/;

function* tolerationValue({operator, value = ''}: Toleration, path: string, compares: boolean): Iterable<FieldError> {
  if (!operator || operator === 'Equal') {
    const problems = labelValueProblems(value);
    if (problems.length > 0) yield invalid(path, value, problems.join(';'));
  } else if (operator === 'Exists') {
    if (value) yield invalid(path, value, "value must be empty when `operator` is 'Exists'");
  } else if (compares && (operator === 'Lt' || operator === 'Gt')) {
    if (!wholeNumber.test(value)) yield invalid(path.replace(/operator$/, 'value'), value, 'value must be a valid integer');
  } else yield notSupported(path, operator, compares ? ['Equal', 'Exists', 'Lt', 'Gt'] : ['Equal', 'Exists']);
}

/** Which taints of nodes a pod bears. */
export function* validateTolerations(tolerations: readonly Toleration[], path: string, compares = false): Iterable<FieldError> {
  for (const [i, toleration] of tolerations.entries()) {
    const at = `${path}[${i}]`;
    const {key, operator, effect, tolerationSeconds} = toleration;
    if (key) yield* qualifiedName(`${at}.key`, key);
    else if (operator !== 'Exists') yield invalid(`${at}.operator`, operator ?? '', 'operator must be Exists when `key` is empty, which means "match all values and all keys"');
    if (tolerationSeconds !== undefined && effect !== 'NoExecute') yield invalid(`${at}.effect`, effect ?? '', "effect must be 'NoExecute' when `tolerationSeconds` is set");
    yield* tolerationValue(toleration, `${at}.operator`, compares);
    yield* validateTaintEffect(effect, `${at}.effect`, true);
  }
}

function* spreadKeys({matchLabelKeys = [], labelSelector}: TopologySpreadConstraint, path: string, merged: boolean): Iterable<FieldError> {
  if (matchLabelKeys.length === 0) return;
  if (!labelSelector) yield forbiddenField(path, 'must not be specified when labelSelector is not set');
  const asked = new Set(Object.keys(labelSelector?.matchLabels ?? {}));
  if (!merged) for (const {key} of labelSelector?.matchExpressions ?? []) asked.add(key);
  for (const [i, key] of matchLabelKeys.entries()) {
    yield* qualifiedName(`${path}[${i}]`, key);
    if (asked.has(key)) yield invalid(`${path}[${i}]`, key, 'exists in both matchLabelKeys and labelSelector');
  }
  if (!merged) return;
  // Creation has put each key into the expressions once: only a second one is a clash.
  for (const {key} of labelSelector?.matchExpressions ?? []) {
    const i = matchLabelKeys.lastIndexOf(key);
    if (i >= 0 && asked.has(key)) yield invalid(`${path}[${i}]`, key, 'exists in both matchLabelKeys and labelSelector');
    asked.add(key);
  }
}

/** How evenly a pod and its like spread. */
export function* validateSpread(constraints: readonly TopologySpreadConstraint[], path: string, rules: PodSpecRules): Iterable<FieldError> {
  const merged = rules.gate('MatchLabelKeysInPodTopologySpreadSelectorMerge') && rules.gate('MatchLabelKeysInPodTopologySpread');
  for (const [i, constraint] of constraints.entries()) {
    const at = `${path}[${i}]`;
    const {maxSkew, topologyKey, whenUnsatisfiable, minDomains, labelSelector} = constraint;
    if (!(maxSkew > 0)) yield invalid(`${at}.maxSkew`, maxSkew ?? 0, notPositiveText);
    if (!topologyKey) yield required(`${at}.topologyKey`, 'can not be empty');
    yield* oneOf(`${at}.whenUnsatisfiable`, whenUnsatisfiable, ['DoNotSchedule', 'ScheduleAnyway']);
    if (constraints.slice(i + 1).some(other => other.topologyKey === topologyKey && other.whenUnsatisfiable === whenUnsatisfiable)) {
      yield duplicate(`${at}.{topologyKey, whenUnsatisfiable}`, `{${topologyKey}, ${whenUnsatisfiable}}`);
    }
    if (minDomains !== undefined && minDomains <= 0) yield invalid(`${at}.minDomains`, minDomains, notPositiveText);
    if (minDomains !== undefined && whenUnsatisfiable !== 'DoNotSchedule') {
      yield invalid(`${at}.minDomains`, minDomains, `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`);
    }
    for (const policy of ['nodeAffinityPolicy', 'nodeTaintsPolicy'] as const) {
      if (constraint[policy] !== undefined) yield* oneOf(`${at}.${policy}`, constraint[policy], ['Honor', 'Ignore']);
    }
    yield* spreadKeys(constraint, `${at}.matchLabelKeys`, merged);
    if (labelSelector && !rules.allow.spreadSelectors) yield* validateLabelSelector(labelSelector, `${at}.labelSelector`);
  }
}

export function* validateSchedulingGates(gates: NonNullable<PodSpec['schedulingGates']>, path: string): Iterable<FieldError> {
  const seen = new Set<string>();
  for (const [i, {name}] of gates.entries()) {
    yield* qualifiedName(`${path}[${i}]`, name);
    if (seen.has(name)) yield duplicate(`${path}[${i}]`, name);
    seen.add(name);
  }
}

/** Devices a pod asks for by claims (KEP-4381). */
export function* validateResourceClaims(claims: NonNullable<PodSpec['resourceClaims']>, path: string): Iterable<FieldError> {
  const names = new Set<string>();
  for (const [i, claim] of claims.entries()) {
    const at = `${path}[${i}]`;
    const {name, resourceClaimName: own, resourceClaimTemplateName: template} = claim;
    if (!name) yield required(`${at}.name`);
    else if (names.has(name)) yield duplicate(`${at}.name`, name);
    else yield* dnsLabel(`${at}.name`, name);
    names.add(name);
    if (own !== undefined && template !== undefined) yield invalid(at, claim, 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified');
    if (own === undefined && template === undefined) yield invalid(at, claim, 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`');
    if (own !== undefined) yield* dnsSubdomain(`${at}.resourceClaimName`, own);
    if (template !== undefined) yield* dnsSubdomain(`${at}.resourceClaimTemplateName`, template);
  }
}

/** The workload a pod belongs to and its group within it (KEP-4671). */
export function* validateWorkloadRef({workloadRef: ref}: PodSpec, path: string): Iterable<FieldError> {
  if (!ref) return;
  if (!ref.name) yield required(`${path}.name`);
  else yield* dnsSubdomain(`${path}.name`, ref.name);
  if (!ref.podGroup) yield required(`${path}.podGroup`);
  else yield* dnsLabel(`${path}.podGroup`, ref.podGroup);
  if (ref.podGroupReplicaKey) yield* dnsLabel(`${path}.podGroupReplicaKey`, ref.podGroupReplicaKey);
}

/** Whether label values in a stored choice are good is asked before they are held against a new one. */
export const hasProblems = (errors: Iterable<FieldError>): boolean => !errors[Symbol.iterator]().next().done;
