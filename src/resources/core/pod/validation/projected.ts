import {forbiddenField, invalid, required, type FieldError} from '#src/api/field-error.js';
import {bundleNameProblems} from '#src/resources/certificates/bundle-name.js';
import type {DownwardAPIVolumeFile, KeyToPath, Volume, VolumeProjection} from '#src/api/pod.js';
import type {Naming} from '#src/api/naming.js';
import {certificateLife, validateUserAnnotations} from '#src/resources/certificates/user-annotations.js';
import {validateSignerName} from '#src/resources/certificates/signer-name.js';
import {validateLabelSelector} from '#src/resources/validation/label-selector.js';
import {internalForm} from '#src/schema/error-texts/internal-form.js';
import {validateUnreservedPath} from '#src/resources/validation/paths.js';
import {each, fileMode, oneOf} from '#src/resources/validation/values.js';
import {fileFields, validateFieldRef, validateResourceFieldRef} from './references.js';
import type {PodSpecRules} from './rules.js';

/** Validates a key of an object projected to a file. */
export function* keyToPath({key, path: file, mode}: KeyToPath, path: string): Iterable<FieldError> {
  if (!key) yield required(`${path}.key`);
  if (!file) yield required(`${path}.path`);
  yield* validateUnreservedPath(`${path}.path`, file);
  yield* fileMode(`${path}.mode`, mode);
}

