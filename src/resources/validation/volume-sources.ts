import {invalid, notSupported, required, tooLong, type FieldError} from '#src/api/field-error.js';
import {dnsSubdomainProblems} from '#src/api/names.js';
import type {Naming} from '#src/api/naming.js';
import {regexp} from '#src/schema/regexp.js';
import {validateNoBacksteps} from './paths.js';
import {dnsLabel, each, oneOf, rangeText} from './values.js';

// Validation of volume sources that pods and persistent volumes share: each function covers what both types have in
// common.

interface Reference {
  readonly name?: string;
}

/** Reports fields that are absent or empty. */
export function* present(path: string, source: object, ...fields: readonly string[]): Iterable<FieldError> {
  const values = source as Readonly<Record<string, unknown>>;
  for (const field of fields) {
    const value = values[field];
    if (!value || (Array.isArray(value) && value.length === 0)) yield required(`${path}.${field}`);
  }
}

const hostPathTypes = ['', 'BlockDevice', 'CharDevice', 'Directory', 'DirectoryOrCreate', 'File', 'FileOrCreate', 'Socket'];

export function* hostPath(source: {readonly path: string; readonly type?: string}, path: string): Iterable<FieldError> {
  if (!source.path) return yield required(`${path}.path`);
  yield* validateNoBacksteps(`${path}.path`, source.path);
  yield* oneOf(`${path}.type`, source.type ?? '', hostPathTypes);
}

export function* localPath(source: {readonly path: string}, path: string): Iterable<FieldError> {
  if (!source.path) return yield required(`${path}.path`);
  yield* validateNoBacksteps(`${path}.path`, source.path);
}

/** Returns the validation of a cloud disk, by the field of its name, with an optional partition. */
export const disk = (name: string) =>
  function* (source: object & {readonly partition?: number}, path: string): Iterable<FieldError> {
    yield* present(path, source, name);
    const {partition = 0} = source;
    if (partition < 0 || partition > 255) yield invalid(`${path}.partition`, partition, rangeText(1, 255));
  };

export function* nfs(source: {readonly server: string; readonly path: string}, path: string): Iterable<FieldError> {
  yield* present(path, source, 'server', 'path');
  if (!source.path.startsWith('/')) yield invalid(`${path}.path`, source.path, 'must be an absolute path');
}

/**
 * As the original's, the first form may begin anywhere: JavaScript's engine would try again from each of many
 * beginnings.
 */
const initiatorForms: Readonly<Record<string, Pick<RegExp, 'test'>>> = {
  iqn: {test: name => regexp(String.raw`iqn\.\d{4}-\d{2}\.([a-zA-Z0-9.-]+)(:[^,;*&$|\s]+)$`).test(name)},
  eui: /^eui.[a-zA-Z0-9]{16}$/,
  naa: /^naa.[a-zA-Z0-9]{32}$/,
};

/** Validates an iSCSI name (RFC 3720 §3.2.6). */
function* initiator(name: string, path: string, formless: string): Iterable<FieldError> {
  const form = initiatorForms[name.slice(0, 3)];
  if (!form) yield invalid(path, name, formless);
  else if (!form.test(name)) yield invalid(path, name, 'must be valid format');
}

export interface Iscsi {
  readonly targetPortal: string;
  readonly iqn: string;
  readonly lun: number;
  readonly initiatorName?: string;
  readonly chapAuthDiscovery?: boolean;
  readonly chapAuthSession?: boolean;
  readonly secretRef?: Reference;
}

export const longIscsiText =
  'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.';
export const isLongIscsi = (volume: string, {targetPortal, initiatorName}: Iscsi): boolean =>
  initiatorName !== undefined && Buffer.byteLength(`${volume}:${targetPortal}`) > 64;

/** `formless` is the error for a name with an unknown prefix. */
export function* iscsi(
  source: Iscsi,
  path: string,
  formless = 'must be valid format starting with iqn, eui, or naa',
): Iterable<FieldError> {
  yield* present(path, source, 'targetPortal');
  if (!source.iqn) yield required(`${path}.iqn`);
  else yield* initiator(source.iqn, `${path}.iqn`, formless);
  if (source.lun < 0 || source.lun > 255) yield invalid(`${path}.lun`, source.lun, rangeText(0, 255));
  if ((source.chapAuthDiscovery || source.chapAuthSession) && !source.secretRef) yield required(`${path}.secretRef`);
  if (source.initiatorName !== undefined) yield* initiator(source.initiatorName, `${path}.initiatorname`, formless);
}

