import type {Findings} from '#src/api/collect-errors.js';
import {duplicate, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {dnsLabel1035Problems} from '#src/api/names.js';
import {emptiedWithin, givenEmpty} from '#src/schema/emptied.js';
import {semanticallyEqual} from '#src/resources/validation/equality.js';
import {validateFullName} from '#src/resources/validation/domain-names.js';
import {hasInvalidValues, validateLabelSelector} from '#src/resources/validation/label-selector.js';
import {validateServiceReference, validateWebhookUrl} from './client-config.js';
import {loadExpressionValidator, validateExpressions, validateMatchConditions} from './expressions.js';
import {validateRule} from './rules.js';
import type {MatchCondition, Webhook} from './types.js';

// Defaults and validation of webhooks, shared by both webhook configurations. Updates ratchet: an error that every
// stored webhook has already is accepted.

const harmless = ['None', 'NoneOnDryRun'];
const sideEffects = ['None', 'NoneOnDryRun', 'Some', 'Unknown'];
const reviewVersions = ['v1', 'v1beta1'];

/**
 * Reports whether a configuration was given with empty lists or maps, which the generation counts although they are not
 * stored.
 */
export const hasEmptiedWebhooks = (configuration: {readonly webhooks?: readonly Webhook[]}): boolean =>
  givenEmpty(configuration, 'webhooks') !== undefined || !emptiedWithin(configuration.webhooks).next().done;

/** Applies the defaults of a webhook. */
export const defaultWebhook = (hook: Webhook): void => {
  hook.failurePolicy ??= 'Fail';
  hook.matchPolicy ??= 'Equivalent';
  hook.namespaceSelector ??= {};
  hook.objectSelector ??= {};
  hook.timeoutSeconds ??= 10;
  for (const rule of hook.rules ?? []) rule.scope ??= '*';
  const service = hook.clientConfig?.service;
  if (service) service.port ??= 443;
};

/** Checks of new webhooks that stored ones may violate. */
interface Strictness {
  readonly harmless: boolean;
  readonly knownVersion: boolean;
  readonly uniqueNames: boolean;
  readonly conditions: boolean;
  /** Accepts invalid label values in selectors. */
  readonly anyValue: boolean;
  /** The match conditions of the stored webhook. */
  readonly before: readonly MatchCondition[];
}

const acceptsKnownVersion = ({admissionReviewVersions: versions = []}: Webhook): boolean =>
  versions.length === 0 || versions.some(version => reviewVersions.includes(version));

const strictnessFor = (hooks: readonly Webhook[], old: readonly Webhook[] | undefined): Strictness => ({
  harmless: !old || old.every(hook => harmless.includes(hook.sideEffects ?? '')),
  knownVersion: !old || old.every(acceptsKnownVersion),
  uniqueNames: !old || new Set(old.map(({name}) => name)).size === old.length,
  conditions:
    !old || old.length !== hooks.length || old.some((hook, i) => !semanticallyEqual(hook.matchConditions, hooks[i]?.matchConditions)),
  anyValue: (old ?? []).some(
    ({namespaceSelector, objectSelector}) => hasInvalidValues(namespaceSelector) || hasInvalidValues(objectSelector),
  ),
  before: (old ?? []).flatMap(({matchConditions = []}) => matchConditions),
});

function* oneOf(path: string, value: string | undefined, supported: readonly string[]): Iterable<FieldError> {
  if (value !== undefined && !supported.includes(value)) yield notSupported(path, value, supported);
}

function* validateClientConfig({url, service}: NonNullable<Webhook['clientConfig']>, path: string): Iterable<FieldError> {
  if ((url === undefined) === (service === undefined)) yield required(path, 'exactly one of url or service is required');
  else if (url !== undefined) yield* validateWebhookUrl(`${path}.url`, url);
  else if (service) yield* validateServiceReference(`${path}.service`, service);
}

function* validateWebhook(hook: Webhook, path: string, strictness: Strictness, mutates: boolean): Findings {
  yield* validateFullName(`${path}.name`, hook.name ?? '');
  for (const [i, rule] of (hook.rules ?? []).entries()) yield* validateRule(rule, `${path}.rules[${i}]`);
  yield* oneOf(`${path}.failurePolicy`, hook.failurePolicy, ['Fail', 'Ignore']);
  yield* oneOf(`${path}.matchPolicy`, hook.matchPolicy, ['Equivalent', 'Exact']);
  const effects = strictness.harmless ? harmless : sideEffects;
  if (hook.sideEffects === undefined) yield required(`${path}.sideEffects`, `must specify one of ${effects.join(', ')}`);
  yield* oneOf(`${path}.sideEffects`, hook.sideEffects, effects);
  const {timeoutSeconds: timeout} = hook;
  if (typeof timeout === 'number' && (timeout > 30 || timeout < 1))
    yield invalid(`${path}.timeoutSeconds`, timeout, 'the timeout value must be between 1 and 30 seconds');
  if (hook.namespaceSelector) yield* validateLabelSelector(hook.namespaceSelector, `${path}.namespaceSelector`, strictness.anyValue);
  if (hook.objectSelector) yield* validateLabelSelector(hook.objectSelector, `${path}.objectSelector`, strictness.anyValue);
  if (mutates) yield* oneOf(`${path}.reinvocationPolicy`, hook.reinvocationPolicy, ['IfNeeded', 'Never']);
  yield* validateClientConfig(hook.clientConfig ?? {}, `${path}.clientConfig`);
  if (!strictness.conditions) return;
  yield* validateMatchConditions(hook.matchConditions, `${path}.matchConditions`, {
    hasParams: false,
    before: strictness.before,
    validateExpression: validateExpressions(false),
  });
}

function* validateReviewVersions(versions: readonly string[], path: string, requireKnown: boolean): Iterable<FieldError> {
  if (versions.length === 0) return yield required(path, `must specify one of ${reviewVersions.join(', ')}`);
  const seen = new Set<string>();
  for (const [i, version] of versions.entries()) {
    if (seen.has(version)) {
      yield invalid(`${path}[${i}]`, version, 'duplicate version');
      continue;
    }
    seen.add(version);
    for (const problem of dnsLabel1035Problems(version)) yield invalid(`${path}[${i}]`, version, problem);
  }
  if (requireKnown && !versions.some(version => reviewVersions.includes(version)))
    yield invalid(path, versions, `must include at least one of ${reviewVersions.join(', ')}`);
}

/** Loads the expression validator if a webhook has match conditions. */
export const readyForWebhooks = ({webhooks = []}: {readonly webhooks?: readonly Webhook[]}): Promise<void> | undefined =>
  loadExpressionValidator(webhooks.some(({matchConditions}) => matchConditions?.length));

/** Validates the webhooks of a configuration; problems that all stored webhooks have are accepted. */
export function* validateWebhooks(hooks: readonly Webhook[] | undefined, old: readonly Webhook[] | undefined, mutates: boolean): Findings {
  const list = hooks ?? [];
  const strictness = strictnessFor(list, old);
  const names = new Set<string>();
  for (const [i, hook] of list.entries()) {
    const path = `webhooks[${i}]`;
    yield* validateWebhook(hook, path, strictness, mutates);
    yield* validateReviewVersions(hook.admissionReviewVersions ?? [], `${path}.admissionReviewVersions`, strictness.knownVersion);
    if (!strictness.uniqueNames || !hook.name) continue;
    if (names.has(hook.name)) yield duplicate(`${path}.name`, hook.name);
    names.add(hook.name);
  }
}