/** Validates a downward API file. */
export function* downwardFile({path: file, fieldRef, resourceFieldRef, mode}: DownwardAPIVolumeFile, path: string): Iterable<FieldError> {
  if (!file) yield required(`${path}.path`);
  yield* validateUnreservedPath(`${path}.path`, file);
  if (fieldRef) {
    yield* validateFieldRef(fieldRef, fileFields, `${path}.fieldRef`);
    if (resourceFieldRef) yield invalid(path, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously');
  } else if (resourceFieldRef) yield* validateResourceFieldRef(resourceFieldRef, `${path}.resourceFieldRef`, true);
  else yield required(path, 'one of fieldRef and resourceFieldRef is required');
  yield* fileMode(`${path}.mode`, mode);
}

/** Detects duplicate paths across the sources of a projected volume. */
class Paths {
  readonly #taken = new Set<string>();
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  *take(file: string, shown: unknown): Iterable<FieldError> {
    if (this.#taken.has(file)) yield invalid(this.#path, shown, 'conflicting duplicate paths');
    this.#taken.add(file);
  }
}

function* keys(source: {readonly name?: string; readonly items?: readonly KeyToPath[]}, path: string, paths: Paths): Iterable<FieldError> {
  if (!source.name) yield required(`${path}.name`);
  for (const [i, item] of (source.items ?? []).entries()) {
    yield* keyToPath(item, `${path}.items[${i}]`);
    if (item.path) yield* paths.take(item.path, source.name ?? '');
  }
}

const maxSeconds = 2 ** 32;

function* token(
  source: NonNullable<VolumeProjection['serviceAccountToken']>,
  path: string,
  at: string,
  {allow}: PodSpecRules,
): Iterable<FieldError> {
  const {expirationSeconds: seconds = 3600, path: file} = source;
  if (seconds < 600) yield invalid(`${at}.expirationSeconds`, seconds, 'may not specify a duration less than 10 minutes');
  if (seconds > maxSeconds) yield invalid(`${at}.expirationSeconds`, seconds, 'may not specify a duration larger than 2^32 seconds');
  if (!file) yield required(`${path}.path`);
  else if (!allow.tokenPaths) yield* validateUnreservedPath(`${path}.path`, file);
}

/** Returns the signer in a trust bundle's name; empty if there is none. */
const signerIn = (name: string): string => (name.includes(':') ? name.slice(0, name.lastIndexOf(':')).replaceAll(':', '/') : '');

function* trustBundle(source: NonNullable<VolumeProjection['clusterTrustBundle']>, at: string, paths: Paths): Iterable<FieldError> {
  const {name, signerName, labelSelector, path: file} = source;
  if (name !== undefined && signerName !== undefined)
    yield invalid(at, internalForm('ClusterTrustBundleProjection', source), 'only one of name and signerName may be used');
  else if (name !== undefined) {
    if (name === '') yield required(`${at}.name`, 'must be a valid object name');
    yield* each(
      `${at}.name`,
      name,
      bundleNameProblems(signerIn(name))(name, false).map(problem => `not a valid clustertrustbundlename: ${problem}`),
    );
    if (labelSelector)
      yield invalid(
        `${at}.labelSelector`,
        internalForm('LabelSelector', labelSelector),
        'labelSelector must be unset if name is specified',
      );
  } else if (signerName !== undefined) {
    if (signerName === '') yield required(`${at}.signerName`, 'must be a valid signer name');
    yield* validateSignerName(`${at}.signerName`, signerName);
    if (labelSelector) yield* validateLabelSelector(labelSelector, `${at}.labelSelector`);
  } else yield required(at, 'either name or signerName must be specified');
  if (!file) yield required(`${at}.path`);
  yield* validateUnreservedPath(`${at}.path`, file);
  yield* paths.take(file, file);
}

const keyTypes = ['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519'];

type PodCertificate = NonNullable<VolumeProjection['podCertificate']>;

function* certificate(source: PodCertificate, at: string, paths: Paths, naming: Naming): Iterable<FieldError> {
  // These fields have no defaults.
  const {signerName = '', keyType = ''} = source as Partial<PodCertificate>;
  yield* validateSignerName(`${at}.signerName`, signerName);
  if (source.userAnnotations) yield* validateUserAnnotations(source.userAnnotations, `${at}.userAnnotations`);
  yield* oneOf(`${at}.keyType`, keyType, keyTypes);
  const {maxExpirationSeconds: seconds} = source;
  const {least, most} = certificateLife(signerName, naming);
  if (seconds !== undefined && seconds < least)
    yield invalid(`${at}.maxExpirationSeconds`, seconds, `if provided, maxExpirationSeconds must be >= ${least}`);
  if (seconds !== undefined && seconds > most)
    yield invalid(`${at}.maxExpirationSeconds`, seconds, `if provided, maxExpirationSeconds must be <= ${most}`);
  const files = (['credentialBundlePath', 'keyPath', 'certificateChainPath'] as const).filter(field => source[field]);
  if (files.length === 0) yield required(at, 'specify at least one of credentialBundlePath, keyPath, and certificateChainPath');
  for (const field of files) {
    yield* validateUnreservedPath(`${at}.${field}`, source[field]!);
    yield* paths.take(source[field]!, source[field]);
  }
}

/** Validates a projected volume. */
export function* validateProjected(
  {sources = [], defaultMode}: NonNullable<Volume['projected']>,
  path: string,
  rules: PodSpecRules,
): Iterable<FieldError> {
  yield* fileMode(`${path}.defaultMode`, defaultMode);
  const paths = new Paths(path);
  for (const [i, source] of (sources ?? []).entries()) {
    const at = `${path}.sources[${i}]`;
    const {secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate} = source;
    if (secret) yield* keys(secret, `${at}.secret`, paths);
    if (configMap) yield* keys(configMap, `${at}.configMap`, paths);
    for (const file of downwardAPI?.items ?? []) {
      yield* downwardFile(file, `${at}.downwardAPI`);
      if (file.path) yield* paths.take(file.path, file.path);
    }
    if (serviceAccountToken) yield* token(serviceAccountToken, path, `${at}.serviceAccountToken`, rules);
    if (clusterTrustBundle) yield* trustBundle(clusterTrustBundle, `${at}.clusterTrustBundle`, paths);
    if (podCertificate) yield* certificate(podCertificate, `${at}.podCertificate`, paths, rules.naming);
    const count = [secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate].filter(Boolean).length;
    if (count > 1) yield forbiddenField(at, 'may not specify more than 1 volume type per source');
  }
}
