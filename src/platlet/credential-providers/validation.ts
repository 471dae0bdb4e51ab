// Validation of the configuration of credential providers. Pure.

import {duplicate, forbiddenField, invalid, invalidText, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {formatDuration} from '#src/api/duration.js';
import {labelKeyProblems} from '#src/api/names.js';
import type {Naming} from '#src/api/naming.js';
import type {CredentialProvider, TokenAttributes} from './credential-provider.js';

/** Returns the versions of requests to providers that a naming has, oldest last. */
export const providerVersions = ({agent, apiSuffix}: Naming): readonly string[] =>
  ['v1', 'v1alpha1', 'v1beta1'].map(version => `credentialprovider.${agent}.${apiSuffix}/${version}`);

const cacheTypes = ['ServiceAccount', 'Token'];

const nameErrors = ({name}: CredentialProvider): FieldError[] => {
  const wrong: readonly (readonly [isWrong: boolean, detail: string])[] = [
    [name.includes('/'), "provider name cannot contain '/'"],
    [name.includes(' '), 'provider name cannot contain spaces'],
    [name === '.', "provider name cannot be '.'"],
    [name === '..', "provider name cannot be '..'"],
  ];
  return wrong.flatMap(([isWrong, detail]) => (isWrong ? [invalid('providers.name', name, detail)] : []));
};

/** Whether a text is a host with an optional port and path; a `*` stands for a part of a label. */
const isImagePattern = (text: string): boolean => URL.canParse(`https://${text.replaceAll('*', 'x')}`);

const imageErrors = ({matchImages}: CredentialProvider): FieldError[] =>
  matchImages.length === 0
    ? [required('providers.matchImages', 'at least 1 item in matchImages is required')]
    : matchImages
        .filter(image => !isImagePattern(image))
        .map(image =>
          invalid('providers.matchImages', image, `match image is invalid: parse ${JSON.stringify(`https://${image}`)}: invalid URL`),
        );

const versionErrors = ({apiVersion}: CredentialProvider, versions: readonly string[]): FieldError[] => {
  if (!apiVersion) return [required('providers.apiVersion')];
  return versions.includes(apiVersion) ? [] : [notSupported('providers.apiVersion', apiVersion, [...versions].sort())];
};

const durationErrors = ({defaultCacheDuration: duration}: CredentialProvider): FieldError[] => {
  if (duration === undefined) return [required('providers.defaultCacheDuration')];
  return duration < 0
    ? [invalidText('providers.defaultCacheDuration', JSON.stringify(formatDuration(duration)), 'must be greater than or equal to 0')]
    : [];
};

const keyErrors = (path: string, keys: readonly string[]): FieldError[] => {
  const seen = new Set<string>();
  return keys.flatMap(key => {
    const isRepeated = seen.has(key);
    seen.add(key);
    return [
      ...labelKeyProblems(key.toLowerCase()).map(problem => invalid(path, key, problem)),
      ...(isRepeated ? [duplicate(path, key)] : []),
    ];
  });
};

const cacheTypeErrors = ({cacheType}: TokenAttributes, path: string): FieldError[] => {
  if (!cacheType)
    return [
      required(path, `cacheType is required to be set when tokenAttributes is specified. Supported values are: ${cacheTypes.join(', ')}`),
    ];
  return cacheTypes.includes(cacheType) ? [] : [notSupported(path, cacheType, cacheTypes)];
};

const tokenErrors = (provider: CredentialProvider, namings: readonly Naming[], acceptsTokens: boolean): FieldError[] => {
  const {tokenAttributes: token, apiVersion} = provider;
  if (!token) return [];
  const path = 'providers.tokenAttributes';
  const {agent = ''} = namings[0] ?? {};
  const versions = namings.map(each => providerVersions(each)[0]!);
  const gate = `${agent.charAt(0).toUpperCase()}${agent.slice(1)}ServiceAccountTokenForCredentialProviders`;
  const {requiredServiceAccountAnnotationKeys: needed, optionalServiceAccountAnnotationKeys: optional} = token;
  const both = [...new Set(needed)].filter(key => optional.includes(key)).sort();
  return [
    ...(acceptsTokens ? [] : [forbiddenField(path, `tokenAttributes is not supported when ${gate} feature gate is disabled`)]),
    ...(token.serviceAccountTokenAudience ? [] : [required(`${path}.serviceAccountTokenAudience`)]),
    ...(token.requireServiceAccount === undefined ? [required(`${path}.requireServiceAccount`)] : []),
    ...(versions.includes(apiVersion)
      ? []
      : [forbiddenField(path, `tokenAttributes is only supported for ${versions[0] ?? ''} API version`)]),
    ...(token.requireServiceAccount === false && needed.length > 0
      ? [
          forbiddenField(
            `${path}.requiredServiceAccountAnnotationKeys`,
            'requireServiceAccount cannot be false when requiredServiceAccountAnnotationKeys is set',
          ),
        ]
      : []),
    ...keyErrors(`${path}.requiredServiceAccountAnnotationKeys`, needed),
    ...keyErrors(`${path}.optionalServiceAccountAnnotationKeys`, optional),
    ...(both.length > 0 ? [invalid(path, both, 'annotation keys cannot be both required and optional')] : []),
    ...cacheTypeErrors(token, `${path}.cacheType`),
  ];
};

/** Returns what is wrong with providers, with the original's texts. */
export const configurationErrors = (
  providers: readonly CredentialProvider[],
  namings: readonly Naming[],
  acceptsTokens: boolean,
): readonly FieldError[] => {
  if (providers.length === 0) return [required('providers', 'at least 1 item in plugins is required')];
  const versions = namings.flatMap(providerVersions);
  return providers.flatMap(provider => [
    ...nameErrors(provider),
    ...versionErrors(provider, versions),
    ...imageErrors(provider),
    ...durationErrors(provider),
    ...tokenErrors(provider, namings, acceptsTokens),
  ]);
};
