import {duplicate, forbiddenField, invalid, required, type FieldError} from '#src/api/field-error.js';
import {collectErrors} from '#src/api/collect-errors.js';
import {dnsSubdomainProblems} from '#src/api/names.js';
import type {KeyToPath, Volume} from '#src/api/pod.js';
import {compareQuantities, zeroQuantity} from '#src/api/quantity.js';
import {validateClaimSpec} from '#src/resources/validation/claim-spec.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {validateTemplateMeta} from '#src/resources/validation/object-meta.js';
import {validateDescendingPath} from '#src/resources/validation/paths.js';
import {quantityIn} from '#src/resources/validation/resource-names.js';
import {dnsLabel, each, fileMode} from '#src/resources/validation/values.js';
import * as shared from '#src/resources/validation/volume-sources.js';
import {validatePullPolicy} from './containers.js';
import {downwardFile, keyToPath, validateProjected} from './projected.js';
import type {PodSpecRules} from './rules.js';

type Check<K extends keyof Volume> = (
  source: NonNullable<Volume[K]>,
  path: string,
  rules: PodSpecRules,
  volume: Volume,
) => Iterable<FieldError>;
type SourceName = Exclude<keyof Volume, 'name'>;

const needs =
  (...fields: readonly string[]) =>
  (source: object, path: string): Iterable<FieldError> =>
    shared.present(path, source, ...fields);

function* keyed(
  source: {readonly defaultMode?: number; readonly items?: readonly KeyToPath[]},
  name: string,
  value: string | undefined,
  path: string,
): Iterable<FieldError> {
  if (!value) yield required(`${path}.${name}`);
  yield* fileMode(`${path}.defaultMode`, source.defaultMode);
  for (const [i, item] of (source.items ?? []).entries()) yield* keyToPath(item, `${path}.items[${i}]`);
}

function* csi({driver, nodePublishSecretRef: secret}: NonNullable<Volume['csi']>, path: string): Iterable<FieldError> {
  yield* shared.csiDriverName(`${path}.driver`, driver);
  if (!secret) return;
  if (!secret.name) yield required(`${path}.nodePublishSecretRef.name`);
  else yield* each(`${path}.name`, secret.name, subdomainName(secret.name, false));
}

/** The validation of each volume source, in the order of the original's errors. */
const checks: {readonly [K in SourceName]: Check<K>} = {
  *emptyDir({sizeLimit}, path) {
    if (sizeLimit !== undefined && compareQuantities(quantityIn(sizeLimit), zeroQuantity) < 0)
      yield forbiddenField(`${path}.sizeLimit`, 'SizeLimit field must be a valid resource quantity');
  },
  hostPath: shared.hostPath,
  *gitRepo({repository, directory = ''}, path) {
    if (!repository) yield required(`${path}.repository`);
    yield* validateDescendingPath(`${path}.directory`, directory);
  },
  gcePersistentDisk: (source, path) => shared.disk('pdName')(source, path.replace(/gcePersistentDisk$/, 'persistentDisk')),
  awsElasticBlockStore: shared.disk('volumeID'),
  secret: (source, path) => keyed(source, 'secretName', source.secretName, path),
  nfs: shared.nfs,
  *iscsi(source, path, _rules, {name}) {
    yield* shared.iscsi(source, path);
    if (shared.isLongIscsi(name, source)) yield invalid(path.replace(/iscsi$/, 'name'), name, shared.longIscsiText);
  },
  glusterfs: needs('endpoints', 'path'),
  flocker: shared.flocker,
  persistentVolumeClaim: needs('claimName'),
  *rbd(source, path) {
    if (!source.monitors?.length) yield required(`${path}.monitors`);
    if (!source.image) yield required(`${path}.image`);
  },
  *cinder(source, path) {
    if (!source.volumeID) yield required(`${path}.volumeID`);
    if (source.secretRef && !source.secretRef.name) yield required(`${path}.secretRef.name`);
  },
  *cephfs(source, path) {
    if (!source.monitors?.length) yield required(`${path}.monitors`);
  },
  quobyte: shared.quobyte,
  *downwardAPI({defaultMode, items = []}, path) {
    yield* fileMode(`${path}.defaultMode`, defaultMode);
    for (const file of items) yield* downwardFile(file, path);
  },
  fc: shared.fibreChannel,
  flexVolume: (source, path, {naming}) => shared.flexVolume(source, path, naming),
  configMap: (source, path) => keyed(source, 'name', source.name, path),
  azureFile: needs('secretName', 'shareName'),
  vsphereVolume: needs('volumePath'),
  photonPersistentDisk: needs('pdID'),
  portworxVolume: needs('volumeID'),
  azureDisk: shared.azureDisk,
  storageos: shared.storageOs,
  projected: validateProjected,
  scaleIO: needs('gateway', 'system', 'volumeName'),
  csi,
  *ephemeral({volumeClaimTemplate: template}, path, {naming, podName}, {name}) {
    if (!template) yield required(`${path}.volumeClaimTemplate`);
    else {
      yield* validateTemplateMeta(template.metadata, `${path}.volumeClaimTemplate.metadata`);
      yield* validateClaimSpec(template.spec, `${path}.volumeClaimTemplate.spec`, naming);
    }
    if (!podName || !name) return;
    const claim = `${podName}-${name}`;
    yield* each(
      path.replace(/ephemeral$/, 'name'),
      name,
      dnsSubdomainProblems(claim).map(problem => `PVC name ${JSON.stringify(claim)}: ${problem}`),
    );
  },
  *image({reference, pullPolicy}, path, {isPod}) {
    if (isPod && !reference) yield required(`${path}.reference`);
    yield* validatePullPolicy(pullPolicy, `${path}.pullPolicy`);
  },
};

/** Sources whose path in errors differs from the field. */
const pathNames: Readonly<Record<string, string>> = {cephfs: 'cephFS', downwardAPI: 'downwarAPI'};

function* source(volume: Volume, path: string, rules: PodSpecRules): Iterable<FieldError> {
  let found = false;
  for (const [name, check] of Object.entries(checks) as [SourceName, Check<SourceName>][]) {
    const value = volume[name];
    if (value === undefined || value === null) continue;
    if (found) yield forbiddenField(`${path}.${pathNames[name] ?? name}`, 'may not specify more than 1 volume type');
    else yield* check(value, `${path}.${name}`, rules, volume);
    found = true;
  }
  if (!found) yield required(path, 'must specify a volume type');
}

/** Validates volumes and adds the valid ones to `good` by name. */
export function* validateVolumes(
  volumes: readonly Volume[],
  path: string,
  rules: PodSpecRules,
  good: Map<string, Volume>,
): Iterable<FieldError> {
  const made = new Set(rules.podName ? volumes.filter(({ephemeral}) => ephemeral).map(({name}) => `${rules.podName}-${name}`) : []);
  for (const [i, volume] of volumes.entries()) {
    const at = `${path}[${i}]`;
    const errors = collectErrors(source(volume, at, rules), volume.name ? dnsLabel(`${at}.name`, volume.name) : [required(`${at}.name`)]);
    if (good.has(volume.name)) errors.push(duplicate(`${at}.name`, volume.name));
    if (errors.length === 0) good.set(volume.name, volume);
    yield* errors;
    const {claimName} = volume.persistentVolumeClaim ?? {};
    if (claimName && made.has(claimName))
      yield invalid(
        `${at}.persistentVolumeClaim.claimName`,
        claimName,
        'must not reference a PVC that gets created for an ephemeral volume',
      );
  }
}
