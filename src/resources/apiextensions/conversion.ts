import {forbiddenField, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {dnsLabel1035Problems} from '#src/api/names.js';
import {validateServiceReference, validateWebhookUrl} from '#src/resources/admissionregistration/client-config.js';
import {caBundleProblem} from './ca-bundle.js';
import type {Conversion} from './types.js';

// Validation of a definition's conversion strategy and webhook. Calls no webhook.

/** The supported versions of ConversionReview. */
const reviewVersions: readonly string[] = ['v1', 'v1beta1'];

/** Reports whether a stored conversion accepts none of the supported review versions. */
export const acceptsOnlyUnknownReviews = (conversion: Conversion | undefined): boolean => {
  const versions = conversion?.webhook?.conversionReviewVersions ?? [];
  return versions.length > 0 && !versions.some(version => reviewVersions.includes(version));
};

function* validateReviewVersions(versions: readonly string[], requireKnown: boolean, path: string): Iterable<FieldError> {
  if (versions.length === 0) return yield required(path);
  const seen = new Set<string>();
  for (const [i, version] of versions.entries()) {
    if (seen.has(version)) yield invalid(`${path}[${i}]`, version, 'duplicate version');
    else for (const problem of dnsLabel1035Problems(version)) yield invalid(`${path}[${i}]`, version, problem);
    seen.add(version);
  }
  if (requireKnown && !versions.some(version => reviewVersions.includes(version)))
    yield invalid(path, versions, `must include at least one of ${reviewVersions.join(', ')}`);
}

function* validateClient(
  client: NonNullable<Conversion['webhook']>['clientConfig'],
  anyBundle: boolean,
  path: string,
): Iterable<FieldError> {
  if (!client) return yield required(path, 'required when strategy is set to Webhook');
  const {url, service, caBundle} = client;
  if ((url === undefined) === (service === undefined)) yield required(path, 'exactly one of url or service is required');
  else if (url !== undefined) yield* validateWebhookUrl(`${path}.url`, url);
  else if (service) yield* validateServiceReference(`${path}.service`, service);
  const problem = anyBundle ? undefined : caBundleProblem(caBundle);
  if (problem) yield invalid(`${path}.caBundle`, caBundle, problem);
}

/** What a conversion may keep from the stored definition. */
export interface ConversionRatcheting {
  readonly unknownReviews: boolean;
  readonly badBundle: boolean;
}

/** Validates how objects are converted between versions. */
export function* validateConversion(
  {strategy, webhook}: Partial<Conversion>,
  ratcheting: ConversionRatcheting,
  path: string,
): Iterable<FieldError> {
  if (!strategy) yield required(`${path}.strategy`);
  else if (strategy !== 'None' && strategy !== 'Webhook') yield notSupported(`${path}.strategy`, strategy, ['None', 'Webhook']);
  const versions = webhook?.conversionReviewVersions ?? [];
  if (strategy === 'Webhook') {
    yield* validateClient(webhook?.clientConfig, ratcheting.badBundle, `${path}.webhookClientConfig`);
    return yield* validateReviewVersions(versions, !ratcheting.unknownReviews, `${path}.conversionReviewVersions`);
  }
  const detail = 'should not be set when strategy is not set to Webhook';
  if (webhook?.clientConfig) yield forbiddenField(`${path}.webhookClientConfig`, detail);
  if (versions.length > 0) yield forbiddenField(`${path}.conversionReviewVersions`, detail);
}
