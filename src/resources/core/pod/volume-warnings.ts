import type {PodSpec, Volume, VolumeProjection} from '#src/api/pod.js';
import {claimSpecWarnings} from '#src/resources/validation/claim-spec.js';

const deprecatedSources: readonly (readonly [field: keyof Volume, name: string, text: string])[] = [
  ['photonPersistentDisk', 'photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['gitRepo', 'gitRepo', 'deprecated in v1.11, and disabled by default in v1.33+'],
  ['scaleIO', 'scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', 'flocker', 'deprecated in v1.22, non-functional in v1.25+'],
  ['storageos', 'storageOS', 'deprecated in v1.22, non-functional in v1.25+'],
  ['quobyte', 'quobyte', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['cephfs', 'cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['rbd', 'rbd', 'deprecated in v1.28, non-functional in v1.31+'],
];

/** A file of a volume with its source, if there can be several. */
interface Placed {
  readonly path: string;
  readonly source: string;
}

const shown = ({path, source}: Placed): string => (source ? `${JSON.stringify(path)} (${source})` : JSON.stringify(path));

const overlap = (a: string, b: string): boolean => `${a}/`.startsWith(`${b}/`) || `${b}/`.startsWith(`${a}/`);

/** Yields files that replace each other, or the parent directory of another. */
function* overlaps(files: readonly Placed[]): Iterable<string> {
  const placed: Placed[] = [];
  for (const {path: given, source} of files) {
    const file = {path: given.replace(/\/+$/, ''), source};
    for (const other of file.path ? placed : [])
      if (other.path && overlap(file.path, other.path)) yield `${shown(file)} with ${shown(other)}`;
    placed.push(file);
  }
}

type Items = readonly {readonly path: string}[];

const filesOf = (items: Items | undefined, source: string): Placed[] => (items ?? []).map(({path}) => ({path, source}));

const certificateFiles = {certificateChainPath: 'chain', keyPath: 'key', credentialBundlePath: 'credential bundle'} as const;

/** Returns the files of one source of a projected volume; the first source type with files counts. */
const projectedFiles = ({
  configMap,
  secret,
  downwardAPI,
  serviceAccountToken,
  clusterTrustBundle,
  podCertificate,
}: VolumeProjection): Placed[] => {
  if (configMap?.items) return filesOf(configMap.items, `ConfigMap ${JSON.stringify(configMap.name ?? '')}`);
  if (secret?.items) return filesOf(secret.items, `Secret ${JSON.stringify(secret.name ?? '')}`);
  if (downwardAPI?.items) return filesOf(downwardAPI.items, 'DownwardAPI');
  if (serviceAccountToken) return filesOf([serviceAccountToken], 'ServiceAccountToken');
  if (clusterTrustBundle)
    return filesOf(
      [clusterTrustBundle],
      `ClusterTrustBundle ${JSON.stringify(clusterTrustBundle.name ?? clusterTrustBundle.signerName ?? '')}`,
    );
  return (['certificateChainPath', 'keyPath', 'credentialBundlePath'] as const).flatMap(field => {
    const path = podCertificate?.[field];
    return path ? [{path, source: `PodCertificate ${certificateFiles[field]}`}] : [];
  });
};

function* sharedPlaces({name, configMap, secret, downwardAPI, projected}: Volume): Iterable<string> {
  const clash = (what: string, text: string): string => `volume ${JSON.stringify(name)} (${what}): overlapping paths: ${text}`;
  for (const text of overlaps(filesOf(configMap?.items, ''))) yield clash(`ConfigMap ${JSON.stringify(configMap?.name ?? '')}`, text);
  for (const text of overlaps(filesOf(secret?.items, ''))) yield clash(`Secret ${JSON.stringify(secret?.secretName ?? '')}`, text);
  for (const text of overlaps(filesOf(downwardAPI?.items, ''))) yield clash('DownwardAPI', text);
  const sources = projected?.sources ?? [];
  for (const source of sources)
    if (Object.keys(source).length === 0) yield `volume ${JSON.stringify(name)} (Projected) has no sources provided`;
  for (const text of overlaps(sources.flatMap(projectedFiles))) yield clash('Projected', text);
}

/** Warns about valid but questionable volumes. */
export function* volumeWarnings({volumes = []}: PodSpec, path: string): Iterable<string> {
  for (const [i, volume] of volumes.entries()) {
    for (const [field, name, text] of deprecatedSources) if (volume[field]) yield `${path}.volumes[${i}].${name}: ${text}`;
    const claim = volume.ephemeral?.volumeClaimTemplate?.spec;
    if (claim) yield* claimSpecWarnings(claim, `${path}.volumes[${i}].ephemeral.volumeClaimTemplate.spec`);
  }
  for (const volume of volumes) yield* sharedPlaces(volume);
}
