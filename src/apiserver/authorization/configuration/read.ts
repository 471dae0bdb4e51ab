// Reads an AuthorizationConfiguration: the list of a server's authorizers.

import {parseDuration} from '#src/api/duration.js';
import type {FieldError} from '#src/api/field-error.js';
import type {Naming} from '#src/api/naming.js';
import type {Files} from '#src/base/files/files.js';
import {compileConditions} from '#src/apiserver/authorization/webhook/match-conditions.js';
import {readConfiguration} from '#src/apiserver/configuration/document.js';
import {flag, list, record, text, type Fields} from '#src/apiserver/configuration/fields.js';
import type {AuthorizerSettings, AuthorizerType, RawAuthorizer, RawConfiguration, RawWebhook, WebhookSettings} from './types.js';
import {validateAuthorizers, validateForServer, type DefaultedAuthorizer, type DefaultedWebhook} from './validation.js';

const webhookFields: Fields = {
  authorizedTTL: text,
  cacheAuthorizedRequests: flag,
  unauthorizedTTL: text,
  cacheUnauthorizedRequests: flag,
  timeout: text,
  subjectAccessReviewVersion: text,
  matchConditionSubjectAccessReviewVersion: text,
  failurePolicy: text,
  connectionInfo: record({type: text, kubeConfigFile: text}),
  matchConditions: list(record({expression: text})),
};

const fields: Fields = {authorizers: list(record({type: text, name: text, webhook: record(webhookFields)}))};

const versions = ['v1', 'v1beta1', 'v1alpha1'];

const [authorizedMs, unauthorizedMs] = [300_000, 30_000];

/** The authorizers of a file, and its content after defaults, which is equal for equal configurations. */
export interface AuthorizationSettings {
  readonly authorizers: readonly AuthorizerSettings[];
  readonly canonical: string;
}

export interface ReadOptions {
  readonly naming: Naming;
  readonly files: Pick<Files, 'read'>;
  /** The types, other than webhooks, that the file must have. */
  readonly requiredTypes?: readonly AuthorizerType[];
}

/** Reads and validates a configuration. Rejects with an error of one line that has everything that is wrong. */
export const readAuthorization = async (
  source: string,
  {naming, files, requiredTypes = []}: ReadOptions,
): Promise<AuthorizationSettings> => {
  const authorizers = loaded(source, naming).map(defaulted);
  const compiled = await Promise.all(
    authorizers.map(({webhook}, index) => compileConditions(webhook?.matchConditions ?? [], `authorizers[${index}].matchConditions`)),
  );
  const errors = [...(await validateAuthorizers(authorizers, files)), ...compiled.flatMap(({errors}) => errors)];
  if (errors.length > 0) throw new Error(aggregated(errors.map(({path, detail}: FieldError) => `${path}: ${detail}`)));
  const wrong = validateForServer(authorizers, requiredTypes);
  if (wrong.length > 0) throw new Error(aggregated(wrong));
  return {
    authorizers: authorizers.map((authorizer, index) => settingsOf(authorizer, compiled[index]!.conditions)),
    canonical: JSON.stringify(authorizers),
  };
};

const aggregated = (messages: readonly string[]): string => {
  const distinct = [...new Set(messages)];
  return distinct.length === 1 ? distinct[0]! : `[${distinct.join(', ')}]`;
};

const loaded = (source: string, naming: Naming): readonly RawAuthorizer[] => {
  const group = naming.group('apiserver.config');
  try {
    return readConfiguration<RawConfiguration>(source, [{group, versions, kind: 'AuthorizationConfiguration', fields}]).authorizers ?? [];
  } catch (cause) {
    throw new Error(`failed to load AuthorizationConfiguration from file: ${(cause as Error).message}`, {cause});
  }
};

const defaulted = ({webhook, ...authorizer}: RawAuthorizer): DefaultedAuthorizer => ({
  ...authorizer,
  ...(webhook ? {webhook: defaultedWebhook(webhook)} : {}),
});

const defaultedWebhook = ({authorizedTTL, unauthorizedTTL, timeout, ...webhook}: RawWebhook): DefaultedWebhook => ({
  ...webhook,
  authorizedTTL: durationOf(authorizedTTL) || authorizedMs,
  unauthorizedTTL: durationOf(unauthorizedTTL) || unauthorizedMs,
  timeout: durationOf(timeout),
});

const durationOf = (duration = '0s'): number => {
  const ms = parseDuration(duration);
  if (ms !== undefined) return ms;
  const problem = /^[+-]?[\d.]*\d$/.test(duration) ? 'missing unit in' : 'invalid';
  throw new Error(`failed to load AuthorizationConfiguration from file: time: ${problem} duration ${JSON.stringify(duration)}`);
};

/** The settings of a valid authorizer. */
const settingsOf = ({type, name = '', webhook}: DefaultedAuthorizer, conditions: WebhookSettings['conditions']): AuthorizerSettings => {
  if (!webhook) return {type: type as Exclude<AuthorizerType, 'Webhook'>, name};
  const {cacheAuthorizedRequests = true, cacheUnauthorizedRequests = true} = webhook;
  return {
    type: 'Webhook',
    name,
    webhook: {
      kubeConfigFile: webhook.connectionInfo!.kubeConfigFile!,
      timeoutMs: webhook.timeout,
      version: webhook.subjectAccessReviewVersion as WebhookSettings['version'],
      allowedTtlMs: cacheAuthorizedRequests ? webhook.authorizedTTL : 0,
      deniedTtlMs: cacheUnauthorizedRequests ? webhook.unauthorizedTTL : 0,
      onFailure: webhook.failurePolicy === 'Deny' ? 'deny' : 'noOpinion',
      conditions,
    },
  };
};
