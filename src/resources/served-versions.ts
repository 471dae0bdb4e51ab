import {isIntroduced} from '#src/api/kind.js';
import {kinds, type Kind} from '#src/api/kinds.js';
import type {Naming} from '#src/api/naming.js';
import {compareVersions} from '#src/api/versions.js';

/**
 * Which versions of the built-in kinds are served. Stable ones are unless they are turned off; no beta or alpha version is unless it is turned on
 * (KEP-3136: since 1.24 new beta APIs are off by default, and none of the older ones is left).
 */
type Stage = 'ga' | 'beta' | 'alpha';

const stageOf = (version: string): Stage => (/^v\d+$/.test(version) ? 'ga' : version.includes('beta') ? 'beta' : 'alpha');

const servedByDefault: Readonly<Record<Stage, boolean>> = {ga: true, beta: false, alpha: false};

/** Resources that are served only while their gates are on, whatever is asked for. */
const gated: Readonly<Record<string, {readonly gates: readonly string[]}>> = {
  'certificates/clustertrustbundles': {gates: ['ClusterTrustBundle']},
  'certificates/podcertificaterequests': {gates: ['PodCertificateRequest']},
  'internal.apiserver/storageversions': {gates: ['StorageVersionAPI', 'APIServerIdentity']},
  'scheduling/workloads': {gates: ['GenericWorkload']},
  'storagemigration/storageversionmigrations': {gates: ['StorageVersionMigrator']},
};

/** Keys of `--runtime-config` that stand for many versions, in the order they count: the narrower wins. */
const versionSets: readonly (readonly [key: string, covers: (stage: Stage) => boolean])[] = [
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

/** Which release a server behaves as, where that is not its own. */
export interface EmulatedRelease {
  /** Versions that came later are not served, for example `1.33`. */
  readonly emulated: string;
  /** Whether they are all the same where a lower version of the resource is served that is beta or better (`--emulation-forward-compatible`). */
  readonly forwardCompatible: boolean;
  /** Whether those that `--runtime-config` names are served all the same (`--runtime-config-emulation-forward-compatible`). */
  readonly namedForwardCompatible: boolean;
}

export interface ServedSettings {
  readonly naming: Naming;
  gate(name: string): boolean;
  readonly release?: EmulatedRelease | undefined;
}

/** A version that `--runtime-config` turns on although the emulated release does not have it; the message names the flag. */
export class UnavailableApi extends Error {
  constructor(cause: string) {
    super(`--runtime-config: cannot enable ${cause}. Consider setting --runtime-config-emulation-forward-compatible=true`);
  }
}

type Serves = (kind: Kind) => boolean;

/** Versions of a group below that of a kind, without those that are alpha: they do not count for what comes after. */
const lowerVersions = ({group, version}: Kind): readonly Kind[] =>
  Object.values<Kind>(kinds).filter(other => other.group === group && stageOf(other.version) !== 'alpha' && compareVersions(version, other.version) < 0);

/** What the keys of `--runtime-config` turn on. */
class Enabled {
  readonly #config: ReadonlyMap<string, string>;
  readonly #settings: ServedSettings;
  readonly #named = new Map<string, boolean>();

  constructor(config: ReadonlyMap<string, string>, settings: ServedSettings) {
    this.#config = config;
    this.#settings = settings;
    for (const [key, value] of config) {
      if (versionSets.some(([many]) => many === key)) continue;
      checkKey(key, settings.naming);
      this.#named.set(addressOf(key).filter(part => part !== undefined).join('/'), isOn(value));
    }
  }

  /** What was said of the resource itself, and of its version. */
  named(kind: Kind): {readonly resource: boolean | undefined; readonly version: boolean | undefined} {
    const address = `${this.#settings.naming.group(kind.group)}/${kind.version}`;
    return {resource: this.#named.get(`${address}/${kind.plural}`), version: this.#named.get(address)};
  }

  has(kind: Kind): boolean {
    return this.named(kind).resource ?? this.#hasVersionOf(kind);
  }

  #hasVersionOf(kind: Kind): boolean {
    return this.named(kind).version ?? (this.#byStage(kind) || this.#followsLower(kind));
  }

  #byStage({version}: Kind): boolean {
    const stage = stageOf(version);
    const broad = versionSets.findLast(([key, covers]) => covers(stage) && this.#config.has(key));
    return broad ? isOn(this.#config.get(broad[0])!) : servedByDefault[stage];
  }

  #followsLower(kind: Kind): boolean {
    return this.#settings.release?.forwardCompatible === true && lowerVersions(kind).some(lower => (lower.plural === kind.plural ? this.has(lower) : this.#hasVersionOf(lower)));
  }
}

/** Leaves out what the release does not have, unless it may be served all the same. Throws `LaterApi` for what was asked for by name and may not. */
const ofRelease = (enabled: Enabled, available: Serves, {emulated, forwardCompatible, namedForwardCompatible}: EmulatedRelease, naming: Naming): Serves => {
  const serves: Serves = kind => {
    if (!available(kind)) return false;
    if (isIntroduced(kind, emulated)) return true;
    if (forwardCompatible && lowerVersions(kind).some(lower => lower.plural === kind.plural && serves(lower))) return true;
    const {resource, version} = enabled.named(kind);
    return namedForwardCompatible && (resource ?? version) === true;
  };
  for (const kind of Object.values<Kind>(kinds)) {
    if (!available(kind) || serves(kind)) continue;
    const apiVersion = naming.apiVersion(kind.group, kind.version);
    const {resource, version} = enabled.named(kind);
    if (resource) throw new UnavailableApi(`resource ${apiVersion}/${kind.plural}, because it is introduced at ${kind.introduced} after the emulated version ${emulated}`);
    const isWhole = !Object.values<Kind>(kinds).some(other => other.group === kind.group && other.version === kind.version && serves(other));
    if (version && isWhole) throw new UnavailableApi(`version ${apiVersion}, because all its resources are introduced after the emulated version ${emulated}`);
  }
  return serves;
};

/**
 * Decides what is served from the pairs of `--runtime-config`: `api/all`, `api/ga`, `api/beta` and `api/alpha`, then a group's version, then one of
 * its resources, the later the stronger. Of an older release that is emulated only what it has is served. Throws `UnknownApi` for keys that name
 * nothing, and `LaterApi` for those that name what came later.
 */
export const servedVersions = (runtimeConfig: ReadonlyMap<string, string>, settings: ServedSettings): Serves => {
  const {gate, release} = settings;
  const enabled = new Enabled(runtimeConfig, settings);
  const available: Serves = kind => (gated[`${kind.group}/${kind.plural}`]?.gates ?? []).every(gate) && enabled.has(kind);
  return release ? ofRelease(enabled, available, release, settings.naming) : available;
};

/** The alpha versions that were asked for by name in an emulated release, where nobody vouches for them. */
export const explicitAlphas = (runtimeConfig: ReadonlyMap<string, string>): readonly string[] =>
  [...runtimeConfig].filter(([key, value]) => /\/v\d+alpha\d+/.test(key) && isOn(value)).map(([key]) => key);
