import {kinds, type Kind} from '#src/api/kinds.js';
import type {Naming} from '#src/api/naming.js';

/**
 * Which versions of the built-in kinds are served. Stable ones are unless they are turned off; no beta or alpha version is unless it is turned on
 * (KEP-3136: since 1.24 new beta APIs are off by default, and none of the older ones is left).
 */
type Stage = 'ga' | 'beta' | 'alpha';

const stageOf = (version: string): Stage => (/^v\d+$/.test(version) ? 'ga' : version.includes('beta') ? 'beta' : 'alpha');

const servedByDefault: Readonly<Record<Stage, boolean>> = {ga: true, beta: false, alpha: false};

/** Resources that are served only while their gates are on, whatever is asked for. */
const gates: Readonly<Record<string, readonly string[]>> = {
  'certificates/clustertrustbundles': ['ClusterTrustBundle'],
  'certificates/podcertificaterequests': ['PodCertificateRequest'],
  'internal.apiserver/storageversions': ['StorageVersionAPI', 'APIServerIdentity'],
  'scheduling/workloads': ['GenericWorkload'],
  'storagemigration/storageversionmigrations': ['StorageVersionMigrator'],
};

/** Keys of `--runtime-config` that stand for many versions, in the order they count: the narrower wins. */
const wholesale: readonly (readonly [key: string, covers: (stage: Stage) => boolean])[] = [
  ['api/all', () => true],
  ['api/ga', stage => stage === 'ga'],
  ['api/beta', stage => stage === 'beta'],
  ['api/alpha', stage => stage === 'alpha'],
];

const isOn = (text: string): boolean => /^(?:|1|t|true)$/i.test(text);

/** A key of `--runtime-config` that names nothing; the message names the flag. */
export class UnknownApi extends Error {
  constructor(cause: string) {
    super(`--runtime-config: ${cause}`);
  }
}

/** What one key names. The core group goes without a name, or by that of its path. */
const addressOf = (key: string): readonly [group: string, version: string, resource: string | undefined] => {
  const [group, version, resource, ...rest] = /^v\d[^/]*$/.test(key) ? ['', key] : key.split('/');
  if (group === undefined || !version || resource === '' || rest.length > 0) throw new UnknownApi(`invalid key ${key}`);
  return [group === 'api' ? '' : group, version, resource];
};

/** Throws `UnknownApi` for a key that stands for no built-in API; that of metrics is an extension's, there or not. */
const checkKey = (key: string, naming: Naming): void => {
  const [group, version, resource] = addressOf(key);
  const ofGroup = Object.values(kinds).filter(kind => kind.group !== 'metrics' && naming.group(kind.group) === group);
  if (ofGroup.length === 0) throw new UnknownApi(`unknown api groups ${group}`);
  const ofVersion = ofGroup.filter(kind => kind.version === version);
  if (ofVersion.length === 0) throw new UnknownApi(`group version ${naming.apiVersion(ofGroup[0]!.group, version)} that has not been registered`);
  if (resource !== undefined && !ofVersion.some(({plural}) => plural === resource)) throw new UnknownApi(`unknown resource ${resource} in ${key}`);
};

export interface ServedSettings {
  readonly naming: Naming;
  gate(name: string): boolean;
}

/**
 * Decides what is served from the pairs of `--runtime-config`: `api/all`, `api/ga`, `api/beta` and `api/alpha`, then a group's version, then one of
 * its resources, the later the stronger. Throws `UnknownApi` for keys that name nothing.
 */
export const servedVersions = (runtimeConfig: ReadonlyMap<string, string>, {naming, gate}: ServedSettings): ((kind: Kind) => boolean) => {
  const said = new Map<string, boolean>();
  for (const [key, value] of runtimeConfig) {
    if (wholesale.some(([many]) => many === key)) continue;
    checkKey(key, naming);
    said.set(addressOf(key).filter(part => part !== undefined).join('/'), isOn(value));
  }
  return ({group, version, plural}) => {
    const needed = gates[`${group}/${plural}`] ?? [];
    if (!needed.every(gate)) return false;
    const address = `${naming.group(group)}/${version}`;
    const stage = stageOf(version);
    const broad = wholesale.findLast(([key, covers]) => covers(stage) && runtimeConfig.has(key));
    return said.get(`${address}/${plural}`) ?? said.get(address) ?? (broad ? isOn(runtimeConfig.get(broad[0])!) : servedByDefault[stage]);
  };
};
