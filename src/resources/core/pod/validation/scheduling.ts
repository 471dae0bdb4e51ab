import {duplicate, forbiddenField, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {emptyText, labelValueProblems} from '#src/api/names.js';
import type {PodSpec, Toleration} from '#src/api/pod.js';
import {internalForm} from '#src/schema/error-texts/internal-form.js';
import {dnsLabel, dnsSubdomain, oneOf, qualifiedName} from '#src/resources/validation/values.js';

// Validation of the fields that the scheduler reads, except affinity and spreading.

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** Validates a taint effect; `none` accepts an empty one, which matches all effects. */
function* validateTaintEffect(effect: string | undefined, path: string, none: boolean): Iterable<FieldError> {
  if (!effect && !none) yield required(path);
  else if (effect) yield* oneOf(path, effect, effects);
}

const wholeNumber = /^(0|-?[1-9]\d*)$/;
const anyNumber = /^[+-]?\d+$/;
const isInt64 = (value: bigint): boolean => BigInt.asIntN(64, value) === value;

/** Validates a number for comparison with taints: 64 bits, in canonical form. */
function* comparedValue(value: string, path: string): Iterable<FieldError> {
  if (!wholeNumber.test(value)) yield invalid(path, value, value === '' ? emptyText : 'must be a valid decimal integer in canonical form');
  if (!anyNumber.test(value)) yield invalid(path, value, `strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`);
  else if (!isInt64(BigInt(value.replace('+', ''))))
    yield invalid(path, value, `strconv.ParseInt: parsing ${JSON.stringify(value)}: value out of range`);
}

function* tolerationValue({operator, value = ''}: Toleration, path: string, compares: boolean): Iterable<FieldError> {
  const at = `${path}.operator`;
  if (!operator || operator === 'Equal') {
    const problems = labelValueProblems(value);
    if (problems.length > 0) yield invalid(at, value, problems.join(';'));
  } else if (operator === 'Exists') {
    if (value) yield invalid(at, value, "value must be empty when `operator` is 'Exists'");
  } else if (operator !== 'Lt' && operator !== 'Gt') yield notSupported(at, operator, ['Equal', 'Exists']);
  else if (compares) yield* comparedValue(value, `${path}.value`);
  else yield notSupported(at, operator, ['Equal', 'Exists', 'Lt', 'Gt']);
}

/** Validates tolerations. */
export function* validateTolerations(tolerations: readonly Toleration[], path: string, compares = false): Iterable<FieldError> {
  for (const [i, toleration] of tolerations.entries()) {
    const at = `${path}[${i}]`;
    const {key, operator, effect, tolerationSeconds} = toleration;
    if (key) yield* qualifiedName(`${at}.key`, key);
    else if (operator !== 'Exists')
      yield invalid(
        `${at}.operator`,
        operator ?? '',
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
      );
    if (tolerationSeconds !== undefined && effect !== 'NoExecute')
      yield invalid(`${at}.effect`, effect ?? '', "effect must be 'NoExecute' when `tolerationSeconds` is set");
    yield* tolerationValue(toleration, at, compares);
    yield* validateTaintEffect(effect, `${at}.effect`, true);
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

/** Validates resource claims of a pod (KEP-4381). */
export function* validateResourceClaims(
  claims: NonNullable<PodSpec['resourceClaims']>,
  path: string,
  isMirror: boolean,
): Iterable<FieldError> {
  const names = new Set<string>();
  for (const [i, claim] of claims.entries()) {
    if (isMirror) {
      yield forbiddenField('[]', 'static pods do not support resource claims');
      continue;
    }
    const at = `${path}[${i}]`;
    const {name, resourceClaimName: own, resourceClaimTemplateName: template} = claim;
    if (!name) yield required(`${at}.name`);
    else if (names.has(name)) yield duplicate(`${at}.name`, name);
    else yield* dnsLabel(`${at}.name`, name);
    names.add(name);
    if (own !== undefined && template !== undefined)
      yield invalid(
        at,
        internalForm('PodResourceClaim', claim),
        'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified',
      );
    if (own === undefined && template === undefined)
      yield invalid(at, internalForm('PodResourceClaim', claim), 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`');
    if (own !== undefined) yield* dnsSubdomain(`${at}.resourceClaimName`, own);
    if (template !== undefined) yield* dnsSubdomain(`${at}.resourceClaimTemplateName`, template);
  }
}

/** Validates the workload reference of a pod (KEP-4671). */
export function* validateWorkloadRef({workloadRef: ref}: PodSpec, path: string): Iterable<FieldError> {
  if (!ref) return;
  yield* dnsSubdomain(`${path}.name`, ref.name);
  yield* dnsLabel(`${path}.podGroup`, ref.podGroup);
  if (ref.podGroupReplicaKey) yield* dnsLabel(`${path}.podGroupReplicaKey`, ref.podGroupReplicaKey);
}