export function* fibreChannel(
  {targetWWNs = [], wwids = [], lun}: {readonly targetWWNs?: readonly string[]; readonly wwids?: readonly string[]; readonly lun?: number},
  path: string,
): Iterable<FieldError> {
  if (targetWWNs.length === 0 && wwids.length === 0)
    yield required(`${path}.targetWWNs`, 'must specify either targetWWNs or wwids, but not both');
  if (targetWWNs.length === 0) return;
  if (wwids.length > 0) yield invalid(`${path}.targetWWNs`, targetWWNs, 'targetWWNs and wwids can not be specified simultaneously');
  if (lun === undefined) yield required(`${path}.lun`, 'lun is required if targetWWNs is specified');
  else if (lun < 0 || lun > 255) yield invalid(`${path}.lun`, lun, rangeText(0, 255));
}

const pairsText = 'must be a host:port pair or multiple pairs separated by commas';
const isHostAndPort = (text: string): boolean => /^(\[[^\]]*\]|[^:[\]]*):[^:]*$/.test(text);

export function* quobyte(
  {registry, tenant = '', volume}: {readonly registry: string; readonly tenant?: string; readonly volume: string},
  path: string,
): Iterable<FieldError> {
  if (!registry) yield required(`${path}.registry`, pairsText);
  else if (tenant.length >= 65) yield required(`${path}.tenant`, 'must be a UUID and may not exceed a length of 64 characters');
  else for (const pair of registry.split(',')) if (!isHostAndPort(pair)) yield invalid(`${path}.registry`, registry, pairsText);
  if (!volume) yield required(`${path}.volume`);
}

export function* flocker(
  {datasetName = '', datasetUUID}: {readonly datasetName?: string; readonly datasetUUID?: string},
  path: string,
): Iterable<FieldError> {
  if (!datasetName && !datasetUUID) yield required(path, 'one of datasetName and datasetUUID is required');
  if (datasetName && datasetUUID) yield invalid(path, 'resource', 'datasetName and datasetUUID can not be specified simultaneously');
  if (datasetName.includes('/')) yield invalid(`${path}.datasetName`, datasetName, "must not contain '/'");
}

/** Validates a flexVolume; option keys must not use the built-in domains. */
export function* flexVolume(
  {driver, options = {}}: {readonly driver: string; readonly options?: Readonly<Record<string, string>>},
  path: string,
  naming: Naming,
): Iterable<FieldError> {
  const domains = [...new Set([naming.domain, naming.apiSuffix])];
  if (!driver) yield required(`${path}.driver`);
  for (const key of Object.keys(options)) {
    const domain = `.${key.split('/')[0]!.toLowerCase()}`;
    if (domains.some(reserved => domain.endsWith(`.${reserved}`)))
      yield invalid(`${path}.options[${key}]`, key, `${domains.join(' and ')} namespaces are reserved`);
  }
}

const cachingModes = ['None', 'ReadOnly', 'ReadWrite'];
const diskKinds = ['Dedicated', 'Managed', 'Shared'];
const managedUri = '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}';
const blobUri = 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd';

interface AzureDisk {
  readonly diskName: string;
  readonly diskURI: string;
  readonly cachingMode?: string;
  readonly kind?: string;
}

export function* azureDisk(source: AzureDisk, path: string): Iterable<FieldError> {
  yield* present(path, source, 'diskName', 'diskURI');
  const {cachingMode, kind, diskURI} = source;
  if (cachingMode !== undefined) yield* oneOf(`${path}.cachingMode`, cachingMode, cachingModes);
  if (kind === undefined) return;
  yield* oneOf(`${path}.kind`, kind, diskKinds);
  if (kind === 'Managed' && !diskURI.startsWith('/subscriptions/')) yield notSupported(`${path}.diskURI`, diskURI, [managedUri]);
  if (kind !== 'Managed' && !diskURI.startsWith('https://')) yield notSupported(`${path}.diskURI`, diskURI, [blobUri]);
}

interface StorageOs {
  readonly volumeName?: string;
  readonly volumeNamespace?: string;
  readonly secretRef?: Reference;
}

export function* storageOs({volumeName, volumeNamespace, secretRef}: StorageOs, path: string): Iterable<FieldError> {
  if (!volumeName) yield required(`${path}.volumeName`);
  else yield* dnsLabel(`${path}.volumeName`, volumeName);
  if (volumeNamespace) yield* dnsLabel(`${path}.volumeNamespace`, volumeNamespace);
  if (secretRef && !secretRef.name) yield required(`${path}.secretRef.name`);
}

/** Validates the name of a CSI driver: a domain name in either case. */
export function* csiDriverName(path: string, name: string): Iterable<FieldError> {
  if (!name) return yield required(path);
  if (Buffer.byteLength(name) > 63) yield tooLong(path, 63);
  yield* each(path, name, dnsSubdomainProblems(name.toLowerCase()));
}
