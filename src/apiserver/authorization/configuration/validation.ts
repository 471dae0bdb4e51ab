// Validates an AuthorizationConfiguration: the rules and words of upstream's validation of the kind, and what its API
// server adds to them.

import {isAbsolute} from 'node:path';
import {formatDuration} from '#src/api/duration.js';
import {duplicate, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {dnsSubdomainProblems} from '#src/api/names.js';
import type {Files} from '#src/base/files/files.js';
import {authorizerTypes, nameOfType, type RawAuthorizer, type RawWebhook} from './types.js';

/** A webhook with its defaults; times in ms. */
export interface DefaultedWebhook extends Omit<RawWebhook, 'authorizedTTL' | 'unauthorizedTTL' | 'timeout'> {
  readonly authorizedTTL: number;
  readonly unauthorizedTTL: number;
  readonly timeout: number;
}

export interface DefaultedAuthorizer extends Omit<RawAuthorizer, 'webhook'> {
  readonly webhook?: DefaultedWebhook;
}

type CheckFile = Pick<Files, 'read'>;

/** Returns the errors of all authorizers, except those of match conditions. */
export const validateAuthorizers = async (authorizers: readonly DefaultedAuthorizer[], files: CheckFile): Promise<FieldError[]> => {
  const errors: FieldError[] = [];
  if (authorizers.length === 0) errors.push(required('authorizers', 'at least one authorization mode must be defined'));
  const [types, names] = [new Set<string>(), new Set<string>()];
  for (const [index, authorizer] of authorizers.entries()) {
    const path = `authorizers[${index}]`;
    const {type = '', name = '', webhook} = authorizer;
    const wrongType = typeError(type, types, path);
    if (wrongType) {
      errors.push(wrongType);
      continue;
    }
    types.add(type);
    errors.push(...nameErrors(name, names, path));
    names.add(name);
    if (type !== 'Webhook') {
      if (webhook) errors.push(invalid(`${path}.webhook`, 'non-null', 'may only be specified when type=Webhook'));
    } else if (!webhook) errors.push(required(`${path}.webhook`, 'required when type=Webhook'));
    else errors.push(...webhookErrors(webhook, path), ...(await connectionErrors(webhook, `${path}.connectionInfo`, files)));
  }
  return errors;
};

const typeError = (type: string, seen: ReadonlySet<string>, path: string): FieldError | undefined => {
  if (type === '') return required(`${path}.type`);
  if (!authorizerTypes.some(known => known === type)) return notSupported(`${path}.type`, type, authorizerTypes);
  return seen.has(type) && type !== 'Webhook' ? duplicate(`${path}.type`, type) : undefined;
};

const nameErrors = (name: string, seen: ReadonlySet<string>, path: string): FieldError[] => {
  if (name === '') return [required(`${path}.name`)];
  if (seen.has(name)) return [duplicate(`${path}.name`, name)];
  const problems = dnsSubdomainProblems(name);
  return problems.length > 0 ? [invalid(`${path}.name`, name, `authorizer name is invalid: ${problems.join(', ')}`)] : [];
};

const longestMs = 30_000;

const durationErrors = (ms: number, path: string, detail: string, isTooLong = false): FieldError[] => {
  if (ms === 0) return [required(path)];
  return ms < 0 || isTooLong ? [invalid(path, formatDuration(ms), detail)] : [];
};

/** The error of a text that must be one of a few. */
const choiceErrors = (value: string, path: string, choices: readonly string[], isRequired: boolean, detail = ''): FieldError[] => {
  if (value === '') return isRequired ? [required(path, detail)] : [];
  return choices.includes(value) ? [] : [notSupported(path, value, choices)];
};

const webhookErrors = (webhook: DefaultedWebhook, path: string): FieldError[] => {
  const {timeout, authorizedTTL, unauthorizedTTL, subjectAccessReviewVersion: version = '', failurePolicy = ''} = webhook;
  const {matchConditionSubjectAccessReviewVersion: conditionVersion = '', matchConditions = []} = webhook;
  return [
    ...durationErrors(timeout, `${path}.timeout`, 'must be > 0s and <= 30s', timeout > longestMs),
    ...durationErrors(authorizedTTL, `${path}.authorizedTTL`, 'must be > 0s'),
    ...durationErrors(unauthorizedTTL, `${path}.unauthorizedTTL`, 'must be > 0s'),
    ...choiceErrors(version, `${path}.subjectAccessReviewVersion`, ['v1', 'v1beta1'], true),
    ...choiceErrors(
      conditionVersion,
      `${path}.matchConditionSubjectAccessReviewVersion`,
      ['v1'],
      matchConditions.length > 0,
      'required if match conditions are specified',
    ),
    ...choiceErrors(failurePolicy, `${path}.failurePolicy`, ['NoOpinion', 'Deny'], true),
  ];
};

const connectionTypes = ['InClusterConfig', 'KubeConfigFile'];

const connectionErrors = async ({connectionInfo = {}}: DefaultedWebhook, path: string, files: CheckFile): Promise<FieldError[]> => {
  const {type = '', kubeConfigFile} = connectionInfo;
  switch (type) {
    case '':
      return [required(`${path}.type`)];
    case 'InClusterConfig':
      return kubeConfigFile === undefined
        ? [invalid(`${path}.type`, type, 'not allowed for the API server, which would ask itself')]
        : [invalid(`${path}.kubeConfigFile`, kubeConfigFile, 'can only be set when type=KubeConfigFile')];
    case 'KubeConfigFile':
      return fileErrors(kubeConfigFile ?? '', `${path}.kubeConfigFile`, files);
    default:
      return [notSupported(`${path}.type`, {Type: type, KubeConfigFile: kubeConfigFile ?? null}, connectionTypes)];
  }
};

const fileErrors = async (file: string, path: string, files: CheckFile): Promise<FieldError[]> => {
  if (file === '') return [required(path)];
  if (!isAbsolute(file)) return [invalid(path, file, 'must be an absolute path')];
  try {
    const content = await files.read(file);
    return content ? [] : [invalid(path, file, `error loading file: stat ${file}: no such file or directory`)];
  } catch (error) {
    const {code, message} = error as NodeJS.ErrnoException;
    return [invalid(path, file, code === 'EISDIR' ? 'must be a regular file' : `error loading file: ${message}`)];
  }
};

/**
 * Returns what the API server requires besides: the names of authorizers other than webhooks, and those that must
 * remain.
 */
export const validateForServer = (authorizers: readonly DefaultedAuthorizer[], requiredTypes: readonly string[]): string[] => {
  const others = authorizers.filter(({type}) => type !== 'Webhook');
  const wrongNames = others.flatMap(({type = '', name = ''}) => {
    const expected = nameOfType(type as never);
    return name === expected ? [] : [`expected name ${expected} for authorizer ${type} instead of ${name}`];
  });
  const missing = requiredTypes.filter(required => !others.some(({type}) => type === required)).sort();
  return [...wrongNames, ...(missing.length > 0 ? [`missing required types: [${missing.join(' ')}]`] : [])];
};
